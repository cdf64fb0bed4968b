"""Queues: why one takes no jobs, or what its head waits for."""

from cockpit.catalogue import Cause, ListOf
from cockpit.gangs import registry
from cockpit.gangs.draft import draft
from cockpit.gangs.engine import Queue
from cockpit.gangs.queue_line import waiting
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.gang import SchedulerQueue
from cockpit.model.sureness import Sureness
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.evidence import finished
from cockpit.triage.known import not_found, nothing_seen


def of_queue(subject: Subject, view: ClusterView) -> Finding:
    """What keeps a queue from admitting jobs."""
    queue = _named(subject, view)
    if queue is None:
        return not_found(subject, view.store, registry.queue_tables())
    engine = registry.engine_of_queue(queue)
    state, quota = registry.queue_state(queue), engine.quota_queues
    held = quota.held_in_vain(queue, view.store) if quota is not None and state.takes_jobs else None
    if held is not None:
        return finished(held, subject)
    tables = (engine.queues.local, engine.queues.cluster)
    lists = tuple(ListOf(one, is_wide=True) for one in tables if one)
    if state.takes_jobs or state.state == "unknown":
        return Finding(subject=subject, sentence=nothing_seen(view.store, lists), sureness=Sureness.SAID)
    waits = len(waiting(view.store, queue))
    kind = "Queue" if isinstance(queue, SchedulerQueue) else type(queue).__name__
    said = Evidence(f"{kind} {queue.key}", "state", state.why)
    is_shut = state.state in ("stopped", "closed", "closing")
    cause = Cause.QUEUE_STOPPED if is_shut else Cause.QUEUE_UNUSABLE
    text = "{why}" + (f": {waits} jobs wait" if waits > 1 else ": 1 job waits" if waits else "")
    return finished(draft(cause, text, names={"why": state.why}, evidence=(said,)), subject)


def _named(subject: Subject, view: ClusterView) -> Queue | None:
    return registry.queue_of_key(view.store, subject.key)


def queue_subject(queue: Queue) -> Subject:
    """The queue as verdicts are about it: a scheduler's by the name that no other engine's queue has."""
    if isinstance(queue, SchedulerQueue):
        return Subject("queue", "", registry.queue_name(queue))
    return Subject("queue", queue.namespace, queue.name)
