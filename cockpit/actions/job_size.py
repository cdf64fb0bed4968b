"""Resize: more or fewer workers of an elastic job, where its kind and its engine allow that."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, tree_of
from cockpit.actions.rights import right_to_patch
from cockpit.actions.shell import job_line
from cockpit.errors import BadInput
from cockpit.fit.pod_sets import pod_sets
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted, freed
from cockpit.gangs.suspend_field import ended_as, is_suspended, patch_call
from cockpit.jobs.contending import contender
from cockpit.k8s.json_values import mapping
from cockpit.model.contender import Contender
from cockpit.model.job import Job
from cockpit.model.plan import Plan

LARGEST = 4096
_LEAST_RANKS = re.compile(r"--min-(?:np|num-proc)[= ](\d{1,6})\b")
_MOST_RANKS = re.compile(r"--max-(?:np|num-proc)[= ](\d{1,6})\b")
_NODES = re.compile(r"--nnodes[= ](\d{1,6}):(\d{1,6})\b")


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


class Bound(NamedTuple):
    """A number of workers that an elastic job itself does not go beyond, and who says so."""

    workers: int
    said: str


def bounds_of(tree: Mapping[str, Any]) -> tuple[Bound | None, Bound | None]:
    """The least and the most workers by the job's own word, None where it says nothing.

    Sources: horovodrun (--min-np, --max-np count slots), torchrun (--nnodes MIN:MAX), the elasticPolicy of
    training jobs, and the annotation by which a job is admitted with fewer pods.
    """
    spec = mapping(tree.get("spec"))
    slots = spec.get("slotsPerWorker")
    each = slots if isinstance(slots, int) and slots > 0 else 1
    policy = mapping(spec.get("elasticPolicy"))
    notes = mapping(mapping(tree.get("metadata")).get("annotations"))
    fewest, largest = policy.get("minReplicas"), policy.get("maxReplicas")
    least = [Bound(fewest, "elasticPolicy.minReplicas")] if isinstance(fewest, int) else []
    most = [Bound(largest, "elasticPolicy.maxReplicas")] if isinstance(largest, int) else []
    least += [
        Bound(int(value), f"annotation {key}")
        for key, value in notes.items()
        if key.endswith("/job-min-parallelism") and str(value).isdecimal()
    ]
    words = _words(tree)
    if found_least := _LEAST_RANKS.search(words):
        least.append(Bound(-(-int(found_least[1]) // each), f"its command: {found_least[0]}"))
    if found_most := _MOST_RANKS.search(words):
        most.append(Bound(int(found_most[1]) // each, f"its command: {found_most[0]}"))
    if nodes := _NODES.search(words):
        least.append(Bound(int(nodes[1]), f"its command: {nodes[0]}"))
        most.append(Bound(int(nodes[2]), f"its command: {nodes[0]}"))
    return max(least, default=None), min(most, default=None)


def _words(tree: Mapping[str, Any]) -> str:
    """What its containers run, as one text."""
    containers = [one for part in pod_sets(tree) for one in part.pod_spec.get("containers") or ()]
    return " ".join(
        str(word) for one in containers for word in (*(one.get("command") or ()), *(one.get("args") or ()))
    )


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
        former=("--to", str(size.now)),
        is_destructive=workers < size.now and not is_suspended(tree),
        contends=_contends(job, tree, size, workers),
    )


def _contends(job: Job, tree: Mapping[str, Any], size: Size, workers: int) -> tuple[Contender, ...]:
    """The members that come; of a job that is held none does."""
    if workers <= size.now or is_suspended(tree):
        return ()
    roles = [one.role for one in pod_sets(tree)]
    role = "worker" if "worker" in roles else roles[0] if roles else "main"
    asks = contender(job, tree)
    return (msgspec.structs.replace(asks, pods={role: workers - size.now}),)


def _refuse(job: Job, tree: Mapping[str, Any], size: Size, workers: int, target: str) -> None:
    if size.why_not:
        raise BadInput(f"{target}: {size.why_not}")
    if ended := ended_as(tree):
        raise BadInput(f"{target} has {ended}; clone it with another size")
    if not 1 <= workers <= LARGEST:
        raise BadInput(
            f"{target}: {workers} workers is out of range: give 1 to {LARGEST}; to stop it, suspend it"
        )
    least, most = bounds_of(tree)
    if most is not None and workers > most.workers:
        raise BadInput(
            f"{target}: {counted(workers, 'worker')}: above its own maximum of {most.workers} ({most.said});"
            f" give {most.workers} or fewer, or clone it with another maximum"
        )
    if least is not None and workers < least.workers:
        raise BadInput(
            f"{target}: {counted(workers, 'worker')}: below its own minimum of {least.workers}"
            f" ({least.said}); give {least.workers} or more, or clone it with another minimum"
        )
    if workers == size.now:
        raise BadInput(f"{target} already has {counted(workers, 'worker')}")
    engine = registry.engine_named(job.engine)
    if engine.admits is not None and not is_suspended(tree):
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
    words = _words(tree)
    return "discover" in words or "horovodrun" in words


@dataclass(frozen=True, slots=True)
class WorkersOptions:
    """The new number of workers."""

    to: int


async def plan_to_resize(planning: Planning, job: Job, options: WorkersOptions) -> Plan:
    """Give the job another number of workers."""
    tree = await tree_of(planning, job)
    return plan_resize(job, tree, options.to, lookup=planning.lookup, context=planning.context)


RESIZE = Planner(options=WorkersOptions, plan=plan_to_resize, needs=right_to_patch)
