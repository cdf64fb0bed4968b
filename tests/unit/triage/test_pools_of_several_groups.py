"""A pool that is several groups of the autoscaler, one in each zone: what keeps one of them from growing is
said of that group alone, and is the pool's only where no other may grow."""

import random
from collections import Counter
from itertools import product
from typing import Any, NamedTuple

import pytest

from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.finding import Subject
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.pools.failures import failures_of
from cockpit.pools.index import pools_of
from cockpit.pools.prospects import PoolGrowth, prospects
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.pool_json import owner_words
from tests.unit.triage.objects import NOW, Tree, node, view_of
from tests.unit.triage.test_group_refusals import BACKOFF, FULL, said
from tests.unit.triage.test_lost_gpus import pod

POOL = "cloud.google.com/gke-nodepool"
URL = "https://www.googleapis.com/compute/v1/projects/p/zones/{}/instanceGroups/{}-grp"
WAITS = Subject("pod", "team-a", "answer")


class Zone(NamedTuple):
    """One group: its state is `grows`, `full` or `backs off`."""

    hash: str
    state: str = "grows"
    size: int = 1
    pool: str = "train-h100"

    @property
    def stem(self) -> str:
        return f"gke-{self.pool}-{self.hash}"

    @property
    def group(self) -> ScaledGroup:
        is_out = self.state == "backs off"
        return ScaledGroup(
            name=URL.format(f"eu-{self.hash[0]}", self.stem),
            minimum=0,
            maximum=self.size if self.state == "full" else self.size + 2,
            target=self.size,
            registered=self.size,
            up="Backoff" if is_out else "NoActivity",
            error_code="QUOTA_EXCEEDED" if is_out else "",
            error_message="Quota 'GPUS' exceeded" if is_out else "",
        )

    @property
    def trees(self) -> list[Tree]:
        names = [f"{self.stem}-n{at}" for at in range(self.size)]
        label = self.pool.partition("-")[2]
        nodes = [node(name, 8, labels={POOL: label}) for name in names]
        return [*nodes, *(pod(f"holds-{name}", 8, on=name) for name in names)]


def world(*zones: Zone, text: str = "", **asked: Any) -> ClusterView:
    trees = [tree for zone in zones for tree in zone.trees]
    view = view_of([*trees, pod("answer", **{"gpus": 8, "nodeSelector": {POOL: "h100"}, **asked})])
    store: Any = view.store
    status = AutoscalerStatus(
        uid="s",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=NOW - 10,
        read_seconds=NOW,
        groups=tuple(zone.group for zone in zones),
    )
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    if text:
        store.apply(Batch(kind=Kind.EVENT, changed=(said(text),)))
    return view


def listed(view: ClusterView, name: str = "h100") -> Any:
    return next(one for one in pools_of(view.store) if one.name == name)


NEIGHBOUR = Zone("dddd4444", "backs off", pool="train-h100-spot")
"""Another pool, whose name holds that of the first."""


def test_bounds_and_what_is_coming_are_those_of_all_zones() -> None:
    view = world(Zone("aaaa1111", size=2), Zone("bbbb2222", size=0), NEIGHBOUR)
    pool = listed(view)
    assert (pool.nodes_now, pool.minimum, pool.maximum) == (2, 0, 6), "2 + 2 and 0 + 2"
    assert "between 0 and 6 (2 groups)" in pool.why_not
    assert [one.name for one in pools_of(view.store)] == ["h100", "h100-spot"], "no zone is listed twice"
    spot = listed(view, "h100-spot")
    assert (spot.maximum, spot.nodes_now) == (3, 1)


def test_zones_at_zero_are_one_pool() -> None:
    view = world(Zone("aaaa1111", size=0), Zone("bbbb2222", size=0), is_elsewhere=True)
    (pool,) = pools_of(view.store)
    assert (pool.name, pool.nodes_now, pool.maximum) == ("gke-train-h100", 0, 4)
    assert "pool gke-train-h100" in explain(WAITS, view).sentence


