"""One change of a pool in flight: two cockpits, a Lease, and what a server makes of both; maxima as they are
written to their owners' objects."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.execute.run_verb import Tried, conduct
from cockpit.actions.limit import limit_as_now
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.pool_follow import End, Follower, bad_end
from cockpit.actions.pool_lease import (
    LEASE_SECONDS,
    LEASES,
    lease_name,
    read_lease,
    release_call,
    renew_call,
    take_briefly,
)
from cockpit.actions.scale import scale_as_now
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, Refused
from cockpit.kube.decode.decoders import pool_decoder
from cockpit.kube.decode.leases import lease_record
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch
from cockpit.model.lease import Lease
from cockpit.model.plan import Outcome, Plan, PoolLeaseHandle
from cockpit.model.pool import PoolObject, SizeAsked
from cockpit.model.record import Kind
from cockpit.pools.index import pool_named
from cockpit.store.store import Store
from tests.bed.api import Api, Tree
from tests.bed.rights import allow
from tests.contract.conftest import Connect, defined
from tests.contract.server import Server
from tests.contract.shapes import role
from tests.contract.verb_objects import KINDS, loose
from tests.unit.actions.builders import Lines

NOW = 1_790_000_000.0
MACHINES = KINDS["machines"]


class Yes:
    """Somebody who says yes to whatever the server would accept."""

    asks_again = False

    async def ask(self, _face: Plan, _changes: tuple[str, ...], trial: Any) -> Tried[Any] | None:
        tried: Tried[Any] = await trial
        assert tried.may_go_on, tried.verdict.sentence
        return tried


@pytest.fixture(scope="module")
def machines(admin: Api) -> Iterator[Resource]:
    with defined(admin, loose(MACHINES)) as (resource,):
        yield resource


@pytest.fixture
def node_pools(admin: Api) -> Iterator[Resource]:
    with defined(admin, loose(NODE_POOLS)) as (resource,):
        yield resource


class Ground:
    """A pool of 2 on the server, and cockpits that plan for it."""

    def __init__(self, admin: Api, space: str, machines: Resource) -> None:
        self.admin, self.space, self.machines = admin, space, machines
        body = {"apiVersion": machines.api_version, "kind": machines.kind, "metadata": {"name": "h100"}}
        admin.create(machines.path(space), {**body, "spec": {"replicas": 2}})

    def store(self) -> Store:
        tree = self.admin.get(self.machines.path(self.space, "h100"))
        found = Store()
        record = pool_decoder(self.machines).from_json(msgspec.json.encode(tree))
        found.apply(Batch(kind=Kind.POOL, changed=(record,)))
        return found

    @property
    def replicas(self) -> int:
        return int(self.admin.get(self.machines.path(self.space, "h100"))["spec"]["replicas"])

    @property
    def lease(self) -> Lease:
        name = lease_name(pool_named(self.store(), "h100"))
        return lease_record(self.admin.get(LEASES.path(self.space, name)))

    def planning(self, session: ApiSession, who: str, at_seconds: float = NOW, **more: Any) -> Planning:
        terms = PoolTerms(self.space, at_seconds, who)
        return Planning(self.store(), session, lambda *_: None, "prod", pools=terms, **more)

    def making(self, session: ApiSession, who: str, to: int, at_seconds: float = NOW) -> Any:
        before = self.planning(session, who, at_seconds)

        async def make(*, reads: bool = False) -> Plan:
            again = Planning(before.store, session, lambda *_: None, "prod", reads=reads, pools=before.pools)
            return await scale_as_now(again, "h100", to)

        return make


@pytest.fixture
def ground(admin: Api, space: str, machines: Resource) -> Ground:
    return Ground(admin, space, machines)


async def scaled(ground: Ground, session: ApiSession, who: str, to: int, at_seconds: float = NOW) -> Plan:
    """Whoever scales, from the plan to its end."""
    make = ground.making(session, who, to, at_seconds)
    plan: Plan = await make()
    outcome = await conduct(plan, make, session, Lines, ManualClock(at_seconds), asker=Yes())
    assert outcome is not None and outcome.is_done, outcome
    return plan


async def test_a_hold_is_dated_when_its_plan_is_made_however_long_the_preview_was_read(
    ground: Ground, session: ApiSession
) -> None:
    made = NOW + LEASE_SECONDS + 100
    terms = PoolTerms(ground.space, NOW, "ann@a", made_seconds=made)
    planning = Planning(ground.store(), session, lambda *_: None, "prod", pools=terms)
    plan = await scale_as_now(planning, "h100", 3)
    assert (await carry_out(plan, session, Lines(), ManualClock(made))).is_done
    assert ground.lease.is_in_force(made + LEASE_SECONDS - 1)


async def test_a_change_takes_the_pool_and_another_cockpit_is_told_who_has_it(
    ground: Ground, session: ApiSession
) -> None:
    plan = await scaled(ground, session, "ada@one", 4)
    assert ground.replicas == 4
    lease = ground.lease
    assert (lease.holder, lease.duration_seconds, lease.change) == (
        "ada@one",
        LEASE_SECONDS,
        "from 2 to 4 nodes",
    )
    assert lease.acquired_seconds == lease.renewed_seconds == NOW
    assert plan.hold is not None and plan.hold.target in [one.target for one in plan.calls]
    with pytest.raises(BadInput, match=r"is being changed by ada@one since .* UTC .from 2 to 4 nodes.: wait"):
        await ground.making(session, "bo@two", 5, NOW + LEASE_SECONDS - 1)()
    assert ground.replicas == 4


async def test_one_that_was_not_renewed_is_taken_over(ground: Ground, session: ApiSession) -> None:
    await scaled(ground, session, "ada@one", 4)
    await scaled(ground, session, "bo@two", 3, NOW + LEASE_SECONDS)
    assert (ground.replicas, ground.lease.holder, ground.lease.transitions) == (3, "bo@two", 1)


async def test_the_holder_may_replace_its_own_change_and_reads_so(
    ground: Ground, session: ApiSession
) -> None:
    await scaled(ground, session, "ada@one", 4)
    plan = await ground.making(session, "ada@one", 3)()
    assert plan.expects[0] == "your change from 2 to 4 nodes is in flight: this replaces it"
    await scaled(ground, session, "ada@one", 3)
    assert (ground.replicas, ground.lease.transitions) == (3, 0)


async def test_of_two_who_begin_at_once_one_is_refused(ground: Ground, session: ApiSession) -> None:
    first, second = ground.making(session, "ada@one", 4), ground.making(session, "bo@two", 5)
    plans = [await first(), await second()]
    clock = ManualClock(NOW)
    outcomes = [
        await carry_out(plan, session, Lines(), clock) for plan in plans
    ]  # both were planned before either was sent
    assert [one.state for one in outcomes] == ["done", "refused"]
    assert outcomes[1].is_moved, "made anew it is told who has the pool"
    with pytest.raises(BadInput, match="ada@one"):
        await second(reads=True)
    assert (ground.replicas, ground.lease.holder) == (4, "ada@one")


async def test_a_lapsed_one_is_seized_by_one_of_two(ground: Ground, session: ApiSession) -> None:
    await scaled(ground, session, "ada@one", 4)
    later = NOW + LEASE_SECONDS
    makes = [ground.making(session, who, 5, later) for who in ("bo@two", "cy@three")]
    plans = [await one() for one in makes]
    outcomes = [await carry_out(plan, session, Lines(), ManualClock(later)) for plan in plans]
    assert [one.state for one in outcomes] == ["done", "refused"]
    assert ground.lease.holder == "bo@two"


async def test_a_refused_deed_gives_the_pool_back(ground: Ground, session: ApiSession) -> None:
    plan = await ground.making(session, "ada@one", 4)()
    ground.admin.merge(ground.machines.path(ground.space, "h100"), {"metadata": {"labels": {"a": "b"}}})
    lines = Lines()
    outcome = await carry_out(plan, session, lines, ManualClock(NOW))
    assert (outcome.state, outcome.is_moved) == ("refused", True)
    assert "done, then" not in outcome.sentence
    assert (ground.replicas, ground.lease.holder) == (2, "")
    assert [one.state for one in lines.entries if one.step == "outcome"] == ["done", "refused", "done"]
    await scaled(ground, session, "bo@two", 5)


async def test_a_change_that_was_to_replace_another_and_is_refused_leaves_the_pool_to_that_one(
    ground: Ground, session: ApiSession
) -> None:
    """Two terminals of one person: what the first has begun goes on, and nobody else may have the pool."""
    first = await scaled(ground, session, "ada@one", 4)
    before = ground.lease
    plan = await ground.making(session, "ada@one", 3, NOW + 60)()
    ground.admin.merge(ground.machines.path(ground.space, "h100"), {"metadata": {"labels": {"a": "b"}}})
    outcome = await carry_out(plan, session, Lines(), ManualClock(NOW + 60))
    assert (outcome.state, ground.replicas) == ("refused", 4)
    after = ground.lease
    assert (after.holder, after.change, after.acquired_seconds) == ("ada@one", before.change, NOW)
    assert first.hold is not None
    renewed = Plan(verb="scale", title="hold", calls=(renew_call(first.hold, NOW + 90),))
    assert (await carry_out(renewed, session, Lines(), ManualClock(NOW + 90))).is_done
    with pytest.raises(BadInput, match="ada@one"):
        await ground.making(session, "bo@two", 5, NOW + 100)()


async def test_a_brief_hold_keeps_others_out_and_leaves_who_asked_for_the_size(
    ground: Ground, session: ApiSession
) -> None:
    plan = await scaled(ground, session, "ada@one", 4)
    assert plan.hold is not None
    planning = ground.planning(session, "bo@two", NOW + 30)
    pool = pool_named(ground.store(), "h100")
    with pytest.raises(BadInput, match="ada@one"):
        await take_briefly(planning, pool)
    given = Plan(verb="scale", title="hold", calls=(release_call(plan.hold, NOW + 20),))
    await carry_out(given, session, Lines(), ManualClock(NOW + 20))
    before = ground.lease
    taking = await take_briefly(planning, pool)
    assert taking.call is not None
    brief = Plan(verb="uncordon", title="open", calls=(taking.call,), hold=taking.hold)
    lines = Lines()
    outcome = await carry_out(brief, session, lines, ManualClock(NOW + 30))
    assert outcome.is_done and outcome.hold is None, "nothing is followed"
    assert [one.state for one in lines.entries if one.step == "outcome"] == ["done", "done"]
    after = ground.lease
    assert (after.holder, after.change, after.asked_by) == ("", before.change, "ada@one")
    assert after.acquired_seconds == before.acquired_seconds == NOW


async def test_of_two_changes_of_one_person_to_the_same_size_each_gives_back_its_own(
    ground: Ground, session: ApiSession
) -> None:
    first = await scaled(ground, session, "ada@one", 4)
    ground.admin.merge(ground.machines.path(ground.space, "h100"), {"spec": {"replicas": 2}})
    await scaled(ground, session, "ada@one", 4, NOW + 60)
    assert first.hold is not None
    given = Plan(verb="scale", title="hold", calls=(release_call(first.hold, NOW + 70),))
    assert (await carry_out(given, session, Lines(), ManualClock(NOW + 70))).state == "refused"
    assert ground.lease.holder == "ada@one"


async def test_a_hold_is_renewed_and_given_back_by_its_holder_alone(
    ground: Ground, session: ApiSession
) -> None:
    plan = await scaled(ground, session, "ada@one", 4)
    hold = plan.hold
    assert hold is not None
    stranger = msgspec.structs.replace(hold, holder="bo@two")

    async def sent(make: Callable[[PoolLeaseHandle, float], Any], whose: PoolLeaseHandle) -> str:
        one = Plan(verb="scale", title="hold", calls=(make(whose, NOW + 60),))
        return (await carry_out(one, session, Lines(), ManualClock(NOW))).state

    assert await sent(renew_call, stranger) == "refused"
    assert await sent(release_call, stranger) == "refused"
    assert await sent(renew_call, hold) == "done"
    assert (ground.lease.holder, ground.lease.renewed_seconds) == ("ada@one", NOW + 60)
    assert await sent(release_call, hold) == "done"
    assert ground.lease.holder == ""
    assert await sent(renew_call, hold) == "refused"


async def test_without_the_right_another_cockpit_cannot_be_excluded(
    ground: Ground, server: Server, connect: Connect
) -> None:
    what = (MACHINES.group, f"{MACHINES.plural}/scale", ("patch", "get"))
    allow(ground.admin, server.usernames["nobody"], ground.space, role("scaler", what))
    nobody = await connect("nobody", write=True)
    make = ground.making(nobody, "nobody@one", 4)
    plan = await make()
    assert plan.warnings[0] == (
        "another cockpit that changes this pool cannot be excluded:"
        f" you cannot get leases.coordination.k8s.io in {ground.space}"
    )
    assert (len(plan.calls), plan.hold.path) == (1, "")
    assert (await carry_out(await make(reads=False), nobody, Lines(), ManualClock(NOW))).is_done
    assert ground.replicas == 4


async def test_who_may_only_read_them_is_told_so(ground: Ground, server: Server, connect: Connect) -> None:
    reader = role("reader", (LEASES.group, LEASES.plural, ("get",)))
    allow(ground.admin, server.usernames["nobody"], ground.space, reader)
    nobody = await connect("nobody", write=True)
    plan = await ground.making(nobody, "nobody@one", 4)()
    assert "you cannot create leases" in plan.warnings[0]


async def test_a_size_that_somebody_sets_back_is_told_with_who(ground: Ground, session: ApiSession) -> None:
    plan = await scaled(ground, session, "ada@one", 4)
    assert plan.hold is not None
    clock, looks = ManualClock(NOW), 0
    store = ground.store()

    async def sleep(seconds: float) -> None:
        nonlocal looks, store
        looks += 1
        clock.advance(seconds)
        if looks == 2:
            query = (("fieldManager", "resizer"),)
            path = f"{ground.machines.path(ground.space, 'h100')}/scale"
            answer = await session.request(
                "PATCH",
                path,
                query=query,
                body={"spec": {"replicas": 2}},
                content_type="application/merge-patch+json",
            )
            assert answer.status == 200
            store = await asyncio.to_thread(ground.store)

    follower = Follower(plan.hold, lambda: store, session, audit=Lines, clock=clock, sleep=sleep)
    found = await follower.to_the_end()
    assert (found.end, found.target) == (End.SET_BACK, 2)
    told = await bad_end(found, plan.hold, session, store)
    assert told.startswith(
        f"MachineDeployment {ground.space}/h100 was set from 4 to 2 by resizer: two decide"
    )
    assert ground.lease.holder == "", "it is given back"


# ---- the maximum

MAXIMUM = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
NODE_POOLS = Resource("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False)


async def limited(owner: PoolObject, session: ApiSession, maximum: int) -> Outcome:
    """Whoever sets the maximum of that object's pool, from the plan to its end."""
    store = Store()
    store.apply(Batch(kind=Kind.POOL, changed=(owner,)))

    async def make(*, reads: bool = False) -> Plan:
        planning = Planning(store, session, lambda *_: None, "prod", reads=reads)
        return await limit_as_now(planning, owner.name, maximum)

    outcome = await conduct(await make(), make, session, Lines, ManualClock(NOW), asker=Yes())
    assert outcome is not None
    return outcome


