"""What is done to a job that is there: kill, suspend, resume, retry, prune."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.job import Job
    from cockpit.model.plan import Plan
    from cockpit.model.right import Right, Ways


def rights_on_job(planning: "Planning", job: "Job", *verbs: str) -> "tuple[Right, ...]":
    """These verbs on the job's own object; none where the cluster does not serve its kind. That of a gang of
    bare pods are its pods, whatever they are called."""
    from cockpit.actions.address import object_path
    from cockpit.actions.verbs.rights import right_on
    from cockpit.errors import BadInput
    from cockpit.model.job import GANG

    if job.kind == GANG:
        pods = object_path("v1", "Pod", job.namespace, "any", lookup=planning.lookup)
        return _of_any_name(right_on(verb, pods) for verb in verbs)
    try:
        path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=planning.lookup)
    except BadInput:
        return ()
    return tuple(right_on(verb, path) for verb in verbs)


def right_to_create(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    """To make another object of the job's kind in its namespace."""
    return _of_any_name(rights_on_job(planning, job, "create"))


def _of_any_name(rights: "Iterable[Right]") -> "tuple[Right, ...]":
    import msgspec

    return tuple(msgspec.structs.replace(one, name="") for one in rights)


# ---- kill


async def plan_to_kill(planning: "Planning", job: "Job", _options: Any) -> "Plan":
    """Delete the job. One of a kind that is not watched (a JobSet) is read always: its version is old."""
    from cockpit.actions.kill import plan_kill
    from cockpit.actions.planning import tree_of
    from cockpit.actions.store_overlay import job_as_read, record_of
    from cockpit.model.job import GANG
    from cockpit.model.record import Kind

    store = planning.store
    watched = (Kind.MPIJOB, Kind.JOB, Kind.POD)
    if (
        job.kind != GANG
        and job.uid
        and (planning.reads or not any(store.get(kind, job.uid) for kind in watched))
    ):
        tree = await tree_of(planning, job)
        job = job_as_read(job, tree)
        if job.kind == "Pod" and store.get(Kind.POD, job.uid) is not None:
            from cockpit.kube.decode.decoders import POD

            record = record_of(POD, tree, job.uid, f"pod {job.namespace}/{job.name}")
            store = store.with_record(Kind.POD, record)
    return plan_kill(job, store, lookup=planning.lookup, context=planning.context)


