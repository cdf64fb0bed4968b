"""Limit: the maximum of a pool, through the object of whoever owns it."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from cockpit.actions.planner import Planner, of_flag
from cockpit.actions.planning import Planning
from cockpit.actions.pool_reads import pool_as_now
from cockpit.actions.scale import expected_of_growth
from cockpit.actions.shell import limit_line
from cockpit.errors import BadInput, Unchanged
from cockpit.gangs.sentence import counted
from cockpit.model.plan import Plan
from cockpit.model.pool import Pool
from cockpit.model.right import Right
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import gpus_per_node, pool_object
from cockpit.pools.plan import LARGEST_REPLICAS, MOST_ADDED, nodes_named, read_replicas, size_of


def plan_limit(pool: Pool, maximum: int, store: StoreReader, *, context: str = "") -> Plan:
    """The plan that sets the maximum of the pool. Raises BadInput with the reason when it may not be."""
    owner = pool_object(store, pool)
    nodes = nodes_named(store, pool)
    may = registry.ownership(owner, nodes, store).may_limit
    sizer = None if owner is None else registry.sizer(owner)
    if owner is None or sizer is None or may.may is not True:
        why = may.why_not or "its owner has not been read yet; try again"
        raise BadInput(f"the maximum of pool {pool.name} cannot be changed from here: {why}")
    _refuse(pool, maximum)
    was = "none" if pool.maximum is None else str(pool.maximum)
    is_more = pool.maximum is not None and maximum > pool.maximum
    word = "Raise" if is_more else "Lower" if pool.maximum is not None else "Set"
    change = f"from {was} to {maximum}" if pool.maximum is not None else f"to {maximum}"
    past = {"Raise": "Raised", "Lower": "Lowered", "Set": "Set"}[word]
    return Plan(
        verb="limit",
        title=f"{word} the maximum of pool {pool.name} {change}",
        done=f"{past} the maximum of pool {pool.name} {change}",
        calls=sizer.limit_calls(owner, maximum),
        lines=(
            f"{owner.kind} {owner.key}: maximum {was} now, then {counted(maximum, 'node')} ({may.how})",
            *_meant(pool, maximum, store),
        ),
        shell=limit_line(pool, maximum, context),
        former=() if pool.maximum is None else ("--max", str(pool.maximum)),
    )


def _meant(pool: Pool, maximum: int, store: StoreReader) -> Iterator[str]:
    size = size_of(pool)
    yield f"it has {counted(pool.nodes_now, 'node')}" + (
        f", {pool.target} requested" if pool.target not in (None, pool.nodes_now) else ""
    )
    room, each = maximum - size, gpus_per_node(pool, store)
    if room:
        gpus = f", up to {counted(room * each, 'more GPU')}" if each else ""
        yield f"room for {counted(room, 'more node')}{gpus}"
    if pool.why_not:
        yield f"nothing comes by this alone: {pool.why_not}"


def _refuse(pool: Pool, maximum: int) -> None:
    if maximum < 0:
        raise BadInput(f"pool {pool.name}: a maximum of {maximum} is too small, at least 0")
    if maximum > LARGEST_REPLICAS:
        raise BadInput(f"pool {pool.name}: a maximum of {maximum} is too large, at most {LARGEST_REPLICAS}")
    if pool.minimum is not None and maximum < pool.minimum:
        raise BadInput(
            f"pool {pool.name}: a maximum of {maximum} is below its minimum of {pool.minimum}:"
            " give that or more"
        )
    if maximum < size_of(pool):
        stands = counted(size_of(pool), "node")
        give_back = f"give idle nodes back first (R, cockpit pool reclaim {pool.name})"
        first = give_back if pool.why_not else "shrink it first"
        raise BadInput(f"pool {pool.name}: a maximum of {maximum} is below what it has, {stands}: {first}")
    if maximum == pool.maximum:
        raise Unchanged(f"the maximum of pool {pool.name} is already {maximum}; nothing was changed")


async def limit_as_now(planning: Planning, name: str, maximum: int) -> Plan:
    """The plan for the pool of that name; with `planning.reads` on its owner as the server has it now.

    Raises BadInput with the reason when it may not be, Refused when the owner is gone or another one.
    """
    pool, store = await pool_as_now(planning, name)
    plan = plan_limit(pool, maximum, store, context=planning.context)
    largest = max(size_of(pool), pool.maximum or 0)
    if maximum <= largest:
        return plan
    coming = min(MOST_ADDED, max(0, largest - pool.nodes_ready))
    expected = await expected_of_growth(planning, pool, maximum - largest, coming=coming)
    expects = ("if the pool grows to it:", *expected)
    return msgspec.structs.replace(plan, expects=expects)


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """The new maximum of nodes, as it was typed."""

    maximum: str

    def __post_init__(self) -> None:
        with of_flag("--max"):
            read_replicas(self.maximum)


async def _plan(planning: Planning, pool: Pool, options: LimitOptions) -> Plan:
    return await limit_as_now(planning, pool.key, read_replicas(options.maximum))


def _needs(planning: Planning, pool: Pool) -> tuple[Right, ...]:
    owner = pool_object(planning.store, pool)
    sizer = None if owner is None else registry.sizer(owner)
    ways = () if owner is None or sizer is None else sizer.limit_rights(owner)
    return ways[0] if ways else ()


LIMIT = Planner(options=LimitOptions, plan=_plan, needs=_needs)
