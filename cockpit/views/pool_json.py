"""Everything that is known of one pool, put together for its page and for the command line."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.scheduling_context import Budget
from cockpit.model.job_reader import JobReader
from cockpit.model.lease import NOT_READ, LeaseRead
from cockpit.model.node import Node
from cockpit.model.pool import Pool, SizeAsked, StandingRead
from cockpit.model.price import Prices
from cockpit.model.record import Kind
from cockpit.model.remembered import Growth, PoolSample, Reclaim
from cockpit.model.scaler import ScalersRead
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.chain import chains
from cockpit.pools.demand import NO_DEMAND, PoolDemand, demand_by_pool
from cockpit.pools.failures import failures_of
from cockpit.pools.idle import IdleNode, idle_nodes
from cockpit.pools.index import gpus_per_node, pool_object, pools_of
from cockpit.pools.ladder import Ladder, growth
from cockpit.pools.outside import outside_word
from cockpit.pools.owner import OwnerWords, TakesOver
from cockpit.pools.sightings import NO_SIGHTINGS, Sightings
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.pools.usual import usually_of
from cockpit.triage.node_signs import reclaimed
from cockpit.views.pool_page import PoolPage, SpotNotice, jobs_next

MOST_WORDS = 3
_WHOLE = (NodeStage.GPUS_UP, NodeStage.CORDONED)
ON_ITS_PAGE = LeaseRead(trouble="that is read on the page of the pool")
"""Of a pool that is told of in passing, where nothing is read for it."""


class Learnt(NamedTuple):
    """Further reads: the pool history of this host, and the autoscalers of pods."""

    growths: tuple[Growth, ...] = ()
    samples: tuple[PoolSample, ...] = ()
    reclaims: tuple[Reclaim, ...] = ()
    scalers: ScalersRead = ScalersRead()
    prices: Prices = Prices()
    seen: Sightings = NO_SIGHTINGS
    asked: SizeAsked | None = None  # by this session, where no Lease tells
    standing: StandingRead = StandingRead()
    no_log: str | None = None  # why the owner's log cannot be shown; None: not read
    held: LeaseRead = NOT_READ  # who changes the pool
    empty_since: Mapping[str, float] = {}  # since when this session has seen nodes empty, by name
    budgets: Sequence[Budget] | None = None


def page_of(pool: Pool, store: StoreReader, jobs: JobReader, now_seconds: float, learnt: Learnt) -> PoolPage:
    """The pool as it is now, before it is known which pods wait for which pool."""
    by_pool = demand_by_pool(store, pools_of(store))
    return page_with(pool, store, jobs, now_seconds, learnt, by_pool=by_pool)


def page_with(
    pool: Pool,
    store: StoreReader,
    jobs: JobReader,
    now_seconds: float,
    learnt: Learnt,
    *,
    by_pool: Mapping[str, PoolDemand] | None,
) -> PoolPage:
    """The same with the demand of every pool; None: not every pod is seen."""
    demand = None if by_pool is None else by_pool.get(pool.name, NO_DEMAND)
    waiting = () if demand is None else (*demand.only, *demand.shared)
    ladder = _ladder(pool, store, now_seconds, learnt)
    found, nodes = pool_object(store, pool), _nodes(pool, store)
    decides = registry.owner_named(registry.ownership(found, nodes, store).owner).traits
    return PoolPage(
        pool=pool,
        now_seconds=now_seconds,
        owner=decides.name if decides.decides_size else "",
        is_through_object=registry.holder(found, nodes).traits.name != decides.name,
        gpus_each=gpus_per_node(pool, store),
        prices=learnt.prices,
        ladder=ladder,
        failures=failures_of(pool, store, now_seconds),
        demand=demand,
        next_jobs=jobs_next(demand, jobs),
        words=owner_words(pool, store),
        no_log=learnt.no_log,
        chains=chains(learnt.scalers.found, waiting),
        scalers_trouble=learnt.scalers.trouble if waiting else "",
        notices=spot_notices(pool, store, jobs, now_seconds),
        growths=learnt.growths,
        samples=learnt.samples,
        reclaims=learnt.reclaims,
        held=learnt.held,
        standing=learnt.standing,
        owner_lines=registry.page_lines(found, nodes, store, now_seconds, learnt.budgets),
        idle=_idle(pool, store, now_seconds, learnt.empty_since) if pool.is_use_known else None,
    )


def _idle(
    pool: Pool, store: StoreReader, now_seconds: float, empty_since: Mapping[str, float]
) -> tuple[IdleNode, ...]:
    """Those that could work: one that is broken or on its way is not idle."""
    found = idle_nodes(pool, store, now_seconds, empty_since)
    return tuple(item for item in found if node_stage(item.node, store) in _WHOLE)


def _ladder(pool: Pool, store: StoreReader, now_seconds: float, learnt: Learnt) -> Ladder | None:
    """The growth under way, dated by whoever holds the pool for it, or did; without the right to hold it by
    this session, and by what asks for nodes."""
    lease = learnt.held.lease
    told = [
        None if lease is None else lease.asked(pool.target),
        learnt.asked,
        *(
            SizeAsked(item.made_seconds, item.by)
            for item in learnt.standing.found
            if item.made_seconds is not None and not item.is_part
        ),
    ]
    asked = max((item for item in told if item is not None), key=lambda one: one.at_seconds, default=None)
    return growth(
        pool,
        store,
        now_seconds,
        asked=asked,
        usually=usually_of(learnt.growths, pool.key, pool.machine),
        seen=learnt.seen,
    )


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
    """The last messages of the pool's owner, and events of its object; the newest first."""
    found, nodes = pool_object(store, pool), _nodes(pool, store)
    says = registry.ownership(found, nodes, store)
    decides = registry.owner_named(says.owner)
    own = decides.words(found, nodes, store) if isinstance(decides, TakesOver) else ()
    events = store.events_of(pool.owner_uid) if pool.owner_uid else ()
    told = [
        *own,
        *(
            OwnerWords(f"{event.reason}: {event.message}", event.component or "event", event.last_seconds)
            for event in events
        ),
    ]
    outside = outside_word(found)
    first = () if outside is None else (OwnerWords(outside.text, outside.who, outside.at_seconds),)
    return first + tuple(sorted(told, key=lambda one: -(one.at_seconds or 0.0))[:MOST_WORDS])


def _nodes(pool: Pool, store: StoreReader) -> Sequence[Node]:
    found = (store.by_key(Kind.NODE, name) for name in pool.node_names)
    return [item for item in found if isinstance(item, Node)]
