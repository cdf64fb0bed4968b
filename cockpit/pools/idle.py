"""Which nodes of a pool nobody uses, and since when. Pure.

A node is empty where no pod is bound to it that asks for a GPU, and none besides those of DaemonSets and of
the node itself that has not ended. Duty tells nothing here: a GPU that a pod holds is in use by contract.

Since when is only told where somebody vouches for it: the owner's own stamp, or this session, which has seen
the node as it is. A pod that was deleted leaves nothing behind, so without either it is not known, and what
is not known is not idle.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, Pool
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.truth import is_use_known, nodes_of

IDLE_SECONDS: Final = 1_800.0
"""The window unless another is asked for, as the first autoscalers for GPU pools had it."""
RECLAIM: Final = "gpu-cockpit/reclaim"
"""On a node that a reclaim has cordoned: the key of its pool."""
RECLAIM_AT: Final = "gpu-cockpit/reclaim-at"
"""When, in epoch seconds."""
_STAYS: Final = ("DaemonSet", "Node")


class IdleNode(NamedTuple):
    """A node that nobody uses. `since_seconds` None: nobody knows since when. `why_kept` is the annotation
    that keeps it, "" where none does; `reclaimed_seconds` when a reclaim cordoned it, None where none did."""

    node: Node
    since_seconds: float | None
    why_kept: str = ""
    reclaimed_seconds: float | None = None

    def is_due(self, now_seconds: float, idle_for_seconds: float) -> bool:
        """Whether it has been idle for so long, as far as anybody knows."""
        if idle_for_seconds <= 0:
            return True
        return self.since_seconds is not None and now_seconds - self.since_seconds >= idle_for_seconds


def users_of(node: str, store: StoreReader) -> tuple[Pod, ...]:
    """Pods that keep the node from being idle."""
    return tuple(
        one
        for one in store.pods_on(node)
        if not one.is_finished and (one.asks_for_gpus or one.owner_kind not in _STAYS)
    )


def idle_nodes(
    pool: Pool, store: StoreReader, watched_since: Mapping[str, float] | None = None
) -> tuple[IdleNode, ...]:
    """Every empty node of the pool, by name; none where not every pod is seen.

    `watched_since` tells since when this session has seen each node as it is.
    """
    if not is_use_known(store):
        return ()
    names = frozenset(pool.node_names)
    machines = {one.node: one for one in store.records(Kind.MACHINE).values() if one.node}
    return tuple(
        IdleNode(
            node=one,
            since_seconds=_since(one, store, machines.get(one.name), (watched_since or {}).get(one.name)),
            why_kept=next(iter(registry.kept_by(one)), ""),
            reclaimed_seconds=_seconds(label(one.annotations, RECLAIM_AT))
            if label(one.annotations, RECLAIM) == pool.key and one.unschedulable
            else None,
        )
        for one in nodes_of(store)
        if one.name in names
        and one.has_gpus
        and one.deleting_seconds is None
        and not users_of(one.name, store)
    )


def _since(node: Node, store: StoreReader, machine: Machine | None, watched: float | None) -> float | None:
    """The best bound that anybody vouches for, never before the last pod that is known to have ended."""
    vouched: list[float] = [] if watched is None else [watched]
    said = registry.empty_since(node, machine)
    vouched += [] if said is None else [said]
    if not vouched:
        return None
    ended = [one.finished_seconds for one in store.pods_on(node.name) if one.finished_seconds is not None]
    return max([min(vouched), *ended])


def _seconds(text: str) -> float | None:
    """Epoch seconds as others note them; None for anything else."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
