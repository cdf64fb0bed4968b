"""Which nodes a smaller number takes: empty ones only, and no more at once than somebody has stated.

A node is empty where no pod is left on it but those of DaemonSets and of the kubelet. One that somebody keeps
by its annotation does not go, empty or not. Where it is known which nodes go (the owner lets us choose, or no
other is empty) they are cordoned first and looked at again once no pod can come onto them any more.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from cockpit.errors import BadInput
from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pool import Machine, Pool, PoolObject
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.drain_mark import still_there
from cockpit.pools.idle import RECLAIM, when_cordoned
from cockpit.pools.owner import MarksMachines, PoolOwner, TakesEmptyFirst
from cockpit.pools.truth import has_lost_its_node, is_use_known, nodes_of

LARGE_RATIO: Final = 0.10
"""More of a pool at once is stated, once by the setting `shrink-at-once` or each time by its number
(openai/kubernetes-ec2-autoscaler takes a tenth at a time)."""
HALF_RATIO: Final = 0.5
"""From here on the name of the pool is typed."""
SETTLE_SECONDS: Final = 10.0
"""A scheduler may still bind what it placed before the cordon: nothing goes sooner after it."""
_MOST_NAMED: Final = 6
_MOST_PODS: Final = 3
_LET_GO: Final = "let go of what may go (H, cockpit node keep --off)"


class Shrinking(NamedTuple):
    """What a smaller number does to the nodes that are there: `going` of them, the `victims` where it is
    known which, by `calls` where they are chosen from here. `open` of them still take pods, or did a moment
    ago."""

    going: int
    empty: tuple[Node, ...]  # and kept by nobody
    busy: tuple[Node, ...]
    kept: tuple[Node, ...] = ()  # empty, and by annotation to stay
    victims: tuple[Node, ...] = ()
    calls: tuple[Call, ...] = ()
    open: tuple[Node, ...] = ()
    first: tuple[Node, ...] = ()  # that its owner takes before all others, where it chooses by itself


def shrink_of(
    pool: Pool, owner: PoolObject, replicas: int, store: StoreReader, now_seconds: float
) -> Shrinking:
    """Raises BadInput where a node with work on it could go: it is named, with what to do."""
    names = frozenset(pool.node_names)
    nodes = [one for one in nodes_of(store) if one.name in names]
    # a pool below its target loses first what never came
    going = max(0, len(nodes) - replicas)
    busy = tuple(one for one in nodes if still_there(one.name, store))
    kept = kept_empty(pool, store)
    free = (one for one in nodes if one not in busy and one not in kept)
    marked = _marked_nodes(owner, store)
    empty = tuple(sorted(free, key=lambda one: (one.name not in marked, *_order(one, pool))))
    found = Shrinking(going, empty, busy, kept)
    if not going:
        return found._replace(calls=_choosing_calls(owner, found, replicas, store) or ())
    if not is_use_known(store):
        raise BadInput(
            f"pool {pool.name}: which nodes are empty is not known, because not all pods are visible;"
            " ask for the right to list pods in all namespaces"
        )
    if going > len(empty):
        raise BadInput(
            f"pool {pool.name}: {going} of {len(nodes)} nodes would go and {_counted(len(empty), kept)}:"
            f" {_why_not(found, store)}"
        )
    calls = _choosing_calls(owner, found, replicas, store)
    if calls is None:
        found = _chosen(pool, owner, found, store)
    else:
        found = found._replace(victims=empty[:going], calls=calls)
    return found._replace(open=tuple(one for one in found.victims if not is_settled(one, pool, now_seconds)))


def kept_empty(pool: Pool, store: StoreReader) -> tuple[Node, ...]:
    """Nodes of the pool that are empty, and by annotation to stay."""
    return tuple(
        one
        for one in nodes_of(store)
        if one.name in pool.node_names and registry.kept_by(one) and not still_there(one.name, store)
    )


def _without_gpus(busy: Sequence[Node], store: StoreReader) -> str:
    """What keeps nodes that run no GPU work, and so look idle: their other pods; "" where there is none."""
    pods = [still_there(one.name, store) for one in busy]
    found = [one.key for some in pods if not any(each.gpus for each in some) for one in some]
    more = f" and {len(found) - _MOST_PODS} more" if len(found) > _MOST_PODS else ""
    return f" (pods without GPUs count, too: {', '.join(found[:_MOST_PODS])}{more})" if found else ""


def _chosen(pool: Pool, owner: PoolObject, found: Shrinking, store: StoreReader) -> Shrinking:
    """With the nodes that go, as far as that is known where they are not chosen from here."""
    if not (found.busy or found.kept):
        return found._replace(victims=found.empty if found.going == len(found.empty) else ())
    holder = registry.holder(owner, ())
    if isinstance(holder, TakesEmptyFirst):
        try:
            refuse_kept(holder, found.kept)
            first = taken_first(holder, found.empty, found.going, store)
        except BadInput as error:
            raise BadInput(f"pool {pool.name}: {error.sentence}") from None
        return found._replace(first=first, victims=first if found.going == len(first) else ())
    raise BadInput(
        f"pool {pool.name}: {owner.kind} {owner.key} chooses which nodes go, and {_why_not(found, store)}"
    )


def _choosing_calls(
    owner: PoolObject, found: Shrinking, replicas: int, store: StoreReader
) -> tuple[Call, ...] | None:
    """What makes the first empty nodes the ones that go, None where nobody can. Machines without a node that
    go besides are chosen, too, the youngest first: one whose node comes in that moment would leave its place
    to a busy one."""
    holder = registry.holder(owner, ())
    machines = _machines(found.empty[: found.going], store)
    if len(machines) != found.going or not isinstance(holder, MarksMachines):
        return None
    all_ = registry.machines(owner, (), store)
    there = len(found.empty) + len(found.busy) + len(found.kept)
    bare = [
        one
        for one in reversed(all_)
        if (not one.node and one.deleting_seconds is None) or has_lost_its_node(one, store)
    ]
    less = there + len(bare) - replicas - found.going
    bare.sort(key=lambda one: not holder.mark_of(one))
    first = bare[: max(0, less)]
    calls = holder.choosing_calls((*first, *machines))
    if first or machines:
        calls = (*unmarking_calls(owner, (*first, *machines), store), *calls)
    chosen = found.going + len(first) + sum(one.deleting_seconds is not None for one in all_)
    known = max(owner.status_replicas or 0, len(all_))
    if all_ and known - replicas > chosen:
        raise BadInput(
            f"{owner.kind} {owner.key} has {known} machines, and not all of them are listed here yet:"
            " try again"
        )
    return calls


def unmarking_calls(owner: PoolObject, chosen: Sequence[Machine], store: StoreReader) -> tuple[Call, ...]:
    """Take our marks off machines that are not chosen: what was interrupted or refused left them, and they
    would go first. Raises BadInput where somebody else's mark has one go that is not chosen."""
    holder = registry.holder(owner, ())
    if not isinstance(holder, MarksMachines):
        return ()
    uids = {one.uid for one in chosen}
    others = [
        one
        for one in registry.machines(owner, (), store)
        if one.uid not in uids and one.deleting_seconds is None and holder.mark_of(one)
    ]
    calls = list[Call]()
    for one in others:
        found = holder.unmark_calls(one)
        if not found:
            where = f" (node {one.node})" if one.node else ""
            raise BadInput(
                f"{one.kind.lower()} {one.key}{where} is marked by another to be deleted first:"
                f" remove its annotation {holder.mark_of(one)}, or drain the node first"
            )
        calls += found
    return tuple(calls)


