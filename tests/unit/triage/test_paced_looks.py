"""A big change is judged over several looks, each of which ends when its time is used up."""

from itertools import count
from random import Random
from typing import Any

import pytest

from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.job import Job
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.attention import go_on, is_behind, needs_human
from cockpit.triage.verdicts import Pace, Verdicts
from tests.bench.changes import CHANGES
from tests.bench.fleets import FLEETS
from tests.bench.fleets import NOW as NOW_OF_FLEETS
from tests.unit.triage.objects import NOW, decoded, job, node, pods_of

JOBS = 12


def waiting_store() -> tuple[Store, JobIndex]:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node("a")))))
    trees = [job(f"j{number}", 1, 1) for number in range(JOBS)]
    store.apply(Batch(kind=Kind.JOB, changed=tuple(one for tree in trees for one in decoded(tree))))
    pods = tuple(one for tree in trees for pod in pods_of(tree) for one in decoded(pod))
    store.apply(Batch(kind=Kind.POD, changed=pods))
    index = JobIndex(store, store.take_delta)
    index.catch_up()
    return store, index


def test_a_paced_look_leaves_what_it_has_no_time_for_and_goes_on_later() -> None:
    store, index = waiting_store()
    ticks = count()
    pace = Pace(lambda: float(next(ticks)), 4.0)  # each question takes a second
    verdicts = Verdicts(store, index, pace)
    pace.is_in_force = True
    needs_human(store, index, NOW, verdicts=verdicts)
    assert is_behind(verdicts)
    looks = 0
    while go_on(verdicts, NOW):
        looks += 1
        assert looks < JOBS, "a look that goes on judges one row at least"
    assert not is_behind(verdicts)
    paced = needs_human(store, index, NOW, verdicts=verdicts)
    assert [row.key for row in paced] == [row.key for row in needs_human(store, index, NOW)]


def test_a_look_is_whole_until_the_pace_is_in_force() -> None:
    store, index = waiting_store()
    ticks = count()
    verdicts = Verdicts(store, index, Pace(lambda: float(next(ticks)), 1.0))
    needs_human(store, index, NOW, verdicts=verdicts)
    assert not is_behind(verdicts)


@pytest.mark.parametrize("seed", range(4))
def test_a_queue_that_is_stopped_does_not_have_all_its_jobs_judged_in_one_look(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, rng = Store(), Random(seed)
    index = JobIndex(store, store.take_delta)
    for batch in FLEETS["50,000 gated pods in 20 queues"](1_200, 10, rng):
        store.apply(batch)
        index.catch_up()
    ticks, judged = count(), count()
    pace = Pace(lambda: float(next(ticks)), 8.0)
    verdicts = Verdicts(store, index, pace)
    reach = Verdicts._reach

    def counted(self: Verdicts, job: Job, now_seconds: float) -> Any:
        next(judged)
        return reach(self, job, now_seconds)

    monkeypatch.setattr(Verdicts, "_reach", counted)
    needs_human(store, index, NOW_OF_FLEETS, verdicts=verdicts)
    pace.is_in_force = True
    now = NOW_OF_FLEETS
    for number in range(6):
        made = CHANGES["cluster queue stopped"](store, rng, number)
        assert made is not None
        store.apply(made)
        index.catch_up(is_whole=False)
        now += 7.0
        before = next(judged)
        needs_human(store, index, now, verdicts=verdicts)
        assert next(judged) - before < 60, "each queue has sixty jobs"
    for _ in range(2_000):
        go_on(verdicts, now)
    paced = needs_human(store, index, now, verdicts=verdicts)
    whole = needs_human(store, index, now)
    assert sorted((row.key, row.sentence, row.others) for row in paced) == sorted(
        (row.key, row.sentence, row.others) for row in whole
    )
