"""A big change is judged over several looks, each of which ends when its time is used up."""

from itertools import count

from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.attention import go_on, is_behind, needs_human
from cockpit.triage.verdicts import Pace, Verdicts
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
