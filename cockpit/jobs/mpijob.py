"""MPIJob (kubeflow.org/v2beta1): one launcher that has no GPUs as a rule, and workers by rank.

Its Running condition is sticky: a finished job keeps it, and after a worker died it still says Running.
So only Succeeded, Failed and Suspended are taken from conditions, the rest from the pods.
Source: mpi-operator pkg/controller/mpi_job_controller_status.go.
"""

from cockpit.gangs.engine_of_job import admitted_by
from cockpit.jobs.job_state import Facts
from cockpit.jobs.owner_chain import Root
from cockpit.jobs.row import Positions, gang_of, make_object_row, members_asked, workload_of
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import condition
from cockpit.model.store_reader import StoreReader


def row(job: JobObject, root: Root, pods: tuple[Pod, ...], store: StoreReader, positions: Positions) -> Job:
    """The row of an MPIJob; `pods` are its current members, the launcher first."""
    workload = workload_of(store, job.uid)
    with_gpus = [role for role in job.replicas if role.asks_for_gpus]
    roles = {role.role for role in with_gpus or job.replicas}
    facts = Facts(
        kind=job.kind,
        pods=pods,
        counted=tuple(pod for pod in pods if pod.role in roles or (not pod.role and pod.gpus)),
        wanted=members_asked(with_gpus or job.replicas) or None,
        gang=gang_of(workload, store, positions, pods),
        is_deleting=job.deleting_seconds is not None,
        is_suspended=job.is_suspended,
        ended=_ended(job, pods),
        was_running=_is_true(job, "Running"),
        is_leader_missing=all(pod.role != "launcher" for pod in pods),
        queue=admitted_by(job.labels),
    )
    return make_object_row(job, root, facts, store, workload)


def _ended(job: JobObject, pods: tuple[Pod, ...]) -> str:
    if _is_true(job, "Failed"):
        return JobState.FAILED
    if _is_true(job, "Succeeded"):
        return JobState.SUCCEEDED
    launchers = [pod for pod in pods if pod.role == "launcher"]
    if launchers and all(pod.phase == "Succeeded" for pod in launchers):
        return JobState.SUCCEEDED
    return ""


def _is_true(job: JobObject, type_: str) -> bool:
    found = condition(job.conditions, type_)
    return found is not None and found.status == "True"
