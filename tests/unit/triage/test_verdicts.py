"""Verdicts about rows are kept as long as what they rest on stands."""

import pytest

from cockpit.fit.demand import shape_of_pod
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage import verdicts
from cockpit.triage.funnel import sift
from cockpit.triage.verdicts import RIPE_SECONDS, Verdicts
from tests.unit.triage.objects import NOW, decoded, job, node, pods_of

REFUSED = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def spy(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """The calls of a function that verdicts are reached by."""
    calls: list[object] = []
    real = getattr(verdicts, name)

    def called(*given: object) -> object:
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(verdicts, name, called)
    return calls


def cluster(jobs: int) -> tuple[Store, JobIndex]:
    """Jobs of one pod that asks for 8 GPUs, on nodes that have 4."""
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node("small", 4)))))
    for number in range(jobs):
        made = job(f"waits-{number}", 1, 8)
        store.apply(Batch(kind=Kind.JOB, changed=tuple(decoded(made))))
        (pod,) = pods_of(made)
        pod["status"]["conditions"][0]["message"] = REFUSED
        store.apply(Batch(kind=Kind.POD, changed=tuple(decoded(pod))))
    index = JobIndex(store)
    index.update(store.take_delta())
    return store, index


def test_jobs_alike_share_a_funnel_and_a_verdict_stands_until_the_room_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sifted = spy(monkeypatch, "sift")
    store, index = cluster(3)
    kept = Verdicts(store, index)
    rows = list(index.jobs.values())
    first = [kept.of(row, NOW) for row in rows]
    assert len(sifted) == 2, "of the shape, and of what it would be were it no larger than the nodes"
    assert "no node has more than 4" in first[0].sentence
    assert all(kept.of(row, NOW + 1) is one for row, one in zip(rows, first, strict=True))
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node("large", 16)))))
    assert "no node has more than 4" not in kept.of(rows[0], NOW + 1).sentence
    assert len(sifted) == 3


def test_a_verdict_that_is_reached_again_and_is_the_same_is_the_same_object() -> None:
    store, index = cluster(1)
    kept = Verdicts(store, index)
    (row,) = index.jobs.values()
    first = kept.of(row, NOW)
    assert kept.of(row, NOW + 2 * RIPE_SECONDS) is first


def test_a_change_of_the_store_costs_a_bounded_number_of_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    store, index = cluster(verdicts.JOBS + 20)
    kept = Verdicts(store, index)
    rows = list(index.jobs.values())
    for row in rows:
        kept.of(row, NOW)
    reached = spy(monkeypatch, "of_job")
    for row in rows:
        kept.of(row, NOW + RIPE_SECONDS)
    assert len(reached) == verdicts.JOBS
    for row in rows:
        kept.of(row, NOW + RIPE_SECONDS + 0.1)
    assert len(reached) == len(rows), "those that had no turn have theirs next"


def test_only_nodes_that_moved_are_looked_at_again() -> None:
    """What was sifted before is taken up again, and comes to the same as sifting everything anew."""
    store, _ = cluster(1)
    for name in ("a", "b", "c"):
        store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node(name, 8)))))
    shape = shape_of_pod(next(iter(store.records(Kind.POD).values())))
    before = sift(store, shape)
    cordoned = node("b", 8, unschedulable=True)
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(cordoned))))
    holder = pods_of(job("holds", 1, 8), ("c",))
    store.apply(Batch(kind=Kind.POD, changed=tuple(decoded(holder[0]))))
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node("d", 2)))))
    again, anew = sift(store, shape, before=before), sift(store, shape)
    assert again == anew
    assert again.funnel != before.funnel
    assert {name for name, kept in again.looks.items() if kept is before.looks.get(name)} == {"a", "small"}


def test_a_row_without_pods_counts_gpus_in_all_and_not_pods() -> None:
    """Two pods of 8 GPUs on two nodes of 8 are no shortage; on one node they are, in true numbers."""
    for nodes, told in ((2, ()), (1, ("needs 16 GPUs in all, the nodes have 8",))):
        store = Store()
        for number in range(nodes):
            store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node(f"n{number}", 8)))))
        made = job("waits", 2, 8)
        made["spec"]["suspend"] = True
        store.apply(Batch(kind=Kind.JOB, changed=tuple(decoded(made))))
        index = JobIndex(store)
        index.update(store.take_delta())
        (row,) = index.jobs.values()
        found = Verdicts(store, index).of(row, NOW)
        assert found.cause == "suspended-by-hand"
        assert tuple(one.sentence for one in found.then) == told


@pytest.mark.parametrize(("label", "first"), [("gold", "suspended-by-hand"), ("tin", "selector")])
def test_labels_that_a_pool_at_zero_will_bring_are_not_called_absent_for_ever(label: str, first: str) -> None:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node("n0", 8)))))
    pool = PoolObject(
        uid="p", name="gold", api_version="v1", kind="Pool", resource_path="/pools/gold",
        replicas=0, max_replicas=4,
        template_labels=(("pool", "gold"),),
    )  # fmt: skip
    store.apply(Batch(kind=Kind.POOL, changed=(pool,)))
    made = job("waits", 1, 8)
    made["spec"] |= {"suspend": True}
    made["spec"]["template"]["spec"]["nodeSelector"] = {"pool": label}
    store.apply(Batch(kind=Kind.JOB, changed=tuple(decoded(made))))
    index = JobIndex(store)
    index.update(store.take_delta())
    (row,) = index.jobs.values()
    assert Verdicts(store, index).of(row, NOW).cause == first
