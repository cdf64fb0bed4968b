"""Asks the server for what a verdict depends on and the store does not hold: only for what does not run.

Each list and each object is read once, and bounded; what may not be read stays unknown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from cockpit.actions.flag_reads import read_flags
from cockpit.actions.surroundings import CLAIMS, PRIORITIES, Needs, ask_budgets, ask_surroundings, needs_of
from cockpit.catalogue import Unwatched
from cockpit.errors import BadInput, CockpitError, Refused
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.gangs import registry
from cockpit.gangs.manifests import ApiKind
from cockpit.jobs.owner_chain import owner_record
from cockpit.jobs.planned import planned_gang
from cockpit.jobs.progress import Patterns, fraction_done
from cockpit.jobs.run_log import container_of, patterns_for
from cockpit.jobs.template import Library, load_library
from cockpit.kube.log_fan_in import read_once
from cockpit.kube.objects import get_object, list_trees
from cockpit.kube.resource import NAMESPACES, PODS, Resource
from cockpit.kube.session import ApiSession
from cockpit.model.finding import Subject
from cockpit.model.job import Job
from cockpit.model.log import LogSource
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, label
from cockpit.triage.context import NO_TREES, ClusterView
from cockpit.triage.engine import decided_by, job_behind
from cockpit.triage.judgement import is_up
from cockpit.triage.on_demand import COMPOSED, Need, ObjectsRead
from cockpit.triage.verdicts import Verdicts
from cockpit.triage.wanted import wanted_of

MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
QUOTAS: Final = Resource("", "v1", "resourcequotas", "ResourceQuota", namespaced=True)
_BY_METADATA: Final = (MAPS, ACCOUNTS, NAMESPACES)
_DEVICE_KINDS: Final = tuple(
    ("resource.k8s.io/v1", kind) for kind in ("ResourceClaim", "ResourceClaimTemplate")
)
MOST_PODS: Final = 8
"""Pods whose objects are read: one of each that are alike, and those that failed."""
MOST_LOGS: Final = 4
TAIL_LINES: Final = 20
LOG_BYTES: Final = 16 << 10

Tree = dict[str, Any]
Trees = dict[tuple[str, str], list[Tree]]
Lookup = Callable[[str, str], Resource | None]
LogKey = tuple[str, int]
"""The uid of a pod and how often its containers were started again."""
_Found = TypeVar("_Found")
_Pair = tuple[str, str]
"""Kind and namespace of a list; "" for the whole cluster."""
MOST_SHARED: Final = 64
"""Lists that are kept for the subjects of one round: of some ten namespaces."""


@dataclass(slots=True)
class SharedReads:
    """What verdicts about several subjects rest on alike, read once for all. For one round: it grows old."""

    lists: dict[_Pair, list[Tree] | None] = field(default_factory=dict)
    around: dict[Needs, Surroundings] = field(default_factory=dict)
    progress: dict[str, float] | None = None


async def with_reads(
    session: ApiSession,
    lookup: Lookup,
    subject: Subject,
    view: ClusterView,
    lines: dict[LogKey, str],
    *,
    folders: tuple[Path, ...] = (),
    shared: SharedReads | None = None,
) -> ClusterView:
    """The view with what is read for the subject. `lines` keeps last lines of logs: none is read twice;
    `folders` hold the user's templates; what is in `shared` is not read again.

    Raises NoConnection.
    """
    if subject.kind in ("node", "card", "pool"):  # budgets block drains, and keep nodes from autoscalers
        around = msgspec.structs.replace(view.around, budgets=await ask_budgets(session))
        store = view.store
        for one in await read_flags(session, store, view.now_seconds or 0.0):
            store = store.with_record(Kind.OWNER_FLAGS, one)
        return msgspec.structs.replace(view, around=around, store=store)
    job, pods = _concerned(subject, view)
    if job is None and not pods:
        above = await _composed(session, lookup, subject, view)
        return msgspec.structs.replace(view, trees=above) if above else view
    shared = shared or SharedReads()
    trees = await _trees(session, lookup, (job, pods), view, shared.lists)
    known = msgspec.structs.replace(view, trees=trees)
    wanted = wanted_of(decided_by(subject, known), known)
    needs = needs_of(wanted.parts) if wanted is not None else Needs()
    if needs not in shared.around:
        shared.around[needs] = await ask_surroundings(session, needs)
    await _read_logs(session, pods, lines)
    told = {pod.uid: line for pod in pods if (line := lines.get((pod.uid, pod.restarts)))}
    is_due = wanted is not None and wanted.gpus
    if is_due and shared.progress is None:
        shared.progress = await read_progress(session, known, folders)
    progress = (shared.progress or {}) if is_due else {}
    return msgspec.structs.replace(known, around=shared.around[needs], last_lines=told, progress=progress)


def _concerned(subject: Subject, view: ClusterView) -> tuple[Job | None, tuple[Pod, ...]]:
    """The job of the subject, and of its pods those that do not run; nothing where all is well."""
    job = job_behind(subject, view)
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        if pod is None or is_up(pod):
            return None, ()
        if job is None or decided_by(subject, view) == subject:
            return job, (pod,)
        others = (one for one in view.jobs.members(job.key) if one is not pod and not is_up(one))
        return job, (pod, *others)  # its gang decides, all of it
    if job is None:
        return None, ()
    members = view.jobs.members(job.key)
    pods = tuple(pod for pod in members if not is_up(pod))
    return (None, ()) if members and not pods else (job, pods)


# ---- objects


async def _trees(
    session: ApiSession,
    lookup: Lookup,
    concerned: tuple[Job | None, Sequence[Pod]],
    view: ClusterView,
    known: dict[_Pair, list[Tree] | None],
) -> Trees:
    job, pods = concerned
    space = job.namespace if job is not None else pods[0].namespace
    lists = [(one, space) for one in (MAPS, ACCOUNTS, CLAIMS, QUOTAS)] + [(PRIORITIES, "")]
    if any(pod.traits.wishes.device_claims or pod.traits.wishes.claim_templates for pod in pods):
        lists += _served(lookup, _DEVICE_KINDS, space)
    if job is not None:
        lists += _served(lookup, _engine_lists(job, view))
    if job is not None and job.workload_uid and not job.pod_uids:  # queues may choose namespaces by labels
        lists.append((NAMESPACES, ""))
    own = [] if job is None else [*_own(job, lookup, view)]
    return await _read(session, lists, [(PODS, space, pod.name) for pod in _samples(pods)] + own, known)


async def with_planned_reads(
    session: ApiSession, lookup: Lookup, manifest: Tree, view: ClusterView, namespace: str
) -> ClusterView:
    """The view with what is read for a job that is not submitted yet. Raises NoConnection."""
    parts = planned_gang(manifest, namespace)
    space = parts[0].shape.namespace if parts else namespace
    lists = [(MAPS, space), (ACCOUNTS, space), (QUOTAS, space), (PRIORITIES, "")]
    admits, queue = registry.admitting(manifest)
    if queue:
        lists.append((NAMESPACES, ""))  # queues may choose namespaces by labels
        kinds = () if admits.foretells is None else admits.foretells.lists
        lists += _served(lookup, (*kinds, *(() if admits.priority is None else (admits.priority.kind,))))
    trees, around = await asyncio.gather(_read(session, lists), ask_surroundings(session, needs_of(parts)))
    return msgspec.structs.replace(view, trees=trees, around=around)


async def objects_for(
    session: ApiSession, lookup: Lookup, need: Need, job: Job, view: ClusterView
) -> ObjectsRead:
    """What a row of *Now* or of the jobs rests on, of what is read for the page. Raises NoConnection."""
    trees, around = NO_TREES, UNKNOWN
    if need.what is Unwatched.CLAIMS:
        trees = await _read(session, [(CLAIMS, need.of)])
        around = await ask_surroundings(session, Needs(claims_in=need.of))
    elif need.what is Unwatched.DEVICES:
        trees = await _read(session, _served(lookup, _DEVICE_KINDS, need.of))
    elif need.what is Unwatched.ENGINE:
        trees = await _read(session, _served(lookup, _engine_lists(job, view)))
    else:
        trees = await _read(session, (), [*_own(job, lookup, view)])
    return ObjectsRead(view.now_seconds, trees, around)


def _served(lookup: Lookup, kinds: Iterable[ApiKind], space: str = "") -> list[tuple[Resource, str]]:
    """Those of the kinds that the server has, and where they are listed."""
    return [(one, space) for kind in kinds if (one := lookup(*kind)) is not None]


async def _read(
    session: ApiSession,
    lists: Iterable[tuple[Resource, str]],
    named: Sequence[tuple[Resource, str, str]] = (),
    known: dict[_Pair, list[Tree] | None] | None = None,
) -> Trees:
    """Whole lists, each once, and single objects, as far as they may be read. Lists that are `known` are not
    read, and become known."""
    known = {} if known is None else known
    whole = {(one.kind, space): one for one, space in lists}
    unread = {pair: one for pair, one in whole.items() if pair not in known}
    reads = [
        partial(list_trees, session, one, space, is_metadata=one in _BY_METADATA)
        for (_, space), one in unread.items()
    ]
    found = await asyncio.gather(*map(_quiet, reads))
    known.update(zip(unread, found, strict=True))
    single = await asyncio.gather(*(_quiet(partial(_one, session, *one)) for one in named))
    trees: Trees = {pair: [*some] for pair in whole if (some := known[pair]) is not None}
    while len(known) > MOST_SHARED:
        del known[next(iter(known))]
    for (resource, where, _), tree in zip(named, single, strict=True):
        if tree is not None:
            trees.setdefault((resource.kind, where), []).append(tree)
    return trees


def _engine_lists(job: Job, view: ClusterView) -> Iterator[ApiKind]:
    """What the job's engine may miss, of the cluster: what its quota rests on, the class of its priority."""
    object_ = None if job.workload_uid or job.pod_uids else owner_record(view.store, job.uid)
    labels = () if object_ is None else object_.labels
    for engine in registry.engines_by_quota():
        if job.workload_uid and not job.pod_uids and engine.foretells is not None:
            yield from engine.foretells.lists
        if engine.priority is not None and label(labels, engine.priority.label):
            yield engine.priority.kind


