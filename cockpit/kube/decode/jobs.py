"""Training jobs as their API objects tell them: batch Job (both wires) and MPIJob (JSON)."""

from typing import Any

import msgspec

from cockpit.kube.decode import shapes
from cockpit.kube.decode.amounts import full_charge
from cockpit.kube.decode.common import conditions, controller, identity, labels, reclaim_mark
from cockpit.kube.decode.reading import JSON, Reading
from cockpit.kube.decode.shapes import PodTemplateSpec, WireShape
from cockpit.kube.decode.traits import pod_traits
from cockpit.mask import mask_words
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.sanitise import WORDS, clean

COMMAND_CHARACTERS = 400


def replica_spec(role: str, replicas: int, template: Any, meta: Any, reading: Reading) -> ReplicaSpec:
    """One role of the job with that metadata: what each of its pods asks for, image and command of the
    container that matters."""
    spec = template.spec
    cpu, memory, gpus, gpu_resource, named = full_charge(spec, reading.amount)
    main: Any = None
    for container in spec.containers:
        if main is None or (gpus and gpu_resource in container.resources.limits):
            main = container
    return ReplicaSpec(
        role=WORDS[role],
        replicas=replicas,
        gpus_each=gpus,
        gpu_resource=gpu_resource,
        has_device_claims=bool(spec.resource_claims),
        cpu_millicores_each=cpu,
        memory_bytes_each=memory,
        traits=pod_traits(list(template.metadata.labels.items()), meta, spec, named, reading),
        image="" if main is None else WORDS[main.image],
        command="" if main is None else _command(main),
    )


def _command(container: Any) -> str:
    words = mask_words([clean(word) for word in (*container.command, *container.args)])
    return clean(" ".join(words), COMMAND_CHARACTERS)


def job_record(job: Any, reading: Reading) -> JobObject:
    """The record of one batch/v1 Job. Without `parallelism` one pod is wanted, the API server's default."""
    meta, spec, status = job.metadata, job.spec, job.status
    wanted = spec.parallelism if reading.has(spec, "parallelism") else 1
    if reading.has(spec, "completions"):
        wanted = min(wanted, spec.completions)
    return JobObject(
        **identity(meta, reading),
        api_version="batch/v1",
        kind="Job",
        labels=labels(meta.labels),
        owner=controller(meta),
        conditions=conditions(status.conditions, reading),
        replicas=(replica_spec("main", wanted, spec.template, meta, reading),),
        is_suspended=spec.suspend,
        completions=spec.completions if reading.has(spec, "completions") else None,
        active=status.active,
        succeeded=status.succeeded,
        failed=status.failed,
        started_seconds=reading.seconds(status.start_time),
        finished_seconds=_job_finish(status, reading),
        reclaim=reclaim_mark(meta),
    )


def _job_finish(status: Any, reading: Reading) -> float | None:
    """completionTime, and for a failed Job, which has none, the time of its Failed condition."""
    done = reading.seconds(status.completion_time)
    if done is not None:
        return done
    for condition in status.conditions:
        if condition.type in ("Failed", "Complete") and condition.status == "True":
            return reading.seconds(condition.last_transition_time)
    return None


class _RunPolicy(WireShape, frozen=True, gc=False):
    suspend: bool = False


class _MpiReplica(WireShape, frozen=True, gc=False):
    replicas: int | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class _MpiSpec(WireShape, frozen=True, gc=False):
    run_policy: _RunPolicy = _RunPolicy()
    mpi_replica_specs: dict[str, _MpiReplica] = msgspec.field(default_factory=dict)


class _ReplicaStatus(WireShape, frozen=True, gc=False):
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class _MpiStatus(WireShape, frozen=True, gc=False):
    conditions: tuple[shapes.PodCondition, ...] = ()
    replica_statuses: dict[str, _ReplicaStatus] = msgspec.field(default_factory=dict)
    start_time: str | None = None
    completion_time: str | None = None


class MpiJob(WireShape, frozen=True, gc=False):
    """kubeflow.org/v2beta1 MPIJob (source: mpi-operator pkg/apis/kubeflow/v2beta1/types.go)."""

    api_version: str = "kubeflow.org/v2beta1"
    metadata: shapes.ObjectMeta = shapes.ObjectMeta()
    spec: _MpiSpec = _MpiSpec()
    status: _MpiStatus = _MpiStatus()


def mpijob_record(job: MpiJob) -> JobObject:
    """The record of one MPIJob; launcher first, counts summed over the roles."""
    spec, status = job.spec, job.status
    roles = sorted(spec.mpi_replica_specs.items(), key=lambda pair: (pair[0].lower() != "launcher", pair[0]))
    return JobObject(
        **identity(job.metadata, JSON),
        api_version=WORDS[job.api_version],
        kind="MPIJob",
        labels=labels(job.metadata.labels),
        owner=controller(job.metadata),
        conditions=conditions(status.conditions, JSON),
        replicas=tuple(
            replica_spec(
                role.lower(), 1 if part.replicas is None else part.replicas, part.template, job.metadata, JSON
            )
            for role, part in roles
        ),
        is_suspended=spec.run_policy.suspend,
        active=sum(item.active for item in status.replica_statuses.values()),
        succeeded=sum(item.succeeded for item in status.replica_statuses.values()),
        failed=sum(item.failed for item in status.replica_statuses.values()),
        started_seconds=JSON.seconds(status.start_time),
        finished_seconds=_job_finish(status, JSON),
        reclaim=reclaim_mark(job.metadata),
    )
