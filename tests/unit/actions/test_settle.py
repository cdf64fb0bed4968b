"""A shrink in two steps: what goes is cordoned, looked at again once it has settled, and goes or is given
back."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.actions.cordon import plan_to_uncordon
from cockpit.errors import BadInput
from cockpit.model.node import Node
from cockpit.model.plan import Outcome, Plan
from cockpit.model.record import Kind
from cockpit.pools.idle import RECLAIM
from cockpit.pools.index import pool_named
from cockpit.pools.shrink import SETTLE_SECONDS
from tests.unit.actions.builders import refused
from tests.unit.actions.interleaved import Cockpit, World, empty_world, finished
from tests.unit.actions.interleaved_server import DELETE_MACHINE, LEASES, MACHINES, OWNER_PATH

Act = Callable[[World], None]


def _size(world: World) -> int:
    return int(world.cluster.objects[OWNER_PATH]["spec"]["replicas"])


def _closed(world: World) -> list[str]:
    return [one for one in world._nodes() if not world._is_open(one)]


def _marks(world: World) -> list[str]:
    return [
        path
        for path, one in world.cluster.under(MACHINES)
        if DELETE_MACHINE in one["metadata"]["annotations"]
    ]


async def _shrink(cockpit: Cockpit, to: int) -> tuple[Plan, Outcome]:
    planning = cockpit.planner()

    async def make(*, reads: bool = False) -> Plan:
        from cockpit.actions.scale import scale_as_now

        return await scale_as_now(planning(reads=reads), "h100", to)

    shown = await make()
    return shown, await cockpit.carry(shown, make, planning)


def _to_the_end(world: World, to: int, once_cordoned: Act = lambda _world: None) -> tuple[Plan, Outcome]:
    """A request a second, on tables that follow at once; `once_cordoned` comes between the two steps."""
    cockpit = world.cockpits[0]
    cockpit.sync()
    going, acts = _size(world) - to, [once_cordoned]

    def second() -> None:
        world.clock.advance(1.0)
        if acts and len(_closed(world)) == going:
            acts.pop()(world)
        cockpit.sync()

    found: tuple[Plan, Outcome] = finished(_shrink(cockpit, to), second)
    return found


def _is_held(world: World) -> bool:
    return any("holderIdentity" in one["spec"] for _, one in world.cluster.under(LEASES))


def test_what_is_still_empty_goes_and_not_before_it_has_settled() -> None:
    world = empty_world()
    before, at = _size(world), world.clock.now()
    shown, outcome = _to_the_end(world, before - 1)
    assert outcome.is_done and outcome.sentence == f"Shrinking pool h100 from {before} to {before - 1}"
    assert [one.method for one in shown.calls] == ["POST", "PATCH"] and len(shown.later) == 2
    (node,) = _closed(world)
    assert _marks(world) == [f"{MACHINES}/m-{node}"] and _size(world) == before - 1
    assert world.clock.now() - at >= SETTLE_SECONDS
    assert _is_held(world), "until its end is seen"


def test_a_node_that_a_pod_came_onto_is_given_back_and_nothing_goes() -> None:
    world = empty_world()
    before = _size(world)
    _, outcome = _to_the_end(world, before - 1, lambda one: one._bind(_closed(one)[0]))
    assert outcome.state == "refused"
    (pod,) = [path.rpartition("/")[2] for path, _ in world.cluster.under("/pods/")]
    node = world.cluster.objects[f"/pods/{pod}"]["spec"]["nodeName"]
    assert (
        outcome.sentence == f"nothing was removed: team-a/{pod} was scheduled onto {node}; uncordoned {node}"
    )
    assert (_closed(world), _marks(world), _size(world)) == ([], [], before)
    assert RECLAIM not in world._node(node)["metadata"]["annotations"]
    assert not _is_held(world)


def test_a_size_that_is_refused_leaves_no_cordon_and_no_mark_behind() -> None:
    world = empty_world()
    before, write = _size(world), world.cluster.write

    def refusing(who: str, call: Any) -> None:
        if call.path.endswith("/scale"):
            raise refused(403, "Forbidden", "a webhook says no")
        write(who, call)

    world.cluster.write = refusing  # type: ignore[method-assign]
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.state == "refused" and outcome.sentence.startswith("nothing was removed: ")
    assert "a webhook says no" in outcome.sentence and "uncordoned n" in outcome.sentence
    assert (_closed(world), _marks(world), _size(world)) == ([], [], before)
    assert not _is_held(world)


def test_of_several_that_are_cordoned_none_goes_where_one_is_used() -> None:
    world = empty_world()
    while len(world._nodes()) < 3:
        world._join()
    world.cluster.objects[OWNER_PATH]["spec"]["replicas"] = before = len(world._nodes())
    world.cluster.touch(OWNER_PATH)
    _, outcome = _to_the_end(world, before - 2, lambda one: one._bind(_closed(one)[0]))
    assert outcome.state == "refused" and (_closed(world), _marks(world), _size(world)) == ([], [], before)


@pytest.mark.parametrize("sets", [True, False])
def test_somebody_elses_size_in_between_is_not_undone(sets: bool) -> None:
    """Where another one grows the pool meanwhile, what was confirmed would take another size away."""
    world = empty_world()
    before = _size(world)

    def grow(one: World) -> None:
        one.cluster.objects[OWNER_PATH]["spec"]["replicas"] = before + 1 if sets else before - 1
        one.cluster.touch(OWNER_PATH)
        if sets:
            one._join()

    _, outcome = _to_the_end(world, before - 1, grow)
    assert outcome.state == "refused" and _marks(world) == []
    if sets:
        assert _closed(world) == []
    else:  # its owner would take another node, a busy one, too, for one that is given back
        assert len(_closed(world)) == 1
        assert f"shrinks from {before} to {before - 1} now: nothing is uncordoned" in outcome.sentence
    assert _size(world) == (before + 1 if sets else before - 1)


def test_a_node_that_vanishes_meanwhile_is_told() -> None:
    world = empty_world()
    before = _size(world)
    _, outcome = _to_the_end(world, before - 1, lambda one: one._drop(_closed(one)[0]))
    assert not outcome.is_done and _size(world) == before and outcome.sentence


def test_a_host_that_slept_before_the_size_was_sent_removes_nothing() -> None:
    """Somebody may have uncordoned what goes since it was looked at."""
    world = empty_world()
    before, write, sleeps = _size(world), world.cluster.write, iter((300.0,))

    def sleeping(who: str, call: Any) -> None:
        write(who, call)
        if call.path.startswith(MACHINES):
            world.clock.advance(next(sleeps, 0.0))

    world.cluster.write = sleeping  # type: ignore[method-assign]
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.state == "refused" and "may have expired" in outcome.sentence
    assert (_closed(world), _marks(world), _size(world)) == ([], [], before)
    assert not _is_held(world)


def test_a_mark_goes_also_where_somebody_has_uncordoned_the_node_by_then() -> None:
    world = empty_world()
    before, write = _size(world), world.cluster.write

    def uncordoning(who: str, call: Any) -> None:
        if call.path.endswith("/scale"):
            world.uncordon()
            raise refused(403, "Forbidden", "a webhook says no")
        write(who, call)

    world.cluster.write = uncordoning  # type: ignore[method-assign]
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.state == "refused"
    assert (_closed(world), _marks(world), _size(world)) == ([], [], before)


def _mark(world: World, node: str, value: str) -> None:
    machine = f"{MACHINES}/m-{node}"
    world.cluster.objects[machine]["metadata"]["annotations"][DELETE_MACHINE] = value
    world.cluster.touch(machine)


def test_a_mark_of_ours_that_was_left_behind_has_no_busy_node_go() -> None:
    world = empty_world()
    busy, before = world._nodes()[0], _size(world)
    world._bind(busy)
    _mark(world, busy, "gpu-cockpit")
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.is_done
    (node,) = _closed(world)
    assert node != busy and _marks(world) == [f"{MACHINES}/m-{node}"]


def test_somebody_elses_mark_on_a_busy_node_refuses_a_shrink_and_stays() -> None:
    world = empty_world()
    busy, before = world._nodes()[0], _size(world)
    world._bind(busy)
    _mark(world, busy, "true")
    with pytest.raises(BadInput, match=rf"machine capi/m-{busy} .node {busy}. is marked by another"):
        _to_the_end(world, before - 1)
    assert (_closed(world), _marks(world), _size(world)) == ([], [f"{MACHINES}/m-{busy}"], before)


def test_a_node_that_somebody_marked_goes_before_others() -> None:
    world = empty_world()
    node, before = world._nodes()[0], _size(world)
    _mark(world, node, "true")
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.is_done and _closed(world) == [node]
    assert world.cluster.objects[f"{MACHINES}/m-{node}"]["metadata"]["annotations"][DELETE_MACHINE] == "true"


def test_to_uncordon_a_node_takes_our_mark_off_its_machine() -> None:
    world = empty_world()
    cockpit = world.cockpits[0]
    node = world._nodes()[0]
    tree = world._node(node)
    tree["spec"]["unschedulable"] = True
    tree["metadata"]["annotations"][RECLAIM] = _pool_key(world)
    world.cluster.touch(f"/api/v1/nodes/{node}")
    _mark(world, node, "gpu-cockpit")
    cockpit.sync()
    record = cockpit.store.by_key(Kind.NODE, node)
    assert isinstance(record, Node)
    plan: Plan = finished(plan_to_uncordon(cockpit.planner()(), record, None))
    for call in plan.calls:
        world.cluster.write(cockpit.session, call)
    assert (_closed(world), _marks(world)) == ([], [])


def test_a_node_whose_machine_is_on_its_way_out_is_not_uncordoned() -> None:
    world = empty_world()
    before = _size(world)
    _to_the_end(world, before - 1)
    cockpit = world.cockpits[0]
    cockpit.sync()
    record = cockpit.store.by_key(Kind.NODE, _closed(world)[0])
    assert isinstance(record, Node)
    with pytest.raises(BadInput, match=f"is being changed by {cockpit.user} since"):
        finished(plan_to_uncordon(cockpit.planner()(), record, None))
    for path, _ in list(world.cluster.under(LEASES)):
        world.cluster.drop(path)
    with pytest.raises(BadInput, match="nothing is uncordoned until that is done"):
        finished(plan_to_uncordon(cockpit.planner()(), record, None))


def test_a_node_that_is_uncordoned_just_before_it_goes_takes_no_pod() -> None:
    world = empty_world()
    before, write = _size(world), world.cluster.write

    def uncordoning(who: str, call: Any) -> None:
        write(who, call)
        if call.path.startswith(MACHINES):
            world.uncordon()

    world.cluster.write = uncordoning  # type: ignore[method-assign]
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.is_done and _size(world) == before - 1
    (node,) = _closed(world)
    assert "unschedulable" not in world._node(node)["spec"]


def test_what_a_removal_closed_is_open_again_once_it_is_given_back() -> None:
    """Also where somebody else had cordoned it: that cordon stays, and the other taints."""
    world = empty_world()
    node, before, write = world._nodes()[0], _size(world), world.cluster.write
    other = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    world._node(node)["spec"] |= {"unschedulable": True, "taints": [other]}
    world.cluster.touch(f"/api/v1/nodes/{node}")

    def refusing(who: str, call: Any) -> None:
        if call.path.endswith("/scale"):
            assert len(world._node(node)["spec"]["taints"]) == 2
            raise refused(403, "Forbidden", "a webhook says no")
        write(who, call)

    world.cluster.write = refusing  # type: ignore[method-assign]
    _, outcome = _to_the_end(world, before - 1)
    assert outcome.state == "refused"
    assert world._node(node)["spec"] == {"unschedulable": True, "taints": [other]}
    assert (_marks(world), _size(world)) == ([], before)


def _pool_key(world: World) -> str:
    world.cockpits[0].sync()
    return pool_named(world.cockpits[0].store, "h100").key
