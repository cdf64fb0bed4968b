"""What needs a human now: one ranked list over jobs, nodes and streams."""

from collections.abc import Iterator

from cockpit.gangs.sentence import one_line
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.finding import Finding, Subject
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.record import Kind
from cockpit.model.refusal import Remedy
from cockpit.model.right import cannot
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry as pool_owners
from cockpit.triage.left_over import broken_findings
from cockpit.triage.now_rows import NowRows
from cockpit.triage.remedies import KeyRemedy
from cockpit.triage.verdicts import Verdicts

UNKNOWN_AGE_SECONDS = 3_600.0
"""How old a trouble is taken to be of which nothing tells since when it is there."""


def rank(row: Finding, now_seconds: float) -> tuple[bool, float, float, str]:
    """Broken before wasteful, more GPU-hours before fewer, older before newer; the key settles ties."""
    since = row.since_seconds
    age_seconds = UNKNOWN_AGE_SECONDS if since is None else max(0.0, now_seconds - since)
    return not row.is_bad, -row.gpus * age_seconds, float("inf") if since is None else since, row.key


def needs_human(
    store: StoreReader,
    jobs: JobReader,
    now_seconds: float,
    namespaces: Namespaces = EVERY,
    *,
    verdicts: Verdicts | None = None,
) -> tuple[Finding, ...]:
    """A row for each root, or for many that are alike, the most urgent first.

    With namespaces only their jobs; nodes and streams belong to everybody. `verdicts` are those that a caller
    who asks again and again has kept, and the rows with them.
    """
    verdicts = verdicts or Verdicts(store, jobs)
    rows = verdicts.rows_of_now
    if not isinstance(rows, NowRows) or not rows.are_of(store, jobs, namespaces):
        rows = verdicts.rows_of_now = NowRows(store, jobs, verdicts, namespaces)
    found = rows.look(now_seconds)
    found += broken_findings(verdicts.on_demand.broken_writes)
    found += _owner_findings(store)
    found += _stream_findings(store)
    return tuple(sorted(found, key=lambda row: rank(row, now_seconds)))


def go_on(verdicts: Verdicts, now_seconds: float) -> bool:
    """Carry on what the last look left, for as long as a look may take; whether something is left."""
    rows = verdicts.rows_of_now
    if not isinstance(rows, NowRows):
        return False
    rows.go_on(now_seconds)
    return rows.is_behind


def is_behind(verdicts: Verdicts) -> bool:
    """Whether the last look left something."""
    rows = verdicts.rows_of_now
    return isinstance(rows, NowRows) and rows.is_behind


def _row(subject: Subject, sentence: str, since: float | None, remedy: str, *, finding: str) -> Finding:
    return Finding(
        subject=subject,
        finding=finding,
        row=subject.name if subject.kind == "stream" else f"{subject.kind}/{subject.name}",
        is_bad=finding != _DENIED,
        sentence=one_line(sentence),
        remedies=(KeyRemedy(remedy),),
        since_seconds=since,
    )


def _owner_findings(store: StoreReader) -> Iterator[Finding]:
    """Autoscalers that do not work: no pool of theirs grows, whoever waits."""
    for one in pool_owners.troubles(store):
        subject = Subject("stream", "", one.source)
        yield _row(subject, one.sentence, one.since_seconds, one.remedy, finding="autoscaler-stopped")


_DENIED, _ASK = "stream-denied", "ask for the right"


def _stream_findings(store: StoreReader) -> Iterator[Finding]:
    """Kinds that may not be read: what they would show is missing, not fine. An expired login is one row."""
    out = [one for one in store.statuses().values() if one.phase is Phase.NOT_LOGGED_IN]
    if status := next((one for one in out if one.kind != Kind.GPU), None):
        subject, remedy = Subject("stream", "", "login"), Remedy.LOG_IN.value
        yield _row(subject, status.message, status.since_seconds, remedy, finding="not-logged-in")
    by_namespace: dict[str, list[StreamStatus]] = {}
    for name, status in store.statuses().items():
        if status.phase is not Phase.DENIED:
            continue
        if status.scope and "/" not in status.scope and "." not in status.scope:
            by_namespace.setdefault(status.scope, []).append(status)
            continue
        if status.kind in (Kind.MACHINE, Kind.AUTOSCALER):
            continue  # no finding rests on it: the pool says where it misses them
        if status.kind in (Kind.DEVICE_SLICE, Kind.DEVICE_CLAIM) and not store.uses_claims:
            continue  # nothing comes by claim here
        words = status.message or cannot(f"list {status.kind}")
        yield _row(Subject("stream", "", name), words, status.since_seconds, _ASK, finding=_DENIED)
    for namespace, denied in by_namespace.items():
        words = cannot(f"list {', '.join(sorted(one.kind for one in denied))} in {namespace}")
        since = min((one.since_seconds for one in denied if one.since_seconds is not None), default=None)
        yield _row(Subject("namespace", "", namespace), words, since, _ASK, finding=_DENIED)
