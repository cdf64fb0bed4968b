"""From a view of the cluster to verdicts: why one thing waits or is broken, and everything that is wrong."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from cockpit.catalogue import ListOf
from cockpit.fit.demand import parts_of_job
from cockpit.fit.shape import Part
from cockpit.gangs import registry
from cockpit.model.finding import Finding, Subject
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.listing import listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.triage import claims, controllers, creation, filters, job_walk, node_walk, starting, wanted
from cockpit.triage.context import ClusterView, Context, Walk
from cockpit.triage.gang_walk import standing
from cockpit.triage.idle_jobs import idle_words, mark_words
from cockpit.triage.judgement import finished, is_up, judged, not_found, nothing_seen, qualified
from cockpit.triage.placing import unplaced
from cockpit.triage.pool_walk import of_pool, of_queue
from cockpit.triage.recurrence import job_since, pod_since
from cockpit.triage.roots import with_root
from cockpit.triage.wanted import wanted_of


def of_templates(walk: Walk, view: ClusterView) -> list[Finding]:
    """A blocker for each part of the job that the nodes would not take; [] where its templates are not known,
    or where nodes or its pods are not."""
    sees_pods = listing(view.store, Kind.POD, walk.job.namespace).has_all
    if not sees_pods or not listing(view.store, Kind.NODE).has_all or not view.store.records(Kind.NODE):
        return []
    found: list[Finding] = []
    job = walk.job
    for part in _parts_unmade(walk, view):
        whose = f"{job.kind} {job.namespace}/{job.name}"
        absent = list(claims.missing(whose, part.shape.claims, view.around))
        found += absent
        found += _of_part(replace(part, shape=claims.without(part.shape, absent)), view)
    return found


def _of_part(part: Part, view: ClusterView) -> Sequence[Finding]:
    if view.told is not None:
        return view.told(part.shape, part.count, view.now_seconds)
    return list(filters.of_pods(part.shape, part.count, replace(view, waiting=part.count)))


def _parts_unmade(walk: Walk, view: ClusterView) -> Sequence[Part]:
    """By the record, as rows and pages know it; of a kind whose templates are not decoded by its object,
    where that was read."""
    job, record = walk.job, walk.object_
    if isinstance(record, JobObject) and (parts := parts_of_job(record)):
        return parts
    wanted = wanted_of(Subject("job", job.namespace, job.name), view) if view.trees else None
    return () if wanted is None or wanted.pods else wanted.parts


def is_explained(kind: str) -> bool:
    """Whether there are verdicts about things of that kind of subject."""
    return kind in _EXPLAINED


def explain(subject: Subject, view: ClusterView) -> Finding:
    """Why the subject waits or is broken. What does not exist gets a verdict that says so, with cause ""."""
    made = _EXPLAINED.get(subject.kind)
    if made is None:
        unknown = f"nothing can be told of a {subject.kind}"
        return Finding(subject=subject, sentence=unknown, sureness=Sureness.UNKNOWN)
    return made(subject, view)


def of_job(job: Job, view: ClusterView, subject: Subject | None = None) -> Finding:
    """Why the job of that row waits or is broken."""
    pods = view.jobs.members(job.key)
    shared = {name: getattr(view, name) for name in Context.__struct_fields__}
    walk = Walk(**shared, job=job, pods=pods, gang=standing(job, pods, view.store))
    found = job_walk.judge(walk)
    if found is not None and not pods and job.state not in (*JobState.ENDED, JobState.FINISHING):
        found = judged([found, *of_templates(walk, view)])
    found = found or _idle(job, view) or _nothing_seen(walk)
    made = _verdict(
        found,
        subject or Subject("job", job.namespace, job.name),
        view.store,
        state=job.state,
        gpus=job.gpus_wanted or job.gpus_allocated,
        since=None if found is None else job_since(job, found, pods, view.store),
    )
    return with_root(made, view.store, job.queue)


def _idle(job: Job, view: ClusterView) -> Finding | None:
    """That a job idles, or is marked for reclaim, is no trouble of its own: it runs. Its row and *Why* say it
    all the same."""
    if job.state != JobState.RUNNING:
        return None
    judged = None if view.idle is None else view.idle.idle(job, view.store, view.now_seconds)
    mark = mark_words(job, view.store, view.now_seconds, is_idle=judged is not None)
    if judged is None:
        return Finding(cause="", sentence=mark) if mark else None
    idle = "idle: " + idle_words(job, judged, view.now_seconds)
    # the mark first: a row is cut at its end
    sentence = f"{mark}; {idle}" if mark else idle
    return Finding(cause="", sentence=sentence, since_seconds=judged.since_seconds)


def _nothing_seen(walk: Walk) -> Finding | None:
    """That its pods, or the object that would tell of its end, are not all known."""
    job = walk.job
    kinds: tuple[str, ...] = (Kind.POD,)
    if job.kind != "Pod" and walk.object_ is None:
        kinds += registry.controller_tables()
    seen = nothing_seen(walk.store, map(ListOf, kinds), job.namespace)
    return Finding(cause="", sentence=seen) if seen else None


def _verdict(
    found: Finding | None, subject: Subject, store: StoreReader, *, state: str, gpus: int, since: float | None
) -> Finding:
    if found is None:
        return Finding(subject=subject, sureness=Sureness.SAID, state=state, gpus=gpus)
    made = finished(qualified(found, store, subject.namespace), subject, state=state, gpus=gpus)
    return replace(made, since_seconds=since)


def job_behind(subject: Subject, view: ClusterView) -> Job | None:
    """The job that the subject is, whose gang it is, or whose member; None for anything else."""
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        return None if pod is None else view.jobs.job_of_pod(pod)
    if subject.kind == "gang":
        for job in view.jobs.jobs.values():
            if job.namespace == subject.namespace and any(
                pod.gang == subject.name for pod in view.jobs.members(job.key)
            ):
                return job
    return wanted.job_of(subject, view) if subject.kind in ("job", "gang") else None


def decided_by(subject: Subject, view: ClusterView) -> Subject:
    """Whose demand decides when the subject starts: of a gang, and of a member that waits with its gang, the
    job; else its own."""
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        if pod is None or pod.node or pod.is_finished or not registry.group_of_pod(pod):
            return subject
    elif subject.kind != "gang":
        return subject
    job = job_behind(subject, view)
    return subject if job is None else Subject("job", job.namespace, job.name)


def _job(subject: Subject, view: ClusterView) -> Finding:
    job = job_behind(subject, view)
    if job is not None:
        return of_job(job, view, subject)
    found = creation.of_events(creation.warnings_below(subject.namespace, subject.name, view.store))
    found = found or controllers.refused(subject.namespace, subject.name, view)
    if found is not None:  # its controller could not make the pods by which it would be a row
        return finished(found, subject)
    pod = _pod_without_row(subject, view)
    if pod is not None:  # no row: as it is written it asks for no GPU
        of_pod = _pod(Subject("pod", pod.namespace, pod.name), view)
        return replace(of_pod, subject=subject)
    return not_found(subject, view.store, (Kind.POD, *registry.controller_tables()))


def _pod_without_row(subject: Subject, view: ClusterView) -> Pod | None:
    """Of an object of that name that is no row, the first of its pods that does not run, else any."""
    objects = (view.store.by_key(kind, subject.key) for kind in registry.controller_tables())
    pods = [pod for one in objects if one is not None for pod in view.store.pods_of(one.uid)]
    return min(pods, key=is_up, default=None)


def _pod(subject: Subject, view: ClusterView) -> Finding:
    pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
    if pod is None:
        return not_found(subject, view.store, (Kind.POD,))
    if pod.node or pod.is_finished:
        found = starting.not_running(pod, view)
    else:
        job = view.jobs.job_of_pod(pod)
        members = () if job is None else view.jobs.members(job.key)
        waiting = sum(1 for one in members if not one.node and not one.is_finished and one.gpus)
        found = unplaced(pod, replace(view, waiting=max(1, waiting)))
    since = None if found is None else pod_since(pod, found)
    made = _verdict(found, subject, view.store, state="", gpus=pod.gpus, since=since)
    return with_root(made, view.store)


_EXPLAINED: dict[str, Callable[[Subject, ClusterView], Finding]] = {
    "job": _job,
    "pod": _pod,
    "gang": _job,
    "node": node_walk.of_node,
    "card": node_walk.of_card,
    "queue": of_queue,
    "pool": of_pool,
}
