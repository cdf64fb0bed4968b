"""A plan whose object moved on between the read and the write is made anew, as long as it does the same.

The status of a job that runs changes all the time, and with it the resource version that guards a plan. Such
a refusal (409) says that nothing was done, so this is no second write; a lost answer is never tried again.
The object is read for the next plan: the tables are what was too old.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec

from cockpit.actions.execute.call_outcome import Perform
from cockpit.actions.execute.dry_run import TRY_SECONDS, rehearse
from cockpit.actions.execute.execute_plan import carry_out, real_perform
from cockpit.actions.refusals import recreated
from cockpit.clock import Clock
from cockpit.errors import Refused
from cockpit.model.plan import Call, Outcome, Plan
from cockpit.model.session import Session

if TYPE_CHECKING:
    from cockpit.actions.planning import Make

NOTHING_DONE = "nothing was done: the action would now have a different effect"
"""What stands above the differences where a plan is shown again."""
_MOST_CHANGES = 4
_NODES = "/api/v1/nodes/"
_BY_CONTROLLERS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that the node controllers keep (kubernetes.io/docs/reference/labels-annotations-taints)."""
TRIES = 4
"""The first, and three more with what was read in between. None waits for anything."""


class Differs(Refused):
    """What was confirmed is not what would be done by now, so nothing was done.

    `now` is the plan as it would be, `changes` tells a line each what is different.
    """

    def __init__(self, shown: Plan, now: Plan) -> None:
        self.now = now
        self.changes = changes(shown, now)
        told = "; ".join(self.changes[:2])
        super().__init__(f"{shown.title}: {NOTHING_DONE} ({told})")


def confirmed(shown: Plan, now: Plan) -> Plan:
    """The plan to carry out: `now`, made after the person said yes, if it says and does what was shown.

    Raises Differs where it would do something else, Refused where an object has made room for another one
    of its name.
    """
    same_object(shown, now)
    if _told(shown) == _told(now) and means_the_same(shown, now):
        return now
    raise Differs(shown, now)


def same_change(shown: Plan, now: Plan) -> Plan:
    """As `confirmed` for one of many under one confirmation: only what is sent is compared.

    Raises Refused where that is something else.
    """
    same_object(shown, now)
    if means_the_same(shown, now):
        return now
    raise Refused(f"{now.title}: it changed while you read; refresh and retry")


def same_object(shown: Plan, now: Plan) -> None:
    """Raises Refused where one of the objects is another one of the same name by now."""
    uids = {one.path: _guard(one).get("uid") for one in shown.deeds}
    for one in now.deeds:
        known, uid = uids.get(one.path), _guard(one).get("uid")
        if known and uid and known != uid:
            raise recreated(one.target or one.path)


def means_the_same(shown: Plan, now: Plan) -> bool:
    """True where both send the same change to the same objects, whatever their resource versions.

    How the hold is taken (a Lease made, or an old one taken over) is no part of it.
    """
    if shown.goes_on != now.goes_on or not does_the_same(shown.later, now.later):
        return False
    return does_the_same(shown.deeds, now.deeds)


def does_the_same(shown: Sequence[Call], now: Sequence[Call]) -> bool:
    """Of calls alone."""
    return [_identity(one) for one in shown] == [_identity(one) for one in now]


def reads_the_same(shown: Plan, now: Plan) -> bool:
    """True where a person reads the same of both."""
    return _told(shown) == _told(now)


def version_of(plan: Plan) -> str:
    """The resource version that guards the first deed, "" where none does."""
    return str(_guard(plan.deeds[0]).get("resourceVersion") or "") if plan.deeds else ""


def changes(shown: Plan, now: Plan) -> tuple[str, ...]:
    """What is different in what a person reads, a line each; where nothing is, whom the calls are sent to."""
    found = list(_moved((shown.title,), (now.title,)))
    found += _moved((*shown.lines, *shown.warnings), (*now.lines, *now.warnings))
    if not found:
        found = list(_moved(_targets(shown), _targets(now))) or ["what would be sent is different"]
    if more := len(found) - _MOST_CHANGES:
        found[_MOST_CHANGES:] = [f"and {more} more"] if more > 0 else []
    return tuple(found)


