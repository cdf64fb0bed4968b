"""Prioritise: another priority class or another queue, where the engine allows that.

An engine that takes the priority from a label of the job lets it change at any time; the queue may change
only while the job is not admitted (source: kueue docs, concepts/workload_priority_class, and the job
webhooks: queue-name is immutable). Else a pod's priority is fixed: only an MPIJob that is suspended makes its
pods anew and takes another class.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.named_objects import refuse_absent_priority, refuse_closed_queue
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, tree_of
from cockpit.actions.rights import right_to_patch
from cockpit.actions.shell import job_line
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.registry import NONE, engine_named
from cockpit.gangs.suspend_field import ended_as, is_suspended, patch_call
from cockpit.jobs.contending import contender
from cockpit.k8s.json_values import mapping
from cockpit.model.contender import Contender
from cockpit.model.job import GANG, Job, JobState
from cockpit.model.plan import Plan


def plan_prioritise(
    job: Job,
    tree: Mapping[str, Any],
    *,
    priority: str = "",
    queue: str = "",
    lookup: Lookup | None = None,
    context: str = "",
) -> Plan:
    """The plan that gives the job another priority class, another queue, or both.

    Raises BadInput where neither is given, where nothing would change, and where the engine forbids it.
    """
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    if not priority and not queue:
        raise BadInput(f"{target}: give a priority class or a queue")
    if ended := ended_as(tree):
        raise BadInput(f"{target} has {ended}; its priority no longer matters")
    if registry.engine_named(job.engine).priority is not None:
        change, lines = _by_label(job, tree, priority, queue, target)
    else:
        change, lines = _by_class(job, tree, priority, queue, target)
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)
    words = [*(("--priority", priority) if priority else ()), *(("--queue", queue) if queue else ())]
    return Plan(
        verb="prioritise",
        title=f"{'Prioritise' if priority else 'Move'} {target}",
        done=f"{'Prioritised' if priority else 'Moved'} {target}",
        calls=(patch_call(tree, path, target, change),),
        lines=tuple(lines),
        shell=job_line("prioritise", job, context, *words),
        contends=_contends(job, tree, priority, queue),
    )


def _contends(job: Job, tree: Mapping[str, Any], priority: str, queue: str) -> tuple[Contender, ...]:
    """A job that waits in line asks with another priority, or elsewhere; a suspended one asks for nothing."""
    is_by_label = registry.engine_named(job.engine).priority is not None
    if not is_by_label or job.state == JobState.SUSPENDED:
        return ()
    asks = contender(job, tree)
    return (msgspec.structs.replace(asks, priority_class=priority, queue=queue),)


def _by_label(
    job: Job, tree: Mapping[str, Any], priority: str, queue: str, target: str
) -> tuple[dict[str, Any], list[str]]:
    engine = registry.engine_named(job.engine)
    labels = mapping(tree["metadata"].get("labels"))
    wanted: dict[str, str] = {}
    lines: list[str] = []
    for what, label, value in (
        ("priority", engine.priority.label if engine.priority else "", priority),
        ("queue", engine.marks.queue_label, queue),
    ):
        if not value:
            continue
        before = str(labels.get(label) or "")
        if value == before:
            raise BadInput(f"{target}: its {what} is already {value}")
        wanted[label] = value
        lines.append(f"{what} {before or 'of its pods' if what == 'priority' else before} becomes {value}")
    if queue and job.kind not in ("Pod", GANG) and not is_suspended(tree):
        raise BadInput(f"{target} was admitted through queue {job.queue}; suspend it (P), then move it")
    if job.gpus_allocated and priority:
        lines.append("it keeps running; the new priority applies to preemption and requeueing")
    return {"metadata": {"labels": wanted}}, lines


def _by_class(
    job: Job, tree: Mapping[str, Any], priority: str, queue: str, target: str
) -> tuple[dict[str, Any], list[str]]:
    if queue:
        raise BadInput(f"{target} is in no queue it could leave; clone it (C) with a queue")
    if job.kind != "MPIJob" or not is_suspended(tree):
        raise BadInput(f"{target}: the priority of pods is fixed at creation; clone it (C) with {priority}")
    roles = mapping(mapping(tree.get("spec")).get("mpiReplicaSpecs"))
    spec = {"template": {"spec": {"priorityClassName": priority}}}
    return (
        {"spec": {"mpiReplicaSpecs": dict.fromkeys(roles, spec)}},
        [f"its pods get priority class {priority} when it is resumed"],
    )


@dataclass(frozen=True, slots=True)
class PriorityOptions:
    """A priority class, of the queueing engine or of pods, and the queue to move to; one of them at least."""

    priority: str = ""
    queue: str = ""

    def __post_init__(self) -> None:
        if not self.priority and not self.queue:
            raise BadInput("give --priority CLASS or --queue QUEUE")


async def plan_to_prioritise(planning: Planning, job: Job, options: PriorityOptions) -> Plan:
    """Give the job another priority class or queue."""
    own = engine_named(job.engine)
    engine = own if own.priority is not None else NONE
    await refuse_absent_priority(planning.session, planning.lookup, engine, options.priority)
    await refuse_closed_queue(planning.session, planning.lookup, own, job.namespace, options.queue)
    return plan_prioritise(
        job,
        await tree_of(planning, job),
        priority=options.priority,
        queue=options.queue,
        lookup=planning.lookup,
        context=planning.context,
    )


PRIORITISE = Planner(options=PriorityOptions, plan=plan_to_prioritise, needs=right_to_patch)
