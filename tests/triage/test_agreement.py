"""One object, one answer: its row, its page, *Now*, `cockpit why` and `cockpit triage` say the same of it."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.catalogue import by_cause
from cockpit.cli import build_parser
from cockpit.commands.output import plain
from cockpit.commands.triage import table_lines
from cockpit.model.finding import Finding
from cockpit.model.job import JobState
from cockpit.triage.advice import advised
from cockpit.triage.attention import needs_human
from cockpit.triage.engine import explain, job_behind
from cockpit.triage.recurrence import ANSWER_SECONDS
from cockpit.views.cause_page import cause_lines, cause_tree
from cockpit.views.why import lines
from tests.triage.case import Case, read_cases
from tests.triage.fresh import fresh
from tests.triage.world import rows_of

ROOT = Path(__file__).resolve().parents[2]
_TURNS = ("Evicted", "Admitted")
SAME = ("cause", "sentence", "sureness", "since_seconds", "then", "also", "root", "facts", "permanence")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [*read_cases(), *fresh(20261128, 60)]


def _differences(found: Finding, page: Finding, fields: tuple[str, ...] = SAME) -> list[str]:
    return [one for one in fields if getattr(found, one) != getattr(page, one)]


def _compared(case: Case) -> Iterator[str]:
    view, verdicts = rows_of(case)
    now_seconds = case.file.now
    now = {row.row: row for row in needs_human(view.store, view.jobs, now_seconds, verdicts=verdicts)}
    page = explain(case.file.subject, view)
    told = advised(page, view)
    if differences := _differences(told, page):
        yield f"the page with offers: {differences}"
    head = lines(told, view)
    if page.is_trouble and head[1] != page.sentence:
        yield f"the command says {head[1]!r}"
    if plain(told)["sentence"] != page.sentence:
        yield "JSON has another sentence"
    job = job_behind(case.file.subject, view) if case.file.subject.kind in ("job", "gang") else None
    if job is not None and (differences := _differences(verdicts.of(job, now_seconds), page)):
        yield f"its row: {differences}: {verdicts.of(job, now_seconds).sentence!r}"
    row = now.get(case.file.subject.key if job is None else job.key)
    if row is not None and not row.others and (differences := _differences(row, page)):
        yield f"Now: {differences}: {row.sentence!r}"


def test_row_page_now_and_command_agree_in_every_case(cases: list[Case]) -> None:
    wrong, rows = [], 0
    for case in cases:
        rows += 1
        wrong += [f"{case.name}: {said}" for said in _compared(case)]
    assert rows > 250
    assert not wrong, "\n".join(wrong)


def test_since_is_how_long_the_subject_waits_whatever_the_newest_message_is(cases: list[Case]) -> None:
    """No finding about a waiting job is younger than its newest turn: creation, eviction, admission, pods."""
    wrong, waits = [], 0
    for case in cases:
        view, verdicts = rows_of(case)
        for job in view.jobs.jobs.values():
            found = verdicts.of(job, case.file.now)
            if job.state not in (JobState.QUEUED, JobState.PENDING, JobState.STARTING) or not found.cause:
                continue
            turns = [job.created_seconds, *(pod.created_seconds for pod in view.jobs.members(job.key))]
            for workload in view.store.workloads_of(job.uid):
                turns += [one.changed_seconds for one in workload.conditions if one.type in _TURNS]
            known = [one for one in turns if one is not None]
            waits += 1
            is_turn = found.since_seconds is None or found.since_seconds in known
            if not is_turn or (found.since_seconds or 0.0) > max(known, default=0.0) + ANSWER_SECONDS:
                wrong.append(f"{case.name}: {job.name} since {found.since_seconds}, turns {known}")
    assert waits > 150
    assert not wrong, "\n".join(wrong)


_TERMS = re.compile(r"C0 and C1|C1, CR")
"""Sets of control characters."""
_CODE = re.compile(r"\b[A-E](?!10\b|30\b|40\b)\d{1,2}\b")
"""As causes were once numbered. A10, A30 and A40 are cards."""


def _helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _helps(command)


def test_no_code_of_a_cause_is_shown_anywhere(cases: list[Case]) -> None:
    shown = {f"help {at}": text for at, text in enumerate(_helps(build_parser()))}
    shown |= {str(path): path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
    shown |= {
        f"--explain {row.cause}": "\n".join(cause_lines(row)) + str(cause_tree(row))
        for row in by_cause().values()
    }
    for case in cases:
        view, verdicts = rows_of(case)
        told = advised(explain(case.file.subject, view), view)
        found = needs_human(view.store, view.jobs, case.file.now, verdicts=verdicts)
        items = [plain(one) for one in (told, *found)]
        shown[case.name] = "\n".join([*lines(told, view), *table_lines(found, case.file.now), str(items)])
    assert len(shown) > 450
    wrong = [
        f"{name}: {code}" for name, text in shown.items() for code in _CODE.findall(_TERMS.sub("", text))
    ]
    assert not wrong, "\n".join(wrong)
