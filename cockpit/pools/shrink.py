"""Which nodes a smaller number takes: empty ones only, and no more at once than somebody has stated.

A node is empty where no pod is left on it but those of DaemonSets and of the kubelet.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from cockpit.errors import BadInput
from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pool import Machine, Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.drain_mark import still_there
from cockpit.pools.owner import PoolOwner
from cockpit.pools.truth import is_use_known, nodes_of

LARGE_RATIO: Final = 0.10
"""More of a pool at once is stated, once by the setting `shrink-at-once` or each time by its number
(openai/kubernetes-ec2-autoscaler takes a tenth at a time)."""
HALF_RATIO: Final = 0.5
"""From here on the name of the pool is typed."""
_MOST_NAMED: Final = 6
_MOST_PODS: Final = 3


class Shrinking(NamedTuple):
    """What a smaller number does to the nodes that are there: `going` of them, the `victims` where they are
    chosen from here, by `calls`."""

    going: int
    empty: tuple[Node, ...]
    busy: tuple[Node, ...]
    victims: tuple[Node, ...] = ()
    calls: tuple[Call, ...] = ()
    first: tuple[Node, ...] = ()  # that its owner takes before all others, where it chooses by itself


def shrink_of(pool: Pool, owner: PoolObject, replicas: int, store: StoreReader) -> Shrinking:
    """Raises BadInput where a node with work on it could go: it is named, with what to do."""
    names = frozenset(pool.node_names)
    nodes = [one for one in nodes_of(store) if one.name in names]
    # a pool below its target loses first what never came
    going = max(0, len(nodes) - replicas)
    busy = tuple(one for one in nodes if still_there(one.name, store))
    empty = tuple(sorted((one for one in nodes if one not in busy), key=_first))
    found = Shrinking(going, empty, busy)
    if not going:
        return found
    if not is_use_known(store):
        raise BadInput(
            f"pool {pool.name}: which nodes are empty is not known, because not all pods are visible;"
            " ask for the right to list pods in all namespaces"
        )
    if going > len(empty):
        raise BadInput(
            f"pool {pool.name}: {going} of {len(nodes)} nodes would go and {_counted(len(empty))}:"
            f" {_named(busy)} busy; drain what may go first (D, cockpit node drain)"
        )
    return _chosen(pool, owner, found, store) if busy else found


def _chosen(pool: Pool, owner: PoolObject, found: Shrinking, store: StoreReader) -> Shrinking:
    holder = registry.holder(owner, ())
    victims = found.empty[: found.going]
    machines = _machines(victims, store)
    calls = holder.choosing_calls(machines) if len(machines) == len(victims) else None
    if calls is not None:
        return found._replace(victims=victims, calls=calls)
    if holder.takes_empty_first:
        try:
            return found._replace(first=taken_first(holder, found.empty, found.going, store))
        except BadInput as error:
            raise BadInput(f"pool {pool.name}: {error.sentence}") from None
    raise BadInput(
        f"pool {pool.name}: {owner.kind} {owner.key} chooses which nodes go, and {_named(found.busy)} busy:"
        " drain these first (D, cockpit node drain), or shrink it when they are empty"
    )


def taken_first(holder: PoolOwner, empty: Sequence[Node], going: int, store: StoreReader) -> tuple[Node, ...]:
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
        f"{holder.name} could remove a busy node instead, because pods that have ended or are static count"
        f" as work for it: {', '.join(told[:_MOST_PODS])}{more};"
        " delete the ended ones first (cockpit job prune)"
    )


def _machines(nodes: tuple[Node, ...], store: StoreReader) -> list[Machine]:
    by_node: dict[str, Machine] = {one.node: one for one in store.records(Kind.MACHINE).values() if one.node}
    return [by_node[one.name] for one in nodes if one.name in by_node]


def _first(node: Node) -> tuple[bool, float, str]:
    """Those that somebody has cordoned before others, the youngest first."""
    return not node.unschedulable, -(node.created_seconds or 0.0), node.name


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


def _counted(empty: int) -> str:
    return "none is empty" if not empty else f"only {empty} {'is' if empty == 1 else 'are'} empty"


def _named(nodes: tuple[Node, ...]) -> str:
    names = sorted(one.name for one in nodes)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more} {'is' if len(names) == 1 else 'are'}"