async def _composed(session: ApiSession, lookup: Lookup, subject: Subject, view: ClusterView) -> Trees:
    """A job that is made of jobs and has made none that would be a row: its own object."""
    if subject.kind != "job" or job_behind(subject, view) is not None:
        return {}
    found: Trees = {}
    for kind in COMPOSED:
        resource = lookup(*kind)
        if resource is None:
            continue
        tree = await _quiet(partial(_one, session, resource, subject.namespace, subject.name))
        if tree is not None:
            found[resource.kind, subject.namespace] = [tree]
    return found


async def _quiet(read: Callable[[], Awaitable[_Found]]) -> _Found | None:
    """None where the server does not let us read it, or has it no more."""
    try:
        return await read()
    except (Refused, BadInput):
        return None


def _own(job: Job, lookup: Lookup, view: ClusterView) -> Iterator[tuple[Resource, str, str]]:
    """The job's object, what admits it, and the cluster queue of that: where each lives, and its name."""
    named = [(job.api_version, job.kind, job.namespace, job.name)]
    if any(job.kind == kind for _, kind in COMPOSED):  # a TrainJob makes a JobSet of its name
        named += [(*one, job.namespace, job.name) for one in COMPOSED if one[1] != job.kind]
    workload = registry.workload_of(job, view.store)
    if workload is not None:
        own = registry.admits_of(workload).workload_kind
        named.append((*own, workload.namespace, workload.name))
    for api_version, kind, namespace, name in named:
        resource = lookup(api_version, kind)
        if resource is not None:
            yield resource, namespace, name


