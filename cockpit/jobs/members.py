"""The pods of one job that count now, and what they say about why they do not run."""

from collections.abc import Iterable

from cockpit.gangs import coscheduling, scheduler
from cockpit.gangs.sentence import counted, one_line
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store

LEADERS = ("launcher", "leader", "master", "head", "driver", "coordinator", "chief")


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
    """What tells the member from its siblings: "worker-3", "launcher", else the pod's name."""
    if pod.role and pod.rank is not None:
        return f"{pod.role}-{pod.rank}"
    if pod.role in LEADERS:
        return pod.role
    return pod.name if pod.rank is None else f"rank {pod.rank}"


def end_words(pod: Pod) -> str:
    """How a pod failed: "OOMKilled (exit 137)", "Evicted", "exit 1"."""
    reason = pod.terminated_reason or pod.status_reason
    if reason == "Error":
        reason = ""
    if pod.exit_code:
        return f"{reason} (exit {pod.exit_code})" if reason else f"exit {pod.exit_code}"
    return reason or pod.status_message or "failed without a reason"


def failed_why(pods: Iterable[Pod]) -> str:
    """One sentence about the failed ones, "" where none failed."""
    failed = [pod for pod in pods if pod.phase == "Failed"]
    if not failed:
        return ""
    first = min(failed, key=lambda pod: (pod.finished_seconds or 0.0, pod.name))
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return one_line(f"{short_name(first)} failed: {end_words(first)}{more}")


def unbound_why(pods: tuple[Pod, ...], store: Store) -> str:
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
                is_aside = any(coscheduling.is_set_aside(one.scheduled_message) for one in told)
                return one_line(f"{cause}; {coscheduling.SET_ASIDE}") if is_aside else cause
    if told and all(coscheduling.is_set_aside(pod.scheduled_message) for pod in told):
        return coscheduling.refused_why(waiting)
    if told:
        return scheduler.plain(told[0].scheduled_message, gpus=told[0].gpus)
    gated = [pod for pod in waiting if pod.is_gated]
    if gated:
        return f"{counted(len(gated), 'pod')} held by a scheduling gate"
    names = sorted({pod.scheduler for pod in waiting if pod.scheduler})
    whose = f"scheduler {names[0]}" if names else "the scheduler"
    return one_line(f"{counted(len(waiting), 'pod')} not looked at by {whose} yet")


def _refusal(pod: Pod, message: str, store: Store) -> str:
    """The scheduler's words; where no node is large enough that is said instead, for waiting cannot help."""
    largest = store.largest_node_gpus()
    if pod.gpus > largest > 0 and scheduler.names_gpus(message):
        return f"needs {counted(pod.gpus, 'GPU')} on one node, no node has more than {largest}"
    return scheduler.plain(message, gpus=pod.gpus)


_WAITING_WORDS = {
    "ErrImagePull": "its image cannot be pulled",
    "ImagePullBackOff": "its image cannot be pulled",
    "InvalidImageName": "its image name is not valid",
    "ErrImageNeverPull": "its image is not on the node and may not be pulled",
    "RegistryUnavailable": "the image registry does not answer",
    "CreateContainerConfigError": "its configuration is incomplete",
    "CreateContainerError": "its container cannot be made",
    "RunContainerError": "its container cannot be started",
    "CrashLoopBackOff": "it crashes again and again",
    "ContainerCreating": "its container is being made",
    "PodInitializing": "its init containers run",
}


def not_up_why(pods: tuple[Pod, ...], store: Store) -> str:
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
        text = _WAITING_WORDS.get(pod.waiting_reason, pod.waiting_reason)
        detail = _detail(pod)
        text = f"{text}: {detail}" if detail else text
    elif pod.phase == "Running":
        text = "runs but is not ready"
    else:
        text = "bound, its node has not started it yet"
    more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
    return one_line(f"{short_name(pod)}: {text}", 100 - len(more)) + more


def _vagueness(pod: Pod) -> tuple[bool, bool, str]:
    vague = pod.waiting_reason in ("", "ContainerCreating", "PodInitializing")
    return (vague, not pod.waiting_reason, pod.name)


def _detail(pod: Pod) -> str:
    if pod.waiting_reason in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"):
        return pod.image
    if pod.waiting_reason == "CrashLoopBackOff":
        return end_words(pod)
    if pod.waiting_reason in ("ContainerCreating", "PodInitializing"):
        return ""
    return pod.waiting_message


def _lost_node(pod: Pod, store: Store) -> str:
    node: Node | None = store.by_key(Kind.NODE, pod.node)
    if node is None or node.ready in ("True", ""):
        return ""
    return f"node {pod.node} is not ready"
