"""The lines of Kueue's queues, kept up by what moved, are those that a first look finds."""

from random import Random

import pytest
from msgspec.structs import replace

from cockpit.gangs.kueue.line import Lines, lines_of
from cockpit.model.batch import Batch
from cockpit.model.gang import LocalQueue, Workload
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.unit.gangs.builders import MORE_4, is_, local_queue, pending, workload

QUEUES = ("gpu-cq", "other-cq", "")
LOCALS = ("gpu-lq", "other-lq", "nowhere")


def seen(lines: Lines, store: Store) -> object:
    """All that the lines can be asked."""
    workloads = store.records(Kind.WORKLOAD).values()
    alike = [(queue, one.shape, one.priority) for queue in QUEUES for one in workloads]
    return (
        {queue: list(lines.line(queue)) for queue in QUEUES},
        {one.uid: lines.place(one.uid) for one in workloads},
        {likeness: lines.evaluated(likeness) for likeness in alike},
        (set(lines.evicted), set(lines.late), lines.waits_for_pods),
    )


def drawn_workload(rng: Random) -> Workload:
    told = [pending(MORE_4), is_("QuotaReserved"), is_("Evicted", reason="PodsReadyTimeout", at=50.0)]
    return workload(
        f"w{rng.randrange(12)}",
        *rng.sample(told, rng.randrange(3)),
        queue=rng.choice(LOCALS),
        cluster_queue=rng.choice(("", "", *QUEUES)),
        priority=rng.choice((0, 100)),
        shape=rng.randrange(1, 4),
        created_seconds=float(rng.randrange(5)),
    )


def drawn_queue(rng: Random) -> LocalQueue:
    name = rng.choice(LOCALS)
    return replace(
        local_queue(), name=name, uid=f"{name}-{rng.randrange(2)}", cluster_queue=rng.choice(QUEUES)
    )


@pytest.mark.parametrize("seed", range(40))
def test_lines_kept_up_by_what_moved_are_those_of_a_first_look(seed: int) -> None:
    rng, store = Random(seed), Store()
    for _ in range(60):
        kind = rng.choice((Kind.WORKLOAD, Kind.LOCAL_QUEUE))
        kept = list(store.records(kind))
        if kept and rng.random() < 0.25:
            store.apply(Batch(kind=kind, removed=(rng.choice(kept),)))
        else:
            made = drawn_workload(rng) if kind == Kind.WORKLOAD else drawn_queue(rng)
            store.apply(Batch(kind=kind, changed=(made,)))
        if rng.random() < 0.4:
            continue
        fresh = Lines()
        fresh.follow(store)
        assert seen(lines_of(store), store) == seen(fresh, store)
