"""More machines: a larger pool where somebody may say so, a higher maximum where that is what keeps it
small."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from cockpit.fit.remedies import FitRemedy, another_node
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import WhatIf
from cockpit.gangs.sentence import counted
from cockpit.gangs.wording import short
from cockpit.model.finding import Change, Subject
from cockpit.model.node import Node
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.pools.capacity import MOST_MACHINES, DemandWay
from cockpit.pools.forecast import forecast
from cockpit.pools.index import gpus_per_node, pool_object, pools_of
from cockpit.pools.next_nodes import nodes_to_come
from cockpit.pools.node_labels import NO_POOL
from cockpit.pools.owner import MakesMachines
from cockpit.pools.plan import nodes_named
from cockpit.triage.changes.in_line import WaitingPods, turn_of
from cockpit.triage.changes.offer import MONEY, ChangeOffer, ChangeOffers, Desk, cockpit, node

_A_NODE = 10
_MOST_FOR_OTHERS: Final = 8


def more_nodes(desk: Desk) -> ChangeOffers:
    """An offer for each pool of which the fit says that more nodes would do, and for those at zero, of whose
    nodes the fit sees none."""
    found = [one for one in desk.answer.remedies if one.kind == "more_nodes"]
    pools = pools_of(desk.view.store)
    yield from _of_empty_pools(desk, pools)
    rivals = (*WaitingPods(desk).parts(()), *turn_of(desk, desk.base).rivals) if found else ()
    for way in found:
        nodes = _for_others_too(desk, way, rivals) if rivals else way.nodes
        count = len(nodes)
        pool = next((one for one in pools if way.detail in one.node_names), None)
        is_pool = pool is not None and pool.name != NO_POOL
        words = f"{counted(count, 'more node')} like {short(way.detail)}"
        change: Change | None = Change(kind="more_nodes", words=words, target=node(way.detail))
        if pool is not None and is_pool:
            change = _of_pool(desk, pool, count)
        if change is not None:
            yield _with_nodes(desk, change, nodes)


def _with_nodes(desk: Desk, change: Change, nodes: Sequence[Node]) -> ChangeOffer:
    cost = MONEY + _A_NODE * len(nodes) + (0 if change.command else 1)
    records = tuple((Kind.NODE, one) for one in nodes)
    return ChangeOffer(cost, change, replace(desk.base, records=records))


def _for_others_too(desk: Desk, way: FitRemedy, rivals: tuple[Part, ...]) -> tuple[Node, ...]:
    """As many nodes as it takes where pods of others come first; the first ones alone where that is too
    many."""
    snapshot = ClusterSnapshot(desk.view.store, desk.view.around)
    nodes = [*way.nodes]
    for number in range(len(nodes), len(nodes) + _MOST_FOR_OTHERS + 1):
        records = tuple((Kind.NODE, one) for one in nodes)
        then: WhatIf = replace(desk.base, records=records, rivals=rivals)
        if then.starts(desk.view.store, desk.answer):
            return tuple(nodes)
        nodes.append(another_node(snapshot, snapshot.nodes[way.detail], number))
    return way.nodes


def _of_empty_pools(desk: Desk, pools: Sequence[Pool]) -> ChangeOffers:
    """By what the pool's owner promises of its nodes; like every offer it is tried before it is made."""
    store = desk.view.store
    asked = [one.shape.gpus for one in desk.wanted.parts for _ in range(one.count) if one.shape.gpus]
    for pool in pools:
        owner, each = pool_object(store, pool), gpus_per_node(pool, store)
        if pool.node_names or owner is None or not each or not asked or max(asked) > each:
            continue
        count = nodes_for(asked, each)
        change = _of_pool(desk, pool, count) or _asked_for(desk, pool, owner, count, each)
        nodes = nodes_to_come(store, pool, owner, count, each)
        if change is not None and nodes:
            yield _with_nodes(desk, change, nodes)


def nodes_for(asked: Sequence[int], each: int) -> int:
    """Nodes of `each` devices for members that ask for so many, none of them for more than a node has: the
    largest first, each on the first node with room."""
    rooms: list[int] = []
    for gpus in sorted(asked, reverse=True):
        at = next((at for at, room in enumerate(rooms) if room >= gpus), None)
        if at is None:
            rooms.append(each - gpus)
        else:
            rooms[at] -= gpus
    return len(rooms)


def _of_pool(desk: Desk, pool: Pool, count: int) -> Change | None:
    """None where an autoscaler owns the size and may still grow the pool: nothing has to be changed for
    that."""
    size = pool.nodes_now if pool.target is None else pool.target
    wanted = size + count
    target = Subject("pool", "", pool.name)
    owner = pool_object(desk.view.store, pool)
    name, facts = short(pool.name), forecast(pool, count, desk.view.known).short
    if owner is None:
        more = counted(count, "more node")
        return Change(kind="more_nodes", words=f"{more} in pool {name}", target=target)
    grow = Change(
        kind="scale_pool",
        words=f"grow pool {name} by {counted(count, 'node')}, to {wanted}{_told(facts)}",
        verb="pool.scale",
        command=cockpit("pool.scale", pool.name, "--to", str(wanted)),
        target=target,
    )
    if pool.maximum is not None and wanted > pool.maximum:
        most = f"raise the maximum of pool {name} from {pool.maximum} to {wanted}"
        words = f"{most}{_told((counted(count, 'node'), *facts))}"
        alone = Change(kind="raise_maximum", words=words, target=target)
        owned = registry.ownership(owner, nodes_named(desk.view.store, pool), desk.view.store)
        if owned.may_limit.may is not True:
            return alone
        command = cockpit("pool.limit", pool.name, "--max", str(wanted))
        alone = replace(alone, verb="pool.limit", command=command)
        if pool.why_not:
            return alone
        # a higher maximum alone brings no node: the key does the first, then the second is offered
        both = (*alone.command, "&&", *grow.command)
        return replace(alone, words=f"{most}, then grow it{_told(facts)}", command=both, steps=(alone, grow))
    return None if pool.why_not else grow


def _asked_for(desk: Desk, pool: Pool, owner: PoolObject, count: int, each: int) -> Change | None:
    """The machines themselves, from an owner that sees pods wait and brings none. Placeholders would be more
    pods that wait; where a machine is on its way, or a limit is reached, nothing is to be asked for."""
    holder = registry.holder(owner, ())
    if not isinstance(holder, MakesMachines) or not pool.grows_by_demand or count > MOST_MACHINES:
        return None
    if registry.machines(owner, (), desk.view.store) or holder.no_room(owner, count, each):
        return None
    facts = forecast(pool, count, desk.view.known).short
    return Change(
        kind="ask_nodes",
        words=f"ask for {counted(count, 'node')} of pool {short(pool.name)}{_told(facts)}",
        verb="pool.ask",
        command=cockpit("pool.ask", pool.name, "--nodes", str(count), "--way", str(DemandWay.MACHINE)),
        target=Subject("pool", "", pool.name),
    )


def _told(facts: Sequence[str]) -> str:
    return f" ({', '.join(facts)})" if facts else ""
