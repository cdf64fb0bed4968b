"""What needs a human now: one ranked list over jobs, nodes and streams."""

from collections.abc import Iterator

from cockpit.gangs.sentence import one_line
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Phase
from cockpit.store.store import Store
from cockpit.triage.finding import Attention, rank
from cockpit.triage.jobs import job_findings
from cockpit.triage.nodes import node_findings


def needs_human(
    store: Store, jobs: JobIndex, now_seconds: float, namespace: str = ""
) -> tuple[Attention, ...]:
    """Findings, the most urgent first: broken before wasteful, more GPUs before fewer, older before newer.

    With a namespace only its jobs; nodes and streams belong to everybody.
    """
    found = [
        *job_findings(store, jobs, now_seconds, namespace),
        *node_findings(store, now_seconds),
        *_stream_findings(store),
    ]
    return tuple(sorted(found, key=rank))


def _stream_findings(store: Store) -> Iterator[Attention]:
    """Kinds that may not be read: what they would show is missing, not fine."""
    for name, status in store.statuses().items():
        if status.phase is not Phase.DENIED:
            continue
        yield Attention(
            finding="stream-denied",
            subject_key=name,
            is_bad=False,
            subject=name,
            sentence=one_line(status.message or f"you may not list {status.kind}"),
            remedy="ask for the right",
            since_seconds=status.since_seconds,
        )
