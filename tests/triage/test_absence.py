"""With less than all lists complete no verdict claims what it cannot know: drawn here, whole by
`python -m tests.triage absence`."""

import random

import msgspec
import pytest

from cockpit.catalogue import Gate, row_of
from cockpit.fit.scheduling_context import UNKNOWN
from cockpit.model.finding import Subject
from cockpit.model.listing import Gap
from cockpit.model.namespaces import EVERY
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.triage.attention import needs_human
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain, of_job
from cockpit.triage.judgement import quiet
from cockpit.triage.wanted import Demand
from cockpit.views.why import page, words_of
from tests.triage.case import Case, read_cases
from tests.triage.field_reports import reports
from tests.triage.half_known import WATCHED, Cell, cells, claims, faults, is_named, seen, told
from tests.triage.night import night
from tests.triage.world import view_of


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return read_cases()


def test_no_verdict_claims_what_a_list_that_is_not_whole_may_refute(cases: list[Case]) -> None:
    rng = random.Random(26)
    found, gaps = [], set()
    for case in cases:
        whole = told(case, view_of(case))
        drawn = rng.sample(list(cells(case)), 2)
        gaps |= {one.gap for one in drawn}
        found += [text for cell in drawn for text in claims(case, whole, cell)]
    assert gaps == set(Gap)
    assert not found, "\n".join(found)


def test_what_is_proved_names_the_lists_that_it_rests_on(cases: list[Case]) -> None:
    """But for claims that do not exist: these are read whole when they are asked about, or not at all."""
    bare = {
        verdict.cause
        for case in cases
        if (verdict := told(case, view_of(case))).sureness is Sureness.PROVED
        if not row_of(verdict.cause).rests_on
    }
    assert bare <= {"claim-missing", "claim-unbound", "volume-not-mounted", "between-attempts"}
    assert all(row_of(cause).rests_on for cause in ("gpus-short", "taint", "quota-in-use", "half-placed"))
    assert row_of("gpus-short").gate is Gate.PLACEMENT


def test_a_check_sees_a_proof_a_silence_and_another_cause(cases: list[Case]) -> None:
    """The checks themselves can fail."""
    case = next(one for one in cases if one.file.top == "taint")
    whole, cell = told(case, view_of(case)), Cell(Kind.NODE, Gap.STALE)
    assert list(faults(whole, whole, cell)) == ["proved"]
    other = next(one for one in cases if one.file.top == "image-not-pulled")
    assert list(faults(whole, told(other, view_of(other)), cell)) != []
    assert list(faults(whole, told(case, seen(case, cell)), cell)) == []


@pytest.mark.parametrize("gap", Gap)
def test_what_runs_is_not_called_well_where_its_pods_are_not_known(cases: list[Case], gap: Gap) -> None:
    """On its page, for a node, and in the list of what needs a human."""
    case = next(one for one in cases if one.file.top == "quota-in-use")
    view = seen(case, Cell(Kind.POD, gap))
    for node in view.store.records(Kind.NODE).values():
        verdict = explain(Subject("node", "", node.name), view)
        if not verdict.is_trouble:
            assert is_named(verdict.sentence, Cell(Kind.POD, gap)), verdict.sentence
            assert "nothing is wrong" not in page(verdict, view).head[0]
    assert is_named(quiet(view.store, EVERY), Cell(Kind.POD, gap))


def test_no_offer_is_checked_on_a_list_that_is_not_whole(cases: list[Case]) -> None:
    """Nodes and pods say what is free, queues and workloads who gets quota: which of them lacks is told."""
    rng = random.Random(26)
    quota = (Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE, Kind.WORKLOAD)
    offered = dict.fromkeys([Cell(kind, gap) for kind in (Kind.NODE, Kind.POD, *quota) for gap in Gap], 0)
    del offered[Cell(Kind.LOCAL_QUEUE, Gap.PARTIAL)]  # those of its own namespace are all it needs
    for case in rng.sample(cases, len(cases)):
        wanted = Demand(case.file.subject, view_of(case)).wanted
        mine = [cell for cell in cells(case) if offered.get(cell, MOST) < MOST]
        if wanted is None or not wanted.queue:
            mine = [cell for cell in mine if cell.kind not in quota]
        for cell in sorted(mine, key=lambda cell: offered[cell])[:2]:
            view = seen(case, cell)
            for change in changes_for(explain(case.file.subject, view), view):
                assert not change.is_checked, (case.name, cell, change.words)
                assert is_named(change.unknown, cell), (case.name, cell, change)
                assert f"(not checked: {change.unknown})" in words_of(change)
                offered[cell] += 1
    bare = {cell for cell, count in offered.items() if not count}
    assert bare <= NEVER_OFFERED, bare


