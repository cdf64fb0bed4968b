"""Suspend and resume: the engine of the job decides how.

Some suspend a job through an object of their own, or by a command; any other job by its own suspend field.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.kill import ended_lines, living_members
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, tree_of, with_workload
from cockpit.actions.rights import right_on, right_to_patch
from cockpit.actions.shell import job_line
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.engine import SuspendChange
from cockpit.gangs.manifests import ApiKind
from cockpit.gangs.sentence import counted, freed
from cockpit.gangs.suspend_field import suspend_call
from cockpit.jobs.batch_job import ended_as
from cockpit.jobs.contending import contender
from cockpit.jobs.members import members_of
from cockpit.jobs.owner_chain import SCHEDULES
from cockpit.jobs.schedule import runs_of
from cockpit.model.gang import Workload
from cockpit.model.job import GANG, Job
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.right import Right
from cockpit.model.store_reader import StoreReader


def is_through_workload(job: Job, store: StoreReader, lookup: Lookup | None = None) -> bool:
    """True where the engine suspends the job through its workload; the job's object then needs not be read.

    Raises BadInput where the engine has yet to make that.
    """
    engine = registry.engine_named(job.engine)
    found = store.get(Kind.WORKLOAD, job.workload_uid)
    workload = found if isinstance(found, Workload) else None
    if engine.suspends_workload is None or engine.admits is None:
        return False
    is_served = lookup is None or lookup(*engine.admits.workload_kind) is not None
    return engine.suspends_workload.is_through(workload, is_served, _target(job))


def plan_suspend(
    job: Job,
    tree: Mapping[str, Any] | None,
    store: StoreReader,
    *,
    lookup: Lookup | None = None,
    context: str = "",
) -> Plan:
    """Take the job off its nodes, or out of the line, until it is resumed.

    `tree` is the job's object as it is now, None where `is_through_workload`. Raises BadInput.
    """
    target = _target(job)
    refuse_pod(job)
    workload = store.get(Kind.WORKLOAD, job.workload_uid)
    change = _by_engine(job, tree, workload, lookup, suspend=True)
    if change is None:
        call = suspend_call(tree or {}, _path(job, lookup), target, suspend=True)
        if job.kind in SCHEDULES:
            return _schedule_plan("suspend", job, call, _held(job, store), context)
        field = "sets its suspend field; it stays suspended until it is resumed"
        change = SuspendChange((call,), (field,), is_destructive=bool(job.gpus_allocated))
    return Plan(
        verb="suspend",
        title=f"Suspend {target}",
        calls=change.calls,
        lines=(*change.lines, *_lost(job, store)),
        shell=job_line("suspend", job, context),
        is_destructive=change.is_destructive,
    )


def plan_resume(
    job: Job,
    tree: Mapping[str, Any] | None,
    store: StoreReader,
    *,
    lookup: Lookup | None = None,
    context: str = "",
) -> Plan:
    """Let a suspended job start, or queue, again. Raises BadInput with the reason."""
    target = _target(job)
    refuse_pod(job)
    workload = store.get(Kind.WORKLOAD, job.workload_uid)
    change = _by_engine(job, tree, workload, lookup, suspend=False)
    if change is None:
        call = suspend_call(tree or {}, _path(job, lookup), target, suspend=False)
        if job.kind in SCHEDULES:
            return _schedule_plan("resume", job, call, _MISSED, context)
        gpus = f"; it requests {counted(job.gpus_wanted, 'GPU')}" if job.gpus_wanted else ""
        change = SuspendChange((call,), (f"clears its suspend field: its pods are recreated{gpus}",))
    return Plan(
        verb="resume",
        title=f"Resume {target}",
        calls=change.calls,
        lines=change.lines,
        shell=job_line("resume", job, context),
        contends=(contender(job, tree),),
    )


_MISSED: Final = (
    "clears its suspend field: a run starts at each time of its schedule again",
    "a run that was missed starts now, unless its startingDeadlineSeconds have passed",
)


def _held(job: Job, store: StoreReader) -> tuple[str, ...]:
    active = [run.name for run in runs_of(job, store) if not ended_as(run)[0]]
    go_on = f"; {', '.join(active[:3])} {'goes' if len(active) == 1 else 'go'} on" if active else ""
    return (f"sets its suspend field: no run starts until it is resumed{go_on}",)


def _schedule_plan(verb: str, job: Job, call: Call, lines: tuple[str, ...], context: str) -> Plan:
    title = f"{verb.capitalize()} {_target(job)}"
    return Plan(verb=verb, title=title, calls=(call,), lines=lines, shell=job_line(verb, job, context))


def suspend_path(job: Job, store: StoreReader, lookup: Lookup | None = None) -> tuple[str, str]:
    """(verb, path) of the call that suspends and resumes the job; ("", "") where its object has the field."""
    engine = registry.engine_named(job.engine)
    found = store.get(Kind.WORKLOAD, job.workload_uid)
    if engine.admits is not None and isinstance(found, Workload):
        return "patch", object_path(*engine.admits.workload_kind, found.namespace, found.name, lookup=lookup)
    suspends = (registry.engine_with_own(job.api_version, job.kind) or engine).suspends_job
    return ("", "") if suspends is None else suspends.path(job.api_version, job.namespace)


def _by_engine(
    job: Job, tree: Mapping[str, Any] | None, workload: Any, lookup: Lookup | None, *, suspend: bool
) -> SuspendChange | None:
    """How the engine does it; None where it leaves it to the object's own field."""
    if tree is None and isinstance(workload, Workload):
        engine = registry.engine_of_workload(workload)
        if engine.suspends_workload is not None and engine.admits is not None:
            version = served_version(engine.admits.workload_kind, lookup)
            return engine.suspends_workload.plan(workload, suspend, version)
    tree = tree or {}
    own = registry.engine_with_own(str(tree.get("apiVersion") or ""), str(tree.get("kind") or ""))
    suspends = (own or registry.engine_named(job.engine)).suspends_job
    return None if suspends is None else suspends.plan(tree, suspend)


