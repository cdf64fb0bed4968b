"""From the facts to the row: what every kind of job shares."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.gangs import pod_group, registry
from cockpit.gangs.engine_of_job import engine_of_job
from cockpit.gangs.standing import GangStanding
from cockpit.jobs.job_state import Facts, judge
from cockpit.jobs.members import is_up
from cockpit.jobs.owner_chain import Root
from cockpit.jobs.whose import person_of, team_of
from cockpit.model.gang import Workload
from cockpit.model.gpu_share import GpuShare, sum_of_shares
from cockpit.model.job import Job, JobObject, JobState, ReclaimMark, ReplicaSpec, ReportedProgress
from cockpit.model.pod import Pod
from cockpit.model.record import Labels
from cockpit.model.store_reader import StoreReader


class QueuePosition(NamedTuple):
    """A place in line, 1 is next; `is_told` where the engine said it, else it was estimated."""

    number: int
    is_told: bool = False


Positions = Mapping[str, QueuePosition]
"""Uid of a Workload or PodGroup to its place."""


def workload_of(store: StoreReader, uid: str) -> Workload | None:
    """The Workload that stands for a job: the newest that has not finished, else the newest.

    A slice that waits to replace a running one stands for nothing yet: the job runs as it did.
    """
    found = store.workloads_of(uid)
    alive = [one for one in found if not one.is_finished]
    growth = _next_slice(alive)
    if growth is not None:
        return growth.now
    return (alive or found or (None,))[-1]


class SliceGrowth(NamedTuple):
    """A job that may grow by slices: the workload by which it runs, and the one that waits."""

    now: Workload
    then: Workload

    @property
    def pods_now(self) -> int:
        return sum(part.count for part in self.now.pod_sets)

    @property
    def pods_then(self) -> int:
        return sum(part.count for part in self.then.pod_sets)


def growth_of(store: StoreReader, uid: str) -> SliceGrowth | None:
    """How the job is to grow, None where it is not."""
    return _next_slice([one for one in store.workloads_of(uid) if not one.is_finished])


def _next_slice(alive: Sequence[Workload]) -> SliceGrowth | None:
    then = alive[-1] if alive else None
    if then is None or not then.replaces or not registry.admits_of(then).is_in_line(then):
        return None
    now = next((one for one in alive if one.key == then.replaces), None)
    return None if now is None or registry.admits_of(now).is_in_line(now) else SliceGrowth(now, then)


def gang_of(
    workload: Workload | None, store: StoreReader, positions: Positions, pods: tuple[Pod, ...] = ()
) -> GangStanding | None:
    """What holds the gang: the engine that has yet to admit it, then the one that places its pods."""
    queued = None
    if workload is not None:
        place = positions.get(workload.uid)
        told = {} if place is None else {workload.uid: place.number}
        admits = registry.admits_of(workload)
        queued = admits.admission(workload, store, told, place is not None and place.is_told)
        if queued.is_waiting:
            return queued
    group = pod_group.group_of(pods, store)
    if group is None:
        return queued
    place = positions.get(group.uid)
    placed = pod_group.standing(group, pods, None if place is None else place.number)
    return placed if placed is not None and placed.is_waiting else queued


def make_row(  # the one place where a Job is put together
    root: Root,
    facts: Facts,
    store: StoreReader,
    *,
    labels: Labels = (),
    workload: Workload | None = None,
    gpus_wanted: int | None = None,
    roles: Sequence[ReplicaSpec] = (),
    resource_version: str = "",
    created_seconds: float | None = None,
    started_seconds: float | None = None,
    finished_seconds: float | None = None,
    reclaim: ReclaimMark | None = None,
    reported: ReportedProgress | None = None,
) -> Job:
    """The row of one job."""
    state = judge(facts)
    engine = engine_of_job(labels, facts.pods, workload)
    gang = facts.gang
    place = gang.position if gang is not None and state == JobState.QUEUED else None
    return Job(
        key=root.key,
        uid=root.uid,
        api_version=root.api_version,
        kind=root.kind,
        namespace=root.namespace,
        name=root.name,
        resource_version=resource_version,
        engine=engine.name,
        queue=engine.queue,
        position=place,
        is_position_estimate=place is not None and gang is not None and gang.is_estimate,
        state=state,
        ready=sum(1 for pod in facts.counted if is_up(pod)),
        wanted=facts.grows_to or (facts.wanted if state in JobState.ENDED else facts.needed),
        done=facts.done,
        left=facts.left,
        gpus_allocated=sum(pod.gpus_allocated for pod in facts.pods),
        gpus_wanted=gpus_wanted,
        gpu_share=_share(facts, roles),
        has_unknown_gpus=any(pod.has_unknown_gpus for pod in facts.pods),
        created_seconds=created_seconds,
        started_seconds=started_seconds if started_seconds is not None else first_start(facts.pods),
        finished_seconds=finished_seconds if state in JobState.ENDED else None,
        reclaim=reclaim,
        reported=reported,
        owner=person_of(labels),
        team=team_of(labels),
        workload_uid="" if workload is None else workload.uid,
        pod_uids=tuple(pod.uid for pod in facts.pods),
        nodes=tuple(dict.fromkeys(pod.node for pod in facts.pods if pod.node)),
    )


def _share(facts: Facts, roles: Sequence[ReplicaSpec]) -> GpuShare | None:
    """By the pods that have not ended; of a job without pods by its roles."""
    if facts.counted:
        shared = [pod for pod in facts.counted if pod.gpu_share is not None]
        return sum_of_shares(pod.gpu_share for pod in shared if not pod.is_finished)
    return sum_of_shares(role.gpu_share for role in roles for _ in range(role.replicas or 0))


def make_object_row(
    job: JobObject, root: Root, facts: Facts, store: StoreReader, workload: Workload | None
) -> Job:
    """The row of a job that has an object of its own: what every such object tells, whatever its kind."""
    return make_row(
        root,
        facts,
        store,
        labels=job.labels,
        workload=workload,
        gpus_wanted=gpus_asked(job.replicas, facts.pods, facts.needed or facts.wanted),
        roles=job.replicas,
        resource_version=job.resource_version,
        created_seconds=job.created_seconds,
        started_seconds=job.started_seconds,
        finished_seconds=job.finished_seconds,
        reclaim=job.reclaim,
    )


def members_asked(replicas: Iterable[ReplicaSpec]) -> int | None:
    """Pods of these roles; None where one of them does not tell."""
    counts = [role.replicas for role in replicas]
    return None if None in counts else sum(count or 0 for count in counts)


def gpus_asked(replicas: Sequence[ReplicaSpec], pods: Sequence[Pod], needed: int | None = None) -> int | None:
    """GPUs of a full gang, of which only `needed` are left where its members are all alike; None where a role
    does not tell how many there are, or asks by claims (DRA) and no pod tells how many these are."""
    asking = [role for role in replicas if role.asks_for_gpus]
    if members_asked(asking) is None:
        return None
    total = sum((role.replicas or 0) * role.gpus_each for role in asking)
    if len(asking) == 1 and needed is not None:
        total = min(total, needed * asking[0].gpus_each)
    claiming = [role for role in replicas if role.has_device_claims]
    if not claiming:
        return total
    if not pods or any(pod.has_unknown_gpus for pod in pods):
        return None
    if any(pod.gpus_shared for pod in pods):
        return sum(pod.gpus for pod in pods)
    for role in claiming:
        own = [pod.gpus_claimed for pod in pods if pod.role in ("", role.role) or len(replicas) == 1]
        if not own:
            return None
        total += (role.replicas or 0) * max(own)
    return total


def first_start(pods: tuple[Pod, ...]) -> float | None:
    return min((pod.started_seconds for pod in pods if pod.started_seconds is not None), default=None)


def last_finish(pods: tuple[Pod, ...]) -> float | None:
    return max((pod.finished_seconds for pod in pods if pod.finished_seconds is not None), default=None)
