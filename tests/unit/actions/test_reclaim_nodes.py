"""Nodes that nobody uses are cordoned, looked at again, and only then removed."""

import copy
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.replan import confirmed
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.reclaim_nodes import ReclaimTerms, next_step, plan_nodes
from cockpit.errors import BadInput, Unchanged
from cockpit.kube.answer import ApiAnswer
from cockpit.model.plan import Outcome, Plan
from cockpit.model.pool import Machine
from cockpit.pools.index import pool_named
from cockpit.pools.shrink import SETTLE_SECONDS
from tests.unit.actions.builders import REVIEWS, Line, refused, store_of
from tests.unit.actions.interleaved import World, empty_world, finished
from tests.unit.actions.interleaved_server import DELETE_MACHINE, OWNER_PATH
from tests.unit.actions.test_verb_rights import DEMAND, idle_node, tree_of
from tests.unit.pools import builders as pools_built


def _planned(world: World, terms: ReclaimTerms = ReclaimTerms(0.0, 1)) -> Plan:  # noqa: B008 - never changed
    """What a reclaim would do now, on tables that have caught up."""
    cockpit = world.cockpits[0]
    cockpit.sync()
    pools = PoolTerms("default", world.clock.now(), cockpit.user)
    planning = Planning(
        cockpit.store, cockpit, lambda *_: None, "prod", pools=pools, at_seconds=world.clock.now()
    )
    found: Plan = finished(plan_nodes(planning, pool_named(cockpit.store, "h100"), terms))
    return found


def _send(world: World, plan: Plan) -> None:
    for call in plan.calls:
        world.cluster.write("ann@a", call)


def _marked(world: World) -> str:
    _send(world, _planned(world))
    (node,) = [one for one in world._nodes() if not world._is_open(one)]
    return node


def test_a_node_is_cordoned_first_and_nothing_goes_at_once() -> None:
    world = empty_world()
    _marked(world)
    with pytest.raises(Unchanged, match="cordoned a moment ago"):
        _planned(world)


def test_a_node_that_is_still_empty_goes_with_its_machine_and_the_number() -> None:
    world = empty_world()
    node, before = _marked(world), world.cluster.objects[OWNER_PATH]["spec"]["replicas"]
    world.clock.advance(SETTLE_SECONDS + 1)
    plan = _planned(world)
    assert plan.is_destructive and node in plan.lines[0]
    _send(world, plan)
    machine: Any = world.cluster.objects[f"/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machines/m-{node}"]
    assert machine["metadata"]["annotations"] == {DELETE_MACHINE: "gpu-cockpit"}
    assert world.cluster.objects[OWNER_PATH]["spec"]["replicas"] == before - 1


def test_a_node_that_somebody_came_onto_is_given_back() -> None:
    world = empty_world()
    node = _marked(world)
    world.clock.advance(SETTLE_SECONDS + 1)
    world._bind(node)
    plan = _planned(world)
    assert not plan.is_destructive
    _send(world, plan)
    assert world._is_open(node)


def test_nothing_is_given_back_while_its_owner_has_yet_to_take_nodes_away() -> None:
    """It would take another one for it, with whatever works there."""
    world = empty_world()
    node = _marked(world)
    world.clock.advance(SETTLE_SECONDS + 1)
    world._bind(node)
    world.cluster.objects[OWNER_PATH]["spec"]["replicas"] -= 1
    world.cluster.touch(OWNER_PATH)
    with pytest.raises(BadInput, match="now: nothing is uncordoned until that is done"):
        _planned(world)


def test_since_when_nobody_knows_is_not_idle_for_half_an_hour() -> None:
    with pytest.raises(Unchanged, match="since when is not known"):
        _planned(empty_world(), ReclaimTerms())


def test_whose_pods_cannot_be_read_stays() -> None:
    world = empty_world()
    _marked(world)
    world.clock.advance(SETTLE_SECONDS + 1)
    read = world.cluster.read
    world.cluster.read = (  # type: ignore[method-assign]
        lambda path, query=(): read("/gone") if path == "/api/v1/pods" else read(path, query)
    )
    with pytest.raises(BadInput, match="whether it is empty is not known"):
        _planned(world)


class Allowed(Line):
    """A session that may write Leases."""

    async def request(self, method: str, path: str, **more: Any) -> Any:
        if path == REVIEWS:
            return ApiAnswer(201, "application/json", b'{"status": {"allowed": true}}')
        return await super().request(method, path, **more)