def served_version(kind: ApiKind, lookup: Lookup | None) -> str:
    """The version in which the cluster serves a kind, else that of `kind`."""
    served = lookup(*kind) if lookup is not None else None
    return served.path("n", "w").split("/")[3] if served is not None else kind[0].rpartition("/")[2]


def _target(job: Job) -> str:
    return f"{job.kind.lower()} {job.namespace}/{job.name}"


def _path(job: Job, lookup: Lookup | None) -> str:
    return object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)


def refuse_pod(job: Job) -> None:
    """Raises BadInput for bare pods: a queue lets go of them by deleting them, which is a kill."""
    if job.kind in ("Pod", GANG):
        raise BadInput(f"{_target(job)}: a bare pod cannot be suspended, only deleted (K)")


def _lost(job: Job, store: StoreReader) -> tuple[str, ...]:
    alive = [one for one in members_of(job, store) if not one.is_finished]
    if not alive:
        return ("no pod is running, so nothing is lost",)
    nodes = {one.node for one in alive if one.gpus_allocated}
    free = f" and {freed(job.gpus_allocated)} on {counted(len(nodes), 'node')}" if job.gpus_allocated else ""
    return (
        f"{counted(len(alive), 'pod')} terminate{'s' * (len(alive) == 1)}{free}",
        f"{lost_words(alive)}; the object, its queue and its claims are kept",
    )


def lost_words(alive: Iterable[Pod]) -> str:
    """What taking these pods off their nodes loses: nothing as long as none of them runs."""
    if any(one.phase not in ("", "Pending") for one in alive):
        return "progress since the last checkpoint is lost"
    return "none of them is running yet, so no progress is lost"


async def _as_now(planning: Planning, job: Job) -> tuple[dict[str, Any] | None, StoreReader]:
    """The job's object, None where its engine goes by the workload; and the tables with that as it is now."""
    refuse_pod(job)
    if is_through_workload(job, planning.store, planning.lookup):
        return None, await with_workload(planning, job)
    return await tree_of(planning, job), planning.store


async def plan_to_suspend(planning: Planning, job: Job, _options: Any = None) -> Plan:
    """Take the job off its nodes as its engine wants it."""
    tree, store = await _as_now(planning, job)
    return plan_suspend(job, tree, store, lookup=planning.lookup, context=planning.context)


async def plan_to_resume(planning: Planning, job: Job, _options: Any = None) -> Plan:
    """Let the job go on as its engine wants it."""
    tree, store = await _as_now(planning, job)
    return plan_resume(job, tree, store, lookup=planning.lookup, context=planning.context)


def rights_to_suspend(planning: Planning, job: Job) -> tuple[Right, ...]:
    """To suspend the job, or to resume it."""
    method, path = suspend_path(job, planning.store, planning.lookup)
    return (right_on(method, path),) if path else right_to_patch(planning, job)


def _suspended(jobs: Sequence[Job], store: StoreReader) -> Iterable[str]:
    yield from ended_lines(jobs, store)
    yield f"{lost_words(living_members(jobs, store))}; objects, queues and claims are kept"


SUSPEND = Planner(plan=plan_to_suspend, needs=rights_to_suspend, many_lines=_suspended)
RESUME = Planner(plan=plan_to_resume, needs=rights_to_suspend)
