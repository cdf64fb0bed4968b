"""A change of a pool followed to its end: by what the tables say, with the clock handed in."""

from typing import Any

import pytest

from cockpit.actions.pool_follow import ChangeStanding, End, Follower, bad_end
from cockpit.actions.pool_lease import RENEW_SECONDS, lease_name
from cockpit.clock import ManualClock
from cockpit.model.plan import Call, PoolLeaseHandle
from cockpit.model.pool import Pool
from cockpit.pools.cluster_api import ClusterApi
from cockpit.pools.owner import FailureClass, PoolFailure
from cockpit.pools.registry import registered
from cockpit.store.store import Store
from tests.unit.actions.builders import Line, Lines
from tests.unit.pools.builders import deployment, node, store_of

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/gpu-cockpit-h100-1"
KEY = "MachineDeployment.cluster.x-k8s.io/capi/h100"
HOLD = PoolLeaseHandle(
    pool="h100", pool_key=KEY, to=3, path=PATH, target="lease default/gpu-cockpit-h100-1", holder="ada@one"
)


class Ground:
    """Tables that change while somebody looks, and what was sent for the hold."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *stores: Store, hold: PoolLeaseHandle = HOLD) -> None:
        self.stores, self.hold = list(stores), hold
        self.sent: list[str] = []
        self.clock, self.looks = ManualClock(1_000.0), 0
        monkeypatch.setattr("cockpit.kube.calls.perform", self.perform)

    async def perform(self, _session: Any, call: Call, *, dry_run: bool = False) -> None:
        assert not dry_run
        self.sent.append(call.body[-1]["path"])

    async def sleep(self, seconds: float) -> None:
        self.looks += 1
        self.clock.advance(seconds)
        if len(self.stores) > 1:
            del self.stores[0]

    async def followed(self, seconds: float = 600.0, **more: Any) -> ChangeStanding:
        follower = Follower(
            self.hold, lambda: self.stores[0], Line(), audit=Lines, clock=self.clock, sleep=self.sleep, **more
        )
        return await follower.to_the_end(seconds=seconds)


def pool(nodes: int, size: int = 3) -> Store:
    return store_of([node(f"n{at}", pool="h100") for at in range(nodes)], (), [deployment(replicas=size)])


async def test_it_is_over_once_all_nodes_are_whole_and_the_hold_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = store_of(
        [node("n0", pool="h100"), node("n1", pool="h100"), node("n2", pool="h100", gpus=None, expected=8)],
        (),
        [deployment(replicas=3)],
    )
    ground = Ground(monkeypatch, pool(2, 2), pool(2), bare, pool(3))
    found = await ground.followed()
    assert (found.end, found.whole, ground.looks) == (End.REACHED, 3, 3)
    assert ground.sent == ["/spec/leaseDurationSeconds"]


async def test_a_table_that_does_not_know_of_it_yet_is_no_controller_that_set_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground = Ground(monkeypatch, pool(2, 2), pool(2, 2), pool(3))
    assert (await ground.followed()).end is End.REACHED


async def test_a_size_that_is_another_one_again_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground(monkeypatch, pool(2), pool(2, 2))
    found = await ground.followed()
    assert (found.end, found.target) == (End.SET_BACK, 2)
    told = await bad_end(found, HOLD, Line(), pool(2, 2))
    assert told.startswith("MachineDeployment capi/h100 was set from 3 to 2 by another client: two decide")


async def test_it_is_renewed_while_it_goes_on_and_left_to_lapse_where_time_runs_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground = Ground(monkeypatch, pool(2))
    found = await ground.followed(seconds=2.5 * RENEW_SECONDS)
    assert found.end is End.TIMED_OUT
    assert ground.sent == ["/spec/renewTime"] * 2


async def test_a_pool_that_is_gone_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground(monkeypatch, pool(2), store_of())
    found = await ground.followed()
    assert found.end is End.GONE
    assert await bad_end(found, HOLD, Line(), store_of()) == "pool h100 is gone"


async def test_without_a_lease_it_is_followed_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground(monkeypatch, pool(2), pool(3), hold=PoolLeaseHandle(pool="h100", pool_key=KEY, to=3))
    assert (await ground.followed()).end is End.REACHED
    assert ground.sent == []


class Failing(ClusterApi):
    """An owner that says why no machine comes."""

    name = "Failing"

    def failures(self, *_: Any) -> tuple[PoolFailure, ...]:
        def one(since_seconds: float, what: str) -> PoolFailure:
            return PoolFailure(
                kind=FailureClass.QUOTA, sentence=what, remedy="ask for more", since_seconds=since_seconds
            )

        return one(1_001.0, "quota of 16 GPUs used up"), one(10.0, "an old one")


async def test_a_failure_from_before_is_not_this_ones_and_a_new_one_ends_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with registered(Failing()):
        ground = Ground(monkeypatch, pool(2))
        found = await ground.followed(stops_at_failure=True)
    assert found.end is End.FAILED
    assert await bad_end(found, HOLD, Line(), pool(2)) == "quota of 16 GPUs used up: ask for more"


@pytest.mark.parametrize("name", ["h100", "H100 / EU (spot)", "x" * 300, "", "ä-ö", "-"])
def test_names_of_leases_are_allowed_bounded_and_the_pools_own(name: str) -> None:
    one = Pool(name=name, owner_kind="NodePool", owner_key=name)
    other = Pool(name=name, owner_kind="MachineDeployment", owner_key=f"capi/{name}")
    found = lease_name(one)
    assert len(found) <= 63 and found.isascii() and found == found.lower()
    assert all(part.isalnum() for part in found.split("-"))
    assert found != lease_name(other)
