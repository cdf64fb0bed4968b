"""Any other controller whose pods ask for GPUs (PyTorchJob, RayCluster, JobSet, Notebook ...), and bare pods.

Nothing is known of its spec: what it wants is what its Workload asks for, else what the batch Jobs below it
ask for (a JobSet and a TrainJob have them also while they are suspended), else the pods that exist.
"""

from collections.abc import Iterable, Sequence

from cockpit.gangs.engine_of_job import admitted_by
from cockpit.jobs.batch_job import ended_as
from cockpit.jobs.job_state import Facts
from cockpit.jobs.owner_chain import NOT_JOBS, Root
from cockpit.jobs.row import Positions, gang_of, last_finish, make_row, workload_of
from cockpit.k8s.gpu_resources import gpus_asked, is_gpu_resource
from cockpit.model.gang import PodSet, Workload
from cockpit.model.job import Job, JobObject, JobState, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Labels
from cockpit.model.store_reader import StoreReader


def is_row(root: Root, pods: Iterable[Pod], store: StoreReader, children: Iterable[JobObject] = ()) -> bool:
    """True where pods ask for GPUs, where the Jobs below do, or a Workload that stands for the controller."""
    if any(pod.asks_for_gpus for pod in pods):
        return True
    if root.kind not in NOT_JOBS and _with_gpus(children):
        return True
    return any(gpus_asked(one.pod_sets) for one in store.workloads_of(root.uid))


def row(
    owner: OwnerObject | None,
    root: Root,
    pods: tuple[Pod, ...],
    store: StoreReader,
    positions: Positions,
    *,
    children: Sequence[JobObject] = (),
) -> Job:
    """The row of any controller; `owner` is its metadata where it was read, `children` the Jobs below it."""
    workload = workload_of(store, root.uid)
    counted = tuple(pod for pod in pods if pod.gpus) or pods
    wanted, gpus_wanted = len(counted), sum(pod.gpus for pod in counted)
    asking = _with_gpus(children)
    if workload is not None:
        wanted, gpus_wanted = _asked(workload)
    elif asking:
        roles = [role for one in asking for role in one.replicas if role.gpus_each]
        wanted = sum(role.replicas for role in roles)
        gpus_wanted = sum(role.replicas * role.gpus_each for role in roles)
    ended = "" if any(not pod.is_finished for pod in pods) else _end_of(asking)
    deleting = owner is not None and owner.deleting_seconds is not None
    if owner is None and any(pod.deleting_seconds is not None for pod in pods):
        deleting = all(pod.deleting_seconds is not None or pod.is_finished for pod in pods)
    facts = Facts(
        kind=root.kind,
        pods=pods,
        counted=counted,
        wanted=wanted,
        gang=gang_of(workload, store, positions, pods),
        is_deleting=deleting,
        is_suspended=bool(asking) and all(one.is_suspended for one in asking),
        ended=ended,
        queue=None if owner is None else admitted_by(owner.labels),
    )
    labels: Labels = () if owner is None else owner.labels
    created = owner.created_seconds if owner is not None else None
    if created is None:
        created = min((pod.created_seconds for pod in pods if pod.created_seconds is not None), default=None)
    return make_row(
        root,
        facts,
        store,
        labels=labels,
        workload=workload,
        gpus_wanted=gpus_wanted,
        resource_version=_version(owner, root, pods),
        created_seconds=created,
        finished_seconds=last_finish(pods),
        reclaim=None if owner is None else owner.reclaim,
    )


def _with_gpus(children: Iterable[JobObject]) -> list[JobObject]:
    return [one for one in children if any(role.gpus_each for role in one.replicas)]


def _end_of(children: Sequence[JobObject]) -> str:
    """How the Jobs ended once all of them have; a controller that begins anew has others by then."""
    ends = [ended_as(one)[0] for one in children]
    if not ends or not all(ends):
        return ""
    return JobState.FAILED if JobState.FAILED in ends else ends[0]


def _version(owner: OwnerObject | None, root: Root, pods: tuple[Pod, ...]) -> str:
    if owner is not None:
        return owner.resource_version
    return pods[0].resource_version if root.kind == "Pod" and pods else ""


def _asked(workload: Workload) -> tuple[int, int]:
    """(members, GPUs) of the pod sets that ask for GPUs, or all members where none asks."""
    gpus = {part.name: _gpus(part) for part in workload.pod_sets}
    with_gpus = [part for part in workload.pod_sets if gpus[part.name]]
    return sum(part.count for part in with_gpus or workload.pod_sets), sum(gpus.values())


def _gpus(part: PodSet) -> int:
    return sum(amount for resource, amount in part.resources if is_gpu_resource(resource))
