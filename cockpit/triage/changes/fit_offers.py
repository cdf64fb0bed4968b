"""What the remedies of the fit come to as changes: nodes are healed, the job gets another line or asks for
less, a pool gets more machines, or a higher maximum where that is what keeps it small."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from cockpit.fit.node_filters import Block
from cockpit.fit.remedies import DROPPED_BY, FitRemedy, another_node
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import WhatIf
from cockpit.gangs.sentence import counted
from cockpit.gangs.wording import short
from cockpit.k8s import labels as well_known
from cockpit.k8s.kubectl import json_patch
from cockpit.model.finding import Change, Subject
from cockpit.model.node import Node
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind, label
from cockpit.pools import registry
from cockpit.pools.capacity import MOST_MACHINES, DemandWay
from cockpit.pools.forecast import forecast
from cockpit.pools.index import gpus_per_node, pool_object, pools_of
from cockpit.pools.next_nodes import nodes_to_come
from cockpit.pools.node_labels import is_unlabelled
from cockpit.pools.owner import MakesMachines
from cockpit.pools.plan import nodes_named
from cockpit.pools.prospects import PoolGrowth, prospects
from cockpit.pools.stage import takes_away
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.job_edits import DROPS, edit_each, fewer_gpus, fewer_members, other_selector
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OWN_LINE,
    TIME,
    ChangeOffer,
    ChangeOffers,
    Desk,
    cockpit,
    made,
    node,
)

_OWN_LINES: Final = {
    "drop_selector": "without the node selector {}",
    "drop_affinity": "without its required node affinity",
    "unpin": "on another node than {}",
    "drop_port": "without the host port {}",
    "drop_apart": "without the anti-affinity over {}",
    "drop_near": "without the affinity over {}",
    "drop_spread": "without the topology spread over {}",
    "tolerate": "tolerating the taint {}",
}
_KUBERNETES_OWN: Final = ("node.kubernetes.io", "node.cloudprovider.kubernetes.io")
"""Taints that say that something is wrong with the node: who tolerates memory pressure is evicted by it, and
who tolerates that the node goes is ended with it."""
_MOST_VALUES: Final = 4
_NAMED: Final = 3
_MOST_PARTIAL: Final = 2


def own_lines(desk: Desk) -> ChangeOffers:
    """An offer for each remedy of the fit that this room can make a command of."""
    at = next((at for at, one in enumerate(desk.answer.parts) if one.missing), 0)
    for way in desk.answer.remedies:
        if way.kind == "tolerate" and len(desk.wanted.pods) == 1 and not _says_ill_of_node(way.detail):
            yield from _tolerated(desk, way)
        elif way.kind in DROPS:
            yield from _line(desk, way.kind, way.detail)
        elif way.kind in ("uncordon_node", "repair_node"):
            yield from _healed(desk, way)
        elif way.part is not None and not any(pod.gang for pod in desk.wanted.pods):
            # else a copy of the job would have its pods in the same group
            of_size = {"fewer_gpus": fewer_gpus, "fewer_members": fewer_members}.get(way.kind)
            if of_size is not None:
                yield of_size(desk, desk.answer.parts[at].part, way.part)
    yield from _other_values(desk, at)


def _says_ill_of_node(taint: str) -> bool:
    return taint.partition("/")[0] in _KUBERNETES_OWN or takes_away(taint.partition("=")[0])


def _line(desk: Desk, kind: str, detail: str) -> ChangeOffers:
    """Another line of the job by a command that makes it anew; none where its object was not read, and for
    taints that say that something is wrong with a node."""
    drop = DROPS.get(kind)
    if drop is not None and not (kind == "tolerate" and _says_ill_of_node(detail)):
        cost, words = OWN_LINE + (2 if kind == "tolerate" else 4), _OWN_LINES[kind].format(detail)
        yield from edit_each(desk, cost, kind, words, lambda place: drop(place, detail))


def partial_lines(desk: Desk) -> ChangeOffers:
    """Lines of the job that keep it off most nodes, whether or not it would start without one of them."""
    for one in desk.answer.parts:
        alone: dict[Block, int] = {}
        for look in one.node_fits if one.missing else ():
            for block in dict.fromkeys(look.blocks):
                alone[block] = alone.get(block, 0) + 1
        for block in sorted(alone, key=lambda each: (-alone[each], each))[:_MOST_PARTIAL]:
            yield from _line(desk, DROPPED_BY.get(block.kind, ""), block.detail)


def _healed(desk: Desk, way: FitRemedy) -> ChangeOffers:
    names = tuple(one.name for one in way.nodes)
    records = tuple((Kind.NODE, one) for one in way.nodes)
    target = node(names[0])
    if way.kind == "uncordon_node":
        words, cost = f"uncordon {_named(names)}", FREE + len(names)
        yield made(desk, cost, way.kind, words, names, verb="node.uncordon", target=target, records=records)
        return
    command = ("kubectl", "describe", "node", *names)
    words, cost = f"bring {_named(names)} back to Ready", MONEY + len(names)
    yield made(desk, cost, way.kind, words, command, target=target, records=records)


def _named(names: Iterable[str]) -> str:
    found = [short(one) for one in names]
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _tolerated(desk: Desk, way: FitRemedy) -> ChangeOffers:
    """A toleration may be added to a pod that is there."""
    (pod,) = desk.wanted.pods
    toleration = {"key": way.detail.partition("=")[0], "operator": "Exists"}
    add = {"op": "add", "path": "/spec/tolerations/-", "value": toleration}
    command = json_patch(("pod", pod.name, "-n", pod.namespace), add)
    parts = desk.wanted.parts if way.part is None else (way.part,)
    yield made(desk, OWN_LINE + 2, "tolerate", f"tolerate the taint {way.detail}", command, parts=parts)


def _other_values(desk: Desk, at: int) -> ChangeOffers:
    """The same selector with another value that nodes have: another pool, another kind of card."""
    one = desk.answer.parts[at]
    for key, value in one.part.shape.node_selector if one.missing else ():
        if key == well_known.HOSTNAME:
            continue
        values: dict[str, int] = {}
        for look in one.node_fits:
            other = label(look.node.labels, key)
            if other and other != value and look.room > 0:
                values[other] = values.get(other, 0) + look.room
        is_pool = any(key == one.pool_label for one in desk.view.store.records(Kind.NODE).values())
        for other in sorted(values, key=lambda name: (-values[name], name))[:_MOST_VALUES]:
            what = f"pool {short(other)}" if is_pool else f"{key}={short(other)}"
            words, target = f"on {what} instead of {short(value)}", Subject("pool", "", other)
            lines = partial(other_selector, key=key, value=other)
            yield from edit_each(desk, OWN_LINE, "other_pool", words, lines, target)


_A_NODE = 10
_MOST_FOR_OTHERS: Final = 8


def more_nodes(desk: Desk) -> ChangeOffers:
    """An offer for each pool of which the fit says that more nodes would do, and for those at zero, of whose
    nodes the fit sees none."""
    found = [one for one in desk.answer.remedies if one.kind == "more_nodes"]
    pools = pools_of(desk.view.store)
    yield from _of_empty_pools(desk, pools)
    rivals = (*desk.waiting.parts(()), *turn_of(desk, desk.base).rivals) if found else ()
    for way in found:
        nodes = _for_others_too(desk, way, rivals) if rivals else way.nodes
        count = len(nodes)
        pool = next((one for one in pools if way.detail in one.node_names), None)
        is_pool = pool is not None and not is_unlabelled(pool.name)
        words = f"{counted(count, 'more node')} like {short(way.detail)}"
        change: Change | None = Change(kind="more_nodes", words=words, target=node(way.detail))
        if pool is not None and is_pool:
            change = (
                _on_its_way(desk, pool, count) or _by_itself(desk, pool, count) or _of_pool(desk, pool, count)
            )
        if change is not None:
            yield _with_nodes(desk, change, nodes)


def _on_its_way(desk: Desk, pool: Pool, count: int) -> Change | None:
    """What the pool was asked for before and has yet to bring: only time is missing. None where that is
    fewer, or where something keeps them from coming."""
    known = next(
        (one for one in prospects(desk.view.store, desk.view.now_seconds) if one.name == pool.name), None
    )
    is_stuck = known is not None and (known.failure is not None or known.growth is PoolGrowth.DARK)
    if is_stuck or pool.nodes_joining < count:
        return None
    coming = counted(pool.nodes_joining, "node")
    words = f"wait for pool {short(pool.name)}: {coming} on the way, {pool.nodes_ready} ready"
    return Change(kind="wait_nodes", words=words, target=Subject("pool", "", pool.name))


def _with_nodes(desk: Desk, change: Change, nodes: Sequence[Node]) -> ChangeOffer:
    begun = TIME if change.kind == "wait_nodes" else MONEY
    cost = begun + _A_NODE * len(nodes) + (0 if change.command else 1)
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
        change = _on_its_way(desk, pool, count) or _by_itself(desk, pool, count)
        change = change or _of_pool(desk, pool, count)
        change = change or _asked_for(desk, pool, owner, count, each)
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
    that. Of the nodes those that are on their way were asked for before."""
    size = pool.nodes_now if pool.target is None else pool.target
    count -= pool.nodes_joining
    if count <= 0:
        return None
    wanted = size + count
    target = Subject("pool", "", pool.name)
    owner = pool_object(desk.view.store, pool)
    name, facts = short(pool.name), forecast(pool, count, desk.view.known).short
    if owner is None:
        words = f"{counted(count, 'more node')} in pool {name}"
        return Change(kind="more_nodes", words=words, target=target)
    words = f"grow pool {name} by {counted(count, 'node')}, to {wanted}{_told(facts)}"
    command = cockpit("pool.scale", pool.name, "--to", str(wanted))
    grow = Change(kind="scale_pool", words=words, verb="pool.scale", command=command, target=target)
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


