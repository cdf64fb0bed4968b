"""Alerts of Alertmanager about nodes and jobs of this cluster: beside the finding about the same object, else
a row an object. They are what rules say; nothing here proves or explains them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from cockpit.gangs.sentence import counted, one_line
from cockpit.model.alert import Alert
from cockpit.model.batch import Phase
from cockpit.model.finding import Finding, KeyRemedy, Subject
from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.remedies import OPEN, WHY

ALERT: Final = "alert/"
"""The findings of alerts begin so; the name of the alert follows."""
UNREAD: Final = "alerts-unread"
TOGETHER: Final = 3
APART: Final = 1
"""More objects than the first with one alert are one row, until no more than the second are left."""
MATCH_SECONDS: Final = 10.0
"""Names of the cluster that moved are matched again after this time; alerts that moved, when they do."""
STALE_SECONDS: Final = 90.0
"""Three reads: alerts that are older are said to be old."""
FIRST_SECONDS: Final = 10.0
_SEVERE: Final = frozenset(
    (
        "critical",
        "crit",
        "page",
        "emergency",
        "fatal",
        "disaster",
        "error",
        "high",
        "p0",
        "p1",
        "sev0",
        "sev1",
    )
)
_QUIET: Final = frozenset(("none", "info", "informational", "information", "notice", "debug"))
_LONGEST_NAME: Final = 100


class AlertSubject(NamedTuple):
    """An object that an alert names: `row` is the key of its row. What is not `is_shown` has no row by alerts
    alone."""

    row: str
    subject: Subject
    is_shown: bool = True


def is_alert(found: Finding) -> bool:
    """Whether the row is there by alerts alone."""
    return found.finding.startswith(ALERT)


def without_alerts(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Our own findings by themselves: what may be posted to an Alertmanager without coming round."""
    own = (row for row in found if not is_alert(row))
    return tuple(replace(row, alerts=()) if row.alerts else row for row in own)


def is_firing(found: Finding, store: StoreReader) -> bool:
    """Whether an alert of the row still fires."""
    alerts = (alert for row in found.alike or (found,) for alert in row.alerts)
    return any(store.get(Kind.ALERT, alert.uid) is not None for alert in alerts)


class AlertRows:
    """Alerts about the objects of one cluster, matched by names; kept from look to look."""

    def __init__(self, store: StoreReader, jobs: JobReader, namespaces: Namespaces) -> None:
        self._store, self._jobs, self._namespaces = store, jobs, namespaces
        self._revision = -1
        self._matched_seconds = float("-inf")
        self._places: dict[tuple[AlertSubject, ...], list[Alert]] = {}

    def among(
        self, own: Sequence[Finding], covering: Callable[[str], str], now_seconds: float
    ) -> tuple[list[Finding], list[Finding]]:
        """Our own findings, each with the alerts about its objects, and a row for each object that has alerts
        and no finding. `covering` is the key of the finding that tells of a row too, "" for none."""
        self._match(now_seconds)
        if not self._places:
            return list(own), []
        every = ((row.key, each) for row in own for each in row.alike or (row,))
        tells = {name: key for key, each in every for name in (each.row, each.key)}
        joined: dict[str, list[Alert]] = {}
        alone: dict[AlertSubject, list[Alert]] = {}
        for places, alerts in self._places.items():
            told = (tells.get(place.row) or tells.get(covering(place.row), "") for place in places)
            if key := next(filter(None, told), ""):
                joined.setdefault(key, []).extend(alerts)
            elif place := next((place for place in places if place.is_shown), None):
                alone.setdefault(place, []).extend(alerts)
        rows = [replace(row, alerts=_ordered(joined[row.key])) if row.key in joined else row for row in own]
        return rows, list(_rows(alone))

    def counts(self, now_seconds: float) -> tuple[int, int]:
        """How many alerts are about nodes and jobs that are shown, and how many about other things."""
        self._match(now_seconds)
        shown = sum(map(len, self._places.values()))
        return shown, len(self._store.records(Kind.ALERT)) - shown

    def _match(self, now_seconds: float) -> None:
        store = self._store
        alerts, revision = store.records(Kind.ALERT), store.revision_of(Kind.ALERT)
        is_fresh = 0.0 <= now_seconds - self._matched_seconds < MATCH_SECONDS
        if revision == self._revision and (is_fresh or not alerts):
            return
        self._revision, self._matched_seconds = revision, now_seconds
        self._places = {}
        if not alerts:
            return
        names = AlertMatcher(store, self._jobs, self._namespaces)
        for alert in alerts.values():
            if places := tuple(names.places(alert)):
                self._places.setdefault(places, []).append(alert)