def _moved(before: Sequence[str], after: Sequence[str]) -> Iterable[str]:
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        for old, new in zip_longest(before[a:b], after[c:d], fillvalue=""):
            if old and new:
                yield f"was: {old}; now: {new}"
            else:
                yield f"new: {new}" if new else f"no longer: {old}"


def _told(plan: Plan) -> tuple[Any, ...]:
    return plan.title, plan.lines, plan.warnings, plan.is_destructive, plan.typed


def _targets(plan: Plan) -> list[str]:
    return [f"{one.method} {one.target or one.path}" for one in plan.calls]


def _guard(call: Call) -> Mapping[str, Any]:
    body = call.body if isinstance(call.body, Mapping) else {}
    found = body.get("preconditions") or body.get("metadata")
    return found if isinstance(found, Mapping) else {}


def _identity(call: Call) -> tuple[Any, ...]:
    body = dict(call.body) if isinstance(call.body, Mapping) else {"": call.body}
    # The name of a Command ends in the version of its job.
    versions = ("resourceVersion", "name") if body.get("kind") == "Command" else ("resourceVersion",)
    for part in ("preconditions", "metadata"):
        if isinstance(body.get(part), Mapping):
            body[part] = {key: value for key, value in body[part].items() if key not in versions}
    spec = body.get("spec")
    if call.path.startswith(_NODES) and isinstance(spec, Mapping) and "taints" in spec:
        # The list is one value to the API server: what its controllers change there is sent along.
        others = (one for one in spec["taints"] or () if not str(one["key"]).startswith(_BY_CONTROLLERS))
        body["spec"] = {**spec, "taints": [*others]}
    return call.method, call.path, body


async def carry_replanned(
    shown: Plan,
    make: "Make | None",
    session: Session,
    audit: Any,
    clock: Clock,
    *,
    reads: bool = False,
    same: Callable[[Plan, Plan], Plan] = confirmed,
    perform: Perform | None = None,
) -> Outcome:
    """Carry out what `make` makes of the verb by now, as long as it is the `same` as what was shown.

    Without `make` (what is created carries no version) it is what was shown. With `reads` the object is read
    for the first plan, too: what was shown rests on a read. Raises what `make` and `same` raise: then nothing
    was done.
    """
    plan = shown if make is None else same(shown, await make(reads=reads))
    note = ""
    for left in reversed(range(TRIES)):
        outcome = await carry_out(plan, session, audit, clock, perform=perform, note=note)
        if make is None or not outcome.is_moved:
            return outcome
        if not left:
            break
        before, plan = plan, same(shown, await make(reads=True))
        if plan.calls == before.calls:
            return outcome  # the object is as it was: the server means something else
        stale, now = version_of(before), version_of(plan)
        note = f"re-planned with the same effect (version {stale} was stale, now {now})"
    told = f"{outcome.sentence} (it was written {TRIES} times between read and write; nothing was done)"
    return msgspec.structs.replace(outcome, sentence=told)


async def rehearse_replanned(
    plan: Plan,
    make: "Make | None",
    session: Session,
    *,
    perform: Perform | None = None,
    seconds: float = TRY_SECONDS,
) -> tuple[Plan, Outcome]:
    """Ask the server of the plan, made anew where its object moved on; the plan that it was asked of, too.

    It may be another one by then: who asks shows it. Each dry run takes `seconds` at most. Raises what `make`
    raises.
    """
    send = perform or real_perform()
    outcome = await rehearse(plan, session, perform=send, seconds=seconds)
    for _ in range(TRIES - 1):
        if make is None or not outcome.is_moved:
            break
        before, plan = plan, await make(reads=True)
        if plan.calls == before.calls:
            break
        outcome = await rehearse(plan, session, perform=send, seconds=seconds)
    return plan, outcome