MOST = 12
NEVER_OFFERED = frozenset(
    {(Kind.LOCAL_QUEUE, gap) for gap in (Gap.DENIED, Gap.UNREAD)}
    | {(kind, Gap.PARTIAL) for kind in (Kind.NODE, Kind.CLUSTER_QUEUE)}
)
"""Without a queue there is nobody to ask for quota; what has no namespace is not listed in part."""


def test_now_and_the_page_say_what_the_verdict_says(cases: list[Case]) -> None:
    rng = random.Random(26)
    for case in rng.sample([one for one in cases if one.file.subject.kind == "job"], 40):
        view = seen(case, cell := rng.choice(list(cells(case))))
        verdict = explain(case.file.subject, view)
        if verdict.sentence:
            assert page(verdict, view).head[0] == verdict.sentence, cell
        rows = needs_human(view.store, view.jobs, view.now_seconds)
        mine = [row for row in rows if row.subject == verdict.subject and row.cause]
        watched = explain(
            case.file.subject, msgspec.structs.replace(view, around=UNKNOWN, trees={}, last_lines={})
        )
        told_there = {row.sentence for row in mine if row.cause == watched.cause and not row.others}
        assert told_there <= {watched.sentence}, cell


def test_no_row_of_a_night_claims_what_a_list_that_is_not_whole_may_refute() -> None:
    """Nor of what people of the trade reported: cards, nodes, pools and queues are among both."""
    found = []
    for case in (night(26).case, reports(NOW_SECONDS)):
        view = view_of(case)
        known = _causes_by_subject(view)
        for cell in (Cell(kind, gap) for kind in WATCHED for gap in WIDE_GAPS if view.store.records(kind)):
            half = seen(case, cell)
            for row in needs_human(half.store, half.jobs, half.now_seconds):
                is_known = row.cause in known.get(row.subject, set()) or row.cause in _TRUE_AS_WELL
                rests = {one.kind for one in row_of(row.cause).rests_on} if row.cause else set()
                is_claim = row.sureness is Sureness.PROVED and (cell.kind in rests or not is_known)
                if is_claim or not (is_known or is_named(row.sentence, cell)):
                    found.append(f"{cell.kind} {cell.gap.value}: {row.title}: {row.cause} {row.sentence!r}")
    assert not found, "\n".join(found)


NOW_SECONDS = 1_800_000_000.0
WIDE_GAPS = (Gap.DENIED, Gap.UNREAD, Gap.STALE, Gap.POLLED)
_TRUE_AS_WELL = {"", "starting", "quota-in-use", "evicted-in-a-loop"}
"""What a kubelet does, what is in use and how often a job was put back stands in objects of its own; without
a cause a row says what its subject's own object says."""


def _causes_by_subject(view: ClusterView) -> dict[Subject, set[str]]:
    """What rows and pages say of everything that is a job, a pod, a node or a pool."""
    pods = view.store.records(Kind.POD).values()
    subjects = [Subject("pod", pod.namespace, pod.name) for pod in pods]
    subjects += [Subject("node", "", node.name) for node in view.store.records(Kind.NODE).values()]
    verdicts = [explain(subject, view) for subject in subjects]
    watched = msgspec.structs.replace(view, around=UNKNOWN, trees={}, last_lines={})
    verdicts += [of_job(job, seen_) for job in view.jobs.jobs.values() for seen_ in (view, watched)]
    rows = needs_human(view.store, view.jobs, view.now_seconds)
    verdicts += [each for row in rows for each in row.alike or (row,)]
    known: dict[Subject, set[str]] = {}
    for one in verdicts:
        causes = {one.cause, *one.also, *(then.cause for then in one.then)}
        known.setdefault(one.subject, set()).update(causes)
    return known
