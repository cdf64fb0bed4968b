"""Pools and queues: why no machine comes, which node of a pool is broken, who waits for it; why a queue
takes no jobs, or what its head waits for."""

from collections.abc import Iterator

from cockpit.catalogue import Cause, ListOf
from cockpit.gangs import registry
from cockpit.gangs.draft import draft, tell
from cockpit.gangs.engine import Queue
from cockpit.gangs.queue_line import waiting
from cockpit.gangs.sentence import counted
from cockpit.gangs.wording import say
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.gang import SchedulerQueue
from cockpit.model.job import Job
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.pools.demand import NO_DEMAND, PoolDemand, demand_by_pool
from cockpit.pools.failures import failures_of
from cockpit.pools.index import gpus_per_node, pools_of
from cockpit.pools.owner import FailureClass, PoolFailure
from cockpit.pools.stage import nodes_coming
from cockpit.triage.context import ClusterView
from cockpit.triage.judgement import finished, not_found, nothing_seen
from cockpit.triage.node_signs import LEFT
from cockpit.triage.node_walk import NODE_LISTS, by_node, of_node

_FULL, _FAILED = Cause.POOL_AT_MAXIMUM, Cause.NO_MACHINE
_MOST_JOBS = 3


def of_pool(subject: Subject, view: ClusterView) -> Finding:
    """What keeps a pool from growing, its nodes that are not ready, else who waits for it and what comes."""
    pools = pools_of(view.store)
    pool = next((one for one in pools if one.name == subject.name), None)
    if pool is None:
        return not_found(subject, view.store, (Kind.NODE, Kind.POOL))
    by_pool = demand_by_pool(view.store, pools)
    demand = (by_pool or {}).get(pool.name, NO_DEMAND)
    failures = [one for one in failures_of(pool, view.store, view.now_seconds) if not one.is_part]
    if failures and failures[0].kind is FailureClass.NO_GPUS and (dark := _dark_node(pool, view)) is not None:
        return by_node(dark, subject, gpus=pool.gpus_total)  # what of the GPU stack says why
    is_waited_for = by_pool is None or demand.only or demand.shared or pool.nodes_joining
    if failures and (is_waited_for or failures[0].kind is FailureClass.NODE_DELETED):
        return _failed(failures[0], pool, subject)
    if pool.maximum is not None and pool.nodes_now >= pool.maximum and _asks_for_more(pool, demand, view):
        said = Evidence(f"pool {pool.name}", "size", f"{pool.nodes_now} of at most {pool.maximum}")
        names: dict[str, object] = {"pool": pool.name, "now": pool.nodes_now, "maximum": pool.maximum}
        return finished(tell(_FULL, names, said, says="size"), subject, gpus=pool.gpus_total)
    for name in pool.node_names:
        verdict = of_node(Subject("node", "", name), view)
        if verdict.is_trouble or verdict.fact("sign") == LEFT:
            return by_node(verdict, subject, gpus=pool.gpus_total)
    sentence = _standing(pool, demand, view.now_seconds) or nothing_seen(view.store, NODE_LISTS)
    if failures:
        sentence = say("no pod waits for it; it did not grow: {why}", why=failures[0].sentence)
    return Finding(subject=subject, sentence=sentence, sureness=Sureness.SAID)


def _asks_for_more(pool: Pool, demand: PoolDemand, view: ClusterView) -> bool:
    """Whether more GPUs are waited for than its nodes that came just now will show."""
    waited_for = sum(one.gpus for one in (*demand.only, *demand.shared))
    is_going = pool.target is not None and pool.target < pool.nodes_now
    coming = 0 if is_going else nodes_coming(pool, view.now_seconds)
    return waited_for > coming * (gpus_per_node(pool, view.store) or 0)


def _dark_node(pool: Pool, view: ClusterView) -> Finding | None:
    """The trouble of the first of its nodes whose GPU stack is down."""
    found = (of_node(Subject("node", "", name), view) for name in pool.node_names)
    return next((one for one in found if one.cause == Cause.GPU_STACK_DOWN), None)


