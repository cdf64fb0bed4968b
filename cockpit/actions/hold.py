"""Suspend and resume: the engine of the job decides how.

A job that Kueue manages is held through its Workload, Volcano's own Job by a Command that Volcano takes in,
any other one by its own suspend field.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.kill import Truth, members_of
from cockpit.actions.shell import job_line
from cockpit.errors import BadInput
from cockpit.gangs import kueue, volcano
from cockpit.gangs.attach import is_own_kind
from cockpit.gangs.hold import hold_call
from cockpit.gangs.sentence import counted, freed
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind

WORKLOADS = "kueue.x-k8s.io/v1beta2"


def is_through_workload(job: Job, store: Truth, lookup: Lookup | None = None) -> bool:
    """True where Kueue manages the job; its object then needs not be read. Raises BadInput where Kueue is
    about to."""
    if job.engine != kueue.NAME:
        return False
    if isinstance(store.get(Kind.WORKLOAD, job.workload_uid), Workload):
        return True
    if lookup is not None and lookup(WORKLOADS, "Workload") is None:
        return False  # the label of a queue, and no Kueue behind it
    raise BadInput(f"{_target(job)}: Kueue has not made a Workload for it yet; look again in a moment")


def plan_suspend(
    job: Job, tree: Mapping[str, Any] | None, store: Truth, *, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """Take the job off its nodes, or out of the line, until it is resumed.

    `tree` is the job's object as it is now, None where `is_through_workload`. Raises BadInput.
    """
    target = _target(job)
    _refuse_pod(job, target)
    workload = store.get(Kind.WORKLOAD, job.workload_uid)
    if tree is None and isinstance(workload, Workload):
        plan = kueue.plan_hold(workload, workload_version(lookup))
        lines = (plan.lines[0], *_lost(job, store)) if plan.is_destructive else plan.lines
        plan = msgspec.structs.replace(plan, lines=lines, warnings=())
    elif is_own_kind(tree or {}):
        plan = volcano.plan_command(tree or {}, "AbortJob")
        plan = msgspec.structs.replace(plan, lines=(*plan.lines, *_lost(job, store)), warnings=())
    else:
        call = hold_call(tree or {}, _path(job, lookup), target, suspend=True)
        field = "its suspend field becomes true; it stays until somebody resumes it"
        plan = Plan(
            verb="suspend",
            title="",
            calls=(call,),
            lines=(field, *_lost(job, store)),
            is_destructive=bool(job.gpus_held),
        )
    return msgspec.structs.replace(plan, title=f"Suspend {target}", shell=job_line("suspend", job, context))


def plan_resume(
    job: Job, tree: Mapping[str, Any] | None, store: Truth, *, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """Let a held job start, or queue, again. Raises BadInput with the reason."""
    target = _target(job)
    _refuse_pod(job, target)
    workload = store.get(Kind.WORKLOAD, job.workload_uid)
    if tree is None and isinstance(workload, Workload):
        plan = kueue.plan_release(workload, workload_version(lookup))
    elif is_own_kind(tree or {}):
        plan = volcano.plan_command(tree or {}, "ResumeJob")
    else:
        call = hold_call(tree or {}, _path(job, lookup), target, suspend=False)
        gpus = f"; it asks for {counted(job.gpus_wanted, 'GPU')}" if job.gpus_wanted else ""
        lines = (f"its suspend field becomes false: its pods are made anew{gpus}",)
        plan = Plan(verb="resume", title="", calls=(call,), lines=lines)
    return msgspec.structs.replace(plan, title=f"Resume {target}", shell=job_line("resume", job, context))


def workload_version(lookup: Lookup | None) -> str:
    """The version in which the cluster serves Kueue's kinds."""
    served = lookup(WORKLOADS, "Workload") if lookup is not None else None
    return served.path("n", "w").split("/")[3] if served is not None else "v1beta2"


def _target(job: Job) -> str:
    return f"{job.kind.lower()} {job.namespace}/{job.name}"


def _path(job: Job, lookup: Lookup | None) -> str:
    return object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)


def _refuse_pod(job: Job, target: str) -> None:
    # Kueue lets go of a plain pod by deleting it: that is a kill, and shall be called so.
    if job.kind == "Pod":
        raise BadInput(f"{target} cannot be suspended: a bare pod is gone once it is taken off; kill it (K)")


def _lost(job: Job, store: Truth) -> tuple[str, ...]:
    alive = [one for one in members_of(job, store) if not one.is_finished]
    if not alive:
        return ("no pod runs now, so nothing is lost",)
    nodes = {one.node for one in alive if one.holds_gpus}
    free = f" and {freed(job.gpus_held)} on {counted(len(nodes), 'node')}" if job.gpus_held else ""
    return (
        f"{counted(len(alive), 'pod')} end{'s' * (len(alive) == 1)}{free}",
        f"{lost_words(alive)}; the object, its queue and its claims stay",
    )


def lost_words(alive: Iterable[Pod]) -> str:
    """What taking these pods off their nodes loses: nothing as long as none of them runs."""
    if any(one.phase not in ("", "Pending") for one in alive):
        return "progress since the last checkpoint is lost"
    return "none of them runs yet, so no progress is lost"


def is_held(job: Job) -> bool:
    """True where the key that holds and resumes would resume it."""
    return job.state == JobState.SUSPENDED
