"""Whatever order batches and lists come in, tables and indexes equal a naive rebuild."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.batch import Batch, ListMark
from cockpit.model.event import Event
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import NO_TRAITS, HostPort, Traits
from cockpit.store.store import Store
from tests.unit.store.builders import event, pod

SCOPES = ("x", "y")
RDMA = Traits(resources=(("nvidia.com/gpu", 2), ("rdma/hca", 1)))
PORT = Traits(host_ports=(HostPort(22),))


@st.composite
def some_pod(draw: st.DrawFn) -> Pod:
    number = draw(st.integers(0, 7))
    generation = draw(st.integers(0, 1))
    return pod(
        f"p{number}",
        f"u{number}-{generation}",
        namespace=SCOPES[number % 2],
        node=draw(st.sampled_from(("", "n1", "n2"))),
        owner_uid=draw(st.sampled_from(("", "o1", "o2"))),
        job_label=draw(st.sampled_from(("", "j1"))),
        gpus=draw(st.sampled_from((0, 0, 4))),
        cpu_millicores=draw(st.sampled_from((0, 250))),
        gpu_resource="nvidia.com/gpu",
        traits=draw(st.sampled_from((NO_TRAITS, RDMA, PORT))),
        phase=draw(st.sampled_from(("Pending", "Running", "Succeeded"))),
    )


pod_lists = st.lists(some_pod(), max_size=5)
steps = st.one_of(
    st.tuples(st.just("change"), pod_lists),
    st.tuples(st.just("remove"), pod_lists),
    st.tuples(st.just("list x"), pod_lists),
    st.tuples(st.just("list y"), pod_lists),
    st.tuples(st.just("cut list x"), pod_lists),
)


class Naive:
    """The same rules with a plain dict and no index."""

    def __init__(self) -> None:
        self.table: dict[str, Pod] = {}

    def put(self, one: Pod) -> None:
        for uid in [uid for uid, other in self.table.items() if other.key == one.key and uid != one.uid]:
            del self.table[uid]
        self.table[one.uid] = one

    def relist(self, scope: str, named: Sequence[Pod]) -> None:
        for one in named:
            self.put(one)
        keep = {one.uid for one in named}
        self.table = {u: p for u, p in self.table.items() if p.namespace != scope or u in keep}


def feed(store: Store, naive: Naive, verb: str, records: list[Pod]) -> None:
    by_scope = sorted(records, key=lambda one: one.namespace)
    if verb == "change":
        for scope, group in groupby(by_scope, key=lambda one: one.namespace):
            batch = tuple(group)
            store.apply(Batch(kind=Kind.POD, scope=scope, changed=batch))
            for one in batch:
                naive.put(one)
    elif verb == "remove":
        for one in records:
            store.apply(Batch(kind=Kind.POD, scope=one.namespace, removed=(one.uid,)))
            naive.table.pop(one.uid, None)
    else:
        scope = verb[-1]
        named = [one for one in records if one.namespace == scope]
        store.apply(Batch(kind=Kind.POD, scope=scope, mark=ListMark.BEGIN))
        store.apply(Batch(kind=Kind.POD, scope=scope, changed=tuple(named)))
        if verb.startswith("cut"):  # the connection broke: nothing may be dropped
            for one in named:
                naive.put(one)
        else:
            store.apply(Batch(kind=Kind.POD, scope=scope, mark=ListMark.END))
            naive.relist(scope, named)


def assert_indexes(store: Store, table: dict[str, Pod]) -> None:
    assert dict(store.records(Kind.POD)) == table
    everyone = sorted(table.values(), key=lambda one: (one.namespace, one.name))
    for one in everyone:
        assert store.by_key(Kind.POD, one.key) == one
    for node in ("n1", "n2"):
        here = [one for one in everyone if one.node == node]
        assert list(store.pods_on(node)) == here
        busy = [one for one in here if not one.is_finished]
        assert store.requests_on(node) == (
            sum(one.cpu_millicores for one in busy),
            0,
            sum(one.gpus for one in busy),
            len(busy),
        )
        sums = Counter[str]()
        for one in busy:
            sums.update(dict(one.traits.resources or ((one.gpu_resource, one.gpus),)))
        assert +Counter(store.named_requests_on(node)) == +sums
    for owner in ("o1", "o2"):
        assert list(store.pods_of(owner)) == [one for one in everyone if one.owner_uid == owner]
    restrictive = {uid: one for uid, one in table.items() if one.traits.host_ports}
    assert {one.uid: one for one in store.restrictive_pods()} == restrictive
    assert {one.uid: one for one in store.gpu_pods()} == {u: p for u, p in table.items() if p.gpus}


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=12))
def test_tables_and_indexes_equal_a_naive_rebuild(script: list[tuple[str, list[Pod]]]) -> None:
    store, naive = Store(), Naive()
    for verb, records in script:
        feed(store, naive, verb, records)
        assert_indexes(store, naive.table)


@settings(max_examples=100, deadline=None)
@given(st.lists(steps, max_size=10))
def test_deltas_replayed_give_the_same_table(script: list[tuple[str, list[Pod]]]) -> None:
    store, naive, mirror = Store(), Naive(), dict[str, Pod]()
    for verb, records in script:
        revision = store.revision
        before = dict(store.records(Kind.POD))
        feed(store, naive, verb, records)
        delta = store.take_delta()
        for uid in delta.removed.get(Kind.POD, ()):
            mirror.pop(uid, None)
        for uid in delta.changed.get(Kind.POD, ()):
            mirror[uid] = store.records(Kind.POD)[uid]
        assert mirror == store.records(Kind.POD)
        if before != store.records(Kind.POD):
            assert store.revision > revision


@settings(max_examples=100, deadline=None)
@given(st.permutations([event(str(i), f"o{i % 3}", float(i // 2)) for i in range(14)]), st.integers(1, 4))
def test_which_events_stay_does_not_depend_on_their_order(events: list[Event], bound: int) -> None:
    store = Store(events_per_object=bound, events_in_all=10)
    for one in events:
        store.apply(Batch(kind=Kind.EVENT, changed=(one,)))
    for number in range(3):
        newest = sorted(
            (one for one in events if one.object_uid == f"o{number}"),
            key=lambda one: (one.last_seconds, one.uid),
        )
        kept = [one.uid for one in reversed(store.events_of(f"o{number}"))]
        assert kept == [one.uid for one in newest[-bound:]][-len(kept) :]
    assert len(store.records(Kind.EVENT)) == min(10, sum(min(bound, n) for n in (5, 5, 4)))
