"""What `cockpit why` prints for programs."""

from typing import Any, Final, Literal

import msgspec

from cockpit.commands.document import OutputDocument, fields_of, new_document
from cockpit.commands.output import plain
from cockpit.commands.triage_document import AlertItem, SubjectItem
from cockpit.model.finding import Change, Evidence, Expected, Finding, Permanence
from cockpit.model.sureness import Sureness


class StepItem(msgspec.Struct, kw_only=True):
    """A filter of the scheduler, and how many nodes are left after it."""

    filter: str
    words: str
    nodes: int


class FunnelItem(msgspec.Struct, kw_only=True):
    """How many of `nodes` nodes pass each filter; `best_free` devices are free on the roomiest one."""

    nodes: int
    steps: list[StepItem]
    best_node: str
    best_free: int | None
    needed: int | None
    resource: str
    passing: int


class ChangeItem(msgspec.Struct, kw_only=True):
    """A change that unblocks the subject by the argv `command`. `is_checked`: nothing else blocks it then."""

    kind: str
    words: str
    verb: str
    command: list[str]
    is_checked: bool
    leaves: str
    unknown: str
    target: SubjectItem | None
    steps: list["ChangeItem"]


class VerdictItem(msgspec.Struct, kw_only=True):
    """What blocks a subject at one gate; `then` blocks it as well."""

    subject: SubjectItem
    cause: str
    sentence: str
    sureness: Sureness
    facts: dict[str, str]
    evidence: list[Evidence]
    funnel: FunnelItem | None
    since_seconds: float | None
    root: SubjectItem | None
    permanence: Permanence | None
    unknown: str
    then: list["VerdictItem"]
    also: list[str]
    changes: list[ChangeItem]
    expected: Expected | None
    state: str
    gpus: int


WhyDocument: Final = new_document(
    "WhyDocument",
    "`cockpit why`: a `VerdictItem` about the subject that was named, with the page of its cause and the "
    "alerts that fire about it.",
    [
        *(("kind", Literal["why"]), ("is_trouble", bool), ("page", str), ("alerts", list[AlertItem])),
        *fields_of(VerdictItem),
    ],
)


class TextItem(msgspec.Struct):
    """A text by which a component tells the cause, and where."""

    place: str
    regex: str


class CauseDocument(OutputDocument, kw_only=True):
    """`cockpit why --explain`."""

    kind: Literal["cause"]
    cause: str
    meaning: str
    gate: str
    permanence: str
    mender: str
    remedy: str
    yields_to: list[str]
    roots: list[str]
    where: str
    source: str
    page: str
    texts: list[TextItem]


def verdict_tree(verdict: Finding) -> dict[str, Any]:
    """The verdict, and what blocks as well, as a `VerdictItem`."""
    funnel = verdict.funnel
    return {
        "subject": verdict.subject._asdict(),
        "cause": verdict.cause,
        "sentence": verdict.sentence,
        "sureness": verdict.sureness.value,
        "facts": dict(verdict.facts),
        "evidence": plain(verdict.evidence),
        "funnel": None
        if funnel is None
        else {
            **plain(funnel),
            "passing": funnel.passing,
            "steps": [step._asdict() for step in funnel.steps],
        },
        "since_seconds": verdict.since_seconds,
        "root": None if verdict.root is None else verdict.root._asdict(),
        "permanence": None if verdict.permanence is None else verdict.permanence.value,
        "unknown": verdict.unknown,
        "then": [verdict_tree(item) for item in verdict.then],
        "also": list(verdict.also),
        "changes": [_change(change) for change in verdict.changes],
        "expected": plain(verdict.expected),
        "state": verdict.state,
        "gpus": verdict.gpus,
    }


def _change(change: Change) -> dict[str, Any]:
    target = None if change.target is None else change.target._asdict()
    return {**plain(change), "target": target, "steps": [_change(step) for step in change.steps]}
