"""A change tried in thought: the same answer as if the cluster were so, and every remedy starts what it is
for."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.fit.gang import fit
from cockpit.fit.remedies import FitRemedy
from cockpit.fit.shape import Part, Shape
from cockpit.fit.what_if import WhatIf, changed_store
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import Traits
from tests.unit.fit.builders import NVIDIA, fits, fleet, holder, node, shape
from tests.unit.fit.test_fit_properties import cluster, member


@settings(max_examples=200, deadline=None)
@given(cluster(), member(), st.integers(1, 6), st.data())
def test_it_reads_as_a_store_that_is_so(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int, data: st.DataObject
) -> None:
    nodes, pods = there
    gone = data.draw(st.lists(st.sampled_from(pods), unique=True)) if pods else []
    healed = [msgspec.structs.replace(one, unschedulable=False) for one in nodes if one.unschedulable]
    seen = changed_store(
        fleet(*nodes, *pods), [(Kind.NODE, one) for one in healed], {one.uid for one in gone}
    )
    names = {one.name for one in healed}
    kept = [one for one in nodes if one.name not in names]
    so = fleet(*kept, *healed, *(one for one in pods if one not in gone))
    part = Part("worker", wanted, asked)
    there_now, if_it_were = fit(so, [part]), fit(seen, [part])
    assert (if_it_were.missing, if_it_were.places, if_it_were.largest) == (
        there_now.missing,
        there_now.places,
        there_now.largest,
    )


def what_if(remedy: FitRemedy, part: Part) -> WhatIf:
    records = tuple((Kind.NODE, one) for one in remedy.nodes)
    return WhatIf(parts=(remedy.part or part,), records=records)


@settings(max_examples=300, deadline=None)
@given(cluster(), member(), st.integers(1, 8))
def test_every_remedy_is_a_change_that_can_be_tried(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int
) -> None:
    store = fleet(*there[0], *there[1])
    answer = fits(store, wanted, asked)
    for one in answer.remedies:
        assert one.kind, one.words
        changed = what_if(one, Part("worker", wanted, asked))
        seen = fit(changed_store(store, changed.records, changed.without), changed.parts)
        assert seen.fits, one.words
        assert changed.starts(store) == changed.starts(store, answer) == seen.is_sure


@settings(max_examples=200, deadline=None)
@given(cluster(), member(), st.integers(1, 6), st.data())
def test_looking_at_the_changed_nodes_alone_says_the_same(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int, data: st.DataObject
) -> None:
    store = fleet(*there[0], *there[1])
    part = Part("worker", wanted, asked)
    gone = data.draw(st.lists(st.sampled_from(there[1]), unique=True)) if there[1] else []
    changed = WhatIf(parts=(part,), without=frozenset(one.uid for one in gone))
    assert changed.starts(store) == changed.starts(store, fits(store, wanted, asked))


def test_a_pod_that_goes_gives_back_all_that_it_asks_for() -> None:
    traits = Traits(resources=((NVIDIA, 6), ("rdma/hca", 1)))
    offered = (("cpu", 8_000), ("memory", 1 << 30), (NVIDIA, 8), ("pods", 1), ("rdma/hca", 1))
    held = holder("x", "a", 6, traits=traits, cpu_millicores=8_000, memory_bytes=1 << 30)
    store = fleet(node("a", allocatable=tuple(sorted(offered))), held)
    more = {"cpu": 8_000, "memory": 1 << 30, "rdma/hca": 1}
    part = Part("worker", 1, shape(8, more=more))
    assert not WhatIf(parts=(part,)).starts(store)
    assert WhatIf(parts=(part,), without=frozenset({held.uid})).starts(store)
    assert store.requests_on("a").gpus == 6


def test_a_new_node_is_empty_but_for_the_daemons_of_each() -> None:
    daemon = holder("agent", "a", 0, owner_kind="DaemonSet", cpu_millicores=8_000)
    store = fleet(node("a"), daemon, holder("x", "a", 8))
    whole = shape(8, more={"cpu": 60_000})
    assert [one.kind for one in fits(store, 1, whole).remedies] == []
    less = shape(8, more={"cpu": 56_000})
    (more,) = (one for one in fits(store, 1, less).remedies if one.kind == "more_nodes")
    assert dict(more.nodes[0].allocatable)["cpu"] == 56_000
