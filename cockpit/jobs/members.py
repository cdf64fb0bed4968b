"""The pods of one job that count now, and what they say about why they do not run."""

from collections.abc import Iterable

from cockpit.gangs import registry, scheduler
from cockpit.gangs.pod_group import SET_ASIDE, refused_why
from cockpit.gangs.sentence import counted, one_line
from cockpit.k8s.evictions import EVICTED, eviction_words
from cockpit.k8s.waiting_reasons import CRASHING, Severity, waiting_reason
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

LAUNCHER = "launcher"
LEADERS = ("launcher", "leader", "master", "head", "driver", "coordinator", "chief")


def is_named_otherwise(pod: Pod) -> bool:
    """True where the pod's name ends with another number than its rank: mpi-operator 0.8 counts from the
    launcher where that works, too (runLauncherAsWorker)."""
    head, _, last = pod.name.rpartition("-")
    return (
        pod.role not in LEADERS
        and head.endswith(f"-{pod.role}")
        and last.isdecimal()
        and int(last) != pod.rank
    )


def in_order(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Launcher (or whoever leads) first, then by role, rank and name."""
    return tuple(
        sorted(
            pods,
            key=lambda pod: (
                pod.role not in LEADERS,
                pod.role,
                pod.rank is None,
                pod.rank or 0,
                pod.name,
            ),
        )
    )


def current(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The newest attempt of each member, in order.

    Members with a rank, and leaders, exist once: the newest stands. Of the others, failed pods of an owner
    are left out when that owner has a newer pod.
    """
    newest: dict[tuple[str, object], Pod] = {}
    others: list[Pod] = []
    for pod in pods:
        if pod.rank is None and pod.role not in LEADERS:
            others.append(pod)
            continue
        seat = (pod.role, pod.owner_uid if pod.rank is None else pod.rank)
        sitting = newest.get(seat)
        if sitting is None or _age(pod) > _age(sitting):
            newest[seat] = pod
    last: dict[str, tuple[float, str]] = {}
    for pod in others:
        last[pod.owner_uid] = max(last.get(pod.owner_uid, (-1.0, "")), _age(pod))
    kept = [
        pod
        for pod in others
        if pod.phase != "Failed" or not pod.owner_uid or _age(pod) >= last[pod.owner_uid]
    ]
    return in_order((*newest.values(), *kept))


def _age(pod: Pod) -> tuple[float, str]:
    return (pod.created_seconds or 0.0, pod.uid)


def is_up(pod: Pod) -> bool:
    """Running and ready, and not on its way out."""
    return pod.phase == "Running" and pod.is_ready and pod.deleting_seconds is None


def short_name(pod: Pod) -> str:
    """What tells the member from its siblings: "worker-3", "rank 4", "launcher", else the pod's name.

    Where a launcher is rank 0 the first worker is rank 1 and its pod is worker-0 by name: its rank is said.
    """
    if pod.role == LAUNCHER:
        return pod.role
    if pod.role and pod.rank is not None and is_named_otherwise(pod):
        return f"rank {pod.rank}"
    if pod.role and pod.rank is not None:
        return f"{pod.role}-{pod.rank}"
    if pod.role in LEADERS:
        return pod.role
    return pod.name if pod.rank is None else f"rank {pod.rank}"


def end_words(pod: Pod) -> str:
    """How a pod failed: "OOMKilled (exit 137)", "evicted: node low on memory", "exit 1"."""
    if evicted := _evicted(pod):
        return evicted
    reason = pod.terminated_reason or pod.status_reason
    if reason == "Error":
        reason = ""
    if pod.exit_code:
        return f"{reason} (exit {pod.exit_code})" if reason else f"exit {pod.exit_code}"
    return reason or pod.status_message or "failed, no reason given"


def _evicted(pod: Pod) -> str:
    return eviction_words(pod.status_message) if pod.status_reason == EVICTED else ""


def failed_why(pods: Iterable[Pod]) -> str:
    """One sentence about the failed ones, "" where none failed."""
    failed = [pod for pod in pods if pod.phase == "Failed"]
    if not failed:
        return ""
    first = min(failed, key=lambda pod: (pod.finished_seconds or 0.0, pod.name))
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    verb = "" if _evicted(first) else "failed: "
    return one_line(f"{short_name(first)} {verb}{end_words(first)}{more}")


def unbound_why(pods: tuple[Pod, ...], store: StoreReader) -> str:
    """Why pods have no node: the sentence of the member that is a cause, not of those that wait for it."""
    waiting = [pod for pod in pods if not pod.node and not pod.is_finished]
    if not waiting:
        return ""
    told = [pod for pod in waiting if pod.scheduled_message and pod.scheduled_reason != "SchedulingGated"]
    for pod in told:
        if not scheduler.is_consequence(pod.scheduled_message):
            return _refusal(pod, pod.scheduled_message, store)
    for pod in waiting:  # the cause may survive only in an older event of one member of the group
        for event in store.events_of(pod.uid):
            if event.reason == "FailedScheduling" and not scheduler.is_consequence(event.message):
                cause = _refusal(pod, event.message, store)
                is_aside = any(registry.is_set_aside(one.scheduled_message) for one in told)
                return one_line(f"{cause}; {SET_ASIDE}") if is_aside else cause
    if told and all(registry.is_set_aside(pod.scheduled_message) for pod in told):
        return refused_why(waiting)
    if told:
        return scheduler.plain(told[0].scheduled_message, gpus=told[0].gpus)
    gated = [pod for pod in waiting if pod.is_gated]
    if gated:
        return f"{counted(len(gated), 'pod')} blocked by a scheduling gate"
    names = sorted({pod.scheduler for pod in waiting if pod.scheduler})
    whose = f"scheduler {names[0]}" if names else "the scheduler"
    return one_line(f"{counted(len(waiting), 'pod')} not yet processed by {whose}")


def _refusal(pod: Pod, message: str, store: StoreReader) -> str:
    """The scheduler's words; where no node is large enough that is said instead, for waiting cannot help."""
    largest = store.largest_node_gpus()
    if pod.gpus > largest > 0 and scheduler.names_gpus(message):
        return f"needs {counted(pod.gpus, 'GPU')} on one node, no node has more than {largest}"
    return scheduler.plain(message, gpus=pod.gpus)


def not_up_why(pods: tuple[Pod, ...], store: StoreReader) -> str:
    """Why bound pods are not running and ready: the member that says most, "" where all are up."""
    late = [pod for pod in pods if pod.node and not is_up(pod) and not pod.is_finished]
    if not late:
        return ""
    pod = min(late, key=_vagueness)
    lost = _lost_node(pod, store)
    if lost:
        text = lost
    elif pod.deleting_seconds is not None:
        text = "is being deleted"
    elif pod.waiting_reason:
        text = waiting_reason(pod.waiting_reason).words
        detail = _detail(pod)
        text = f"{text}: {detail}" if detail else text
    elif pod.phase == "Running":
        text = "running but not ready"
    else:
        text = "scheduled, but not started by its node yet"
    more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
    return one_line(f"{short_name(pod)}: {text}", 100 - len(more)) + more


def _vagueness(pod: Pod) -> tuple[bool, bool, str]:
    is_vague = not pod.waiting_reason or waiting_reason(pod.waiting_reason).severity is Severity.PROGRESS
    return (is_vague, not pod.waiting_reason, pod.name)


def _detail(pod: Pod) -> str:
    reason = waiting_reason(pod.waiting_reason)
    if reason.is_about_image:
        return pod.image
    if pod.waiting_reason == CRASHING:
        return end_words(pod)
    return "" if reason.severity is Severity.PROGRESS else pod.waiting_message


def _lost_node(pod: Pod, store: StoreReader) -> str:
    node: Node | None = store.by_key(Kind.NODE, pod.node)
    if node is None or node.ready in ("True", ""):
        return ""
    return f"node {pod.node} is not ready"
