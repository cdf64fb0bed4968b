"""Alerts of Alertmanager's API v2 as records, cleaned and bounded."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from cockpit.model.alert import OWN_ALERT, Alert
from cockpit.sanitise import SHORT, clean
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.labels import HOSTS, UUIDS, first, holder_of, host_of_instance, is_exporter

MOST_ALERTS: Final = 10_000
MOST_LABELS: Final = 64
_LONGEST_TEXT: Final = 512
_SUMMARIES: Final = ("summary", "message", "description")
_RUNBOOKS: Final = ("runbook_url", "runbook")
_SEVERITIES: Final = ("severity", "priority", "level")
_CARDS: Final = (*UUIDS, "gpu", "minor_number")
_JOBS: Final = (
    *("job_name", "workload", "deployment", "statefulset", "jobset", "jobset_name"),
    *("mpijob", "pytorchjob", "rayjob", "raycluster", "label_batch_kubernetes_io_job_name"),
    *("label_training_kubeflow_org_job_name", "label_jobset_sigs_k8s_io_jobset_name"),
)
"""Labels that name a job: of kube-state-metrics, of the mixins, and as rules are written. `job` is none of
them: Prometheus calls the scrape so."""


class Decoded(NamedTuple):
    """What an answer holds: `odd` entries that cannot be read, `own` alerts that we posted, `left` entries
    behind the first `MOST_ALERTS`."""

    alerts: dict[str, Alert]
    odd: int
    own: int
    left: int


def decoded(body: bytes | bytearray, now_seconds: float) -> Decoded:
    """The alerts of an answer by uid. Raises TelemetryError where it is no list of alerts."""
    try:
        tree: Any = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        raise TelemetryError("answers with what is no JSON; check the URL.") from None
    if not isinstance(tree, list):
        raise TelemetryError("answers with no list of alerts; check the URL.")
    found: dict[str, Alert] = {}
    odd = own = 0
    for item in tree[:MOST_ALERTS]:
        if _is_suppressed(item):
            continue
        alert = _alert(item, now_seconds)
        if alert is None or alert.uid in found:
            odd += 1
        elif alert.name == OWN_ALERT:
            own += 1
        else:
            found[alert.uid] = alert
    return Decoded(found, odd, own, max(0, len(tree) - MOST_ALERTS))


def _is_suppressed(item: Any) -> bool:
    """Also by a server that does not know the parameters of the request."""
    status = item.get("status") if isinstance(item, dict) else None
    return isinstance(status, dict) and status.get("state") == "suppressed"


def _alert(item: Any, now_seconds: float) -> Alert | None:
    """None where it is no alert or has no name."""
    if not isinstance(item, dict):
        return None
    labels, notes = _texts(item.get("labels"), SHORT), _texts(item.get("annotations"), _LONGEST_TEXT)
    name = labels.get("alertname", "")
    if not name:
        return None
    pairs = tuple(sorted(labels.items()))
    given = item.get("fingerprint")
    is_print = isinstance(given, str) and given.isascii() and given.isalnum() and len(given) <= 64
    return Alert(
        uid=str(given) if is_print else hashlib.sha256(repr(pairs).encode()).hexdigest()[:32],
        name=name,
        severity=first(labels, _SEVERITIES).lower(),
        since_seconds=_seconds(item.get("startsAt"), now_seconds),
        summary=first(notes, _SUMMARIES),
        runbook=first(notes, _RUNBOOKS),
        cluster=labels.get("cluster", ""),
        labels=pairs,
        about=tuple(dict.fromkeys(_about(labels))),
    )


def _texts(tree: Any, longest: int) -> dict[str, str]:
    """The pairs of text, cleaned; others are left out."""
    if not isinstance(tree, dict):
        return {}
    pairs = [(key, value) for key, value in tree.items() if isinstance(value, str)][:MOST_LABELS]
    return {clean(key, SHORT): clean(value, longest) for key, value in pairs}


def _seconds(text: Any, now_seconds: float) -> float | None:
    """RFC 3339 as epoch seconds; at most now, for the clock is not ours. None for what is no time."""
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(seconds, now_seconds) if seconds > 0 else None


def _about(labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A card stands for its node before it does for the pod that holds it. The scraped address is that of an
    exporter, so it counts only where no label names a job or pod."""
    namespace = labels.get("exported_namespace") or labels.get("namespace", "")
    jobs = [f"{namespace}/{name}" for label in _JOBS if (name := labels.get(label)) and namespace]
    yield from (("job", key) for key in jobs)
    hosts = [("host", name) for label in HOSTS if (name := labels.get(label))]
    holder = holder_of(labels)
    pods = [("pod", f"{holder.namespace}/{holder.pod}")] if holder.pod and holder.namespace else []
    yield from (*hosts, *pods) if first(labels, _CARDS) else (*pods, *hosts)
    if jobs or pods:
        return
    if is_exporter(labels) and labels.get("pod"):
        yield "pod", f"{labels.get('namespace', '')}/{labels['pod']}"
    if host := host_of_instance(labels):
        yield "host", host
