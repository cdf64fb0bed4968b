"""Many objects with the same trouble are one row that stands for all of theirs."""

from random import Random

import pytest

from cockpit.catalogue import row_of
from cockpit.catalogue.cause import Cause
from cockpit.jobs.index import JobIndex
from cockpit.model.finding import Finding, Subject
from cockpit.store.store import Store
from cockpit.triage.attention import FEW, MANY, AlikeRows, needs_human
from cockpit.triage.verdicts import Verdicts
from tests.bench.fleets import FLEETS, NOW

MOST_ROWS = 50


def row(number: int, cause: str = Cause.QUEUE_STOPPED, kind: str = "queue", others: int = 3) -> Finding:
    return Finding(
        subject=Subject("job", "team", f"j{number}"),
        root=Subject(kind, "", f"q{number}"),
        cause=cause,
        sentence=f"queue q{number} is stopped",
        since_seconds=100.0 + number,
        gpus=2,
        finding="job-waits",
        row=f"job.batch/team/j{number}",
        others=others,
    )


def test_one_row_counts_objects_and_jobs_and_offers_its_list() -> None:
    rows = [row(number) for number in range(MANY + 1)]
    (one,) = AlikeRows(Store()).joined(rows)
    assert one.title == f"{MANY + 1} queues"
    assert one.sentence == f"{row_of(Cause.QUEUE_STOPPED).meaning}; {4 * len(rows)} jobs"
    assert (one.alike, one.gpus, one.since_seconds) == (tuple(rows), 2 * len(rows), 100.0)
    assert [key.text for key in one.remedies] == ["enter list"]
    assert one.others + 1 == 4 * len(rows)


def test_few_stand_by_themselves_and_so_do_other_causes_and_kinds_of_object() -> None:
    several = [row(number) for number in range(MANY)]
    several += [row(number, Cause.QUOTA_IN_USE) for number in range(MANY)]
    several += [row(number, kind="namespace") for number in range(MANY)]
    assert AlikeRows(Store()).joined(several) == several


def test_what_has_no_cause_is_not_alike() -> None:
    idle = [row(number, "") for number in range(3 * MANY)]
    assert AlikeRows(Store()).joined(idle) == idle


def test_the_row_stays_until_few_are_left() -> None:
    alike = AlikeRows(Store())
    rows = [row(number) for number in range(MANY + 1)]
    counts = [len(alike.joined(rows[:left])) for left in (MANY, MANY + 1, MANY, FEW + 1, FEW, MANY)]
    assert counts == [MANY, 1, 1, 1, FEW, MANY]


@pytest.mark.parametrize(("kind", "title"), [("registry", "registries"), ("StorageClass", "StorageClasses")])
def test_a_kind_has_its_plural(kind: str, title: str) -> None:
    (one,) = AlikeRows(Store()).joined(row(number, kind=kind) for number in range(40))
    assert one.title == f"40 {title}"


@pytest.mark.parametrize("name", FLEETS)
def test_a_fleet_that_waits_is_few_rows_that_leave_out_no_job(name: str) -> None:
    store = Store()
    jobs = JobIndex(store)
    for batch in FLEETS[name](4_000, 2_500, Random(26)):
        store.apply(batch)
        jobs.update(store.take_delta())
    verdicts = Verdicts(store, jobs)
    rows = needs_human(store, jobs, NOW, verdicts=verdicts)
    assert len(rows) <= MOST_ROWS
    assert len({one.key for one in rows}) == len(rows)
    for one in rows:
        assert {(each.cause, each.finding) for each in one.alike} <= {(one.cause, one.finding)}
        assert not one.alike or one.others + 1 == sum(1 + each.others for each in one.alike)
    waiting = sum(verdicts.of(job, NOW).is_trouble for job in jobs.jobs.values())
    told = sum(1 + one.others for one in rows)
    assert name == "a job of 50,000 waits" or told == waiting
