"""When nodes were first seen with their GPUs, and last with work: what no object dates."""

from collections.abc import Iterable
from typing import Final

from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.registry import kept_reasons

_STAYS: Final = ("DaemonSet", "Node")


class Sightings:
    """When nodes were first seen with their GPUs: no object dates that. Bounded; one that had them when it
    was first seen is not dated."""

    def __init__(self, most: int = 4_000) -> None:
        self._most = most
        self._seen: dict[str, float | None] = {}
        self._without: dict[str, None] = {}
        self._used: dict[str, float] = {}

    def note(self, nodes: Iterable[Node], now_seconds: float) -> None:
        """Nodes as they are now, whenever something was heard of them."""
        for node in nodes:
            if node.uid in self._seen:
                continue
            if not node.gpu_allocatable:
                self._without[node.uid] = None
                continue
            self._seen[node.uid] = now_seconds if node.uid in self._without else None
            self._without.pop(node.uid, None)
        for table in (self._seen, self._without):
            while len(table) > self._most:
                del table[next(iter(table))]

    def note_pods(self, pods: Iterable[Pod], now_seconds: float) -> None:
        """Pods as they are now: those that use a node may be gone before anybody looks at it."""
        for pod in pods:
            if pod.node and keeps_from_idling(pod):
                self._used.pop(pod.node, None)
                self._used[pod.node] = now_seconds
        while len(self._used) > self._most:
            del self._used[next(iter(self._used))]

    def used(self, node: str) -> float | None:
        """When something was last heard of a pod that used it, None: never, or too long ago to be kept."""
        return self._used.get(node)

    def at(self, uid: str) -> float | None:
        """When, None: never, or before anybody looked."""
        return self._seen.get(uid)


def keeps_from_idling(pod: Pod) -> bool:
    """Whether the pod is somebody's work: not of the node itself or of a DaemonSet without GPUs, not ended,
    no placeholder of ours."""
    return (
        not pod.is_finished and (pod.asks_for_gpus or pod.owner_kind not in _STAYS) and not pod.is_placeholder
    )


NO_SIGHTINGS = Sightings()


# ---- events that are kept


MOST = 500


def kept_events(batch: Batch, truth: StoreReader) -> Batch | None:
    """Those of a batch of events that are kept, and the oldest that go for them; None: it has none."""
    reasons = kept_reasons()
    found = [one for one in batch.changed if one.reason in reasons and one.object_kind != "Pod"]
    if not found:
        return None
    known: dict[str, Event] = {**truth.records(Kind.OWNER_EVENT), **{one.uid: one for one in found}}
    oldest = sorted(known.values(), key=lambda one: (one.last_seconds or 0.0, one.uid))[:-MOST]
    going = {one.uid for one in oldest}
    stays = tuple(one for one in found if one.uid not in going)
    return Batch(kind=Kind.OWNER_EVENT, changed=stays, removed=tuple(sorted(going)))
