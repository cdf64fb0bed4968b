"""Pools outside the cluster as they are read on demand: not asked, asked once, read, stale, denied,
followed."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from cockpit.actions.kubectl import kubectl_lines
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.scale import scale_as_now
from cockpit.attach_outside import FOLLOW_SECONDS, FRESH_SECONDS, OutsideReads
from cockpit.clock import ManualClock
from cockpit.clouds.answer import PoolAnswer
from cockpit.clouds.reading import read_pool
from cockpit.errors import BadInput
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.pool import MachineStage, Pool
from cockpit.model.reach import Reach
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.pools.index import pool_object, pools_of
from cockpit.pools.owner import FailureClass
from cockpit.store.store import Store
from cockpit.views.pool_json import owner_words
from tests.unit.actions.builders import Line
from tests.unit.clouds.scripted import (
    AT,
    NO_ACTIVITIES,
    OUTSIDE,
    ScriptedAws,
    activity,
    eks_node,
    group,
    plain_group,
    refusal,
)
from tests.unit.pools.builders import able, node, store_of

NODES = (eks_node("n1"), eks_node("n2"))
STOCKOUT = "We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested."


class Desk:
    """One attachment's reads, on a scripted AWS and a clock that is set by hand."""

    def __init__(self, script: ScriptedAws, store: Store | None = None) -> None:
        self.clock = ManualClock()
        self.store = store or store_of(NODES)
        self.script = script
        self.slept: list[float] = []
        self.reads = OutsideReads(
            self.store, OUTSIDE, self.store.apply, self.clock, sleep=self._sleep, read_pool=self._read
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)

    async def _read(self, reach: Reach, now_seconds: float) -> PoolAnswer:
        return await read_pool(reach, now_seconds, self.script.ways)

    @property
    def pool(self) -> Pool:
        (found,) = pools_of(self.store)
        return found

    @property
    def says(self) -> Any:
        return registry.ownership(pool_object(self.store, self.pool), NODES, self.store)


def eks(*groups: Any, activities: Any = NO_ACTIVITIES, **more: Any) -> ScriptedAws:
    return ScriptedAws(describe_nodegroup=groups, describe_scaling_activities=(activities,), **more)


def test_a_group_that_was_not_asked_for_says_so() -> None:
    desk = Desk(eks(group()))
    assert desk.pool.why_not == "an EKS node group: AWS has not been asked for it yet"
    assert desk.says.may_resize.may is None
    assert desk.script.asked == []


async def test_what_was_read_is_a_pool_like_any_other_with_its_age() -> None:
    desk = Desk(eks(group(2, maximum=6)))
    assert await desk.reads.read(desk.pool)
    assert (desk.pool.name, desk.pool.owner_kind, desk.pool.target, desk.pool.maximum) == (
        "gpu",
        "NodeGroup",
        2,
        6,
    )
    assert desk.pool.nodes_now == 2
    assert desk.says.may_resize.may and desk.says.read_seconds == desk.clock.cluster_now()


async def test_it_is_asked_once_at_a_time_and_not_again_while_it_is_young() -> None:
    desk = Desk(eks(group()))
    desk.reads.ask(desk.pool)
    desk.reads.ask(desk.pool)
    assert desk.reads.is_asking(desk.pool)
    await desk.reads.read(desk.pool)
    asked = len(desk.script.asked)
    desk.reads.ask(desk.pool)
    assert not desk.reads.is_asking(desk.pool)
    desk.clock.advance(FRESH_SECONDS)
    desk.reads.ask(desk.pool)
    await desk.reads.read(desk.pool)
    assert len(desk.script.asked) == 2 * asked


async def test_a_read_that_is_denied_says_who_and_what_to_ask_for() -> None:
    denied = refusal("AccessDeniedException", "not authorized to perform: eks:DescribeNodegroup", 403)
    desk = Desk(eks(denied))
    await desk.reads.read(desk.pool)
    assert desk.pool.why_not == (
        "AWS denies it; ask for that right (not authorized to perform: eks:DescribeNodegroup)"
    )