async def _one(session: ApiSession, resource: Resource, namespace: str, name: str) -> Tree | None:
    found = await get_object(session, resource, namespace, name)
    if not isinstance(found.get("metadata"), dict):
        return None
    return {"apiVersion": resource.api_version, "kind": resource.kind, **found}


def _samples(pods: Iterable[Pod]) -> list[Pod]:
    """One of each that are alike, and those that failed."""
    found: dict[tuple[object, ...], Pod] = {}
    for pod in pods:
        alike = (id(pod.traits), pod.namespace, pod.cpu_millicores, pod.memory_bytes, pod.gpus, pod.priority)
        found.setdefault((*alike, pod.uid) if pod.phase == "Failed" else alike, pod)
    return list(found.values())[:MOST_PODS]


# ---- last lines of crashes


async def _read_logs(session: ApiSession, pods: Iterable[Pod], lines: dict[LogKey, str]) -> None:
    crashed = [pod for pod in pods if pod.exit_code]
    crashed.sort(key=lambda pod: (pod.finished_seconds or 0.0, pod.name))
    asked = [pod for pod in crashed[:MOST_LOGS] if (pod.uid, pod.restarts) not in lines]
    for pod, line in zip(
        asked, await asyncio.gather(*(_lines_or_none(session, pod) for pod in asked)), strict=True
    ):
        lines[pod.uid, pod.restarts] = line