async def test_what_goes_of_a_pool_that_nobody_sizes_is_the_same_however_late_its_hold_is_taken() -> None:
    marks = (("gpu-cockpit/reclaim", "NodePool.karpenter.sh/spot"), ("gpu-cockpit/reclaim-at", "1"))
    label = ("karpenter.sh/nodepool", "spot")
    node = msgspec.structs.replace(
        idle_node("spot-0", "spot", marks), labels=(label,), pool_label="karpenter.sh/nodepool"
    )
    claim = Machine(
        uid="nc", name="spot-abc", resource_version="5", kind="NodeClaim", api_version="karpenter.sh/v1",
        node="spot-0", pool_kind="NodePool", pool_key="spot",
        resource_path="/apis/karpenter.sh/v1/nodeclaims",
    )  # fmt: skip
    store = store_of(pools=(DEMAND,), nodes=(node,), machines=(claim,))
    pool = pool_named(store, "spot")
    about = {"name": "spot", "uid": DEMAND.uid, "resourceVersion": "9"}
    tree = {"apiVersion": DEMAND.api_version, "kind": DEMAND.kind, "metadata": about, "spec": {}}
    trees = {"/api/v1/pods": {"items": []}, f"{DEMAND.resource_path}/spot": tree}
    session: Any = Allowed(objects={**trees, "/api/v1/nodes/spot-0": tree_of(node)})

    async def made(at_seconds: float) -> Plan:
        terms = PoolTerms("default", 1_800_000_000.0, "ann@a", made_seconds=at_seconds)
        planning = Planning(store, session, lambda *_: None, "prod", pools=terms)
        return await plan_nodes(planning, pool, ReclaimTerms(0.0, 1))

    shown, now = await made(1_800_000_000.0), await made(1_800_000_060.0)
    assert "leases" in shown.calls[0].path and shown.calls[-1].method == "DELETE"
    assert shown.calls != now.calls
    assert confirmed(shown, now) is now


@pytest.mark.parametrize(
    ("stated", "most", "goes"), [(None, None, 2), (5, None, 5), (5, 1, 1), (5, 15, 15), (30, None, 9)]
)
def test_so_many_go_at_once_as_is_stated(stated: int | None, most: int | None, goes: int) -> None:
    """`--most` before the setting, the setting before a tenth; the setting takes never half the pool."""
    store = pools_built.store_of(
        [pools_built.node(f"n{at}", pool="h100") for at in range(20)],
        pools=[pools_built.deployment(replicas=20)],
    )
    pools = PoolTerms(at_seconds=pools_built.BORN, shrink_at_once=stated)
    planning = Planning(store, World(1).cockpits[0], lambda *_: None, "prod", pools=pools)
    step = next_step(pool_named(store, "h100"), store, planning, ReclaimTerms(0.0, most))
    assert (len(step.cordons), step.beyond) == (goes, 20 - goes)


def test_a_removal_goes_on_where_its_owner_wrote_its_status_meanwhile() -> None:
    world = empty_world()
    write, size = world.cluster.write, world.cluster.objects[OWNER_PATH]["spec"]["replicas"]
    node = _marked(world)
    world.clock.advance(SETTLE_SECONDS + 1)
    conflicts = iter((True, True))

    def moving(who: str, call: Any) -> None:
        if call.path.endswith("/scale") and next(conflicts, False):
            world.cluster.touch(OWNER_PATH)
        write(who, call)

    world.cluster.write = moving  # type: ignore[method-assign]
    outcome = _to_the_end(world, lags=True)
    assert outcome.is_done, outcome
    assert world._is_going(node) and world.cluster.objects[OWNER_PATH]["spec"]["replicas"] == size - 1


def _to_the_end(world: World, *, lags: bool = False) -> Outcome:
    """Reclaim, on tables that follow at once unless they lag."""
    cockpit = world.cockpits[0]
    cockpit.sync()
    planning = cockpit.planner()

    async def make(*, reads: bool = False) -> Plan:
        pool = pool_named(cockpit.store, "h100")
        return await plan_nodes(planning(reads=reads), pool, ReclaimTerms(0.0, 1))

    async def all_of_it() -> Outcome:
        return await cockpit.carry(await make(), make, planning)

    found: Outcome = finished(all_of_it(), (lambda: None) if lags else cockpit.sync)
    return found


def test_a_removal_that_is_refused_leaves_the_node_as_it_was_cordoned() -> None:
    """No mark that would have it go with the work of others, no taint that nobody knows of."""
    world = empty_world()
    node, write = _marked(world), world.cluster.write
    before = copy.deepcopy(world._node(node)["spec"])
    world.clock.advance(SETTLE_SECONDS + 1)

    def refusing(who: str, call: Any) -> None:
        if call.path.endswith("/scale"):
            assert world._node(node)["spec"]["taints"] and world._is_going(node)
            raise refused(403, "Forbidden", "a webhook says no")
        write(who, call)

    world.cluster.write = refusing  # type: ignore[method-assign]
    outcome = _to_the_end(world)
    assert outcome.state == "refused" and outcome.sentence.endswith(f"; left as it was: {node}")
    assert not world._is_going(node) and world._node(node)["spec"] == before
