"""What `cockpit triage` prints for programs; a webhook and a command are sent the same finding."""

from typing import Any, Literal

import msgspec

from cockpit.commands.document import ClusterDocument, Telemetry
from cockpit.commands.output import plain
from cockpit.model.finding import Finding, KeyRemedy


class SubjectItem(msgspec.Struct, kw_only=True):
    """An object by its kind; `namespace` is "" without one."""

    kind: str
    namespace: str
    name: str


class FindingItem(msgspec.Struct, kw_only=True):
    """What needs a human. `is_bad`: broken, and not only waiting or wasteful; `root` is the object whose
    trouble it is; `jobs` counts further jobs with that root; `rows` are the objects it stands for."""

    finding: str
    subject_key: str
    is_bad: bool
    subject: str
    sentence: str
    remedies: list[KeyRemedy]
    since_seconds: float | None
    gpus: int
    cause: str
    root: SubjectItem | None
    jobs: int
    rows: list["FindingItem"]


class TriageDocument(ClusterDocument, kw_only=True):
    """`cockpit triage`, the most urgent first."""

    kind: Literal["triage"]
    telemetry: Telemetry
    items: list[FindingItem]


def finding_item(row: Finding) -> dict[str, Any]:
    """A finding as a tree: a `FindingItem`."""
    return {
        "finding": row.finding,
        "subject_key": row.row,
        "is_bad": row.is_bad,
        "subject": row.title,
        "sentence": row.sentence,
        "remedies": plain(row.remedies),
        "since_seconds": row.since_seconds,
        "gpus": row.gpus,
        "cause": row.cause,
        "root": None if row.root is None else row.root._asdict(),
        "jobs": row.others,
        "rows": [finding_item(inner) for inner in row.alike],
    }