def as_read(resource: Resource, tree: Tree) -> PoolObject:
    found = pool_decoder(resource).from_json(msgspec.json.encode(tree))
    assert isinstance(found, PoolObject)
    return found


async def test_a_maximum_is_written_to_the_annotation_and_nothing_else(
    ground: Ground, session: ApiSession
) -> None:
    path = ground.machines.path(ground.space, "h100")
    ground.admin.merge(path, {"metadata": {"annotations": {MAXIMUM: "3", "site/note": "kept"}}})
    before = ground.admin.get(path)
    assert (await limited(as_read(ground.machines, before), session, 5)).is_done
    after = ground.admin.get(path)
    assert after["metadata"]["annotations"] == {MAXIMUM: "5", "site/note": "kept"}
    assert after["spec"] == before["spec"]
    with pytest.raises(BadInput, match="below what it has, 2 nodes"):
        await limited(as_read(ground.machines, after), session, 1)
    assert ground.admin.get(path) == after


async def test_a_maximum_is_written_to_the_limits_beside_the_others(
    admin: Api, session: ApiSession, node_pools: Resource
) -> None:
    resource = node_pools
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "burst"}}
    limits = {"nodes": "3", "nvidia.com/gpu": "64"}
    tree = admin.create(resource.path(), {**body, "spec": {"replicas": 1, "limits": limits}})
    assert (await limited(as_read(resource, tree), session, 6)).is_done
    spec = admin.get(resource.path("", "burst"))["spec"]
    assert spec == {"replicas": 1, "limits": {**limits, "nodes": "6"}}


