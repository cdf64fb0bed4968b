"""Scale: the plan of `cockpit.pools`, the hold on the pool, who would start, and the command for the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from cockpit.actions.planner import Planner, of_flag
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.pool_lease import take
from cockpit.actions.pool_reads import (
    machines_as_read,
    nodes_as_read,
    pool_as_now,
    refuse_paused,
)
from cockpit.actions.reclaim_nodes import removal_rights
from cockpit.actions.rollback import roll_back
from cockpit.actions.shell import ask_line, scale_line, words_line
from cockpit.actions.surroundings import Needs, ask_surroundings
from cockpit.errors import BadInput
from cockpit.fit.scheduling_context import Surroundings
from cockpit.gangs.sentence import counted
from cockpit.model.job import Job
from cockpit.model.plan import Plan
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.right import Right, Ways
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.forecast import cost_line, forecast, time_line
from cockpit.pools.index import gpus_per_node, pool_again, pool_object
from cockpit.pools.next_nodes import nodes_to_come
from cockpit.pools.plan import MOST_ADDED, above_maximum, nodes_named, plan_scale, read_replicas
from cockpit.pools.shrink import shrink_of
from cockpit.triage.starters import Starters, spaces_with_claims, starters

_MOST_NAMED = 4
_MOST_SPACES = 4
"""Namespaces whose claims are read for who would start."""


def plan_pool_scale(
    pool: Pool, replicas: int, store: StoreReader, *, terms: PoolTerms, context: str = ""
) -> Plan:
    """The plan that sets the pool to `replicas` nodes. Raises BadInput with the reason when it may not be."""
    owner = pool_object(store, pool)
    if pool.grows_by_demand:
        raise BadInput(_instead(pool, owner, replicas, store, context))
    plan = plan_scale(
        pool,
        owner,
        replicas,
        store,
        now_seconds=terms.lease_seconds,
        asked_seconds=terms.at_seconds,
        at_once=terms.shrink_at_once,
    )
    former = () if owner is None or owner.replicas is None else ("--to", str(owner.replicas))
    return msgspec.structs.replace(plan, shell=scale_line(pool, replicas, context), former=former)


def _instead(pool: Pool, owner: PoolObject | None, replicas: int, store: StoreReader, context: str) -> str:
    """Why a pool that grows by demand has no number to set, and the command that does what was meant."""
    more, way = replicas - pool.nodes_now, ""
    says = registry.ownership(owner, nodes_named(store, pool), store)
    if more > 0 and (too_many := above_maximum(pool, more, says)):
        way = f"; {too_many}"
    elif 0 < more <= MOST_ADDED:
        way = f"; ask for {counted(more, 'more node')}: {ask_line(pool, more, (), context)}"
    elif more < 0 and says.may_remove.may is True:
        words = ("cockpit", "pool", "reclaim", pool.name)
        way = f"; give idle nodes back: {words_line(words, context)}"
    return f"pool {pool.name} cannot be resized from here: {pool.why_not}{way}"


async def scale_as_now(planning: Planning, name: str, replicas: int) -> Plan:
    """The plan for the pool of that name, with the hold that keeps other cockpits from it; with
    `planning.reads` on its owner as the server has it now.

    Raises BadInput with the reason when it may not be, or when another cockpit has the pool; Refused when the
    owner is gone or another one.
    """
    pool, store = await pool_as_now(planning, name)
    await refuse_paused(planning.session, pool, store)
    store = await _with_victims(planning, pool, replicas, store)
    pool = pool_again(store, pool)
    plan = plan_pool_scale(pool, replicas, store, terms=planning.pools, context=planning.context)
    foreseen = await _expected(planning, pool, replicas)
    plan = msgspec.structs.replace(plan, expects=(*plan.expects, *foreseen))
    return await _held(planning, pool, replicas, plan)


async def _with_victims(planning: Planning, pool: Pool, replicas: int, store: StoreReader) -> StoreReader:
    """The tables with the nodes that a smaller number takes, and their pods, as the server has them now: the
    tables may lag behind what came onto a node."""
    owner, read = pool_object(store, pool), set[str]()
    if owner is None or owner.replicas is None or replicas >= owner.replicas or pool.why_not:
        return store
    while True:
        try:
            victims = shrink_of(pool, owner, replicas, store, planning.pools.lease_seconds).victims
        except BadInput:  # the plan says it
            return store
        fresh = [one for one in victims if one.name not in read]
        if not fresh:
            return store
        read.update(one.name for one in fresh)
        store = await nodes_as_read(planning.session, store, fresh)
        if planning.reads:  # a mark of ours may be on them since
            store = await machines_as_read(planning.session, store, [one.name for one in fresh])


async def _held(planning: Planning, pool: Pool, replicas: int, plan: Plan) -> Plan:
    """The same plan behind the hold of the pool."""
    taking = await take(
        planning.session,
        pool,
        planning.pools,
        now=pool.target,
        to=replicas,
    )
    calls = plan.calls if taking.call is None else (taking.call, *plan.calls)
    warnings, expects = (*taking.lacks, *plan.warnings), (*taking.replaces, *plan.expects)
    held = (f"other cockpits are kept out by {taking.hold.target}",) if taking.call is not None else ()
    lines = (*plan.lines, *held)
    return msgspec.structs.replace(
        plan, calls=calls, hold=taking.hold, warnings=warnings, expects=expects, lines=lines
    )


async def _expected(planning: Planning, pool: Pool, replicas: int) -> tuple[str, ...]:
    more = replicas - (pool.target if pool.target is not None else pool.nodes_now)
    return await expected_of_growth(planning, pool, more) if more > 0 else ()


async def expected_of_growth(
    planning: Planning, pool: Pool, more: int, *, coming: int | None = None
) -> tuple[str, ...]:
    """What that many more nodes bring: who would start, what they cost, how long they usually take.
    `coming` nodes may be there without them, None: those that are joining."""
    store, jobs = planning.store, tuple(planning.jobs.values())
    around: dict[str, Surroundings] = {}
    for space in spaces_with_claims(store, jobs)[:_MOST_SPACES]:
        around[space] = await ask_surroundings(planning.session, Needs(claims_in=space))
    first = pool.nodes_joining if coming is None else coming
    every = nodes_to_come(store, pool, pool_object(store, pool), first + more, gpus_per_node(pool, store))
    nodes = every[first:]
    return (
        *starter_lines(starters(store, jobs, nodes, around, coming=every[:first]), is_known=bool(nodes)),
        *forecast_lines(planning, pool, more),
    )


def forecast_lines(planning: Planning, pool: Pool, more: int) -> Iterator[str]:
    """What so many more nodes cost, and how long they usually take."""
    known = planning.pools.known()
    found = forecast(pool, more, known, has_gpus=bool(gpus_per_node(pool, planning.store)))
    yield cost_line(pool, more, found, known)
    yield time_line(pool, found)


def starter_lines(found: Starters, *, is_known: bool) -> Iterator[str]:
    """Who would start, in a line or two."""
    if not is_known:
        yield "who would start is not known: nothing tells what a node of this pool offers"
        return
    if found.jobs:
        stay = "stays" if found.idle_gpus == 1 else "stay"
        free = f"; {counted(found.idle_gpus, 'GPU')} {stay} free" if found.idle_gpus else ""
        yield f"would start: {_named(found.jobs)}{free}"
    else:
        yield "no job that waits now would start on them"
    more = []
    if found.held:
        more.append(f"{found.held} wait{'s' * (found.held == 1)} for quota or a gate, not for nodes")
    if found.unjudged:
        more.append(f"{found.unjudged} cannot be judged here")
    if more:
        yield "not counted: " + "; ".join(more)


def _named(jobs: Sequence[Job]) -> str:
    shown = [f"{one.namespace}/{one.name}" + _asks(one) for one in jobs[:_MOST_NAMED]]
    more = len(jobs) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _asks(job: Job) -> str:
    return f" ({counted(job.gpus_wanted, 'GPU')})" if job.gpus_wanted else ""


@dataclass(frozen=True, slots=True)
class NodesOptions:
    """The new number of nodes, as it was typed."""

    to: str

    def __post_init__(self) -> None:
        with of_flag("--to"):
            read_replicas(self.to)


async def _plan(planning: Planning, pool: Pool, options: NodesOptions) -> Plan:
    return await scale_as_now(planning, pool.key, read_replicas(options.to))


def _needs(planning: Planning, pool: Pool) -> tuple[Right, ...]:
    """Those of a growth, and what a shrink does to the nodes that it removes."""
    grown = _needs_to_grow(planning, pool)
    return tuple(dict.fromkeys((*grown, *removal_rights(planning.store, pool)))) if grown else ()


def _needs_any(planning: Planning, pools: Sequence[Pool]) -> Ways:
    """The form says whether the pool grows or shrinks: who may only grow pools has the key as well."""
    return tuple(way(planning, pool) for pool in pools for way in (_needs_to_grow, _needs))


def _needs_to_grow(planning: Planning, pool: Pool) -> tuple[Right, ...]:
    owner = pool_object(planning.store, pool)
    sizer = None if owner is None else registry.sizer(owner)
    ways = () if owner is None or sizer is None else sizer.resize_rights(owner)
    return ways[0] if ways else ()


SCALE = Planner(options=NodesOptions, plan=_plan, back=roll_back, needs=_needs, needs_any=_needs_any)