@pytest.mark.parametrize("states", list(product(("grows", "full", "backs off"), repeat=3)))
@pytest.mark.parametrize("text", ["", f"1 {BACKOFF}", f"1 {FULL}", f"2 {FULL}, 1 {BACKOFF}", f"3 {BACKOFF}"])
def test_the_reason_of_one_zone_is_not_that_of_a_pool_that_another_may_grow(
    states: tuple[str, ...], text: str
) -> None:
    zones = [Zone(hash_, state) for hash_, state in zip(("aaaa1", "bbbb2", "cccc3"), states, strict=True)]
    view = world(*zones, NEIGHBOUR, text=text)
    found, pool = explain(WAITS, view), explain(Subject("pool", "", "h100"), view)
    grows, out = "grows" in states, "backs off" in states
    wanted = "gpus-short" if grows else "no-machine" if out else "pool-at-maximum"
    if wanted == "pool-at-maximum" and not text:
        wanted = "gpus-short"  # a pool with nodes that is full is no news while nobody refused
    assert found.cause == wanted, found.sentence
    assert pool.cause == ("" if grows else "no-machine" if out else "pool-at-maximum"), pool.sentence
    told = [one for one in failures_of(listed(view), view.store, NOW) if "(group gke-" in one.sentence]
    assert len(told) == (states.count("backs off") if grows else 0)
    others = states.count("grows")
    assert all(f"; {others} other group{'s' * (others > 1)} may grow)" in one.sentence for one in told)
    assert sum(one.source == "status" for one in owner_words(listed(view), view.store)) == 3


def test_what_failed_once_in_one_zone_is_told_with_its_zone() -> None:
    view = world(first := Zone("aaaa1111"), Zone("bbbb2222"))
    store: Any = view.store
    lost = Event(
        uid="f",
        name="f",
        reason="ScaleUpFailed",
        message=f"Failed adding 2 nodes to group {first.group.name} due to RESOURCE_POOL_EXHAUSTED;"
        " source errors: x",
        last_seconds=NOW - 60,
    )
    full = Event(
        uid="m",
        name="m",
        reason="MaxNodesTotalReached",
        message="Max total nodes in cluster reached: 40",
        last_seconds=NOW - 90,
    )
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(lost,)))
    assert explain(Subject("pool", "", "h100"), view).cause == ""
    (one,) = failures_of(listed(view), view.store, NOW)
    assert one.sentence.endswith("(group gke-train-h100-aaaa1111-grp; 1 other group may grow)")
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(full,)))
    assert explain(Subject("pool", "", "h100"), view).cause == "pool-at-maximum", "that is of every group"


def test_a_node_is_kept_by_the_minimum_of_its_own_zone() -> None:
    view = world(Zone("aaaa1111", size=1), Zone("bbbb2222", size=2))
    low = AutoscalerStatus(
        uid="s",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=NOW - 10,
        read_seconds=NOW,
        groups=tuple(
            ScaledGroup(name=zone.group.name, minimum=1, maximum=4, target=zone.size, registered=zone.size)
            for zone in (Zone("aaaa1111", size=1), Zone("bbbb2222", size=2))
        ),
    )
    store: Any = view.store
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(low,)))
    held = {
        one.name: [keeper.kind.name for _, keeper in registry.keepers_of(one, store, NOW, ())]
        for one in store.records(Kind.NODE).values()
    }
    at_minimum = {name for name, kinds in held.items() if "MINIMUM" in kinds}
    assert at_minimum == {"gke-train-h100-aaaa1111-n0"}


def test_a_pool_whose_zones_differ_in_any_drawn_way() -> None:
    """Sizes, states, neighbours and what was said before: growth follows from the zones alone."""
    dice, seen = random.Random(2628), Counter[PoolGrowth]()
    for _ in range(150):
        states = [dice.choice(("grows", "full", "backs off")) for _ in range(dice.randint(1, 4))]
        zones = [Zone(f"{at}abc{at}", state, dice.randint(0, 2)) for at, state in enumerate(states)]
        zones[0] = zones[0]._replace(size=max(1, zones[0].size))
        other = NEIGHBOUR._replace(state=dice.choice(("grows", "full", "backs off")))
        view = world(*dice.sample([*zones, other], len(zones) + 1))
        wanted = (
            PoolGrowth.GROWS
            if "grows" in states
            else PoolGrowth.FULL
            if set(states) == {"full"}
            else PoolGrowth.WAITS
        )
        growth = {one.name: one.growth for one in prospects(view.store, NOW)}
        assert growth["h100"] is wanted, (zones, other)
        seen[wanted] += 1
        assert not [one for one in needs_human(view.store, view.jobs, NOW) if one.finding == "pool-stopped"]
    assert min(seen[one] for one in (PoolGrowth.GROWS, PoolGrowth.FULL, PoolGrowth.WAITS)) > 15