async def test_a_maximum_of_an_object_that_was_made_anew_is_not_written(
    ground: Ground, session: ApiSession
) -> None:
    path = ground.machines.path(ground.space, "h100")
    ground.admin.merge(path, {"metadata": {"annotations": {MAXIMUM: "3"}}})
    old = as_read(ground.machines, ground.admin.get(path))
    ground.admin.delete(path)
    body = {"apiVersion": ground.machines.api_version, "kind": ground.machines.kind}
    more = {"metadata": {"name": "h100", "annotations": {MAXIMUM: "3"}}, "spec": {"replicas": 2}}
    ground.admin.create(ground.machines.path(ground.space), {**body, **more})
    with pytest.raises((Refused, AssertionError)):
        await limited(old, session, 5)
    assert ground.admin.get(path)["metadata"]["annotations"] == {MAXIMUM: "3"}


async def test_who_asked_and_since_when_is_told_to_everybody_while_it_goes_on_and_after_it(
    ground: Ground, session: ApiSession
) -> None:
    plan = await scaled(ground, session, "ada@one", 4)
    assert plan.hold is not None
    pool = pool_named(ground.store(), "h100")
    for is_over in (False, True):
        if is_over:
            call = release_call(plan.hold, NOW + 60)
            given = Plan(verb="scale", title="give back", calls=(call,))
            assert (await carry_out(given, session, Lines(), ManualClock(NOW + 60))).is_done
        lease = (await read_lease(session, pool, ground.space)).lease
        assert lease is not None and bool(lease.holder) is not is_over
        assert lease.asked(pool.target) == SizeAsked(NOW, "ada@one")
        assert lease.asked(7) is None, "another size is another change"
