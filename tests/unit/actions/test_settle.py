"""A shrink in two steps: what goes is cordoned, looked at again once it has settled, and goes or is given
back."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.model.plan import Outcome, Plan
from cockpit.pools.idle import RECLAIM
from cockpit.pools.shrink import SETTLE_SECONDS
from tests.unit.actions.builders import refused
from tests.unit.actions.interleaved import Cockpit, World
from tests.unit.actions.interleaved_server import DELETE_MACHINE, LEASES, MACHINES, OWNER_PATH

Act = Callable[[World], None]


def _empty() -> World:
    """A pool whose nodes are all empty."""
    world = World(1)
    for path, _ in list(world.cluster.under("/pods/")):
        world.cluster.drop(path)
    return world


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
    work: Any = _shrink(cockpit, to)
    going = _size(world) - to
    is_acted = False
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            found: tuple[Plan, Outcome] = end.value
            return found
        world.clock.advance(1.0)
        if not is_acted and len(_closed(world)) == going:
            is_acted = True
            once_cordoned(world)
        cockpit.sync()


def _is_held(world: World) -> bool:
    return any("holderIdentity" in one["spec"] for _, one in world.cluster.under(LEASES))


def test_what_is_still_empty_goes_and_not_before_it_has_settled() -> None:
    world = _empty()
    before, at = _size(world), world.clock.now()
    shown, outcome = _to_the_end(world, before - 1)
    assert outcome.is_done and outcome.sentence == f"Shrinking pool h100 from {before} to {before - 1}"
    assert [one.method for one in shown.calls] == ["POST", "PATCH"] and len(shown.later) == 2
    (node,) = _closed(world)
    assert _marks(world) == [f"{MACHINES}/m-{node}"] and _size(world) == before - 1
    assert world.clock.now() - at >= SETTLE_SECONDS
    assert _is_held(world), "until its end is seen"


def test_a_node_that_a_pod_came_onto_is_given_back_and_nothing_goes() -> None:
    world = _empty()
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
    world = _empty()
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
    world = _empty()
    while len(world._nodes()) < 3:
        world._join()
    world.cluster.objects[OWNER_PATH]["spec"]["replicas"] = before = len(world._nodes())
    world.cluster.touch(OWNER_PATH)
    _, outcome = _to_the_end(world, before - 2, lambda one: one._bind(_closed(one)[0]))
    assert outcome.state == "refused" and (_closed(world), _marks(world), _size(world)) == ([], [], before)


@pytest.mark.parametrize("sets", [True, False])
def test_somebody_elses_size_in_between_is_not_undone(sets: bool) -> None:
    """Where another one grows the pool meanwhile, what was confirmed would take another size away."""
    world = _empty()
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
    world = _empty()
    before = _size(world)
    _, outcome = _to_the_end(world, before - 1, lambda one: one._drop(_closed(one)[0]))
    assert not outcome.is_done and _size(world) == before and outcome.sentence
