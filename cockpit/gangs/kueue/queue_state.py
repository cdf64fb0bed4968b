"""Whether a Kueue queue takes jobs, and why not.

`Active` alone is not enough: a deleted ClusterQueue that is still in use keeps saying Active=True.
"""

from cockpit.gangs.kueue import texts
from cockpit.gangs.sentence import one_line
from cockpit.gangs.standing import QueueState
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.record import condition


def queue_state(queue: LocalQueue | ClusterQueue) -> QueueState:
    """The state of a LocalQueue or ClusterQueue, from deletion, stop policy and the Active condition."""
    if queue.deleting_seconds is not None:
        return QueueState("ending", "being deleted, waits until nothing uses it")
    if queue.stop_policy == "HoldAndDrain":
        return QueueState("stopped", "stopped and drained (HoldAndDrain)")
    if queue.stop_policy == "Hold":
        return QueueState("stopped", "stopped for new jobs (Hold)")
    active = condition(queue.conditions, "Active")
    if active is None:
        return QueueState("unknown", "Kueue has not looked at it yet")
    if active.status == "True":
        return QueueState("active", "")
    words = texts.kueue_words().inactive.get(active.reason)
    if active.reason == "Stopped":
        return QueueState("stopped", "stopped")
    if words is None:
        return QueueState("inactive", one_line(active.message or active.reason or "not active"))
    named = active.message.rpartition(": ")[2].rstrip(".") if "): " in active.message else ""
    return QueueState("inactive", one_line(f"{words}: {named}" if named else words))
