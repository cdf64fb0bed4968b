"""What a plan is made on: the tables, the connection for what they do not hold, and the moment.

`make` is the one way from a verb and a job to its plan; keys, palette and command line all go through it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.again import plan_clone, plan_retry, template_of
from cockpit.actions.fresh import Fresh, job_as_read, record_of
from cockpit.actions.hold import WORKLOADS, is_through_workload, plan_resume, plan_suspend
from cockpit.actions.job_size import plan_resize
from cockpit.actions.kill import Truth, plan_kill
from cockpit.actions.prioritise import plan_prioritise
from cockpit.actions.read import read_tree
from cockpit.errors import BadInput
from cockpit.gangs.retry_now import GROUP_VERSION, plan_retry_now
from cockpit.jobs.template import Template
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store

COSCHEDULING = "Coscheduling"
_WATCHED = (Kind.MPIJOB, Kind.JOB, Kind.POD)


class Make(Protocol):
    """Makes the plan of one verb from what is known by now; with `reads` its object is read for it."""

    async def __call__(self, *, reads: bool = False) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Ground:
    """One attachment as far as plans need it. `session` reads; nothing is written through it here."""

    store: Store
    session: Any
    lookup: Lookup
    context: str
    taken: frozenset[str] = frozenset()  # names of jobs that are there
    reads: bool = False  # what is watched is read, too: the tables were too old for a write


async def kill(ground: Ground, job: Job) -> Plan:
    """Delete the job. One of a kind that is not watched (a JobSet) is read always: its version is old."""
    store: Truth = ground.store
    if job.uid and (ground.reads or not any(store.get(kind, job.uid) for kind in _WATCHED)):
        tree = await tree_of(ground, job)
        job = job_as_read(job, tree)
        if job.kind == "Pod" and store.get(Kind.POD, job.uid) is not None:
            from cockpit.kube.decode.decoders import POD

            store = Fresh(
                ground.store, Kind.POD, record_of(POD, tree, job.uid, f"pod {job.namespace}/{job.name}")
            )
    return plan_kill(job, store, lookup=ground.lookup, context=ground.context)


async def suspend(ground: Ground, job: Job) -> Plan:
    """Hold the job as its engine wants it."""
    tree = None if is_through_workload(job, ground.store, ground.lookup) else await tree_of(ground, job)
    store = await _with_workload(ground, job) if tree is None else ground.store
    return plan_suspend(job, tree, store, lookup=ground.lookup, context=ground.context)


async def resume(ground: Ground, job: Job) -> Plan:
    """Let the job go on as its engine wants it."""
    tree = None if is_through_workload(job, ground.store, ground.lookup) else await tree_of(ground, job)
    store = await _with_workload(ground, job) if tree is None else ground.store
    return plan_resume(job, tree, store, lookup=ground.lookup, context=ground.context)


async def retry(ground: Ground, job: Job, *, memory: str = "", at: str = "") -> Plan:
    """Again now: touch the PodGroup of a gang that waits for coscheduling, else run the failed job once more.

    `at` is the time as text, for the touch.
    """
    group = pod_group(ground, job)
    if group and job.state in JobState.WAITING and not memory:
        path = object_path(GROUP_VERSION, "PodGroup", job.namespace, group, lookup=ground.lookup)
        tree = await read_tree(ground.session, path, f"podgroup {job.namespace}/{group}")
        from cockpit.actions.shell import job_line

        plan = plan_retry_now(tree, path, at)
        return msgspec.structs.replace(plan, shell=job_line("retry", job, ground.context))
    return plan_retry(
        job,
        await tree_of(ground, job),
        ground.store,
        memory=memory,
        workload=await workload_tree(ground, job),
        taken=ground.taken,
        lookup=ground.lookup,
        context=ground.context,
    )


async def scale(ground: Ground, job: Job, *, workers: int) -> Plan:
    """Give the job another number of workers."""
    return plan_resize(job, await tree_of(ground, job), workers, lookup=ground.lookup, context=ground.context)


async def prioritise(ground: Ground, job: Job, *, priority: str = "", queue: str = "") -> Plan:
    """Give the job another priority class or queue."""
    tree = await tree_of(ground, job)
    return plan_prioritise(
        job, tree, priority=priority, queue=queue, lookup=ground.lookup, context=ground.context
    )


async def clone_form(ground: Ground, job: Job) -> Template:
    """The form of a clone."""
    return template_of(job, await tree_of(ground, job), await workload_tree(ground, job), ground.taken)


def clone(ground: Ground, job: Job, template: Template, values: Mapping[str, str]) -> Plan:
    """Create the clone that the form describes."""
    return plan_clone(job, template, values, store=ground.store, lookup=ground.lookup, context=ground.context)


async def tree_of(ground: Ground, job: Job) -> dict[str, Any]:
    """The job's object as the server has it now. Raises Refused when it is another one meanwhile."""
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=ground.lookup)
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    tree = await read_tree(ground.session, path, target)
    if job.uid and tree["metadata"].get("uid") != job.uid:
        raise BadInput(f"{target} is another object of the same name now: look again")
    tree.setdefault("apiVersion", job.api_version)
    tree.setdefault("kind", job.kind)
    return tree


async def workload_tree(ground: Ground, job: Job) -> dict[str, Any] | None:
    """The Workload behind the job, None where there is none."""
    found = ground.store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    if not isinstance(found, Workload):
        return None
    path = object_path(WORKLOADS, "Workload", found.namespace, found.name, lookup=ground.lookup)
    return await read_tree(ground.session, path, f"workload {found.key}")


async def _with_workload(ground: Ground, job: Job) -> Truth:
    """The tables, with the job's Workload as it is now where they were too old."""
    found = ground.store.get(Kind.WORKLOAD, job.workload_uid)
    tree = await workload_tree(ground, job) if ground.reads else None
    if tree is None or not isinstance(found, Workload):
        return ground.store
    from cockpit.kube.decode.decoders import WORKLOAD

    record = record_of(WORKLOAD, tree, found.uid, f"workload {found.key}")
    return Fresh(ground.store, Kind.WORKLOAD, record)


def pod_group(ground: Ground, job: Job) -> str:
    """The PodGroup of a job of coscheduling, "" where its engine is another or no pod tells."""
    if job.engine != COSCHEDULING:
        return ""
    pods = (ground.store.get(Kind.POD, uid) for uid in job.pod_uids)
    return next((one.gang for one in pods if isinstance(one, Pod) and one.gang), "")
