"""Clone and retry: the same job once more, under a new name."""

import asyncio
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.named_objects import refuse_absent
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, pod_group, tree_of, workload_tree
from cockpit.actions.read import read_tree
from cockpit.actions.rights import right_on, right_to_create
from cockpit.actions.shell import job_line
from cockpit.actions.submit import group_call, plan_submit
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.registry import engine_named
from cockpit.gangs.suspend_field import ended_as
from cockpit.jobs.clone import as_written, grown, next_name
from cockpit.jobs.clone_template import clone_template, shared_checkpoints
from cockpit.jobs.contending import contender
from cockpit.jobs.members import members_of
from cockpit.jobs.own_names import apart
from cockpit.jobs.pod_templates import amounts, containers, pod_templates
from cockpit.jobs.template import Template, load_library
from cockpit.k8s.quantity import parse_quantity
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Plan
from cockpit.model.right import Right
from cockpit.model.store_reader import StoreReader

FACTOR = 1.5
OUT_OF_MEMORY = "OOMKilled"


def template_of(
    job: Job,
    tree: Mapping[str, Any],
    workload: Mapping[str, Any] | None = None,
    taken: Collection[str] = (),
    templates: Iterable[Template] = (),
) -> Template:
    """The form of a clone: what is in it when nothing is filled in is the job itself under its next name.

    `templates` are those that may have made the job: its command is what the one that fits means by it.
    """
    form = clone_template(as_written(tree, workload), next_name(job.name, taken), templates)
    return msgspec.structs.replace(form, lint=shared_checkpoints(form, job.name))


def plan_clone(
    job: Job,
    template: Template,
    values: Mapping[str, str],
    *,
    store: StoreReader | None = None,
    lookup: Lookup | None = None,
    context: str = "",
) -> Plan:
    """The plan that creates the clone. `template` is of `template_of`. Raises BadInput with one sentence."""
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    if "command" in values and template.parameter("command") is None:
        raise BadInput(
            f"command: what {target} runs cannot be told from its object, so it cannot be changed here;"
            " submit it from a template, or edit its manifest with kubectl"
        )
    plan = plan_submit(template, values, job.namespace, store=store, lookup=lookup, context=context)
    plan = _apart(plan, job, _texts_given(template, values), lookup)
    made = plan.calls[0].body["metadata"]
    return msgspec.structs.replace(
        plan,
        verb="clone",
        title=f"Clone {target} as {made['namespace']}/{made['name']}",
        done=f"Cloned {target} as {made['namespace']}/{made['name']}",
        shell=job_line("clone", job, context, *_settings(template, values)),
    )


def plan_retry(
    job: Job,
    tree: Mapping[str, Any],
    store: Any,
    *,
    memory: str = "",
    workload: Mapping[str, Any] | None = None,
    taken: Collection[str] = (),
    lookup: Lookup | None = None,
    context: str = "",
) -> Plan:
    """The plan that runs a failed job again under its next name.

    Members that ran out of memory get one and a half times as much, or `memory`. The failed job stays to be
    read. Raises BadInput for a job that has not failed.
    """
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    short = short_of_memory(job, store)
    if job.state not in (JobState.FAILED, JobState.DEGRADED) and ended_as(tree) != "failed" and not short:
        raise BadInput(f"{target} has not failed (it is {job.state}); to run it again, clone it (C)")
    manifest = as_written(tree, workload)
    told: list[str] = []
    if memory:
        told = _set_memory(manifest, short or _roles(manifest), memory)
    elif short:
        manifest, told = grown(manifest, short, FACTOR)
    template = clone_template(manifest, next_name(job.name, taken))
    plan = plan_submit(template, {}, job.namespace, store=store, lookup=lookup, context=context)
    plan = _apart(plan, job, (), lookup)
    made = plan.calls[0].body["metadata"]["name"]
    lines = [f"run {target} again as {made}", *plan.lines[1:]]
    lines += [f"more memory: {one}" for one in told]
    if job.state == JobState.DEGRADED:
        lines.append(f"{job.name} is still running, with members lost: kill it, or both compete for GPUs")
    else:
        lines.append(f"{job.name} is kept, with its logs")
    more = ["--memory", memory] if memory else []
    return msgspec.structs.replace(
        plan,
        verb="retry",
        title=f"Retry {target}",
        done=f"Retried {target}",
        lines=tuple(lines),
        shell=job_line("retry", job, context, *more),
    )