async def test_what_was_read_before_stays_with_its_age_where_a_later_read_fails() -> None:
    desk = Desk(eks(group(3), refusal("ThrottlingException", "Rate exceeded", 429)))
    await desk.reads.read(desk.pool)
    before = desk.clock.cluster_now()
    desk.clock.advance(60)
    await desk.reads.read(desk.pool)
    assert (desk.pool.target, desk.says.read_seconds) == (3, before)
    owner = pool_object(desk.store, desk.pool)
    assert able(owner).failures(owner, NODES, desk.store, 0.0) == ()


async def test_a_group_that_aws_changes_is_not_resized_meanwhile() -> None:
    update = {"id": "5f2c", "status": "InProgress", "createdAt": AT}
    script = eks(
        group(4, status="UPDATING"),
        list_updates=({"updateIds": ["5f2c"]},),
        describe_update=({"update": update},),
    )
    desk = Desk(script)
    await desk.reads.read(desk.pool)
    assert desk.pool.why_not == "AWS is changing this node group (UPDATING): wait until that ends"


async def test_updates_are_found_on_every_page_and_the_newest_counts() -> None:
    def update(updateId: str, **_: Any) -> Any:  # noqa: N803 - the name that AWS gives it
        late = updateId == "b"
        errors = (
            [{"errorCode": "NodeCreationFailure", "errorMessage": "2 machines did not join"}] if late else []
        )
        at = AT + timedelta(minutes=late)
        return {
            "update": {
                "id": updateId,
                "status": "Failed" if late else "Successful",
                "createdAt": at,
                "errors": errors,
            }
        }

    pages = ({"updateIds": ["b"], "nextToken": "more"}, {"updateIds": ["a"]})
    desk = Desk(eks(group(4, status="UPDATING"), list_updates=pages, describe_update=(update,)))
    await desk.reads.read(desk.pool)
    owner = pool_object(desk.store, desk.pool)
    (failure,) = able(owner).failures(owner, NODES, desk.store, 0.0)
    assert (failure.kind, failure.said) == (
        FailureClass.JOIN,
        "NodeCreationFailure: 2 machines did not join",
    )


async def test_launches_are_machines_with_stamps_and_failures_since_the_last_that_came() -> None:
    minute = timedelta(minutes=1)
    told = {
        "Activities": [
            activity("Failed", STOCKOUT, start=AT + 3 * minute),
            activity("Successful", start=AT + minute, end=AT + 2 * minute, instance="i-00000001"),
            activity("Failed", "You have reached your quota of 96 vCPUs", start=AT),
        ]
    }
    desk = Desk(eks(group(3), activities=told))
    await desk.reads.read(desk.pool)
    owner = pool_object(desk.store, desk.pool)
    who = able(owner)
    (failure,) = who.failures(owner, NODES, desk.store, 0.0)
    assert (failure.kind, failure.since_seconds) == (FailureClass.STOCKOUT, (AT + 3 * minute).timestamp())
    first, came, last = who.machines(owner, NODES, desk.store)
    assert (first.stage, last.stage) == (MachineStage.FAILED, MachineStage.FAILED)
    assert (came.stage, came.launching_seconds, came.launched_seconds) == (
        MachineStage.LAUNCHED,
        (AT + minute).timestamp(),
        (AT + 2 * minute).timestamp(),
    )
    assert came.node == "n1"  # the machine behind it, by its id


async def test_no_right_to_read_launches_costs_only_these() -> None:
    desk = Desk(
        ScriptedAws(
            describe_nodegroup=(group(3),),
            describe_scaling_activities=(refusal("AccessDenied", "not authorized", 403),),
        )
    )
    await desk.reads.read(desk.pool)
    assert desk.pool.target == 3 and desk.says.may_resize.may


