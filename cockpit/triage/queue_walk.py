"""Queues: why one takes no jobs, or what its head waits for."""

from cockpit.catalogue.cause import Cause
from cockpit.gangs import registry
from cockpit.gangs.engine import Queue
from cockpit.model.sureness import Sureness
from cockpit.triage.cause_found import draft, finished
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.verdict import Evidence, Subject, Verdict


def of_queue(subject: Subject, view: ClusterView) -> Verdict:
    """What keeps a queue from admitting jobs."""
    queue = _named(subject, view)
    if queue is None:
        return Verdict(subject=subject, sentence="no queue of that name is known here")
    state = registry.engine_of_queue(queue).queue_state(queue)
    if state.state in ("active", "unknown"):
        return Verdict(subject=subject, sureness=Sureness.SAID)
    waits = len(registry.engine_of_queue(queue).waiting(view.store, queue.uid))
    said = Evidence(f"{type(queue).__name__} {queue.key}", "state", state.why)
    cause = Cause.QUEUE_STOPPED if state.state == "stopped" else Cause.QUEUE_UNUSABLE
    text = "{why}" + (f": {waits} jobs wait" if waits > 1 else ": 1 job waits" if waits else "")
    return finished(draft(cause, text, names={"why": state.why}, evidence=(said,)), subject)


def _named(subject: Subject, view: ClusterView) -> Queue | None:
    for table in registry.queue_tables():
        found: Queue | None = view.store.by_key(table, subject.key)
        if found is not None:
            return found
    return None
