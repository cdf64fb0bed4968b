"""What a plan does to others: whom the jobs that ask for GPUs by it would preempt, and what those lose.

Quota first, as the engine decides it, then nodes, as the scheduler does. What cannot be computed is a warning
with its reason: none of it is guessed. Where work ends a person confirms it by typing.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from cockpit.actions.execute.bulk_plan import BulkPlan, Item
from cockpit.actions.planning import Planning, workload_path
from cockpit.actions.read import read_tree
from cockpit.actions.record_run import MAPS
from cockpit.actions.surroundings import Needs, ask_surroundings, needs_of
from cockpit.errors import BadInput, CockpitError, Refused
from cockpit.fit.demand import directed, parts_of_workload
from cockpit.fit.pod_sets import pods_asked
from cockpit.fit.scheduling_context import Surroundings
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import changed_store, outranks_some, pushed_by
from cockpit.gangs import registry
from cockpit.gangs.conflicts import engines_named
from cockpit.gangs.engine import Engine, Foretells
from cockpit.gangs.manifests import ApiKind
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook, QuotaStart, Tree
from cockpit.gangs.sentence import counted, listed
from cockpit.jobs.members import in_order
from cockpit.jobs.planned import planned_gang
from cockpit.jobs.progress import Patterns
from cockpit.jobs.run_log import container_of, patterns_for
from cockpit.jobs.template import Library, load_library
from cockpit.jobs.training.run import TrainingRun
from cockpit.k8s.gpu_resources import gpus_asked
from cockpit.k8s.json_values import mapping
from cockpit.kube.log_fan_in import read_once
from cockpit.kube.objects import list_trees
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Phase
from cockpit.model.contender import Contender, PreemptedJob, Preemptions
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobState
from cockpit.model.log import LogSource
from cockpit.model.plan import Plan
from cockpit.model.pod import DEFAULT_SCHEDULERS, Pod
from cockpit.model.record import Kind
from cockpit.sanitise import clean
from cockpit.triage.idle_jobs import minutes_words

_MOST_READS: Final = 64
"""Workloads whose objects are read for one outlook."""
_AT_ONCE: Final = 8
_MOST_NAMED: Final = 6
_LONGEST_LIST: Final = 300  # characters


async def with_others(planning: Planning, plan: Plan) -> Plan:
    """The plan with what it does to others by what is known now. Raises NoConnection."""
    if not plan.contends:
        return plan
    return told(plan, await preempted(planning, plan.contends))


async def with_others_of(planning: Planning, bulk: BulkPlan) -> BulkPlan:
    """The same for one verb on many: they ask together. Raises NoConnection."""
    contends = tuple(each for item in bulk.items for each in item.shown.contends)
    if not contends:
        return bulk
    found = await preempted(planning, contends)
    faced = bulk.faced

    def now(items: Sequence[Item], left_out: Sequence[str]) -> Plan:
        """Of fewer at most as much is lost."""
        return told(faced(items, left_out) if faced is not None else bulk.face, found)

    return replace(bulk, face=told(bulk.face, found), faced=now)


def told(plan: Plan, found: Preemptions) -> Plan:
    """The plan as a person reads it, with whom it preempts: where work ends it is confirmed by typing."""
    if not found.jobs and not found.unknown:
        return msgspec.structs.replace(plan, expects=(*plan.expects, "no running job is preempted"))
    warnings: list[str] = []
    if found.jobs:
        names = [f"{one.name} ({counted(one.gpus, 'GPU')})" for one in found.jobs]
        head = f"preempts {counted(len(found.jobs), 'job')} with {counted(found.gpus, 'GPU')}: "
        warnings.append(listed(head, names, _LONGEST_LIST))
    if found.unknown:
        more = "what else it preempts" if found.jobs else "whether it preempts running jobs"
        warnings.append(f"{more} cannot be computed: {found.unknown}")
    losses = [_loss(one) for one in found.jobs[:_MOST_NAMED]]
    if more_jobs := len(found.jobs) - len(losses):
        losses.append(f"and {counted(more_jobs, 'more job')}")
    return msgspec.structs.replace(
        plan,
        warnings=(*warnings, *plan.warnings),
        expects=(*plan.expects, *losses),
        is_destructive=plan.is_destructive or bool(found.jobs),
        typed=plan.typed or _typed(found),
        foretold="; ".join(warnings),
    )


def _typed(found: Preemptions) -> str:
    if not found.jobs:
        return ""
    return found.jobs[0].name if len(found.jobs) == 1 else f"preempt {len(found.jobs)} jobs"


def _loss(one: PreemptedJob) -> str:
    """`team-b/vit: 16 GPUs, running for 3 h 12 min, loses 412 steps since its last checkpoint`."""
    if not one.has_begun:
        return f"{one.name} loses {counted(one.gpus, 'GPU')}; none of its pods runs, so no progress is lost"
    ran = "" if one.running_seconds is None else f", running for {_long(one.running_seconds)}"
    lost = (
        "its steps since the last checkpoint are not known"
        if one.lost_steps is None
        else f"loses {counted(one.lost_steps, 'step')} since its last checkpoint"
    )
    return f"{one.name}: {counted(one.gpus, 'GPU')}{ran}, {lost}"


def _long(seconds: float) -> str:
    return minutes_words(seconds) if seconds >= 60 else "less than a minute"


# ---- who


async def preempted(planning: Planning, contenders: Sequence[Contender]) -> Preemptions:
    """Whom these jobs would preempt. Raises NoConnection."""
    return await _Weighing(planning).of(contenders)


class _Weighing:
    """One answer, and what was read for it."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._store = planning.store
        self._workloads: dict[str, Tree] = {}
        self._unknown: list[str] = []
        self._victims: dict[str, Workload] = {}
        self._pods: dict[str, Pod] = {}

    async def of(self, contenders: Sequence[Contender]) -> Preemptions:
        starting: list[tuple[Contender, QuotaStart | None]] = []
        by_engine: dict[str, list[Contender]] = {}
        for one in contenders:
            by_engine.setdefault(_engine(one).name, []).append(one)
        for name, some in by_engine.items():
            engine = registry.engine_named(name)
            if engine.foretells is not None:
                starting += await self._by_quota(engine.foretells, some)
            elif engine.scheduling.preempts_by:
                reason = await self._by_scheduler(engine, some)
                self._unknown += [reason] if reason else []
            else:
                self._unknown += filter(None, map(_foreign, some))
                starting += ((one, None) for one in some)
        if not self._unknown:
            await self._on_nodes(starting)
        return await self._answer()

    # ---- quota

    async def _by_quota(
        self, foretells: Foretells, contenders: Sequence[Contender]
    ) -> list[tuple[Contender, QuotaStart | None]]:
        """Those that get quota; who loses it is noted."""
        if not foretells.may_preempt(contenders, self._store):
            unread = [one.workload_uid for one in contenders if one.workload_uid and one.manifest is None]
            if sentence := await self._read(unread[:_MOST_READS]):
                self._unknown.append(sentence)
            return [(one, None) for one in contenders]  # nobody holds quota: each may start
        found = await self._outlook(foretells, contenders)
        if found.unknown:
            self._unknown.append(found.unknown)
        for uid in found.victims:
            record = self._store.get(Kind.WORKLOAD, uid)
            if isinstance(record, Workload):
                self._victims[uid] = record
        names = {one.name: one for one in contenders}
        return [(names[one.name], one) for one in found.starts if one.name in names]

    async def _outlook(self, foretells: Foretells, contenders: Sequence[Contender]) -> QuotaOutlook:
        lists = dict(
            zip(foretells.lists, await asyncio.gather(*map(self._list, foretells.lists)), strict=True)
        )
        now_seconds = self._planning.pools.at_seconds or self._planning.at_seconds
        while True:
            facts = OutlookFacts(lists, self._workloads)
            found = foretells.outlook(contenders, self._store, facts, now_seconds)
            wants = [uid for uid in found.wants if uid not in self._workloads]
            if not wants or found.unknown:
                return found
            if len(self._workloads) + len(wants) > _MOST_READS:
                unknown = f"more than {_MOST_READS} jobs are concerned"
                return msgspec.structs.replace(found, unknown=unknown, wants=())
            if sentence := await self._read(wants):
                return msgspec.structs.replace(found, unknown=sentence, wants=())

    async def _list(self, kind: ApiKind) -> Sequence[Tree] | None:
        served = self._planning.lookup(*kind)
        if served is None:
            return ()
        return await list_trees(cast("ApiSession", self._planning.session), cast(Any, served))

    async def _read(self, uids: Sequence[str]) -> str:
        """Read these workloads; why one cannot be read, "" where all were."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(uid: str) -> str:
            record = self._store.get(Kind.WORKLOAD, uid)
            if not isinstance(record, Workload):
                return "a job is gone by now"
            async with slots:
                try:
                    path = workload_path(self._planning, record)
                    tree = await read_tree(self._planning.session, path, f"workload {record.key}")
                except (Refused, BadInput) as error:
                    return error.sentence
            self._workloads[uid] = tree
            return ""

        return next(filter(None, await asyncio.gather(*map(one, uids))), "")

    # ---- engines with a scheduler of their own

    async def _by_scheduler(self, engine: Engine, contenders: Sequence[Contender]) -> str:
        """Why it cannot be told whom such an engine preempts; "" where there is none that it could."""
        own = {one.uid for one in contenders if one.uid}
        others = [one for one in self._planning.jobs.values() if one.uid not in own and one.gpus_allocated]
        scheduling = engine.scheduling
        if scheduling.takes_by_share:
            others = [one for one in others if one.engine == engine.name]
        else:
            ranks = [self._rank(one) for one in contenders]
            most = None if None in ranks else max((one for one in ranks if one is not None), default=0)
            others = [one for one in others if most is None or self._is_below(one, most)]
        status = self._store.status(Kind.POD)
        if not others:
            return "" if status is not None and status.is_whole else "not all pods may be listed"
        if scheduling.never_preempts is not None and scheduling.never_preempts(
            await self._config(*scheduling.config)
        ):
            return ""
        return f"{engine.name} {scheduling.preempts_by}"

    async def _config(self, namespace: str, name: str) -> Mapping[str, Any]:
        """`data` of a ConfigMap; nothing where it may not be read."""
        answer = await self._planning.session.request("GET", MAPS.path(namespace, name))
        try:
            return mapping(mapping(answer.json()).get("data")) if answer.status == 200 else {}
        except ValueError:
            return {}

    def _rank(self, one: Contender) -> int | None:
        """The priority of its pods; None where it is not known."""
        job = next((job for job in self._planning.jobs.values() if one.uid and job.uid == one.uid), None)
        pods = () if job is None else self._members(job)
        if pods:
            return max(pod.priority or 0 for pod in pods)
        parts = self._parts(one, None)
        ranks = [ClusterSnapshot(self._store).priority(part.shape) for part in parts]
        return None if not ranks or None in ranks else max(rank or 0 for rank in ranks)

    def _is_below(self, job: Job, rank: int) -> bool:
        return any((pod.priority or 0) < rank for pod in self._members(job) if pod.node)

    # ---- nodes

    async def _on_nodes(self, starting: Sequence[tuple[Contender, QuotaStart | None]]) -> None:
        """Whom the scheduler preempts for the pods of those that start."""
        parts = [part for one, start in starting for part in self._parts(one, start)]
        if not parts:
            return
        around = await ask_surroundings(self._planning.session, _needs(parts))
        for part in parts:
            name = part.shape.priority_class
            if name and around.priorities is None and part.shape.priority is None:
                self._unknown.append(f"the value of PriorityClass {name} may not be read")
                return
        if not outranks_some(self._store, parts, around):
            return
        if reason := self._half_seen(parts, around):
            self._unknown.append(reason)
            return
        replaced = {one.replaces for one, _ in starting} - {""}
        before = (one for one in self._planning.jobs.values() if one.uid in replaced)
        leaving = [*self._pods_of_victims(), *(pod for one in before for pod in self._members(one))]
        gone = frozenset(pod.uid for pod in leaving)
        for pod in pushed_by(changed_store(self._store, without=gone), parts, around):
            self._pods[pod.uid] = pod

    def _parts(self, one: Contender, start: QuotaStart | None) -> tuple[Part, ...]:
        parts = planned_gang(one.manifest, one.namespace) if one.manifest is not None else ()
        if not parts and one.workload_uid in self._workloads:
            parts = parts_of_workload(self._workloads[one.workload_uid], one.namespace)
        if one.pods is not None:
            more = one.pods
            parts = tuple(
                Part(part.role, more[part.role], part.shape) for part in parts if more.get(part.role)
            )
        if start is None:
            return parts
        labels, tolerated = start.selectors, start.tolerations
        return tuple(
            directed(part, dict(labels.get(part.role, ())), tolerated.get(part.role, ())) for part in parts
        )

    def _half_seen(self, parts: Sequence[Part], around: Surroundings) -> str:
        """Why nodes and pods do not tell whom the scheduler would take; "" where they do."""
        for kind in (Kind.NODE, Kind.POD):
            status = self._store.status(kind)
            if status is None or not status.is_whole:
                return f"{kind} of the whole cluster may not be listed"
            if status.phase is Phase.STALE:
                return f"the list of {kind} is stale"
        if around.budgets is None:
            return "disruption budgets may not be listed"
        return ""

    def _pods_of_victims(self) -> Iterable[Pod]:
        jobs = {one.workload_uid: one for one in self._planning.jobs.values() if one.workload_uid}
        for uid in self._victims:
            job = jobs.get(uid)
            yield from () if job is None else self._members(job)

    def _members(self, job: Job) -> tuple[Pod, ...]:
        found = (self._store.get(Kind.POD, uid) for uid in job.pod_uids)
        return tuple(pod for pod in found if isinstance(pod, Pod) and not pod.is_finished)

    # ---- what they lose

    async def _answer(self) -> Preemptions:
        jobs = {one.workload_uid: one for one in self._planning.jobs.values() if one.workload_uid}
        by_pod = {uid: one for one in self._planning.jobs.values() for uid in one.pod_uids}
        hit: dict[str, Job] = {}
        rest: list[PreemptedJob] = []
        for uid, record in self._victims.items():
            if uid in jobs:
                hit[jobs[uid].key] = jobs[uid]
                continue
            rest.append(PreemptedJob(name=record.job_key, gpus=gpus_asked(record.pod_sets)))
        alone: dict[str, int] = {}
        for uid, pod in self._pods.items():
            job = by_pod.get(uid)
            if job is None:
                rest.append(PreemptedJob(name=pod.key, gpus=pod.gpus))
            else:
                hit[job.key] = job
                alone[job.key] = alone.get(job.key, 0) + pod.gpus
        lost = await self._steps(list(hit.values()))
        found = [self._loss(job, alone.get(job.key), lost) for job in hit.values()]
        order = sorted((*found, *rest), key=lambda one: (-one.gpus, one.name))
        return Preemptions(
            jobs=tuple(order),
            unknown="; ".join(dict.fromkeys(self._unknown)),
            pods=frozenset((*(pod.uid for pod in self._pods_of_victims()), *self._pods)),
            workloads=frozenset(self._victims),
        )

    async def _steps(self, jobs: Sequence[Job]) -> Mapping[str, int | None]:
        if not jobs:
            return {}
        return await STEPS_LOST.of(
            cast("ApiSession", self._planning.session),
            [(one, self._members(one)) for one in jobs],
            self._planning.template_folders,
            self._planning.at_seconds,
        )

    def _loss(self, job: Job, pushed_gpus: int | None, lost: Mapping[str, int | None]) -> PreemptedJob:
        """A gang ends with one of its pods; of what is no gang only those pods end."""
        pods = [one for one in self._members(job) if one.phase == "Running"]
        started = [one.started_seconds for one in pods if one.started_seconds is not None]
        now_seconds = self._planning.pools.at_seconds or self._planning.at_seconds
        is_gang = job.kind not in _OF_ITS_OWN
        return PreemptedJob(
            name=f"{job.namespace}/{job.name}",
            gpus=job.gpus_allocated if is_gang or pushed_gpus is None else pushed_gpus,
            running_seconds=max(0.0, now_seconds - min(started)) if started else None,
            lost_steps=lost.get(job.key),
            has_begun=bool(pods) or job.state in (JobState.RUNNING, JobState.DEGRADED),
        )


_OF_ITS_OWN: Final = ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
"""Kinds whose pods go on without each other."""


def _engine(one: Contender) -> Engine:
    if one.engine:
        return registry.engine_named(one.engine)
    manifest = one.manifest or {}
    engine, queue = registry.admitting(manifest)
    if queue:
        return engine
    own = registry.engine_with_own(str(manifest.get("apiVersion") or ""), str(manifest.get("kind") or ""))
    if own is not None:
        return own
    named = tuple(engines_named(manifest))
    return named[0] if named else registry.NONE


def _foreign(one: Contender) -> str:
    """Why nothing is known of the scheduler that its pods ask for; "" for the cluster's own."""
    asked = pods_asked(one.manifest or {}).sets
    names = {str(each.pod_spec.get("schedulerName") or "") for each in asked} - {*DEFAULT_SCHEDULERS}
    return f"scheduler {clean(min(names))} is not known here" if names else ""


