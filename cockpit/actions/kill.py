"""Kill and prune: delete the object of a job, and say what goes with it.

Deletion is in the background: the object goes at once and the garbage collector takes its children. The
preconditions (uid and resource version) refuse it when the object became another, or changed, after it was
shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, tree_of
from cockpit.actions.rights import of_any_name, right_of, rights_on_job
from cockpit.actions.shell import kill_line, words_line
from cockpit.actions.store_overlay import job_as_read, record_of
from cockpit.errors import BadInput
from cockpit.gangs.sentence import counted, freed
from cockpit.jobs.members import members_of
from cockpit.jobs.schedule import runs_of, runs_words
from cockpit.kube.decode.decoders import POD
from cockpit.model.duration import parse_duration
from cockpit.model.gang import PodGroup
from cockpit.model.job import GANG, Job, JobObject, JobState
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.right import Right, Ways
from cockpit.model.store_reader import StoreReader

REMAINS = "volume claims and their data are kept"
_TABLES = {"MPIJob": Kind.MPIJOB, "Job": Kind.JOB, "Pod": Kind.POD}


def plan_kill(job: Job, store: StoreReader, *, lookup: Lookup | None = None, context: str = "") -> Plan:
    """The plan that deletes the job. Raises BadInput when it is being deleted or has no path.

    Of a gang of bare pods all are deleted: half a gang would only hold its GPUs for nothing.
    """
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    if job.state == JobState.FINISHING:
        raise BadInput(f"{target} is already being deleted; its pods are terminating")
    pods, runs = members_of(job, store), runs_of(job, store)
    if runs:
        pods = tuple(pod for run in runs for pod in store.pods_under(run.uid))
        job = msgspec.structs.replace(job, gpus_allocated=sum(pod.gpus_allocated for pod in pods))
    if job.kind == GANG:
        has_group = bool(store.pod_groups_named(f"{job.namespace}/{job.name}"))
        return _gang_plan(job, pods, lookup, context, has_group=has_group)
    calls = _pod_calls(pods, lookup) if job.kind == "Pod" and pods else (_job_call(job, target, lookup),)
    groups = _own_groups(job, pods, store)
    calls = (*calls, *(_group_call(one, lookup) for one in groups))
    return Plan(
        verb="kill",
        title=f"Kill {target}",
        done=f"Killed {target}",
        calls=calls,
        lines=(
            *_lines(job, pods, target),
            *_with(runs),
            *(f"delete its PodGroup {one.key}" for one in groups),
        ),
        warnings=_warnings(job, store),
        shell=kill_line(job, context),
        is_destructive=True,
    )


def _with(runs: Sequence[JobObject]) -> tuple[str, ...]:
    return (f"with it its runs: {runs_words(list(runs))}",) if runs else ()


def plan_take_away(tree: Mapping[str, Any], path: str, *, context: str = "") -> Plan:
    """The plan that deletes what was made a moment ago, by its uid: another object of its name stays.

    Its version is not guarded, for its status moves on. Raises BadInput where `tree` has no uid.
    """
    metadata = tree["metadata"]
    name = f"{tree['kind'].lower()}/{metadata['namespace']}/{metadata['name']}"
    target = name.replace("/", " ", 1)
    return Plan(
        verb="delete",
        title=f"Delete {target}",
        done=f"Deleted {target}",
        calls=(_delete(path, str(metadata.get("uid") or ""), "", target),),
        lines=(f"delete {target}, created a moment ago",),
        shell=words_line(["cockpit", "job", "kill", name], context),
        is_destructive=True,
    )


def groups_to_delete(job: Job, store: StoreReader, lookup: Lookup | None = None) -> tuple[Call, ...]:
    """The calls that delete the PodGroups made beside the job; none for bare pods, whose group stays."""
    if job.kind == GANG:
        return ()
    return tuple(_group_call(one, lookup) for one in _own_groups(job, members_of(job, store), store))


def living_members(jobs: Iterable[Job], store: StoreReader) -> tuple[Pod, ...]:
    """The pods of these jobs that have not ended, each once."""
    pods = {one.uid: one for job in jobs for one in members_of(job, store)}
    return tuple(one for one in pods.values() if not one.is_finished)


def ended_lines(jobs: Iterable[Job], store: StoreReader) -> Iterable[str]:
    """How many pods end with these jobs, and how many GPUs become free."""
    alive = living_members(jobs, store)
    gpus = sum(one.gpus_allocated for one in alive)
    nodes = {one.node for one in alive if one.gpus_allocated}
    yield f"{counted(len(alive), 'pod')} terminate{'s' * (len(alive) == 1)}"
    yield f"{freed(gpus)} on {counted(len(nodes), 'node')}" if gpus else "no GPU is allocated"


def _own_groups(job: Job, pods: Sequence[Pod], store: StoreReader) -> tuple[PodGroup, ...]:
    """PodGroups that the cockpit made beside the job: no controller takes them away."""
    keys = {f"{job.namespace}/{job.name}", *(f"{one.namespace}/{one.gang}" for one in pods if one.gang)}
    return tuple(sorted((one for one in _groups_of_ours(store) if one.key in keys), key=lambda one: one.uid))


def _groups_of_ours(store: StoreReader) -> Iterator[PodGroup]:
    for one in store.records(Kind.POD_GROUP).values():
        if isinstance(one, PodGroup) and one.is_ours and one.owner is None and one.deleting_seconds is None:
            yield one


def _group_call(group: PodGroup, lookup: Lookup | None) -> Call:
    path = object_path(group.api_version, "PodGroup", group.namespace, group.name, lookup=lookup)
    # Its scheduler writes it all the time: who it is is guarded, not how it stands.
    return _delete(path, group.uid, "", f"podgroup {group.key}")


def _gang_plan(
    job: Job, pods: Sequence[Pod], lookup: Lookup | None, context: str, *, has_group: bool
) -> Plan:
    target = f"gang {job.namespace}/{job.name}"
    # Pods of a gang that starts change all the time: who they are is guarded, not how they stand.
    calls = tuple(
        _delete(
            object_path("v1", "Pod", one.namespace, one.name, lookup=lookup), one.uid, "", f"pod {one.key}"
        )
        for one in pods
        if one.deleting_seconds is None
    )
    if not calls:
        raise BadInput(f"{target} is already being deleted; its pods are terminating")
    lines = (
        f"delete all {counted(len(calls), 'pod')} of {target}: a gang is deleted as a unit",
        *ends_of(pods, sum(one.gpus_allocated for one in pods)),
        *((f"its PodGroup {job.name} is kept: it takes no GPUs",) if has_group else ()),
    )
    return Plan(
        verb="kill",
        title=f"Kill {target}",
        done=f"Killed {target}",
        calls=calls,
        lines=lines,
        shell=kill_line(job, context),
        is_destructive=True,
        is_whole=True,
    )


def _job_call(job: Job, target: str, lookup: Lookup | None) -> Call:
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)
    return _delete(path, job.uid, job.resource_version, target)


def _pod_calls(pods: Sequence[Pod], lookup: Lookup | None) -> tuple[Call, ...]:
    return tuple(
        _delete(
            object_path("v1", "Pod", one.namespace, one.name, lookup=lookup),
            one.uid,
            one.resource_version,
            f"pod {one.key}",
        )
        for one in pods
    )


def _delete(path: str, uid: str, resource_version: str, target: str) -> Call:
    if not uid:
        raise BadInput(f"{target} has no known uid: it is not deleted by name alone")
    preconditions = {"uid": uid}
    if resource_version:
        preconditions["resourceVersion"] = resource_version
    return Call(
        method="DELETE",
        path=path,
        body={
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": preconditions,
        },
        target=target,
    )


def _lines(job: Job, pods: Sequence[Pod], target: str) -> tuple[str, ...]:
    lines = [f"delete {target} ({job.state or 'state unknown'})", *ends_of(pods, job.gpus_allocated)]
    if not job.gpus_allocated and job.state not in JobState.ENDED:
        lines.append("it has no GPU")
    if job.queue and job.state in JobState.WAITING:
        lines.append(f"it leaves queue {job.queue}")
    return (*lines, REMAINS)


def _end_of(pods: int, running: int) -> str:
    if pods == 1:
        return "1 running pod will be deleted" if running else "1 pod that is not running will be deleted"
    return f"{pods} pods will be deleted, {running} of them running"


def ends_of(pods: Iterable[Pod], gpus_allocated: int) -> list[str]:
    """What becomes of these pods where their job is deleted, and of its GPUs."""
    pods = tuple(pods)
    alive = [one for one in pods if not one.is_finished]
    running = sum(one.phase == "Running" for one in alive)
    if alive:
        lines = [_end_of(len(alive), running)]
    elif pods:
        lines = [f"{counted(len(pods), 'finished pod')} and their logs will be deleted"]
    else:
        lines = ["it has no pods"]
    if gpus_allocated:
        holding = {one.node for one in alive if one.gpus_allocated}
        nodes = f" on {counted(len(holding), 'node')}" if holding else ""
        lines.append(f"{freed(gpus_allocated)}{nodes}")
    return lines


def _warnings(job: Job, store: StoreReader) -> tuple[str, ...]:
    found: list[str] = []
    record = store.get(_TABLES.get(job.kind, Kind.OWNER), job.uid)
    owner = getattr(record, "owner", None)
    if owner is not None:
        found.append(f"{owner.kind} {owner.name} owns it and may recreate it")
    if job.kind in ("Deployment", "StatefulSet", "ReplicaSet", "Notebook"):
        found.append(f"this is a {job.kind}, not a training job: everything it serves stops")
    return tuple(found)


# ---- kill


async def plan_to_kill(planning: Planning, job: Job, _options: Any = None) -> Plan:
    """Delete the job. One of a kind that is not watched (a JobSet) is read always: its version is old."""
    store = planning.store
    watched = (Kind.MPIJOB, Kind.JOB, Kind.POD)
    is_watched = any(store.get(kind, job.uid) for kind in watched)
    if job.kind != GANG and job.uid and (planning.reads or not is_watched):
        tree = await tree_of(planning, job)
        job = job_as_read(job, tree)
        if job.kind == "Pod" and store.get(Kind.POD, job.uid) is not None:
            record = record_of(POD, tree, job.uid, f"pod {job.namespace}/{job.name}")
            store = store.with_record(Kind.POD, record)
    return plan_kill(job, store, lookup=planning.lookup, context=planning.context)


def rights_to_kill(planning: Planning, job: Job) -> tuple[Right, ...]:
    """To delete the job, and the PodGroups made beside it."""
    groups = groups_to_delete(job, planning.store, planning.lookup)
    return (*rights_on_job(planning, job, "delete"), *map(right_of, groups))


def _deleted(jobs: Sequence[Job], store: StoreReader) -> Iterable[str]:
    yield from ended_lines(jobs, store)
    yield REMAINS


KILL = Planner(plan=plan_to_kill, needs=rights_to_kill, many_lines=_deleted)


# ---- prune


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """`older_than`: an age such as 12h or 7d, since the end of the job."""

    older_than: str

    def __post_init__(self) -> None:
        if self.seconds < 0:
            self._refuse()

    @property
    def seconds(self) -> float:
        """The age. Raises BadInput."""
        try:
            return parse_duration(self.older_than)
        except ValueError:
            return self._refuse()

    def _refuse(self) -> float:
        raise BadInput(f"--older-than: {self.older_than!r} is not a valid age; write for example 12h or 7d")


def _ended_seconds(job: Job) -> float | None:
    return job.finished_seconds if job.finished_seconds is not None else job.created_seconds


def old_enough(jobs: Iterable[Job], options: PruneOptions, now_seconds: float) -> list[Job]:
    """Jobs that ended before that age, at the cluster's time `now_seconds`, oldest first.

    Without a known end the creation counts; a job of which neither is known stays.
    """
    ends = ((_ended_seconds(job), job) for job in jobs if job.state in JobState.ENDED)
    moment = now_seconds - options.seconds
    old = [(ended, job) for ended, job in ends if ended is not None and ended < moment]
    return [job for _ended, job in sorted(old, key=lambda pair: (pair[0], pair[1].key))]


def _needs_any_to_prune(planning: Planning, _jobs: Sequence[Job]) -> Ways:
    """The dialog chooses between the jobs that ended: one of each kind and namespace."""
    ended = (job for job in planning.jobs.values() if job.state in JobState.ENDED)
    some = {(job.namespace, job.api_version, job.kind): job for job in ended}
    return tuple(of_any_name(rights_on_job(planning, job, "delete")) for job in some.values())


PRUNE = Planner(
    options=PruneOptions,
    plan=plan_to_kill,
    needs=rights_to_kill,
    many_lines=_deleted,
    needs_any=_needs_any_to_prune,
    picks=old_enough,
)
