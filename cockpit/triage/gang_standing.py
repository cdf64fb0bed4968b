"""Where the gang of a job stands: the engine that has yet to admit it, then the one that places its pods."""

from cockpit.gangs import pod_group, registry
from cockpit.gangs.verdict import GangVerdict
from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def standing(job: Job, pods: tuple[Pod, ...], store: StoreReader) -> GangVerdict | None:
    """The verdict of the job's engine, None where none holds it or there is none."""
    queued = None
    workload: Workload | None = store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    if workload is not None:
        told = {} if job.position is None else {workload.uid: job.position}
        admits = registry.engine_of_workload(workload)
        queued = admits.admission(workload, store, told or None, is_told=not job.is_position_estimate)
        if queued.is_waiting:
            return queued
    group = pod_group.group_of(pods, store)
    if group is None:
        return queued
    placed = pod_group.verdict(group, pods, job.position)
    return placed if placed is not None and placed.is_waiting else queued