async def _lines_or_none(session: ApiSession, pod: Pod) -> str:
    try:
        return await last_lines(session, pod)
    except CockpitError:
        return ""


async def last_lines(session: ApiSession, pod: Pod) -> str:
    """What the container that ended said last; of one that runs again, its former run.

    Raises Refused where the server does not give it, NoConnection.
    """
    source = LogSource(pod.uid, pod.namespace, pod.name, pod.name, container_of(pod))
    is_previous = not pod.is_finished and pod.restarts > 0
    found = await read_once(
        session, source, tail_lines=TAIL_LINES, limit_bytes=LOG_BYTES, is_previous=is_previous
    )
    return "\n".join(line.text for line in found)


# ---- rows in sight


async def read_on_demand(
    session: ApiSession,
    lookup: Lookup,
    verdicts: Verdicts,
    rows: Iterable[tuple[Pod, ...]],
    now_seconds: float,
) -> bool:
    """Read what these rows (the members of each) lack; whether anything new was learnt.

    Raises NoConnection.
    """
    known = verdicts.on_demand
    pods = known.unread(rows)
    lines = await asyncio.gather(*(_lines(session, pod) for pod in pods))
    heard = [verdicts.hear(pod, line) for pod, line in zip(pods, lines, strict=True)]
    needs = known.unread_objects(now_seconds)
    view = verdicts.view(now_seconds)
    found = [await objects_for(session, lookup, need, job, view) for need, job in needs]
    taken = [verdicts.take_objects(need, read) for (need, _), read in zip(needs, found, strict=True)]
    is_new = any(heard) or any(taken)
    if not known.needs_budgets(view.store, now_seconds):
        return is_new
    return known.take_budgets(await ask_budgets(session), now_seconds) or is_new


async def _lines(session: ApiSession, pod: Pod) -> str:
    """ "" where we may not read them, or the node has them no more."""
    try:
        return await last_lines(session, pod)
    except Refused:
        return ""


# ---- how far a job has come


MOST_JOBS: Final = 8
"""Logs that are read for one answer: of the jobs that hold most GPUs, for their ends free most."""
PROGRESS_LINES: Final = 60
PROGRESS_BYTES: Final = 32 << 10


async def read_progress(
    session: ApiSession, view: ClusterView, folders: tuple[Path, ...] = ()
) -> dict[str, float]:
    """Done so far (0..1) by the key of the job; those whose logs do not tell it, or may not be read, are not
    in it. `folders` hold templates besides ours, with patterns of their own. Raises nothing."""
    running = [(job, pods[0]) for job in view.jobs.jobs.values() if (pods := _telling(job, view))]
    running.sort(key=lambda pair: (-pair[0].gpus_allocated, pair[0].key))
    asked = running[:MOST_JOBS]
    if not asked:
        return {}
    library = await asyncio.to_thread(_library, folders)
    found = await asyncio.gather(*(_of(session, job, pod, library) for job, pod in asked))
    return {job.key: done for (job, _), done in zip(asked, found, strict=True) if done is not None}


def _telling(job: Job, view: ClusterView) -> list[Pod]:
    """The members that run, the one first that tells of all: a launcher, else the first rank."""
    if not job.gpus_allocated:
        return []
    return [pod for pod in view.jobs.members(job.key) if pod.phase == "Running" and pod.node]


async def _of(session: ApiSession, job: Job, pod: Pod, library: Library) -> float | None:
    patterns = Patterns(patterns_for(job.kind, job.api_version, library.templates.values()))
    source = LogSource(pod.uid, pod.namespace, pod.name, pod.name, container_of(pod))
    try:
        lines = await read_once(session, source, tail_lines=PROGRESS_LINES, limit_bytes=PROGRESS_BYTES)
    except CockpitError:
        return None
    return fraction_done(patterns.read_all(text for line in lines for text in line.texts))


@lru_cache(maxsize=4)
def _library(folders: tuple[Path, ...]) -> Library:
    return load_library(folders)
