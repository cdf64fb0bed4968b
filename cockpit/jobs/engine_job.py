"""A kind of job that comes with an engine: a row also while its queue holds it back, or while it is aborted.

Its own status is taken for what no pod can tell: that it was aborted or has ended. The rest is told by its
pods and its group, which the engine names after the job.
"""

from collections.abc import Iterable

from cockpit.gangs import pod_group, registry
from cockpit.gangs.engine import OwnJob
from cockpit.gangs.standing import GangStanding
from cockpit.jobs.job_state import Facts
from cockpit.jobs.owner_chain import Root
from cockpit.jobs.row import Positions, gang_of, make_object_row, members_asked, workload_of
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobObject
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader


def is_row(job: JobObject, pods: Iterable[Pod], store: StoreReader) -> bool:
    """True where it asks for GPUs, or an engine admits it."""
    asks = any(role.asks_for_gpus for role in job.replicas) or any(pod.asks_for_gpus for pod in pods)
    return asks or bool(store.workloads_of(job.uid))


def row(
    job: JobObject,
    root: Root,
    pods: tuple[Pod, ...],
    store: StoreReader,
    positions: Positions,
    *,
    own: OwnJob,
) -> Job:
    """The row of such a job; `pods` are its current ones."""
    workload = workload_of(store, job.uid)
    with_gpus = [role for role in job.replicas if role.asks_for_gpus]
    engine = registry.engine_with_own(own.api_version, own.kind) or registry.NONE
    facts = Facts(
        kind=engine.name,
        pods=pods,
        counted=tuple(pod for pod in pods if pod.gpus) or pods,
        wanted=members_asked(with_gpus or job.replicas) or None,
        done_said=job.succeeded,
        gang=None if job.is_suspended else _gang(root, pods, store, positions, workload, own=own),
        is_deleting=job.deleting_seconds is not None,
        is_suspended=job.is_suspended,
        ended=own.ended(job)[0],
    )
    return make_object_row(job, root, facts, store, workload)


def _gang(
    root: Root,
    pods: tuple[Pod, ...],
    store: StoreReader,
    positions: Positions,
    workload: Workload | None,
    *,
    own: OwnJob,
) -> GangStanding | None:
    """By the group that its pods name; without pods by the group that is named after it."""
    if pods or workload is not None:
        return gang_of(workload, store, positions, pods)
    group = pod_group.of_own_job(own, root.namespace, root.name, root.uid, store)
    if group is None:
        return None
    place = positions.get(group.uid)
    return pod_group.standing(group, (), None if place is None else place.number)
