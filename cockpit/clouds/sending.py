"""Changes of pools outside the cluster: compared with what is there, bounds checked, sent once.

Neither AWS nor the tools of other clouds have a dry run, so a trial is that comparison alone, and says so.
The version of a call is the sizes that were shown: where they have changed, nothing is sent.
"""

import asyncio
from collections.abc import Mapping
from functools import partial

import msgspec

from cockpit.clouds.aws import Aws
from cockpit.clouds.errors import Moved, OutsideError
from cockpit.clouds.reading import USUAL, Ways, read_pool, who_of
from cockpit.daemon_thread import apart
from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Reach
from cockpit.sanitise import clean

OPERATIONS: Mapping[str, tuple[str, str]] = {
    "UpdateNodegroupConfig": ("eks", "update_nodegroup_config"),
    "SetDesiredCapacity": ("autoscaling", "set_desired_capacity"),
    "UpdateAutoScalingGroup": ("autoscaling", "update_auto_scaling_group"),
    "TerminateInstanceInAutoScalingGroup": ("autoscaling", "terminate_instance_in_auto_scaling_group"),
}
"""What may be sent to AWS at all: the name in a plan, the client and its method."""
_TOKEN_OF = {"UpdateNodegroupConfig": "clientRequestToken"}
"""Parameters by which AWS knows the same request when it comes twice."""


class Sent(msgspec.Struct, frozen=True):
    """The outcome of a call: a note for the user although it succeeded, "" for none."""

    sentence: str = ""


async def send(call: Call, *, read_only: bool, dry_run: bool = False, ways: Ways = USUAL) -> Sent:
    """Carry out one planned call. Raises OutsideError, Moved among them; `is_lost` if the outcome is unknown.

    `token` in the body marks the request, so that AWS carries it out once however often it arrives.
    """
    reach = msgspec.convert(call.body["reach"], Reach)
    who = who_of(reach)
    if read_only and not dry_run:
        raise OutsideError(
            who, "ReadOnly", f"read-only: {call.method} was not sent; allow changes with :write"
        )
    found = _meant(call, (await read_pool(reach, 0.0, ways)).pools, who)
    _check(call, found, who)
    if dry_run:
        return Sent(f"{who} offers no dry run: sizes and bounds match its current answer")
    try:
        if reach.commands is not None:
            await ways.run(call.body["argv"], reach.commands, is_change=True)
            return Sent()
        async with asyncio.timeout(ways.seconds):
            return await apart(partial(_to_aws, call, ways.aws(reach, may_write=True), who))
    except TimeoutError:
        lost = OutsideError(who, "NoAnswer", f"no answer within {ways.seconds:g} s", is_lost=True)
        return await _looked(call, reach, lost, ways)
    except OutsideError as error:
        if not error.is_lost:
            raise
        return await _looked(call, reach, error, ways)


def _meant(call: Call, pools: tuple[PoolObject, ...], who: str) -> PoolObject:
    found = next((pool for pool in pools if pool.name == call.body["reach"]["pool"]), None)
    if found is None:
        raise OutsideError(who, "NotFound", f"there is no {call.target} any more")
    return found


def _check(call: Call, found: PoolObject, who: str) -> None:
    """Raises Moved where the pool is another one or has other sizes, OutsideError for a size out of
    bounds."""
    guard = call.body.get("metadata") or {}
    if guard.get("uid") and guard["uid"] != found.uid:
        raise Moved(who, f"{call.target} was deleted and recreated", is_another=True)
    if guard.get("resourceVersion") and guard["resourceVersion"] != found.resource_version:
        shown = f"shown: {guard['resourceVersion']}, now: {found.resource_version}"
        raise Moved(who, f"{call.target} was resized meanwhile ({shown})")
    size = call.body.get("size")
    if size is None:
        return
    for bound, is_out in (
        (found.max_replicas, found.max_replicas is not None and size > found.max_replicas),
        (found.min_replicas, found.min_replicas is not None and size < found.min_replicas),
    ):
        if is_out:
            raise OutsideError(who, "OutOfBounds", f"a size of {size} is out of range, the bound is {bound}")


def _to_aws(call: Call, aws: Aws, who: str) -> Sent:
    if call.method not in OPERATIONS:
        raise OutsideError(who, "NotAllowed", f"{call.method} is not one that the cockpit sends")
    service, operation = OPERATIONS[call.method]
    parameters = dict(call.body["parameters"])
    token = call.body.get("token")
    if token and call.method in _TOKEN_OF:
        parameters[_TOKEN_OF[call.method]] = token
    answer = aws.ask(service, operation, **parameters)
    update = answer.get("update") or answer.get("Activity") or {}
    reference = clean(str(update.get("id") or update.get("ActivityId") or ""), 80)
    return Sent(f"{call.method} {reference}" if reference else "")


async def _looked(call: Call, reach: Reach, lost: OutsideError, ways: Ways) -> Sent:
    """The answer was lost: whether the change was made is read, and it is not sent again."""
    unsure = OutsideError(
        lost.who,
        lost.code,
        f"{lost.message}; cannot tell whether {call.target} was changed: check before you retry",
        is_lost=True,
    )
    try:
        read = await read_pool(reach, 0.0, ways)
        found = _meant(call, read.pools, lost.who)
    except OutsideError:
        raise unsure from None
    wanted, is_there = call.body.get("size"), found.replicas
    if wanted is None:
        wanted, is_there = call.body.get("maximum"), found.max_replicas
    if wanted is None:
        raise unsure
    if wanted != is_there and lost.is_over and is_there is not None:  # it ended, and says why
        raise OutsideError(lost.who, lost.code, lost.message) from None
    if wanted != is_there:
        told = f"{lost.message}; {call.target} does not show the change: refresh and retry"
        raise OutsideError(lost.who, lost.code, told, is_lost=True)
    return Sent(f"the answer was lost; {lost.who} confirms the change")
