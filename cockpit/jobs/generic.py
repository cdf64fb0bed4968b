"""Any other controller of which pods or pod templates ask for GPUs (PyTorchJob, JobSet ...), and bare pods.

What it wants is what its Workload asks for, else what its own object does, else the objects below it (a
TrainJob has a JobSet, an InferenceService a Deployment), else the pods that exist.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit.gangs.engine_of_job import admitted_by
from cockpit.jobs.bare_gangs import missing_of
from cockpit.jobs.batch_job import ended_as
from cockpit.jobs.job_state import Facts
from cockpit.jobs.members import current
from cockpit.jobs.other_jobs import ended_of
from cockpit.jobs.owner_chain import NOT_JOBS, SCHEDULES, Root, is_part, owner_record
from cockpit.jobs.owner_tree import OwnerTree
from cockpit.jobs.row import Positions, gang_of, gpus_asked, last_finish, make_row, members_asked, workload_of
from cockpit.k8s import gpu_resources
from cockpit.model.gang import PodSet, Workload
from cockpit.model.job import GANG, Job, JobObject, JobState, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def row(
    root: Root, pods: Sequence[Pod], store: StoreReader, positions: Positions, tree: OwnerTree
) -> Job | None:
    """The row of any controller, or of a bare pod; None where it is no job, or asks for no GPU.

    What started a job of its own is a row only while no such job is there, unless it will start another.
    """
    found = owner_record(store, root.uid)
    own = found if isinstance(found, JobObject) else None
    if root.kind in NOT_JOBS and not is_part("Pod", root.kind):
        pods = ()
    asking = () if root.kind in NOT_JOBS else tree.asking_below(root.uid)
    job = _Known(root, found, current(pods), asking)
    if any(pod.asks_for_gpus for pod in pods):
        return _made(job, store, positions, tree)
    if root.kind in NOT_JOBS and root.kind not in SCHEDULES and own is None:
        return None
    if tree.has_started(root.uid) and root.kind not in SCHEDULES:
        return None
    is_asked = (own is not None and own.asks_for_gpus) or bool(asking)
    workloads = store.workloads_of(root.uid)
    if not is_asked and not any(gpu_resources.gpus_asked(workload.pod_sets) for workload in workloads):
        return None
    return _made(job, store, positions, tree)


class _Known(NamedTuple):
    """What is known of a job: its top, the record of that, its pods, and what asks for GPUs below it."""

    root: Root
    found: JobObject | OwnerObject | None
    pods: tuple[Pod, ...]
    asking: Sequence[JobObject]


def _made(job: _Known, store: StoreReader, positions: Positions, tree: OwnerTree) -> Job:
    root, found, pods, asking = job
    own = found if isinstance(found, JobObject) else None
    gang = f"{root.namespace}/{root.name}" if root.kind == GANG else ""
    # a Workload of a group of pods has the name of the group, and no controller
    workload = store.by_key(Kind.WORKLOAD, gang) if gang else workload_of(store, root.uid)
    counted = tuple([pod for pod in pods if pod.gpus or pod.asks_for_gpus]) or pods
    asked = _asked(workload, _nearest(own, asking), asking, counted)
    if gang and workload is None:
        asked = asked.with_missing(missing_of(gang, pods, store))
    jobs = [item for item in tree.objects_below(root.uid) if item.kind == "Job" and item.asks_for_gpus]
    deleting = found is not None and found.deleting_seconds is not None
    if found is None and any(pod.deleting_seconds is not None for pod in pods):
        deleting = all(pod.deleting_seconds is not None or pod.is_finished for pod in pods)
    is_over = all(pod.is_finished for pod in pods)
    facts = Facts(
        kind=root.kind,
        pods=pods,
        counted=counted,
        wanted=asked.members,
        done_said=max(asked.done, sum(job.succeeded for job in (jobs or ((own,) if own else ())))),
        gang=gang_of(workload, store, positions, pods),
        is_deleting=deleting,
        is_scheduled=root.kind in SCHEDULES,
        is_suspended=own.is_suspended
        if own is not None
        else bool(jobs) and all(job.is_suspended for job in jobs),
        ended=("" if own is None else ended_of(own)) or (_end_of(jobs) if is_over else ""),
        queue=None if found is None else admitted_by(found.labels),
    )
    created = None if found is None else found.created_seconds
    if created is None:
        created = min((pod.created_seconds for pod in pods if pod.created_seconds is not None), default=None)
    ended_at = None if own is None else own.finished_seconds
    return make_row(
        root,
        facts,
        store,
        labels=() if found is None else found.labels,
        workload=workload,
        gpus_wanted=asked.gpus_left(facts.needed),
        roles=() if own is None else own.replicas,
        resource_version=_version(found, root, pods),
        created_seconds=created,
        started_seconds=None if own is None else own.started_seconds,
        finished_seconds=ended_at if ended_at is not None else last_finish(pods),
        reclaim=None if found is None else found.reclaim,
        reported=None if own is None else own.reported,
    )


class _Asked(NamedTuple):
    """What a job asks for in all. None: not known. `each` is of one member, where they are alike."""

    members: int | None
    gpus: int | None
    each: int | None = None
    done: int = 0

    def with_missing(self, pods: int) -> "_Asked":
        """The same with so many pods that are not there: what these ask for is not known."""
        return _Asked(self.members + pods, None) if pods and self.members is not None else self

    def gpus_left(self, needed: int | None) -> int | None:
        """GPUs of the members that have not ended well."""
        if self.gpus is None or self.each is None or needed is None:
            return self.gpus
        return min(self.gpus, needed * self.each)


def _asked(
    workload: Workload | None, own: JobObject | None, asking: Sequence[JobObject], counted: Sequence[Pod]
) -> _Asked:
    if workload is not None:
        return _asked_by_workload(workload)
    known: Sequence[JobObject] = () if own is None or not own.asks_for_gpus else (own,)
    if known and asking and members_asked(known[0].replicas) is None:
        known = asking
    roles = [role for item in (known or asking) for role in item.replicas if role.asks_for_gpus]
    members = members_asked(roles)
    if not roles or (members is None and counted):
        sizes = {pod.gpus for pod in counted}
        return _Asked(
            len(counted), sum(pod.gpus for pod in counted), sizes.pop() if len(sizes) == 1 else None
        )
    each = {role.gpus_each for role in roles}
    return _Asked(members, gpus_asked(roles, counted), each.pop() if len(each) == 1 else None)


def _nearest(own: JobObject | None, asking: Sequence[JobObject]) -> JobObject | None:
    """The object that its controller made of it, whose size may be changed later; else itself."""
    if own is None or not own.made_name:
        return own
    return next((item for item in asking if item.name == own.made_name), own)


def _end_of(jobs: Sequence[JobObject]) -> str:
    """How the Jobs ended once all of them have; a controller that begins anew has others by then."""
    ends = [ended_as(job)[0] for job in jobs]
    if not ends or not all(ends):
        return ""
    return JobState.FAILED if JobState.FAILED in ends else ends[0]


def _version(found: JobObject | OwnerObject | None, root: Root, pods: tuple[Pod, ...]) -> str:
    if found is not None:
        return found.resource_version
    return pods[0].resource_version if root.kind == "Pod" and pods else ""


def _asked_by_workload(workload: Workload) -> _Asked:
    """Of the pod sets that ask for GPUs, or of all where none asks."""
    gpus = {part.name: _gpus(part) for part in workload.pod_sets}
    parts = [part for part in workload.pod_sets if gpus[part.name]] or list(workload.pod_sets)
    return _Asked(
        sum(part.count for part in parts), sum(gpus.values()), done=sum(part.ended for part in parts)
    )


def _gpus(part: PodSet) -> int:
    return sum(amount for resource, amount in part.resources if gpu_resources.is_gpu_resource(resource))
