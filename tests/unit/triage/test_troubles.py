"""What needs a human over time: rows stay, are resolved, acknowledged and announced as they should."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.model.finding import Finding, Subject
from cockpit.model.remembered import Acknowledgement, SeenProblem
from cockpit.triage import troubles
from cockpit.triage.troubles import (
    ALTERNATES_SECONDS,
    AWAY_SECONDS,
    FIRST_SIGHT_SECONDS,
    GOES_SILENTLY,
    RESOLVED_SECONDS,
    SAME_SECONDS,
    STAYS_SECONDS,
    STAYS_SECONDS_OF,
    Trouble,
    Troubles,
)

NOW = 10_000.0


def finding(subject: str = "a", finding: str = "job-waits", **more: object) -> Finding:
    told = {"is_bad": True, "sentence": "waits", **more}
    return Finding(subject=Subject("job", "", subject), finding=finding, row=subject, **told)  # type: ignore[arg-type]


def look(
    it: Troubles,
    found: Sequence[Finding],
    at: float,
    *,
    is_sighted: bool = True,
    gone: frozenset[str] = frozenset(),
    is_mended: bool = True,
) -> tuple[Trouble, ...]:
    return it.look(
        found,
        at,
        is_sighted=lambda _: is_sighted,
        exists=lambda one: one.row not in gone,
        is_mended=lambda _: is_mended,
    )


def acknowledged(subject: str = "a", finding: str = "job-waits", **more: object) -> Acknowledgement:
    told = {"made_seconds": NOW, "who": "ada", "note": "vendor comes", "is_bad": True, **more}
    return Acknowledgement(subject_key=subject, finding=finding, **told)  # type: ignore[arg-type]


def test_a_trouble_that_comes_and_goes_stays_in_its_place() -> None:
    it = Troubles()
    a, b, c = finding("a"), finding("b"), finding("c")
    look(it, [a, b, c], NOW)
    shown = look(it, [a, c], NOW + 1)
    assert [one.key for one in shown] == [a.key, b.key, c.key]
    assert not shown[1].is_resolved and shown[1].gone_seconds == NOW + 1
    shown = look(it, [a, b, c], NOW + STAYS_SECONDS)
    assert shown[1].gone_seconds is None and shown[1].first_seconds == NOW


def test_what_is_gone_long_enough_reads_resolved_for_a_while_at_the_end() -> None:
    it = Troubles()
    look(it, [finding("a"), finding("b")], NOW)
    look(it, [finding("b")], NOW + 5)
    shown = look(it, [finding("b")], NOW + 5 + STAYS_SECONDS)
    assert [(one.found.title, one.is_resolved) for one in shown] == [("b", False), ("a", True)]
    assert shown[1].gone_seconds == NOW + 5
    assert len(look(it, [finding("b")], NOW + 4 + RESOLVED_SECONDS)) == 2
    assert len(look(it, [finding("b")], NOW + 5 + RESOLVED_SECONDS)) == 1


def test_each_kind_has_its_time() -> None:
    for kind, seconds in STAYS_SECONDS_OF.items():
        if kind in GOES_SILENTLY:
            continue
        it = Troubles()
        look(it, [finding(finding=kind)], NOW)
        look(it, [], NOW + 1)
        assert not look(it, [], NOW + seconds)[0].is_resolved, kind
        assert look(it, [], NOW + 1 + seconds)[0].is_resolved, kind


def test_what_was_deleted_is_resolved_at_once() -> None:
    it = Troubles()
    look(it, [finding()], NOW)
    assert look(it, [], NOW + 1, gone=frozenset({"a"}))[0].is_resolved


def test_what_only_became_old_leaves_without_a_word() -> None:
    it = Troubles()
    look(it, [finding(finding="job-failed")], NOW)
    look(it, [], NOW + 1)
    assert look(it, [], NOW + 1 + STAYS_SECONDS) == ()


def test_what_became_a_part_of_another_row_is_not_called_resolved() -> None:
    it = Troubles()
    look(it, [finding("a"), finding("b")], NOW)
    assert len(look(it, [finding("b")], NOW + 1, is_mended=False)) == 2, "it stays for its time"
    (left,) = look(it, [finding("b")], NOW + 1 + STAYS_SECONDS, is_mended=False)
    assert left.found.title == "b"


def test_nothing_is_resolved_while_nobody_can_see_it() -> None:
    it = Troubles()
    look(it, [finding()], NOW)
    look(it, [], NOW + 1, is_sighted=False)
    (one,) = look(it, [], NOW + 1_000, is_sighted=False)
    assert not one.is_resolved
    assert not look(it, [], NOW + 1_001)[0].is_resolved
    assert look(it, [], NOW + 1_001 + STAYS_SECONDS)[0].is_resolved


def test_another_cause_takes_the_place_of_the_first() -> None:
    it = Troubles()
    look(it, [finding()], NOW)
    (one,) = look(it, [finding(finding="job-degraded")], NOW + 1)
    assert one.found.finding == "job-degraded"


def test_ages_are_those_of_the_objects_else_of_the_history_else_of_this_session() -> None:
    it = Troubles()
    (told,) = look(it, [finding(since_seconds=NOW - 500)], NOW)
    assert (told.since_seconds, told.is_since_told) == (NOW - 500, True)
    it = Troubles()
    (seen,) = look(it, [finding()], NOW)
    assert (seen.since_seconds, seen.is_since_told) == (NOW, False)
    it.remember([past(NOW - 900, NOW - 60)], [])
    assert look(it, [finding()], NOW + 1)[0].since_seconds == NOW - 900


def past(first: float, last: float, resolved: float | None = None) -> SeenProblem:
    return SeenProblem(
        subject_key="a",
        finding="job-waits",
        first_seconds=first,
        last_seconds=last,
        resolved_seconds=resolved,
    )


def test_a_problem_of_long_ago_or_that_was_resolved_is_another_one() -> None:
    for old in (past(0.0, NOW - SAME_SECONDS - 1), past(NOW - 900, NOW - 60, NOW - 50)):
        it = Troubles()
        it.remember([old], [])
        assert look(it, [finding()], NOW)[0].first_seconds == NOW


def test_an_acknowledged_trouble_stands_below_until_its_time_is_over() -> None:
    it = Troubles()
    it.acknowledge(acknowledged(until_seconds=NOW + 100))
    shown = look(it, [finding("a"), finding("b")], NOW)
    assert [one.found.title for one in shown] == ["b", "a"]
    assert shown[1].acknowledged is not None and shown[1].acknowledged.note == "vendor comes"
    shown = look(it, [finding("a"), finding("b")], NOW + 100)
    assert [one.found.title for one in shown] == ["a", "b"]
    assert shown[0].acknowledged is None
    assert it.taken_back() == (("a", "job-waits"),)


def test_an_acknowledged_trouble_comes_back_when_it_gets_worse_or_changes() -> None:
    for worse in (
        finding(gpus=9),
        finding(is_bad=True, gpus=8),
        finding(finding="job-degraded", gpus=1),
        finding(is_bad=False, gpus=8, cause="pod-affinity"),
    ):
        it = Troubles()
        it.acknowledge(acknowledged(is_bad=False, gpus=8, cause="selector"))
        (one,) = look(it, [finding(is_bad=False, gpus=8)], NOW)
        assert one.acknowledged is not None
        (one,) = look(it, [worse], NOW + 1)
        assert one.acknowledged is None


def test_less_trouble_stays_acknowledged() -> None:
    it = Troubles()
    it.acknowledge(acknowledged(gpus=8))
    assert look(it, [finding(gpus=4, is_bad=False)], NOW)[0].acknowledged is not None


def test_an_acknowledgement_ends_with_its_trouble_and_can_be_taken_back() -> None:
    it = Troubles()
    it.acknowledge(acknowledged())
    look(it, [finding()], NOW)
    look(it, [], NOW + 1)
    look(it, [], NOW + 1 + RESOLVED_SECONDS)
    look(it, [], NOW + 2 + 2 * RESOLVED_SECONDS)
    assert look(it, [finding()], NOW + 3 * RESOLVED_SECONDS)[0].acknowledged is None
    it.acknowledge(acknowledged())
    it.take_back(("a", "job-waits"))
    assert look(it, [finding()], NOW + 3 * RESOLVED_SECONDS)[0].acknowledged is None


def test_news_is_told_once_and_what_was_there_is_no_news() -> None:
    it = Troubles()
    look(it, [finding("old")], NOW)
    it.sighted(NOW)
    look(it, [finding("old"), finding("measured")], NOW + FIRST_SIGHT_SECONDS)
    assert it.news() == ()
    it.acknowledge(acknowledged("quiet"))
    later = NOW + FIRST_SIGHT_SECONDS + 1
    found = [finding("old"), finding("measured"), finding("new"), finding("quiet")]
    look(it, found, later)
    assert [one.title for one in it.news()] == ["new"]
    look(it, found[:2], later + 1)
    look(it, found, later + 2)
    assert it.news() == ()


def test_what_is_written_is_not_written_again() -> None:
    it = Troubles()
    look(it, [finding()], NOW)
    (here,) = it.unwritten()
    assert (here.first_seconds, here.resolved_seconds) == (NOW, None)
    look(it, [], NOW + 1)
    look(it, [], NOW + 1 + STAYS_SECONDS)
    (over,) = it.unwritten()
    assert over.resolved_seconds == NOW + 1
    it.written((over,), ())
    assert it.unwritten() == ()


SUBJECTS = st.sets(st.sampled_from("abcdef"), max_size=6)


@given(st.lists(st.tuples(SUBJECTS, st.floats(0, 700), st.booleans()), max_size=25))
def test_whatever_comes_and_goes_each_trouble_stands_once_and_what_is_there_is_shown(
    turns: list[tuple[set[str], float, bool]],
) -> None:
    it, at = Troubles(), NOW
    for subjects, seconds, is_sighted in turns:
        at += seconds
        shown = look(it, [finding(one) for one in sorted(subjects)], at, is_sighted=is_sighted)
        keys = [one.key for one in shown]
        assert len(keys) == len(set(keys))
        active = {one.found.title for one in shown if one.gone_seconds is None}
        assert active == subjects
        assert sum(one.is_resolved for one in shown) <= troubles.MOST_RESOLVED
        assert all(one.first_seconds <= at for one in shown)


@pytest.mark.parametrize(
    ("before", "after"),
    [("ssh-refused", "crashes"), ("crashes", "ssh-refused"), ("between-attempts", "horovod-not-built")],
)
def test_a_crash_whose_log_was_not_read_yet_is_not_another_cause(before: str, after: str) -> None:
    it = Troubles()
    look(it, [finding(cause=before)], NOW)
    it.acknowledge(acknowledged(is_bad=True, gpus=8, cause=before))
    (one,) = look(it, [finding(cause=after)], NOW + 1)
    assert one.acknowledged is not None


def test_what_goes_before_everything_was_listed_was_no_trouble_of_its_own() -> None:
    it = Troubles()
    it.acknowledge(acknowledged("b"))

    def see(found: list[Finding], at: float, *, is_settled: bool) -> list[str]:
        shown = it.look(
            found,
            at,
            is_sighted=lambda _: is_settled,
            exists=lambda _: True,
            is_mended=lambda _: False,
            is_settled=is_settled,
        )
        return [one.found.title for one in shown]

    assert see([finding("a"), finding("b")], NOW, is_settled=False) == ["a", "b"]
    assert see([finding("a")], NOW + 1, is_settled=True) == ["a"], "its cause has come"
    assert it.taken_back() == () and [one.subject_key for one in it.unwritten()] == ["a"]
    assert see([], NOW + 2, is_settled=True) == ["a"], "from now on rows do not flap"


@pytest.mark.parametrize(
    ("kind", "on_seconds", "off_seconds"),
    [
        ("node-hot", 10, 50),  # a card that throttles now and then
        ("node-not-ready", 40, 60),
        ("job-degraded", 5, 95),
        ("job-waits", 30, 15),  # an image between two back-offs
        ("stream-denied", 15, 100),
        ("job-idle", 60, 60),
        ("node-xid", 119, 119),
    ],
)
def test_what_alternates_is_one_row_with_one_since_and_a_count(
    kind: str, on_seconds: int, off_seconds: int
) -> None:
    it, times, since = Troubles(), [], set()
    cycle = on_seconds + off_seconds
    for second in range(600):
        turn, moment = divmod(second, cycle)
        told = [finding(finding=kind, since_seconds=NOW + turn * cycle)] if moment < on_seconds else []
        (row,) = look(it, told, NOW + second)
        assert not row.is_resolved, second
        times.append(row.times)
        since.add(row.since_seconds)
    assert since == {NOW}
    assert times == sorted(times) and times[-1] == 1 + 599 // cycle
    healed = NOW + 600
    look(it, [], healed)
    rows = look(it, [], healed + ALTERNATES_SECONDS + 1)
    assert all(row.is_resolved for row in rows)


def test_a_look_that_missed_it_is_no_second_time() -> None:
    it = Troubles()
    look(it, [finding()], NOW)
    look(it, [], NOW + 1)
    assert look(it, [finding()], NOW + 1 + AWAY_SECONDS / 2)[0].times == 1