def _needs_to_kill(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    from cockpit.actions.kill import groups_to_delete
    from cockpit.actions.verbs.rights import right_of

    groups = groups_to_delete(job, planning.store, planning.lookup)
    return (*rights_on_job(planning, job, "delete"), *map(right_of, groups))


def _ending(jobs: "Sequence[Job]", store: Any) -> Iterable[str]:
    """How many pods end and GPUs become free."""
    from cockpit.actions.kill import ended_lines

    return ended_lines(jobs, store)


def _deleted(jobs: "Sequence[Job]", store: Any) -> Iterable[str]:
    from cockpit.actions.kill import REMAINS

    yield from _ending(jobs, store)
    yield REMAINS


KILL = Verb(
    name="kill",
    kind="job",
    key="K",
    words=Words("kill", "killed", "delete jobs and their pods", "Kill the job with all its members"),
    plan=plan_to_kill,
    needs=_needs_to_kill,
    many_lines=_deleted,
    is_destructive=True,
)


# ---- suspend and resume


async def plan_to_suspend(planning: "Planning", job: "Job", _options: Any) -> "Plan":
    """Take the job off its nodes as its engine wants it."""
    from cockpit.actions.planning import tree_of, with_workload
    from cockpit.actions.suspend import is_through_workload, plan_suspend, refuse_pod

    refuse_pod(job)
    is_through = is_through_workload(job, planning.store, planning.lookup)
    tree = None if is_through else await tree_of(planning, job)
    store = await with_workload(planning, job) if tree is None else planning.store
    return plan_suspend(job, tree, store, lookup=planning.lookup, context=planning.context)


async def plan_to_resume(planning: "Planning", job: "Job", _options: Any) -> "Plan":
    """Let the job go on as its engine wants it."""
    from cockpit.actions.planning import tree_of, with_workload
    from cockpit.actions.suspend import is_through_workload, plan_resume, refuse_pod

    refuse_pod(job)
    is_through = is_through_workload(job, planning.store, planning.lookup)
    tree = None if is_through else await tree_of(planning, job)
    store = await with_workload(planning, job) if tree is None else planning.store
    return plan_resume(job, tree, store, lookup=planning.lookup, context=planning.context)


def _needs_to_suspend(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    from cockpit.actions.suspend import suspend_path
    from cockpit.actions.verbs.rights import right_on

    method, path = suspend_path(job, planning.store, planning.lookup)
    if not path:
        return rights_on_job(planning, job, "patch")
    return (right_on(method, path),)


def _is_suspended(job: "Job") -> bool:
    from cockpit.actions.suspend import is_suspended

    return is_suspended(job)


def _suspended(jobs: "Sequence[Job]", store: Any) -> Iterable[str]:
    from cockpit.actions.kill import living_members
    from cockpit.actions.suspend import lost_words

    yield from _ending(jobs, store)
    yield f"{lost_words(living_members(jobs, store))}; objects, queues and claims are kept"


SUSPEND = Verb(
    name="suspend",
    kind="job",
    key="P",
    words=Words(
        "suspend",
        "suspended",
        "suspend jobs through their queueing engine",
        "Suspend the job, or resume it",
    ),
    plan=plan_to_suspend,
    needs=_needs_to_suspend,
    many_lines=_suspended,
)
RESUME = Verb(
    name="resume",
    kind="job",
    key="P",
    words=Words("resume", "resumed", "resume suspended jobs"),
    weighs_others=True,
    plan=plan_to_resume,
    needs=_needs_to_suspend,
    is_for=_is_suspended,
)


# ---- record


async def plan_to_record(planning: "Planning", job: "Job", _options: Any) -> "Plan":
    """Keep what the run reached in a ConfigMap, from its log as it is now."""
    import asyncio
    from typing import cast

    from cockpit.actions.record_run import AS_SHOWN, plan_record
    from cockpit.jobs.members import in_order
    from cockpit.jobs.template import load_library
    from cockpit.kube.session import ApiSession
    from cockpit.model.pod import Pod
    from cockpit.model.record import Kind

    found = (planning.store.get(Kind.POD, uid) for uid in job.pod_uids)
    members = in_order(pod for pod in found if isinstance(pod, Pod))
    library = await asyncio.to_thread(load_library, planning.template_folders)
    session = cast(ApiSession, planning.session)
    record = await AS_SHOWN.of(session, job, members, library.templates.values(), planning.at_seconds)
    return await plan_record(planning.session, job, record, planning.context)


def _needs_to_record(_planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    from cockpit.actions.record_run import MAPS
    from cockpit.actions.verbs.rights import right_on

    return (right_on("create", MAPS.path(job.namespace)),)


RECORD = Verb(
    name="record",
    kind="job",
    words=Words("record", "recorded", "keep the throughput of a run, for comparisons after it is deleted"),
    plan=plan_to_record,
    needs=_needs_to_record,
    is_repeatable=False,
)


# ---- retry


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """`memory`: a quantity instead of one and a half times the old limit."""

    memory: str = ""


async def plan_to_retry(planning: "Planning", job: "Job", options: RetryOptions) -> "Plan":
    """Touch the group of a gang that is not tried again by itself, else run the failed job once more."""
    import msgspec

    from cockpit.actions.clone_retry import plan_retry
    from cockpit.actions.named_objects import refuse_absent
    from cockpit.actions.planning import tree_of, workload_tree
    from cockpit.actions.read import read_tree
    from cockpit.actions.shell import job_line
    from cockpit.gangs.registry import engine_named
    from cockpit.jobs.contending import contender

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


def _group_path(planning: "Planning", job: "Job", memory: str = "") -> str:
    """The PodGroup that is touched, "" where the job is run once more."""
    from cockpit.actions.address import object_path
    from cockpit.actions.planning import pod_group
    from cockpit.gangs.registry import engine_named
    from cockpit.model.job import JobState

    group, retries = pod_group(planning, job), engine_named(job.engine).retries
    if not group or retries is None or job.state not in JobState.WAITING or memory:
        return ""
    return object_path(*retries.kind, job.namespace, group, lookup=planning.lookup)


def _needs_to_retry(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    from cockpit.actions.verbs.rights import right_on

    if path := _group_path(planning, job):
        return (right_on("patch", path),)
    return right_to_create(planning, job)


RETRY = Verb(
    name="retry",
    kind="job",
    key="T",
    words=Words(
        "retry",
        "retried",
        "rerun failed jobs; retry scheduling of a waiting gang now",
        "Retry now (failed jobs restart, with more memory after OOM)",
    ),
    options=RetryOptions,
    weighs_others=True,
    flags=(
        Flag(
            "--memory",
            "memory",
            "new memory limit of OOM-killed members (default: 1.5 times the old limit)",
            "QUANTITY",
        ),
    ),
    plan=plan_to_retry,
    needs=_needs_to_retry,
)


# ---- recreate


@dataclass(frozen=True, slots=True)
class RecreateOptions:
    """`patch`: a JSON patch of the manifest that the job's author wrote, as text; "" changes nothing."""

    patch: str = ""

    def __post_init__(self) -> None:
        from cockpit.actions.recreate import read_operations

        read_operations(self.patch)


async def plan_to_recreate(planning: "Planning", job: "Job", options: RecreateOptions) -> "Plan":
    """Delete the job and create it again, with other lines."""
    from cockpit.actions.planning import tree_of, workload_path, workload_tree
    from cockpit.actions.recreate import plan_recreate, read_operations
    from cockpit.model.gang import Workload
    from cockpit.model.record import Kind

    workload = planning.store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    return plan_recreate(
        job,
        await tree_of(planning, job),
        read_operations(options.patch),
        store=planning.store,
        workload=await workload_tree(planning, job),
        workload_path=workload_path(planning, workload) if isinstance(workload, Workload) else "",
        lookup=planning.lookup,
        context=planning.context,
    )


def _needs_to_recreate(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    return (*rights_on_job(planning, job, "delete"), *right_to_create(planning, job))


RECREATE = Verb(
    name="recreate",
    kind="job",
    words=Words(
        "recreate",
        "recreated",
        "delete a job and create it again under its name, with changed lines",
        "Delete the job and create it again, without what controllers wrote into it",
    ),
    options=RecreateOptions,
    flags=(Flag("--patch", "patch", "JSON patch of the job's manifest (default: no change)", "JSON"),),
    weighs_others=True,
    plan=plan_to_recreate,
    needs=_needs_to_recreate,
    is_destructive=True,
    is_repeatable=False,
    takes_many=False,
)


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
        from cockpit.model.duration import parse_duration

        try:
            return parse_duration(self.older_than)
        except ValueError:
            return self._refuse()

    def _refuse(self) -> float:
        from cockpit.errors import BadInput

        raise BadInput(f"--older-than: {self.older_than!r} is not a valid age; write for example 12h or 7d")


def old_enough(jobs: "Sequence[Job]", options: PruneOptions, now_seconds: float) -> "Sequence[Job]":
    """Those that ended before that age, at the cluster's time `now_seconds`."""
    from cockpit.actions.prune import ended_before

    return ended_before(jobs, now_seconds - options.seconds)


def _needs_any_to_prune(planning: "Planning", _jobs: "Sequence[Job]") -> "Ways":
    """Which of the jobs that ended are meant is said in its dialog: one of each kind and namespace."""
    from cockpit.model.job import JobState

    ended = (one for one in planning.jobs.values() if one.state in JobState.ENDED)
    some = {(one.namespace, one.api_version, one.kind): one for one in ended}
    return tuple(_of_any_name(rights_on_job(planning, one, "delete")) for one in some.values())


PRUNE = Verb(
    name="prune",
    kind="job",
    opener="prune",
    words=Words(
        "prune", "deleted", "delete finished jobs older than an age", "Delete finished jobs older than an age"
    ),
    options=PruneOptions,
    flags=(
        Flag(
            "--older-than",
            "older_than",
            "time since they finished, such as 12h or 7d",
            "AGE",
            is_required=True,
        ),
    ),
    plan=plan_to_kill,
    needs=_needs_to_kill,
    many_lines=_deleted,
    needs_any=_needs_any_to_prune,
    picks=old_enough,
    finds_own=True,
    is_destructive=True,
)