def _apart(plan: Plan, job: Job, kept: Collection[str], lookup: Lookup | None) -> Plan:
    """The plan of a job like `job` without references to it, and with what they were as lines and
    warnings."""
    first, *others = plan.calls
    found = apart(first.body, job.name, kept)
    grouped = registry.regrouped(found.manifest)
    lines = [*plan.lines, *(f"renamed: {one}" for one in found.renamed)]
    manifest = found.manifest
    if grouped is not None:
        manifest = grouped.manifest
        where = str(manifest["metadata"].get("namespace") or job.namespace)
        others += [group_call(one, where, lookup) for one in grouped.before]
        lines += [f"create {call.target} for its pods" for call in others]
    return msgspec.structs.replace(
        plan,
        calls=(msgspec.structs.replace(first, body=manifest), *others),
        lines=tuple(lines),
        warnings=tuple(dict.fromkeys((*plan.warnings, *found.left))),
    )


def _texts_given(template: Template, values: Mapping[str, str]) -> frozenset[str]:
    """Words that a person filled in: they are meant as they are."""
    given = (
        value
        for one in template.parameters
        if (value := values.get(one.name, "").strip()) != (one.default or "")
    )
    return frozenset(word for text in given for word in (text, *_words(text)))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def short_of_memory(job: Job, store: StoreReader) -> tuple[str, ...]:
    """Roles of the members whose containers the kernel killed for want of memory."""
    found = (one for one in members_of(job, store) if one.terminated_reason == OUT_OF_MEMORY)
    return tuple(dict.fromkeys(one.role if job.kind != "Job" and one.role else "main" for one in found))


def _roles(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(role for role, _template in pod_templates(manifest))


def _set_memory(manifest: dict[str, Any], roles: Iterable[str], memory: str) -> list[str]:
    try:
        parse_quantity(memory)
    except ValueError:
        raise BadInput(f"--memory: {memory!r} is not a quantity such as 48Gi") from None
    wanted = set(roles)
    told = []
    for role, template in pod_templates(manifest):
        for one in containers(template):
            limits, requests = amounts(one, "limits"), amounts(one, "requests")
            if role in wanted and "memory" in limits:
                told.append(f"{role}: {limits['memory']} to {memory}")
                limits["memory"] = memory
                if "memory" in requests:
                    requests["memory"] = memory
    if not told:
        raise BadInput("--memory: no container of this job has a memory limit to raise")
    return told


def _settings(template: Template, values: Mapping[str, str]) -> list[str]:
    words: list[str] = []
    for one in template.parameters:
        value = values.get(one.name, "").strip()
        if value and value != one.default:
            words += ["--set", f"{one.name}={value}"]
    return words


async def clone_form(planning: Planning, job: Job) -> Template:
    """The form of a clone, filled with what the job is."""
    library = await asyncio.to_thread(load_library, planning.template_folders)
    tree, workload = await tree_of(planning, job), await workload_tree(planning, job)
    return template_of(job, tree, workload, planning.taken, library.templates.values())


def plan_of_clone(planning: Planning, job: Job, template: Template, values: Mapping[str, str]) -> Plan:
    """Create the clone that the form describes. Raises BadInput with one sentence."""
    store, lookup, context = planning.store, planning.lookup, planning.context
    return plan_clone(job, template, values, store=store, lookup=lookup, context=context)


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """`memory`: a quantity instead of one and a half times the old limit."""

    memory: str = ""


async def plan_to_retry(planning: Planning, job: Job, options: RetryOptions) -> Plan:
    """Touch the PodGroup of a gang that is not retried by its scheduler, else run the failed job again."""
    retries = engine_named(job.engine).retries
    if retries is not None and (path := _group_path(planning, job, options.memory)):
        tree = await read_tree(planning.session, path, f"podgroup {job.namespace}/{path.rpartition('/')[2]}")
        plan = retries.plan(tree, path, planning.at)
        return msgspec.structs.replace(
            plan, shell=job_line("retry", job, planning.context), contends=(contender(job),)
        )
    plan = plan_retry(
        job,
        await tree_of(planning, job),
        planning.store,
        memory=options.memory,
        workload=await workload_tree(planning, job),
        taken=planning.taken,
        lookup=planning.lookup,
        context=planning.context,
    )
    await refuse_absent(planning.session, planning.lookup, plan.calls[0].body, job.namespace)
    return plan


def _group_path(planning: Planning, job: Job, memory: str = "") -> str:
    """The PodGroup that is touched, "" where the job is run once more."""
    group, retries = pod_group(planning, job), engine_named(job.engine).retries
    if not group or retries is None or job.state not in JobState.WAITING or memory:
        return ""
    return object_path(*retries.kind, job.namespace, group, lookup=planning.lookup)


def _needs_to_retry(planning: Planning, job: Job) -> tuple[Right, ...]:
    path = _group_path(planning, job)
    return (right_on("patch", path),) if path else right_to_create(planning, job)


RETRY = Planner(options=RetryOptions, plan=plan_to_retry, needs=_needs_to_retry)