def _by_itself(desk: Desk, pool: Pool, count: int) -> Change | None:
    """What its autoscaler does for pods that wait. To a job that waits already this is no offer."""
    if not desk.wanted.is_planned:
        return None
    store, now_seconds = desk.view.store, desk.view.now_seconds
    found = next((one for one in prospects(store, now_seconds) if one.name == pool.name), None)
    if found is None or found.growth is not PoolGrowth.GROWS:
        return None
    most = "" if found.maximum is None else f" of at most {found.maximum}"
    if found.maximum is not None and found.size + count > found.maximum:
        return None
    words = (
        f"the autoscaler adds {counted(count, 'node')} to pool {short(pool.name)} (now {found.size}{most})"
    )
    return Change(kind="grows", words=words, target=Subject("pool", "", pool.name))


def _asked_for(desk: Desk, pool: Pool, owner: PoolObject, count: int, each: int) -> Change | None:
    """The machines themselves, from an owner that sees pods wait and brings none. Placeholders would be more
    pods that wait; where a machine is on its way, or a limit is reached, nothing is to be asked for."""
    holder = registry.holder(owner, ())
    if not isinstance(holder, MakesMachines) or not pool.grows_by_demand or count > MOST_MACHINES:
        return None
    if registry.machines(owner, (), desk.view.store) or holder.no_room(owner, count, each):
        return None
    facts, target = forecast(pool, count, desk.view.known).short, Subject("pool", "", pool.name)
    words = f"ask for {counted(count, 'node')} of pool {short(pool.name)}{_told(facts)}"
    command = cockpit("pool.ask", pool.name, "--nodes", str(count), "--way", str(DemandWay.MACHINE))
    return Change(kind="ask_nodes", words=words, verb="pool.ask", command=command, target=target)


def _told(facts: Sequence[str]) -> str:
    return f" ({', '.join(facts)})" if facts else ""