async def test_a_group_that_belongs_to_a_node_group_is_left_to_that() -> None:
    member = node("n1", provider_id="aws:///eu-west-1a/i-00000001")
    script = ScriptedAws(
        describe_auto_scaling_instances=(
            {"AutoScalingInstances": [{"InstanceId": "i-00000001", "AutoScalingGroupName": "h100"}]},
        ),
        describe_auto_scaling_groups=(plain_group(2, tags={"eks:nodegroup-name": "gpu"}),),
        describe_scaling_activities=(NO_ACTIVITIES,),
    )
    desk = Desk(script, store_of((member,)))
    await desk.reads.read(desk.pool)
    assert (desk.pool.name, desk.pool.target) == ("h100", 2)
    assert desk.pool.why_not == "this group belongs to the EKS node group gpu: resize that one"


async def test_a_slow_change_is_followed_with_growing_pauses_to_its_end() -> None:
    desk = Desk(eks(group(4, status="UPDATING"), group(4, status="UPDATING"), group(4), list_updates=({},)))
    seen = []
    async for found in desk.reads.follow(desk.pool):
        seen.append(found.conditions[0].reason)
        if seen[-1] == "ACTIVE":
            break
    assert seen == ["UPDATING", "UPDATING", "ACTIVE"]
    assert desk.slept == [2.0, 4.0]


async def test_a_change_that_never_ends_is_not_followed_for_ever() -> None:
    desk = Desk(eks(group(4, status="UPDATING"), list_updates=({},)))
    began = desk.clock.monotonic()
    assert [one async for one in desk.reads.follow(desk.pool)]
    assert FOLLOW_SECONDS <= desk.clock.monotonic() - began < FOLLOW_SECONDS + 31


async def test_nobody_waits_for_an_answer_that_does_not_come() -> None:
    never = asyncio.Event()

    async def silent(_reach: Reach, _now_seconds: float) -> PoolAnswer:
        await never.wait()
        raise AssertionError("never set")

    store = store_of(NODES)
    reads = OutsideReads(store, OUTSIDE, store.apply, ManualClock(), read_pool=silent)
    (pool,) = pools_of(store)
    reads.ask(pool)
    assert reads.is_asking(pool)
    reads.stop()
    with pytest.raises(asyncio.CancelledError):
        await reads.read(pool)
    assert not reads.is_asking(pool)


async def test_a_cluster_whose_name_is_not_known_is_told_before_aws_is_asked() -> None:
    script = eks(group())
    store = store_of(NODES)
    from cockpit.model.reach import NOTHING_OUTSIDE

    async def read(reach: Reach, now_seconds: float) -> PoolAnswer:
        return await read_pool(reach, now_seconds, script.ways)

    reads = OutsideReads(store, NOTHING_OUTSIDE, store.apply, ManualClock(), read_pool=read)
    (pool,) = pools_of(store)
    await reads.read(pool)
    (pool,) = pools_of(store)
    assert pool.why_not.startswith("AWS cannot be asked as it is set up here; see docs/pools.md")
    assert script.asked == []


@pytest.mark.parametrize(
    ("zone", "region"),
    [("eu-west-1a", "eu-west-1"), ("us-west-2-lax-1a", "us-west-2"), ("us-gov-west-1b", "us-gov-west-1")],
)
def test_the_region_is_that_of_the_zone(zone: str, region: str) -> None:
    found = registry.unread("gpu", (eks_node(zone=zone),), OUTSIDE)
    assert found is not None and found.reach is not None
    assert found.reach.region == region


async def test_the_page_says_what_was_read_when_and_why_not_again() -> None:
    desk = Desk(eks(group(3), refusal("ThrottlingException", "Rate exceeded", 429)))
    assert owner_words(desk.pool, desk.store) == ()
    await desk.reads.read(desk.pool)
    (word,) = owner_words(desk.pool, desk.store)
    assert (word.source, word.text) == ("AWS", "ACTIVE, 3 nodes wanted")
    assert word.at_seconds == desk.clock.cluster_now()
    desk.clock.advance(60)
    await desk.reads.read(desk.pool)
    (word,) = owner_words(desk.pool, desk.store)
    assert word.text == (
        "ACTIVE, 3 nodes wanted; not read again: AWS throttles requests; nothing was changed;"
        " retry in a minute (Rate exceeded)"
    )


