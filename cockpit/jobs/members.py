"""The pods of one job that count now, what each is called, and how one ended."""

from collections.abc import Hashable, Iterable

from cockpit.k8s.evictions import EVICTED, eviction_words
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

LAUNCHER = "launcher"
LEADERS = ("launcher", "leader", "master", "head", "driver", "coordinator", "chief")


def members_of(job: Job, store: StoreReader) -> tuple[Pod, ...]:
    """The pods of the job that are there."""
    pods = (store.get(Kind.POD, uid) for uid in job.pod_uids)
    return tuple(pod for pod in pods if isinstance(pod, Pod))


def is_named_otherwise(pod: Pod) -> bool:
    """True where the pod's name ends with another number than its rank: mpi-operator 0.8 counts from the
    launcher where that works, too (runLauncherAsWorker)."""
    head, _, last = pod.name.rpartition("-")
    return (
        pod.group is None
        and pod.role not in LEADERS
        and head.endswith(f"-{pod.role}")
        and last.isdecimal()
        and int(last) != pod.rank
    )


def in_order(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Launcher (or whoever leads) first, then by role, group, rank and name."""
    return tuple(
        sorted(
            pods,
            key=lambda pod: (
                pod.role not in LEADERS,
                pod.role,
                pod.group or 0,
                pod.rank is None,
                pod.rank or 0,
                pod.name,
            ),
        )
    )


def current(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The newest attempt of each member, in order.

    Members with a rank, and leaders, exist once in their group: the newest stands. Of the others, failed pods
    of an owner are left out when that owner has a newer pod.
    """
    newest: dict[Hashable, Pod] = {}
    others: list[Pod] = []
    for pod in pods:
        if pod.rank is None and pod.role not in LEADERS:
            others.append(pod)
            continue
        # a rank is one of its role and group in a job
        seat: Hashable = (
            (pod.role, pod.owner_uid)
            if pod.rank is None
            else (pod.rank, pod.role, pod.group, pod.job_label or pod.owner_uid)
        )
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


def seat_number(pod: Pod) -> str:
    """The rank, behind the group where its role has several: `3`, `0-3`; "" without a rank."""
    if pod.rank is None:
        return ""
    return str(pod.rank) if pod.group is None else f"{pod.group}-{pod.rank}"


def _age(pod: Pod) -> tuple[float, str]:
    return (pod.created_seconds or 0.0, pod.uid)


def is_up(pod: Pod) -> bool:
    """Running and ready, and not on its way out."""
    return pod.phase == "Running" and pod.is_ready and pod.deleting_seconds is None


def short_name(pod: Pod) -> str:
    """What tells the member from its siblings: "worker-3", "part 0-3", "rank 4", "launcher" or its pod.

    Where a launcher is rank 0 the first worker is rank 1 and its pod is worker-0 by name: its rank is said.
    """
    if pod.role == LAUNCHER:
        return pod.role
    if pod.group is not None and pod.rank is not None:
        return f"{pod.role or 'rank'} {seat_number(pod)}"
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
