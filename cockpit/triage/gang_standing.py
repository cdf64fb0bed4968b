"""Where the gang of a job stands: the engine that has yet to admit it, then the one that places its pods."""

from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.gangs import pod_group, registry
from cockpit.gangs.standing import GangStanding
from cockpit.model.batch import Phase
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup, SchedulerQueue, Workload
from cockpit.model.job import Job, JobObject
from cockpit.model.listing import Complete, listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.evidence import of_event


def standing(job: Job, pods: tuple[Pod, ...], store: StoreReader) -> GangStanding | None:
    """By the job's engine, None where none holds it or there is none."""
    queued = None
    workload: Workload | None = store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    if workload is not None:
        told = {} if job.position is None else {workload.uid: job.position}
        admits = registry.admits_of(workload)
        queued = admits.admission(workload, store, told or None, not job.is_position_estimate)
        if queued.is_waiting:
            return queued
    group = pod_group.group_of(pods, store)
    own = registry.own_job(job.api_version, job.kind)
    if own is not None:
        object_: JobObject | None = store.get(own.table, job.uid)
        if object_ is not None and object_.is_suspended:
            return None
        if group is None and not pods:
            group = pod_group.of_own_job(own, job.namespace, job.name, job.uid, store)
    if group is None:
        return queued
    placed = pod_group.standing(group, pods, job.position)
    if placed is None or not placed.is_waiting:
        return queued
    if placed.why.cause == Cause.GROUP_NOT_LET_IN:
        why = _of_queue(group, store) or _of_events(group, store)
        return placed if why is None else pod_group.held_by(why, group, job.position)
    return placed


def _of_queue(group: PodGroup, store: StoreReader) -> Finding | None:
    """What the queue that has yet to let the group in tells itself."""
    engine = registry.engine_named(group.engine)
    if not group.queue or engine.enqueues is None:
        return None
    table, reason_of_queue = engine.queues.cluster, engine.enqueues.reason_of_queue
    queue: SchedulerQueue | None = store.by_key(table, group.queue)
    if queue is not None:
        return reason_of_queue(group, queue)
    status, known = store.status(table), listing(store, table)
    is_served = status is not None and status.phase is not Phase.ABSENT
    return reason_of_queue(group, None) if is_served and isinstance(known, Complete) else None


def _of_events(group: PodGroup, store: StoreReader) -> Finding | None:
    """The newest word about the group that its engine understands."""
    enqueues = registry.engine_named(group.engine).enqueues
    if enqueues is None:
        return None
    for event in store.events_of(group.uid):
        why = enqueues.reason_of_event(group, event.message)
        if why is not None:
            return replace(why, evidence=(of_event(event),), since_seconds=event.first_seconds)
    return None