def refuse_kept(holder: PoolOwner, kept: Sequence[Node]) -> None:
    """An owner that chooses by itself may take an empty node that is to stay. Raises BadInput, naming it."""
    if kept:
        raise BadInput(
            f"{holder.traits.name} chooses among the empty nodes, and {_named(kept)} kept"
            f" ({_notes(kept)}); {_LET_GO}"
        )


def _why_not(found: Shrinking, store: StoreReader) -> str:
    """Who may not go, and what to do about it."""
    told = []
    if found.busy:
        other = _without_gpus(found.busy, store)
        told.append(f"{_named(found.busy)} busy{other}; drain what may go first (D, cockpit node drain)")
    if found.kept:
        told.append(f"{_named(found.kept)} kept ({_notes(found.kept)}); {_LET_GO}")
    return "; ".join(told)


def _notes(nodes: Sequence[Node]) -> str:
    return ", ".join(dict.fromkeys(f"annotation {key}" for one in nodes for key in registry.kept_by(one)))


def is_settled(node: Node, pool: Pool, now_seconds: float) -> bool:
    """Whether no pod can come onto it any more. Of a cordon that is not ours nobody may say since when."""
    if not node.unschedulable:
        return False
    closed = when_cordoned(node)
    if closed is None:
        return label(node.annotations, RECLAIM) != pool.key
    return now_seconds - closed >= SETTLE_SECONDS


