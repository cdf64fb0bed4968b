"""What `cockpit triage` prints for programs; a webhook and a command are sent the same finding."""

from typing import Any, Literal

import msgspec

from cockpit.attach import Attachment
from cockpit.commands.document import ClusterDocument, Telemetry
from cockpit.commands.output import plain
from cockpit.model.alert import Alert
from cockpit.model.finding import Finding, KeyRemedy
from cockpit.model.record import Kind
from cockpit.triage.alerts import AlertRows


class SubjectItem(msgspec.Struct, kw_only=True):
    """An object by its kind; `namespace` is "" without one."""

    kind: str
    namespace: str
    name: str


class AlertItem(msgspec.Struct, kw_only=True):
    """An alert of Alertmanager: what a rule says, no finding. `severity` is "" without one."""

    name: str
    severity: str
    since_seconds: float | None
    summary: str
    runbook: str
    fingerprint: str
    labels: dict[str, str]


class AlertSource(msgspec.Struct, kw_only=True):
    """Where alerts stand: `phase` is null where none are to be read. `shown` are about nodes and jobs here,
    `others` about other things; `read_seconds` is when they were read last, null for never."""

    phase: str | None
    message: str
    shown: int
    others: int
    read_seconds: float | None


class FindingItem(msgspec.Struct, kw_only=True):
    """What needs a human. `is_bad`: broken, and not only waiting or wasteful; `root` is the object whose
    trouble it is; `jobs` counts further jobs with that root; `rows` are the objects it stands for. `alerts`
    are those of Alertmanager about its objects; of a row that is there by them alone `finding` begins with
    `alert/`."""

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
    alerts: list[AlertItem]


class TriageDocument(ClusterDocument, kw_only=True):
    """`cockpit triage`, the most urgent first."""

    kind: Literal["triage"]
    telemetry: Telemetry
    alertmanager: AlertSource
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
        "alerts": [alert_item(alert) for alert in row.alerts],
    }


def alert_item(alert: Alert) -> dict[str, Any]:
    """An `AlertItem` as a tree."""
    tree = {
        name: getattr(alert, name) for name in ("name", "severity", "since_seconds", "summary", "runbook")
    }
    return {**tree, "fingerprint": alert.uid, "labels": dict(alert.labels)}


def alert_source(attachment: Attachment, now_seconds: float) -> dict[str, Any]:
    """An `AlertSource` as a tree."""
    status = attachment.store.status(Kind.ALERT)
    if status is None:
        return {"phase": None, "message": "", "shown": 0, "others": 0, "read_seconds": None}
    rows = AlertRows(attachment.store, attachment.jobs, attachment.namespaces)
    shown, others = rows.counts(now_seconds)
    return {
        "phase": status.phase.value,
        "message": status.message,
        "shown": shown,
        "others": others,
        "read_seconds": status.heard_seconds,
    }