# ---- a plan on such a pool


def planning_of(desk: Desk, *, reads: bool = False) -> Planning:
    return Planning(
        desk.store, Line(), lambda *_: None, "prod", reads=reads, pools=PoolTerms(outside=desk.reads)
    )


async def test_a_plan_reads_the_pool_first_and_shows_the_line_that_a_person_could_type() -> None:
    desk = Desk(eks(group(2)))
    plan = await scale_as_now(planning_of(desk), "gpu", 4)
    assert plan.title == "Grow pool gpu from 2 to 4"
    assert kubectl_lines(plan)[-1] == (
        "aws eks update-nodegroup-config --cluster-name prod --nodegroup-name gpu"
        " --scaling-config desiredSize=4 --region eu-west-1"
    )
    assert (
        plan.shell == "cockpit pool scale gpu --to 4 --context prod --write"
    )  # what `audit apply` does again
    asked = len(desk.script.asked)
    await scale_as_now(planning_of(desk), "gpu", 4)
    assert len(desk.script.asked) == asked, "what is young is not read again for the plan after yes"
    await scale_as_now(planning_of(desk, reads=True), "gpu", 4)
    assert len(desk.script.asked) > asked


@pytest.mark.parametrize(
    ("replicas", "sentence"),
    [
        (
            11,
            "pool gpu: 11 is above its maximum of 10: give that or fewer, or raise it first"
            " (M, cockpit pool limit gpu --max COUNT)",
        ),
        (-1, "pool gpu: -1 nodes are too few, at least 0"),
        (2, "pool gpu is already set to 2; nothing was changed"),
    ],
)
async def test_a_size_that_cannot_be_is_refused_before_anything_is_sent(replicas: int, sentence: str) -> None:
    desk = Desk(eks(group(2)))
    with pytest.raises(BadInput) as refused:
        await scale_as_now(planning_of(desk), "gpu", replicas)
    assert refused.value.sentence == sentence


async def test_a_plan_on_a_pool_that_cannot_be_read_says_why() -> None:
    desk = Desk(eks(refusal("ExpiredTokenException", "The security token is expired", 403)))
    with pytest.raises(BadInput) as refused:
        await scale_as_now(planning_of(desk), "gpu", 4)
    assert refused.value.sentence == (
        "pool gpu cannot be resized from here: AWS rejected the credentials of this host; log in again (aws"
        " sso login, az login, gcloud auth login) and retry (The security token is expired)"
    )


async def test_a_node_group_that_the_cluster_autoscaler_lists_is_left_to_it() -> None:
    """The status names the auto scaling group that EKS made for the node group."""
    desk = Desk(eks(group(2, maximum=6)))
    listed = ScaledGroup(name="eks-gpu-983e909a", minimum=0, maximum=6)
    status = AutoscalerStatus(
        uid="status",
        name="cluster-autoscaler-status",
        written_seconds=0.0,
        read_seconds=1.0,
        groups=(listed,),
    )
    desk.store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    await desk.reads.read(desk.pool)
    reason = (
        "the cluster autoscaler controls the size, between 0 and 6 (group eks-gpu-983e909a): it would undo a"
        " change; raise its maximum, or let pending pods trigger it"
    )
    assert desk.pool.why_not == reason
    with pytest.raises(BadInput) as refused:
        await scale_as_now(planning_of(desk), "gpu", 4)
    asks = "ask for 2 more nodes: cockpit pool ask gpu --nodes 2 --context prod --write"
    assert refused.value.sentence == f"pool gpu cannot be resized from here: {reason}; {asks}"
    assert "update_nodegroup_config" not in desk.script.names()