def _failed(failure: PoolFailure, pool: Pool, subject: Subject) -> Finding:
    """The newest word of why no machine comes; what helps stands beside it, for it depends on the class."""
    cause = _FULL if failure.kind is FailureClass.LIMIT else _FAILED
    names = {"kind": failure.kind.value, "failure": failure.sentence}
    said, facts = evidence_of(failure, pool.name), (("remedy", failure.remedy),)
    found = draft(cause, "{kind}: {failure}", names, said, facts=facts, since_seconds=failure.since_seconds)
    return finished(found, subject, gpus=pool.gpus_total)


def evidence_of(failure: PoolFailure, pool: str) -> Evidence:
    """What a verdict rests on that tells this failure."""
    source = failure.source or f"pool {pool}"
    return Evidence(source, failure.kind.value, failure.said or failure.sentence)


def _standing(pool: Pool, demand: PoolDemand, now_seconds: float) -> str:
    """`5 pods wait for it (5 GPUs); 2 machines are on their way`; "" where neither is so."""
    pods = (*demand.only, *demand.shared)
    words = []
    if pods:
        gpus = counted(sum(one.gpus for one in pods), "GPU")
        words.append(f"{counted(len(pods), 'pod')} {'waits' if len(pods) == 1 else 'wait'} for it ({gpus})")
    if coming := nodes_coming(pool, now_seconds):
        words.append(f"{coming} {'machine is on its way' if coming == 1 else 'machines are on their way'}")
    elif pods:
        words.append("no machine is on its way")
    return "; ".join(words)


def jobs_waiting(subject: Subject, view: ClusterView) -> Iterator[Job]:
    """Jobs that wait for the pool, those first that only it can serve; no more than a few."""
    by_pool = demand_by_pool(view.store, pools_of(view.store)) or {}
    demand = by_pool.get(subject.name, NO_DEMAND)
    found: dict[str, Job] = {}
    for pod in (*demand.only, *demand.shared):
        job = view.jobs.job_of_pod(pod)
        if job is not None:
            found.setdefault(job.key, job)
        if len(found) >= _MOST_JOBS:
            break
    yield from found.values()


def of_queue(subject: Subject, view: ClusterView) -> Finding:
    """What keeps a queue from admitting jobs."""
    queue = registry.queue_of_key(view.store, subject.key)
    if queue is None:
        return not_found(subject, view.store, registry.queue_tables())
    engine = registry.engine_of_queue(queue)
    state, quota = registry.queue_state(queue), engine.quota_queues
    held = quota.held_in_vain(queue, view.store) if quota is not None and state.takes_jobs else None
    if held is not None:
        return finished(held, subject)
    tables = (engine.queues.local, engine.queues.cluster)
    lists = tuple(ListOf(one, is_wide=True) for one in tables if one)
    if state.takes_jobs or state.state == "unknown":
        return Finding(subject=subject, sentence=nothing_seen(view.store, lists), sureness=Sureness.SAID)
    waits = len(waiting(view.store, queue))
    kind = "Queue" if isinstance(queue, SchedulerQueue) else type(queue).__name__
    said = Evidence(f"{kind} {queue.key}", "state", state.why)
    is_shut = state.state in ("stopped", "closed", "closing")
    cause = Cause.QUEUE_STOPPED if is_shut else Cause.QUEUE_UNUSABLE
    text = "{why}" + (f": {waits} jobs wait" if waits > 1 else ": 1 job waits" if waits else "")
    return finished(draft(cause, text, {"why": state.why}, said), subject)


def queue_subject(queue: Queue) -> Subject:
    """The queue as verdicts are about it: a scheduler's by the name that no other engine's queue has."""
    if isinstance(queue, SchedulerQueue):
        return Subject("queue", "", registry.queue_name(queue))
    return Subject("queue", queue.namespace, queue.name)