def _needs(parts: Sequence[Part]) -> Needs:
    return needs_of(parts)._replace(priorities=True)


MOST_JOBS: Final = 8
"""Logs that are read for one plan: of the jobs that hold most GPUs."""
TAIL_LINES: Final = 2_000
LOG_BYTES: Final = 256 << 10
PATIENCE_SECONDS: Final = 4.0
"""All logs together: what has not come by then is not known."""


class StepsLost:
    """By job and moment of asking, so that the plan that is sent does not read the logs again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, float], int | None] = {}

    async def of(
        self,
        session: ApiSession,
        jobs: Sequence[tuple[Job, tuple[Pod, ...]]],
        folders: tuple[Path, ...],
        at_seconds: float,
    ) -> dict[str, int | None]:
        """Steps since the last checkpoint by the key of the job; None where the log does not tell. Raises
        nothing."""
        largest = sorted(jobs, key=lambda pair: (-pair[0].gpus_allocated, pair[0].key))[:MOST_JOBS]
        asked = [pair for pair in largest if (pair[0].uid, at_seconds) not in self._kept]
        if asked:
            if len(self._kept) > 16 * MOST_JOBS:
                self._kept.clear()
            library = await asyncio.to_thread(load_library, folders)
            tasks = [asyncio.ensure_future(_steps_lost(session, *pair, library)) for pair in asked]
            await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
            for (job, _), task in zip(asked, tasks, strict=True):
                task.cancel()
                is_known = task.done() and not task.cancelled() and task.exception() is None
                self._kept[job.uid, at_seconds] = task.result() if is_known else None
        return {job.key: self._kept.get((job.uid, at_seconds)) for job, _ in largest}


async def _steps_lost(session: ApiSession, job: Job, pods: tuple[Pod, ...], library: Library) -> int | None:
    running = [pod for pod in in_order(pods) if pod.phase == "Running"]
    if not running:
        return None
    pod = running[0]  # a launcher, else the first rank
    run = TrainingRun(Patterns(patterns_for(job.kind, job.api_version, library.templates.values())))
    source = LogSource(pod.uid, pod.namespace, pod.name, pod.name, container_of(pod), pod.rank)
    try:
        run.take(await read_once(session, source, tail_lines=TAIL_LINES, limit_bytes=LOG_BYTES))
    except CockpitError:
        return None
    step, kept = run.progress.step, run.checkpoints.step
    if step is None or kept is None:
        return None
    return max(0, step - kept)


STEPS_LOST: Final = StepsLost()
