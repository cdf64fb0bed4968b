"""Nodes that nobody uses are cordoned, looked at again, and only then removed."""

from typing import Any

import pytest

from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.reclaim_nodes import SETTLE_SECONDS, ReclaimTerms, plan_nodes
from cockpit.errors import BadInput, Unchanged
from cockpit.model.plan import Plan
from cockpit.pools.index import pool_named
from tests.unit.actions.interleaved import DELETE_MACHINE, OWNER_PATH, World


def _planned(world: World, terms: ReclaimTerms = ReclaimTerms(0.0, 1)) -> Plan:  # noqa: B008 - never changed
    """What a reclaim would do now, on tables that have caught up."""
    cockpit = world.cockpits[0]
    cockpit.sync()
    pools = PoolTerms("default", world.clock.now(), cockpit.user)
    planning = Planning(
        cockpit.store, cockpit, lambda *_: None, "prod", pools=pools, at_seconds=world.clock.now()
    )
    work = plan_nodes(planning, pool_named(cockpit.store, "h100"), terms)
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            found: Plan = end.value
            return found


def _empty() -> World:
    world = World(1)
    for path, _ in list(world.cluster.under("/pods/")):
        world.cluster.drop(path)
    return world


def _send(world: World, plan: Plan) -> None:
    for call in plan.calls:
        world.cluster.write("ann@a", call)


def _marked(world: World) -> str:
    _send(world, _planned(world))
    (node,) = [one for one in world._nodes() if not world._is_open(one)]
    return node


def test_a_node_is_cordoned_first_and_nothing_goes_at_once() -> None:
    world = _empty()
    _marked(world)
    with pytest.raises(Unchanged, match="cordoned a moment ago"):
        _planned(world)


def test_a_node_that_is_still_empty_goes_with_its_machine_and_the_number() -> None:
    world = _empty()
    node, before = _marked(world), world.cluster.objects[OWNER_PATH]["spec"]["replicas"]
    world.clock.advance(SETTLE_SECONDS + 1)
    plan = _planned(world)
    assert plan.is_destructive and node in plan.lines[0]
    _send(world, plan)
    machine: Any = world.cluster.objects[f"/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machines/m-{node}"]
    assert machine["metadata"]["annotations"] == {DELETE_MACHINE: "yes"}
    assert world.cluster.objects[OWNER_PATH]["spec"]["replicas"] == before - 1


def test_a_node_that_somebody_came_onto_is_given_back() -> None:
    world = _empty()
    node = _marked(world)
    world.clock.advance(SETTLE_SECONDS + 1)
    world._bind(node)
    plan = _planned(world)
    assert not plan.is_destructive
    _send(world, plan)
    assert world._is_open(node)


def test_since_when_nobody_knows_is_not_idle_for_half_an_hour() -> None:
    with pytest.raises(Unchanged, match="since when is not known"):
        _planned(_empty(), ReclaimTerms())


def test_whose_pods_cannot_be_read_stays() -> None:
    world = _empty()
    _marked(world)
    world.clock.advance(SETTLE_SECONDS + 1)
    read = world.cluster.read
    world.cluster.read = (  # type: ignore[method-assign]
        lambda path, query=(): read("/gone") if path == "/api/v1/pods" else read(path, query)
    )
    with pytest.raises(BadInput, match="whether it is empty is not known"):
        _planned(world)