class AlertMatcher:
    """The names by which labels find the nodes, jobs and pods of a cluster, as a snapshot."""

    def __init__(self, store: StoreReader, jobs: JobReader, namespaces: Namespaces) -> None:
        self._store, self._jobs, self._namespaces = store, jobs, namespaces
        every = sorted(jobs.jobs.items(), reverse=True)
        self._by_name = {f"{job.namespace}/{job.name}": job for _, job in every}
        nodes: Iterable[Node] = store.records(Kind.NODE).values()
        self._by_host = {node.internal_ip: node.name for node in nodes if node.internal_ip}
        self._by_host |= {node.name: node.name for node in nodes}

    def places(self, alert: Alert) -> Iterator[AlertSubject]:
        """The objects that the alert names and that are there, the most trusted first."""
        for kind, name in alert.about:
            if kind == "host":
                yield from self._node(self._by_host.get(name) or self._by_host.get(name.split(".", 1)[0], ""))
            elif kind == "job":
                yield from self._job(self._by_name.get(name) or self._of_workload(name))
            elif (pod := self._store.by_key(Kind.POD, name)) is not None:
                yield from self._pod(pod)

    def _node(self, name: str) -> Iterator[AlertSubject]:
        if name:
            yield AlertSubject(name, Subject("node", "", name))

    def _of_workload(self, key: str) -> Job | None:
        workload: Workload | None = self._store.by_key(Kind.WORKLOAD, key)
        if workload is None or workload.owner is None:
            return None
        return self._by_name.get(f"{workload.namespace}/{workload.owner.name}")

    def _job(self, job: Job | None) -> Iterator[AlertSubject]:
        if job is not None and job.namespace in self._namespaces:
            yield AlertSubject(job.key, Subject("job", job.namespace, job.name))

    def _pod(self, pod: Pod) -> Iterator[AlertSubject]:
        """A pod is told as its job, one of a DaemonSet as its node."""
        if (job := self._jobs.job_of_pod(pod)) is not None:
            yield from self._job(job)
        elif pod.owner_kind == "DaemonSet":
            yield from self._node(self._by_host.get(pod.node, ""))
        elif pod.namespace in self._namespaces:
            yield AlertSubject(pod.key, Subject("pod", pod.namespace, pod.name), pod.asks_for_gpus)


def alerts_about(subject: Subject, store: StoreReader, jobs: JobReader) -> tuple[Alert, ...]:
    """What fires about a node (also of a card), a job or a pod, matched as on *Now*, the worst first."""
    alerts: Iterable[Alert] = store.records(Kind.ALERT).values()
    if not alerts or subject.kind not in ("node", "card", "job", "pod"):
        return ()
    meant = {subject}
    if subject.kind == "card":
        meant = {Subject("node", "", subject.name.rpartition("/")[0])}
    elif subject.kind == "pod" and (pod := store.by_key(Kind.POD, subject.key)) is not None:
        job = jobs.job_of_pod(pod)
        meant |= set() if job is None else {Subject("job", job.namespace, job.name)}
    names = AlertMatcher(store, jobs, EVERY)
    return _ordered(alert for alert in alerts if any(one.subject in meant for one in names.places(alert)))


def severity_rank(alert: Alert) -> int:
    """2 for what is broken, 0 for what needs no action, 1 for all else, also without a severity."""
    return 2 if alert.severity in _SEVERE else 0 if alert.severity in _QUIET else 1


def _ordered(alerts: Iterable[Alert]) -> tuple[Alert, ...]:
    """The most severe first, then the oldest."""
    return tuple(
        sorted(
            alerts, key=lambda each: (-severity_rank(each), each.since_seconds or 0.0, each.name, each.uid)
        )
    )


def _rows(alone: dict[AlertSubject, list[Alert]]) -> Iterator[Finding]:
    """A row an object, named by its most severe alert, of equals by the one that most objects have: so that
    objects with the same trouble can be one row."""
    spread = Counter(name for alerts in alone.values() for name in {alert.name for alert in alerts})
    for place, alerts in alone.items():
        ordered = _ordered(alerts)
        loud = [alert for alert in ordered if severity_rank(alert)]
        if not loud:
            continue
        lead = max(loud, key=lambda alert: (severity_rank(alert), spread[alert.name], alert.name))
        more = len({alert.name for alert in loud}) - 1
        names = f"{lead.name} and {more} more" if more else lead.name
        yield Finding(
            subject=place.subject,
            finding=ALERT + lead.name[:_LONGEST_NAME].replace(":", "."),
            row=place.row,
            is_bad=severity_rank(lead) == 2,
            sentence=one_line(f"Alertmanager: {names}{f': {lead.summary}' if lead.summary else ''}"),
            since_seconds=min((a.since_seconds for a in loud if a.since_seconds is not None), default=None),
            remedies=(WHY if place.subject.kind == "pod" else OPEN,),
            alerts=ordered,
        )


def counted_sentence(found: Finding) -> str:
    """The finding's sentence; behind that of one of ours how many alerts there are about its objects."""
    if not found.alerts or is_alert(found):
        return found.sentence
    return f"{found.sentence} · {counted(len(found.alerts), 'alert')}"


def shared_words(rows: Sequence[Finding]) -> str:
    """What the alerts of several objects have in common, whose rows have one finding."""
    names = {alert.name for row in rows for alert in row.alerts if severity_rank(alert)}
    lead = rows[0].finding.removeprefix(ALERT)
    return one_line(f"Alertmanager: {lead}{f' and {len(names) - 1} more' if len(names) > 1 else ''}")


def unread_finding(store: StoreReader, now_seconds: float) -> Finding | None:
    """That alerts are unknown, old or may be missing; None where they are read, or none are to be."""
    status = store.status(Kind.ALERT)
    if status is None or (status.phase is Phase.LIVE and not status.is_partial):
        return None
    age = now_seconds - (now_seconds if status.since_seconds is None else status.since_seconds)
    if status.phase is Phase.LIVE:
        words = "alerts may be missing"
    elif status.heard_seconds is not None:
        if age < STALE_SECONDS and status.phase is Phase.BACKING_OFF:
            return None
        words = f"alerts are old ({counted(status.objects, 'alert')} of the last read)"
    elif status.phase is Phase.CONNECTING and age < FIRST_SECONDS:
        return None
    else:
        words = "alerts are unknown"
    return Finding(
        subject=Subject("stream", "", "Alertmanager"),
        finding=UNREAD,
        row="alertmanager",
        sentence=one_line(f"{words}: {status.message or 'it has not answered yet'}"),
        remedies=(KeyRemedy("see cockpit doctor"),),
        since_seconds=status.since_seconds,
    )
