"""Which nodes of a pool nobody uses, and since when. Pure.

A node is empty where no pod is bound to it that asks for a GPU, and none besides those of DaemonSets and of
the node itself that has not ended. A placeholder of ours is nobody's work, but while one holds GPUs nobody
here counts the node as idle for a time. Duty tells nothing here: a GPU that a pod holds is in use by
contract.

Since when is only told where somebody vouches for it: the owner's own stamp, or this session, which has seen
the node as it is. A pod that was deleted leaves nothing behind, so without either it is not known, and what
is not known is not idle.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, Pool
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.owner import REMOVAL_TAINT
from cockpit.pools.sightings import NO_SIGHTINGS, Sightings, keeps_from_idling
from cockpit.pools.truth import gpus_allocated, is_use_known, nodes_of

IDLE_SECONDS: Final = 1_800.0
"""The window unless another is asked for, as the first autoscalers for GPU pools had it."""
RECLAIM: Final = "gpu-cockpit/reclaim"
"""On a node that a reclaim has cordoned: the key of its pool."""
RECLAIM_AT: Final = "gpu-cockpit/reclaim-at"
"""When, in epoch seconds."""
REMOVAL: Final = Taint(REMOVAL_TAINT, "", "NoSchedule")
"""On a node that is about to be removed: no pod comes to it even where somebody uncordons it."""


class IdleNode(NamedTuple):
    """A node that nobody uses. `since_seconds` None: nobody knows since when; `vouched` says who knows it.

    `why_kept` is the annotation that keeps it, of the node or of a pod on it, "" where none does;
    `reclaimed_seconds` when a reclaim cordoned it, None where none did.
    """

    node: Node
    since_seconds: float | None
    vouched: str = ""
    why_kept: str = ""
    reclaimed_seconds: float | None = None

    def is_due(self, now_seconds: float, idle_for_seconds: float, *, includes_unknown: bool = False) -> bool:
        """Whether it has been idle for so long, as far as anybody knows."""
        if idle_for_seconds <= 0 or (includes_unknown and self.since_seconds is None):
            return True
        return self.since_seconds is not None and now_seconds - self.since_seconds >= idle_for_seconds


class EmptyWatch:
    """Since when a session has seen nodes empty, by looks of its own; a gap between them begins anew.

    What comes and goes between two looks is known by `sightings`.
    """

    def __init__(self, gap_seconds: float, sightings: Sightings = NO_SIGHTINGS) -> None:
        """`gap_seconds`: after so long without a look nothing is known any more."""
        self._gap_seconds = gap_seconds
        self._sightings = sightings
        self._looked_seconds: float | None = None
        self._seen: dict[str, tuple[str, float]] = {}  # name -> uid, since

    def look(self, store: StoreReader, now_seconds: float, every_seconds: float = 0.0) -> None:
        """Note which GPU nodes are empty now. `every_seconds` are between two looks, where the cluster's time
        runs so fast that no more are possible."""
        last, self._looked_seconds = self._looked_seconds, now_seconds
        if (
            last is None
            or now_seconds - last > max(self._gap_seconds, 3 * every_seconds)
            or not is_use_known(store)
        ):
            self._seen = {}
        if not is_use_known(store):
            return
        before, self._seen = self._seen, {}
        for one in nodes_of(store):
            if not one.gpu_allocatable or gpus_allocated(store, one.name) or users_of(one.name, store):
                continue
            uid, since = before.get(one.name, ("", now_seconds))
            used = self._sightings.used(one.name)
            if used is not None and used >= since:  # gone since; when, nobody noted
                since = now_seconds
            self._seen[one.name] = (one.uid, since if uid == one.uid else now_seconds)

    @property
    def since(self) -> Mapping[str, float]:
        """Epoch seconds by node name."""
        return {name: at for name, (_, at) in self._seen.items()}


def users_of(node: str, store: StoreReader) -> tuple[Pod, ...]:
    """Pods that keep the node from being idle."""
    return tuple(one for one in store.pods_on(node) if keeps_from_idling(one))


def idle_nodes(
    pool: Pool, store: StoreReader, now_seconds: float, watched_since: Mapping[str, float] | None = None
) -> tuple[IdleNode, ...]:
    """Every empty node of the pool, by name; none where not every pod is seen.

    `watched_since` tells since when this session has seen each node as it is.
    """
    if not is_use_known(store):
        return ()
    names = frozenset(pool.node_names)
    empty = [
        one
        for one in nodes_of(store)
        if one.name in names
        and one.gpu_allocatable  # one whose GPUs are not offered yet is on its way, not idle
        and one.deleting_seconds is None
        and not users_of(one.name, store)
    ]
    machines = {one.node: one for one in store.records(Kind.MACHINE).values() if one.node} if empty else {}
    found = []
    for one in empty:
        since, vouched = _since(one, store, machines.get(one.name), (watched_since or {}).get(one.name))
        is_marked = (one.unschedulable or is_tainted(one)) and label(one.annotations, RECLAIM) == pool.key
        found.append(
            IdleNode(
                node=one,
                since_seconds=since,
                vouched=vouched,
                why_kept=registry.bidden_to_stay(one, store, now_seconds),
                reclaimed_seconds=when_cordoned(one) if is_marked else None,
            )
        )
    return tuple(found)


def is_tainted(node: Node) -> bool:
    """Whether it bears the taint of a removal."""
    return any(one.key == REMOVAL.key for one in node.taints)


def is_closed(node: Node) -> bool:
    """Whether no pod is placed on it, by its cordon or because it was about to be removed from here."""
    return node.unschedulable or is_tainted(node)


def when_cordoned(node: Node) -> float | None:
    """When the node was cordoned, None where nobody says: the mark of a reclaim was dated when a person
    asked, the server wrote it when the answer came."""
    return node.cordoned_seconds or _seconds(label(node.annotations, RECLAIM_AT))


def _since(
    node: Node, store: StoreReader, machine: Machine | None, watched: float | None
) -> tuple[float | None, str]:
    """The best bound that anybody vouches for and who does, never before the last pod that is known to have
    ended."""
    vouched = [] if watched is None else [(watched, "seen empty by this cockpit")]
    said = registry.empty_since(node, machine)
    vouched += [] if said is None else [(said, "its owner says so")]
    if not vouched:
        return None, ""
    ended = (one.finished_seconds for one in store.pods_on(node.name))
    last = ((at, "its last pod ended then") for at in ended if at is not None)
    return max([min(vouched), *last])


def _seconds(text: str) -> float | None:
    """Epoch seconds as others note them; None for anything else."""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
