"""Give back the GPUs of a job that idles, in two steps as with nodes: mark it, and after the grace suspend
it, or delete it where it cannot be suspended.

Both steps ask what the job did over the last hours, and no step rests on duty alone. Nothing is remembered
here: the mark on the job is what a second step, another session and its owner go by. A job that did anything
after the mark is unmarked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from cockpit.actions.address import object_path
from cockpit.actions.idle_reads import IdleReads, judge_job
from cockpit.actions.kill import plan_to_kill, rights_to_kill
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, PoolTerms, tree_of
from cockpit.actions.pool_lease import holder_here
from cockpit.actions.rights import right_to_patch
from cockpit.actions.shell import job_line, words_line
from cockpit.actions.suspend import plan_to_suspend, rights_to_suspend
from cockpit.actions.verbs import job as verbs
from cockpit.errors import BadInput, Unchanged
from cockpit.gangs.registry import can_suspend
from cockpit.gangs.sentence import counted, listed
from cockpit.gangs.suspend_field import MERGE, patch_call
from cockpit.kube.decode.times import from_text
from cockpit.model.duration import parse_duration
from cockpit.model.job import (
    RECLAIM_AT,
    RECLAIM_BY,
    RECLAIM_DUE,
    RECLAIM_GRACE,
    RECLAIM_WINDOW,
    Job,
    JobState,
)
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.model.remembered import Reclaim
from cockpit.model.right import Right
from cockpit.pools.index import pools_of
from cockpit.pools.price import nodes_hourly
from cockpit.telemetry.faults import TelemetryError
from cockpit.triage.idle_jobs import (
    IDLE_FOR_SECONDS,
    TelemetryGap,
    at_least,
    gpu_gap,
    idle_words,
    minutes_words,
    quiet,
    why_not_idle,
)
from cockpit.triage.idleness import IdleStanding, Judged

GRACE_SECONDS: Final = 900.0
"""From the mark to the end, unless another is asked for: time for its owner to come back."""
SHORTEST_SECONDS, LONGEST_SECONDS = map(parse_duration, RECLAIM_WINDOW)
LONGEST_GRACE_SECONDS: Final = parse_duration(RECLAIM_GRACE[1])


class JobTerms(NamedTuple):
    """How long the job has to be idle, and how long it is warned; `is_off`: take the mark away."""

    idle_for_seconds: float = IDLE_FOR_SECONDS
    grace_seconds: float = GRACE_SECONDS
    is_off: bool = False


_NO_MARK: Final[Mapping[str, None]] = {RECLAIM_AT: None, RECLAIM_DUE: None, RECLAIM_BY: None}


class _Mark(NamedTuple):
    at_seconds: float
    due_seconds: float


class _Ground(NamedTuple):
    """What a step is made on: the job, its object as it is now, the terms, what was judged."""

    planning: Planning
    job: Job
    tree: Mapping[str, Any]
    path: str
    terms: JobTerms
    judged: Judged | None = None

    @property
    def target(self) -> str:
        return f"{self.job.kind.lower()} {self.job.namespace}/{self.job.name}"

    @property
    def name(self) -> str:
        return f"{self.job.namespace}/{self.job.name}"

    @property
    def now_seconds(self) -> float:
        """When the person asked: the same for what is shown and for what is sent."""
        return self.planning.pools.at_seconds

    def line(self, verb: str, *more: str) -> str:
        return job_line(verb, self.job, self.planning.context, *more)


def job_terms(idle_for: str, grace: str, known: PoolTerms | None, *, is_off: bool) -> JobTerms:
    """The terms as they were typed, else as they are set, else as always. Raises BadInput."""
    found = {"--idle-for": IDLE_FOR_SECONDS, "--grace": GRACE_SECONDS}
    if known is not None and known.reclaim_idle_for_seconds is not None:
        found["--idle-for"] = known.reclaim_idle_for_seconds
    if known is not None and known.reclaim_grace_seconds is not None:
        found["--grace"] = known.reclaim_grace_seconds
    for name, text in (("--idle-for", idle_for), ("--grace", grace)):
        try:
            found[name] = parse_duration(text) if text else found[name]
        except ValueError as error:
            raise BadInput(f"{name}: {error}") from None
    if found["--grace"] > LONGEST_GRACE_SECONDS:
        raise BadInput(f"--grace: {grace} is longer than anybody remembers a mark; write 30d or less")
    seconds = found["--idle-for"]
    if seconds < SHORTEST_SECONDS:
        raise BadInput(f"--idle-for: {idle_for} is too short to tell idle from a pause; write 10m or more")
    if seconds > LONGEST_SECONDS:
        raise BadInput(f"--idle-for: {idle_for} is further back than is looked; write 3h or less")
    return JobTerms(seconds, found["--grace"], is_off)


async def plan_job(planning: Planning, job: Job, terms: JobTerms) -> Plan:
    """The next step: mark it; once the grace is over suspend or delete it; unmark it where it works again.

    Raises BadInput with why it is not idle, or that nobody knows; Unchanged where there is nothing to do yet.
    """
    tree = await tree_of(planning, job)
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=planning.lookup)
    ground = _Ground(planning, job, tree, path, terms)
    mark = _mark_of(tree)
    if terms.is_off:
        if mark is None:
            raise Unchanged(f"{ground.target} is not marked for reclaim")
        return _unmarking(ground, "its mark goes; it runs on as it does")
    if job.state != JobState.RUNNING or not job.gpus_allocated:
        if mark is not None:
            return _unmarking(ground, f"it is {job.state or 'not running'} by now")
        raise BadInput(
            f"{ground.target} is {job.state or 'not known'}: only a job that runs and holds GPUs is reclaimed"
        )
    ground = ground._replace(judged=await _judged(ground))
    if mark is not None and (why := _works_again(ground, mark)):
        return _unmarking(ground, why)
    if not _is_idle(ground):
        raise BadInput(f"{ground.target}: {_why_not(ground)}")
    if mark is None and terms.grace_seconds > 0:
        return _marking(ground)
    if mark is not None and ground.now_seconds < mark.due_seconds:
        raise Unchanged(
            f"{ground.target} is marked and still idle: reclaim it from {_clock(mark.due_seconds)} on"
            f" (in {minutes_words(mark.due_seconds - ground.now_seconds + 59)}); to take the mark away:"
            f" {ground.line('reclaim', '--off')}"
        )
    return await _ending(ground)


# ---- what it did


async def _judged(ground: _Ground) -> Judged | None:
    planning = ground.planning
    if planning.lines is None:
        return None
    reads = IdleReads(planning.store, planning.session, planning.lines)
    try:
        return await judge_job(ground.job, reads, ground.terms.idle_for_seconds)
    except TelemetryError as error:
        raise BadInput(f"{ground.target}: whether it is idle is not known: {error.sentence}") from None


def _is_idle(ground: _Ground) -> bool:
    """By its lines, and the newest samples do not say otherwise."""
    judged = ground.judged
    is_idle = judged is not None and judged.standing is IdleStanding.IDLE
    return is_idle and quiet(ground.job, ground.planning.store) is not None


def _why_not(ground: _Ground) -> str:
    if ground.judged is not None and ground.judged.standing is IdleStanding.IDLE:
        return "it is not idle: a card of it works now, or is not measured"
    gap = gpu_gap(ground.planning.store) or TelemetryGap.NOT_COLLECTED
    return why_not_idle(ground.judged, ground.now_seconds, gap)


def _works_again(ground: _Ground, mark: _Mark) -> str:
    """Why the mark goes, "" where the job has shown nothing since."""
    judged = ground.judged
    if judged is None or judged.standing is IdleStanding.UNKNOWN:
        return ""
    if judged.standing is not IdleStanding.IDLE:
        return why_not_idle(judged, ground.now_seconds)
    if judged.last is not None and judged.last.at_seconds > mark.at_seconds:
        ago = minutes_words(ground.now_seconds - judged.last.at_seconds)
        return f"it did something after the mark, {ago} ago"
    return ""


# ---- the steps


def _marking(ground: _Ground) -> Plan:
    job, terms = ground.job, ground.terms
    due = ground.now_seconds + terms.grace_seconds
    then = "it is suspended" if can_suspend(job, ground.planning.store) else _KILLS.format(kind=job.kind)
    by = ground.planning.pools.holder or holder_here(ground.planning.session)
    notes = {RECLAIM_AT: _stamp(ground.now_seconds), RECLAIM_DUE: _stamp(due), RECLAIM_BY: by}
    return Plan(
        verb="reclaim",
        title=f"Reclaim {ground.target}: mark it",
        done=f"Marked {ground.target}: reclaim it again in {minutes_words(terms.grace_seconds)}",
        calls=(_noted(ground, notes),),
        lines=(
            f"nothing ends yet: its owner has until {_clock(due)}",
            f"reclaim it again then, in {minutes_words(terms.grace_seconds)}: {then}",
            "if it does anything by then, it is unmarked instead",
            f"undo: {ground.line('reclaim', '--off')}",
        ),
        expects=tuple(_bill(ground)),
        brief=_brief(ground, f"mark it, due {_clock(due)}"),
    )


_KILLS: Final = "it is deleted, once its name is typed: a {kind} cannot be suspended"


def _unmarking(ground: _Ground, why: str) -> Plan:
    return Plan(
        verb="reclaim",
        title=f"Take the reclaim mark off {ground.target}",
        done=f"{ground.target} is not marked any more",
        calls=(_noted(ground, _NO_MARK),),
        lines=("its mark is taken away and nothing ends",),
        expects=(why,),
        brief=f"{ground.name}: take its mark away, {why}",
    )


async def _ending(ground: _Ground) -> Plan:
    planning, job = ground.planning, ground.job
    if can_suspend(job, planning.store):
        plan = await plan_to_suspend(planning, job)
        calls = _without_mark(ground, plan.calls)
        word, undo, typed = "suspend", f"undo: {ground.line('resume')}", ""
    else:
        plan = await plan_to_kill(planning, job)
        calls, word, typed = plan.calls, "delete", job.name
        undo = f"a {job.kind} cannot be suspended: it is deleted, and nothing brings it back"
    return msgspec.structs.replace(
        plan,
        verb="reclaim",
        title=f"Reclaim {ground.target}: {word} it",
        done=f"Reclaimed {ground.target}: {'suspended' if not typed else 'deleted'}",
        calls=calls,
        lines=(*plan.lines, undo),
        expects=tuple(_bill(ground)),
        shell="",
        typed=typed,
        brief=_brief(ground, f"{word} it"),
        gives_back=_given_back(ground),
    )


def _noted(ground: _Ground, notes: Mapping[str, str | None]) -> Call:
    return patch_call(ground.tree, ground.path, ground.target, {"metadata": {"annotations": notes}})


def _without_mark(ground: _Ground, calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """The patch of the job's own object takes the mark along. Where it is suspended through another one the
    mark goes first: its engine writes to the job right after."""
    if _mark_of(ground.tree) is None:
        return calls
    own = [one.path == ground.path and one.content_type == MERGE for one in calls]
    if not any(own):
        return (_noted(ground, _NO_MARK), *calls)
    return tuple(_unmarked(one) if is_own else one for one, is_own in zip(calls, own, strict=True))


def _unmarked(call: Call) -> Call:
    body = call.body
    notes = {**(body["metadata"].get("annotations") or {}), **_NO_MARK}
    metadata = {**body["metadata"], "annotations": notes}
    return msgspec.structs.replace(call, body={**body, "metadata": metadata})


def _mark_of(tree: Mapping[str, Any]) -> _Mark | None:
    notes = tree["metadata"].get("annotations")
    if not isinstance(notes, Mapping):
        return None
    at, due = (from_text(str(notes.get(one) or "")) for one in (RECLAIM_AT, RECLAIM_DUE))
    return None if at is None or due is None else _Mark(at, due)


# ---- words


def _bill(ground: _Ground) -> Iterator[str]:
    """What was seen of it, whose it is, and what it has cost since."""
    job, judged = ground.job, ground.judged
    if judged is None or judged.since_seconds is None:
        return
    yield idle_words(job, judged, ground.now_seconds)
    yield f"owner: {job.owner}" if job.owner else "owner not known: no label of the job tells"
    hours = (ground.now_seconds - judged.since_seconds) / 3_600.0
    spent = f"{hours * job.gpus_allocated:.1f} GPU-hours idle so far"
    hourly = _hourly(ground)
    if hourly is None:
        yield f"{spent}; money not known: the setting prices does not name its machines"
    else:
        money = ground.planning.pools.known().prices.money
        yield f"{spent}, {money(hours * hourly)}; {money(hourly)} an hour"


def _brief(ground: _Ground, step: str) -> str:
    """`team-b/asr-large: mark it, due 04:01 UTC; 8 GPUs idle for 48 min, 6.4 GPU-hours, $26`: one of many."""
    job, judged = ground.job, ground.judged
    if judged is None or judged.since_seconds is None:
        return f"{ground.name}: {step}"
    seconds = ground.now_seconds - judged.since_seconds
    hours, hourly = seconds / 3_600.0, _hourly(ground)
    cost = "money not known" if hourly is None else ground.planning.pools.known().prices.money(hours * hourly)
    idle = f"{counted(job.gpus_allocated, 'GPU')} idle for {at_least(judged)}{minutes_words(seconds)}"
    return f"{ground.name}: {step}; {idle}, {hours * job.gpus_allocated:.1f} GPU-hours, {cost}"


def _hourly(ground: _Ground) -> float | None:
    """Money an hour for its share of the machines; None where one has no price."""
    prices, total = ground.planning.pools.known().prices, 0.0
    for pod, _ in _places(ground):
        node = ground.planning.store.by_key(Kind.NODE, pod.node)
        each = None if node is None else nodes_hourly((node,), prices)
        if each is None or node is None or not node.gpu_allocatable:
            return None
        total += each * pod.gpus_allocated / node.gpu_allocatable
    return total


def _places(ground: _Ground) -> list[tuple[Pod, Pool | None]]:
    store = ground.planning.store
    pools = {name: pool for pool in pools_of(store) for name in pool.node_names}
    found = (store.get(Kind.POD, uid) for uid in ground.job.pod_uids)
    return [(one, pools.get(one.node)) for one in found if isinstance(one, Pod) and one.gpus_allocated]


def _given_back(ground: _Ground) -> tuple[Reclaim, ...]:
    """For each pool that the job has GPUs of."""
    judged, gpus = ground.judged, dict[str, int]()
    for pod, pool in _places(ground):
        if pool is not None:
            gpus[pool.key] = gpus.get(pool.key, 0) + pod.gpus_allocated
    since = None if judged is None else judged.since_seconds
    hours = None if since is None else (ground.now_seconds - since) / 3_600.0
    return tuple(
        Reclaim(key, ground.target, ground.now_seconds, None if hours is None else hours * count)
        for key, count in gpus.items()
    )


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M UTC")


# ---- the verb


@dataclass(frozen=True, slots=True)
class ReclaimJobOptions:
    """As typed: `idle_for` "" for the setting, else an hour, `grace` "" for the setting, else a quarter of
    one; `off` takes the mark away."""

    idle_for: str = ""
    grace: str = ""
    off: bool = False

    def __post_init__(self) -> None:
        self.terms(None)

    def terms(self, known: PoolTerms | None) -> JobTerms:
        """The same as values, with the settings where nothing was typed. Raises BadInput."""
        return job_terms(self.idle_for, self.grace, known, is_off=self.off)


async def _plan(planning: Planning, job: Job, options: ReclaimJobOptions) -> Plan:
    return await plan_job(planning, job, options.terms(planning.pools))


def _needs(planning: Planning, job: Job) -> tuple[Right, ...]:
    """Those of the step that it is at: the mark, or what ends it."""
    patch = right_to_patch(planning, job)
    if job.reclaim is None or job.state != JobState.RUNNING or not job.gpus_allocated:
        return patch
    if not can_suspend(job, planning.store):
        return rights_to_kill(planning, job)
    # the mark goes with it, also where another object suspends the job
    return tuple(dict.fromkeys((*patch, *rights_to_suspend(planning, job))))


def _many(jobs: Sequence[Job], _store: Any) -> Iterable[str]:
    owners = Counter(job.owner or "owner not known" for job in jobs)
    gpus = counted(sum(job.gpus_allocated for job in jobs), "GPU")
    yield f"it holds {gpus}" if len(jobs) == 1 else f"they hold {gpus}"
    yield "undo: cockpit job reclaim NAME --off takes a mark away, cockpit job resume NAME brings a job back"
    yield listed("owners: ", [f"{name} ({number})" for name, number in owners.most_common()])


def jobs_line(pool: Pool, options: ReclaimJobOptions, context: str) -> str:
    """`cockpit pool reclaim h100 --jobs --write`: the same for every idle job of a pool."""
    words = ("cockpit", "pool", "reclaim", pool.name, "--jobs", *verbs.RECLAIM.option_words(options))
    return words_line(words, context)


RECLAIM = Planner(options=ReclaimJobOptions, plan=_plan, needs=_needs, many_lines=_many)