def taken_first(
    holder: TakesEmptyFirst, empty: Sequence[Node], going: int, store: StoreReader
) -> tuple[Node, ...]:
    """The nodes that an owner who takes empty ones first calls empty, too.

    Raises BadInput where fewer than `going` are: a busy one could go instead.
    """
    pods = {one.name: holder.takes_for_busy(one, store) for one in empty}
    first = tuple(one for one in empty if not pods[one.name])
    if len(first) >= going:
        return first
    told = [f"{each.key} on {name}" for name, those in pods.items() for each in those]
    more = f" and {len(told) - _MOST_PODS} more" if len(told) > _MOST_PODS else ""
    raise BadInput(
        f"{holder.traits.name} could remove a busy node instead, because pods that have ended, are static or"
        f" are not to be disrupted count as work for it: {', '.join(told[:_MOST_PODS])}{more};"
        " delete the ended ones first (cockpit job prune)"
    )


def _machines(nodes: tuple[Node, ...], store: StoreReader) -> list[Machine]:
    by_node: dict[str, Machine] = {one.node: one for one in store.records(Kind.MACHINE).values() if one.node}
    return [by_node[one.name] for one in nodes if one.name in by_node]


def _marked_nodes(owner: PoolObject, store: StoreReader) -> frozenset[str]:
    """Nodes whose machines go first as it is."""
    holder = registry.holder(owner, ())
    if not isinstance(holder, MarksMachines):
        return frozenset()
    return frozenset(one.node for one in registry.machines(owner, (), store) if holder.mark_of(one))


def _order(node: Node, pool: Pool) -> tuple[bool, bool, float, str]:
    """Those that a reclaim or a shrink of ours has cordoned before others, then those that anybody has; the
    youngest first."""
    is_ours = node.unschedulable and label(node.annotations, RECLAIM) == pool.key
    return not is_ours, not node.unschedulable, -(node.created_seconds or 0.0), node.name


def most_at_once(nodes: int, stated: int | None) -> int:
    """How many of so many nodes go at once unasked: the stated number and never half of them, else a tenth;
    one always."""
    below_half = math.ceil(HALF_RATIO * nodes) - 1
    return max(1, int(LARGE_RATIO * nodes) if stated is None else min(stated, below_half))


def typed_for(pool: Pool, now: int, replicas: int, at_once: int | None = None) -> str:
    """What is typed for so large a shrink: the number of nodes that go, from half the pool on its name.
    None for as many as `at_once` states; None: a tenth."""
    less = now - replicas
    if less <= most_at_once(now, at_once):
        return ""
    return pool.name if less / now >= HALF_RATIO else str(less)


def _counted(empty: int, kept: Sequence[Node]) -> str:
    free = "empty and not kept" if kept else "empty"
    return f"none is {free}" if not empty else f"only {empty} {'is' if empty == 1 else 'are'} {free}"


def _named(nodes: Sequence[Node]) -> str:
    names = sorted(one.name for one in nodes)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more} {'is' if len(names) == 1 else 'are'}"
