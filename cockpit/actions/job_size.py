"""Resize: more or fewer workers of an elastic job, where its kind and its engine allow that."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.shell import job_line
from cockpit.errors import BadInput
from cockpit.fit.pod_sets import pod_sets
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted, freed
from cockpit.gangs.suspend_field import ended_as, is_suspended, patch_call
from cockpit.jobs.pod_templates import mapping
from cockpit.model.job import Job
from cockpit.model.plan import Plan

LARGEST = 4096


class Size(msgspec.Struct, frozen=True):
    """How many members a job is asked to have, and the fields that say so; `why_not` where it is fixed."""

    now: int
    fields: tuple[tuple[str, ...], ...] = ()
    why_not: str = ""


def size_of(tree: Mapping[str, Any]) -> Size:
    """What may be resized of the object.

    Sources: mpi-operator elastic-horovod example (Worker.replicas), KEP-3715 (completions and parallelism of
    an Indexed Job move together), jobset webhook (replicatedJobs immutable).
    """
    kind, spec = str(tree.get("kind") or "object"), mapping(tree.get("spec"))
    if kind == "MPIJob":
        now = mapping(mapping(spec.get("mpiReplicaSpecs")).get("Worker")).get("replicas")
        if isinstance(now, int):
            return Size(now, (("spec", "mpiReplicaSpecs", "Worker", "replicas"),))
        return Size(0, why_not="this MPIJob has no workers")
    if kind == "Job":
        now = spec.get("parallelism", 1)
        if spec.get("completionMode") != "Indexed":
            return Size(now, (("spec", "parallelism"),))
        if spec.get("completions") == now:
            return Size(now, (("spec", "parallelism"), ("spec", "completions")))
        return Size(now, (("spec", "parallelism"),))
    return Size(0, why_not=f"the size of a {kind} cannot change after creation; clone it with another size")


def plan_resize(
    job: Job, tree: Mapping[str, Any], workers: int, *, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """The plan that gives the job `workers` members. Raises BadInput with the reason when it may not be."""
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    size = size_of(tree)
    _refuse(job, tree, size, workers, target)
    change: dict[str, Any] = {}
    for field in size.fields:
        here = change
        for key in field[:-1]:
            here = here.setdefault(key, {})
        here[field[-1]] = workers
    each = max((one.gpus_each for one in pod_sets(tree) if one.gpus_each), default=0)
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)
    return Plan(
        verb="scale",
        title=f"Resize {target}",
        calls=(patch_call(tree, path, target, change),),
        lines=_lines(size, workers, each),
        warnings=_warnings(tree, size, workers),
        shell=job_line("scale", job, context, "--to", str(workers)),
        is_destructive=workers < size.now and not is_suspended(tree),
    )


def _refuse(job: Job, tree: Mapping[str, Any], size: Size, workers: int, target: str) -> None:
    if size.why_not:
        raise BadInput(f"{target}: {size.why_not}")
    if ended := ended_as(tree):
        raise BadInput(f"{target} has {ended}; clone it with another size")
    if not 1 <= workers <= LARGEST:
        raise BadInput(
            f"{target}: {workers} workers is out of range: give 1 to {LARGEST}; to stop it, suspend it"
        )
    if workers == size.now:
        raise BadInput(f"{target} already has {counted(workers, 'worker')}")
    engine = registry.engine_named(job.engine)
    if engine.keeps_size and not is_suspended(tree):
        # A gang's quota is that of its admitted size: the engine would stop it and queue it anew.
        raise BadInput(
            f"{target} was admitted by {engine.name} at this size; suspend it (P), resize it, then resume it"
        )


def _lines(size: Size, workers: int, each: int) -> tuple[str, ...]:
    gpus = abs(workers - size.now) * each
    more = workers > size.now
    lines = [f"from {size.now} to {counted(workers, 'worker')}"]
    if each:
        asked = f"requests {counted(gpus, 'more GPU')}"
        lines.append(asked if more else freed(gpus))
    if not more:
        lines.append("the members with the highest ranks terminate")
    return tuple(lines)


def _warnings(tree: Mapping[str, Any], size: Size, workers: int) -> tuple[str, ...]:
    found = []
    if tree.get("kind") == "MPIJob" and not is_suspended(tree) and not _is_elastic(tree):
        found.append("its launcher does not discover hosts: mpirun keeps the ranks it started with")
    policy = mapping(mapping(mapping(tree.get("spec")).get("runPolicy")).get("schedulingPolicy"))
    least = policy.get("minAvailable")
    if isinstance(least, int) and workers < least:
        found.append(
            f"its gang needs {least} members: with {counted(workers, 'worker')} it would never start again"
        )
    return tuple(found)


def _is_elastic(tree: Mapping[str, Any]) -> bool:
    for one in pod_sets(tree):
        for container in one.pod_spec.get("containers") or ():
            words = [*(container.get("command") or ()), *(container.get("args") or ())]
            if any("discover" in str(word) or "horovodrun" in str(word) for word in words):
                return True
    return False
