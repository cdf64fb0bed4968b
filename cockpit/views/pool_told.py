"""Everything that is known of one pool, put together for its page and for the command line."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.pool import Pool
from cockpit.model.price import Prices
from cockpit.model.record import Kind, condition
from cockpit.model.remembered import Growth, PoolSample
from cockpit.model.scaler import ScalersRead
from cockpit.model.store_reader import StoreReader
from cockpit.pools.chain import chains
from cockpit.pools.demand import NO_DEMAND, demand_by_pool
from cockpit.pools.index import gpus_per_node, pool_object, pools_of
from cockpit.pools.outside import outside_word
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.pools.usual import usual_between
from cockpit.triage.node_signs import reclaimed
from cockpit.views.ladder import Hanging, LadderSeen, MachineSeen, StepSeen
from cockpit.views.pool_page import OwnerWords, PoolPage, SpotNotice, jobs_next

MOST_WORDS = 3


class Learnt(NamedTuple):
    """What was read besides: what this host remembers of pools, and the autoscalers of pods."""

    growths: tuple[Growth, ...] = ()
    samples: tuple[PoolSample, ...] = ()
    scalers: ScalersRead = ScalersRead()
    prices: Prices = Prices()


def page_of(pool: Pool, store: StoreReader, jobs: JobReader, now_seconds: float, learnt: Learnt) -> PoolPage:
    """The pool as it is now."""
    by_pool = demand_by_pool(store, pools_of(store))
    demand = None if by_pool is None else by_pool.get(pool.name, NO_DEMAND)
    waiting = () if demand is None else (*demand.only, *demand.shared)
    ladder, machines = rise(pool, store, now_seconds, learnt.growths)
    return PoolPage(
        pool=pool,
        now_seconds=now_seconds,
        gpus_each=gpus_per_node(pool, store),
        prices=learnt.prices,
        ladder=ladder,
        machines=machines,
        demand=demand,
        next_jobs=jobs_next(demand, jobs),
        words=owner_words(pool, store),
        chains=chains(learnt.scalers.found, waiting),
        scalers_trouble=learnt.scalers.trouble if waiting else "",
        notices=spot_notices(pool, store, jobs, now_seconds),
        growths=learnt.growths,
        samples=learnt.samples,
    )


_OF_STAGE = {NodeStage.JOINED: 5, NodeStage.READY: 6, NodeStage.NOT_ADVERTISED: 6}
_STEPS = ("asked", "accepted", "launching", "launched", "joined", "ready", "GPUs up", "used")
_SAID = {
    NodeStage.JOINED: "node has joined; its kubelet gets ready",
    NodeStage.READY: "kubelet is ready; nothing tells of its GPUs yet",
    NodeStage.NOT_ADVERTISED: "GPU driver is being installed",
}


def rise(
    pool: Pool, store: StoreReader, now_seconds: float, growths: tuple[Growth, ...]
) -> tuple[LadderSeen | None, tuple[MachineSeen, ...]]:
    """The growth under way and its machines; None and nothing while none is."""
    coming = [
        (one, stage)
        for one in _nodes(pool, store)
        if (stage := node_stage(one, store)) in _OF_STAGE and (one.has_gpus or stage == NodeStage.JOINED)
    ]
    missing = pool.nodes_joining - len(coming)
    if not coming and missing <= 0:
        return None, ()
    machines = [_machine(node, stage, pool, growths) for node, stage in coming]
    machines += [MachineSeen(f"{missing} more", 2, "asked for; no machine of it is seen yet")] * (missing > 0)
    least = 2 if missing > 0 else min(_OF_STAGE[stage] for _, stage in coming)
    joined = [one.created_seconds for one, _ in coming if one.created_seconds is not None]
    hanging = Hanging(_STEPS[least], max(joined) if joined and missing <= 0 else None)
    steps = tuple(StepSeen(name, is_reached=at < least) for at, name in enumerate(_STEPS))
    return LadderSeen(steps, None, hanging), tuple(machines)


def _machine(node: Node, stage: str, pool: Pool, growths: tuple[Growth, ...]) -> MachineSeen:
    reached = _OF_STAGE[stage]
    found = usual_between(growths, pool.key, pool.machine, (_STEPS[reached - 1], _STEPS[reached]))
    ready = condition(node.conditions, "Ready")
    since = node.created_seconds if reached == 5 or ready is None else ready.changed_seconds
    return MachineSeen(node.name, reached, _SAID[stage], Hanging("", since, found.seconds if found else None))


def spot_notices(
    pool: Pool, store: StoreReader, jobs: JobReader, now_seconds: float
) -> tuple[SpotNotice, ...]:
    """Nodes that the cloud said it takes back, with the jobs on them."""
    found = []
    for node in _nodes(pool, store):
        sign = reclaimed(node, store, now_seconds)
        if sign is None:
            continue
        held: dict[str, int] = {}
        for pod in store.pods_on(node.name):
            job = jobs.job_of_pod(pod) if pod.gpus else None
            if job is not None and not pod.is_finished:
                held[job.key.split("/", 1)[-1]] = held.get(job.key.split("/", 1)[-1], 0) + pod.gpus
        found.append(SpotNotice(node.name, sign.sentence, tuple(sorted(held.items()))))
    return tuple(found)


def owner_words(pool: Pool, store: StoreReader) -> tuple[OwnerWords, ...]:
    """What was said last of the object that owns the size, the newest first."""
    outside = outside_word(pool_object(store, pool))
    first = (OwnerWords(outside.text, outside.who, outside.at_seconds),) if outside is not None else ()
    events = sorted(
        store.events_of(pool.owner_uid) if pool.owner_uid else (), key=lambda one: -(one.last_seconds or 0.0)
    )
    return first + tuple(
        OwnerWords(f"{one.reason}: {one.message}", one.component or "event", one.last_seconds)
        for one in events[:MOST_WORDS]
    )


def _nodes(pool: Pool, store: StoreReader) -> Sequence[Node]:
    found = (store.by_key(Kind.NODE, name) for name in pool.node_names)
    return [one for one in found if isinstance(one, Node)]
