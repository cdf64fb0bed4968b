"""Which nodes of a pool nobody uses, and since when. Pure.

A node is empty where no pod is bound to it that asks for a GPU, and none besides those of DaemonSets and of
the node itself that has not ended. Duty tells nothing here: a GPU that a pod holds is in use by contract.

Since when is only told where somebody vouches for it: the owner's own stamp (`Consolidatable` of a NodeClaim,
the value of cluster-autoscaler's taint), or this session, which has seen the node as it is. A pod that was
deleted leaves nothing behind, so without any of these it is not known, and what is not known is not idle.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, Pool
from cockpit.model.record import Kind, condition, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools.truth import is_use_known, nodes_of

IDLE_SECONDS: Final = 1_800.0
"""The window unless another is asked for, as the first autoscalers for GPU pools had it."""
RECLAIM: Final = "gpu-cockpit/reclaim"
"""On a node that a reclaim has cordoned: the key of its pool."""
RECLAIM_AT: Final = "gpu-cockpit/reclaim-at"
"""When, in epoch seconds."""
KEEPS: Final = ("karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/scale-down-disabled")
"""Annotations by which a node is kept, whoever set them."""
_STAYS: Final = ("DaemonSet", "Node")
_CANDIDATE: Final = "DeletionCandidateOfClusterAutoscaler"


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
            why_kept=next((key for key in KEEPS if label(one.annotations, key) == "true"), ""),
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
    taint = next((one for one in node.taints if one.key == _CANDIDATE), None)
    if taint is not None and (at := _seconds(taint.value)) is not None:
        vouched.append(at)
    spare = condition(machine.conditions, "Consolidatable") if machine is not None else None
    if spare is not None and spare.status == "True" and spare.changed_seconds is not None:
        vouched.append(spare.changed_seconds)
    if not vouched:
        return None
    ended = [one.finished_seconds for one in store.pods_on(node.name) if one.finished_seconds is not None]
    return max([min(vouched), *ended])


def _seconds(text: str) -> float | None:
    """Epoch seconds as others note them; None for anything else."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
