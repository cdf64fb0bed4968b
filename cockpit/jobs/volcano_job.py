"""Volcano's own Job (batch.volcano.sh): a row also while its queue holds it back, or while it is aborted.

Its phase is taken for what no pod can tell: that it was aborted or has ended. The rest is told by its pods
and its PodGroup, which Volcano names after the Job and its uid (older releases after the Job alone).
Source: volcano pkg/controllers/job (state/*.go, job_controller_actions.go).
"""

from collections.abc import Iterable

from cockpit.gangs import pod_group
from cockpit.gangs.verdict import GangVerdict
from cockpit.jobs.judge import Facts
from cockpit.jobs.root import Root
from cockpit.jobs.row import Positions, gang_of, make_object_row, newest_warning, workload_of
from cockpit.model.gang import PodGroup, Workload
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import condition
from cockpit.store.store import Store

GROUP = "batch.volcano.sh"


def is_volcano(root: Root) -> bool:
    """True for Volcano's own Job, which has the kind of the built-in one."""
    return root.kind == "Job" and root.api_version.partition("/")[0] == GROUP


def group_keys(root: Root) -> tuple[str, ...]:
    """What its PodGroup may be called, as "namespace/name"."""
    return f"{root.namespace}/{root.name}-{root.uid}", f"{root.namespace}/{root.name}"


def is_row(job: JobObject, pods: Iterable[Pod], store: Store) -> bool:
    """True where it asks for GPUs, or Kueue queues it."""
    asks = any(role.gpus_each for role in job.replicas) or any(pod.gpus for pod in pods)
    return asks or bool(store.workloads_of(job.uid))


def row(job: JobObject, root: Root, pods: tuple[Pod, ...], store: Store, positions: Positions) -> Job:
    """The row of a Volcano Job; `pods` are its current ones."""
    workload = workload_of(store, job.uid)
    with_gpus = [role for role in job.replicas if role.gpus_each]
    ended, message = _ended(job)
    facts = Facts(
        kind="Volcano",
        pods=pods,
        counted=tuple(pod for pod in pods if pod.gpus) or pods,
        wanted=sum(role.replicas for role in with_gpus or job.replicas) or None,
        gang=None if job.is_suspended else _gang(root, pods, store, positions, workload),
        is_deleting=job.deleting_seconds is not None,
        is_suspended=job.is_suspended,
        ended=ended,
        end_message=message,
        warning="" if pods else newest_warning(store, job.uid),
    )
    return make_object_row(job, root, facts, store, workload)


def _gang(
    root: Root, pods: tuple[Pod, ...], store: Store, positions: Positions, workload: Workload | None
) -> GangVerdict | None:
    """By the group that its pods name; without pods by the group that is named after it."""
    if pods or workload is not None:
        return gang_of(workload, store, positions, pods)
    group = next((one for key in group_keys(root) for one in _own(root, key, store)), None)
    if group is None:
        return None
    place = positions.get(group.uid)
    return pod_group.verdict(group, (), None if place is None else place.number)


def _own(root: Root, key: str, store: Store) -> list[PodGroup]:
    found = store.pod_groups_named(key)
    return [one for one in found if one.owner is not None and one.owner.uid == root.uid]


def _ended(job: JobObject) -> tuple[str, str]:
    for phase, state in (
        ("Completed", JobState.SUCCEEDED),
        ("Failed", JobState.FAILED),
        ("Terminated", JobState.FAILED),
    ):
        found = condition(job.conditions, phase)
        if found is not None:
            told = found.message or found.reason
            return state, "" if state == JobState.SUCCEEDED else told or f"Volcano says {phase}"
    return "", ""
