"""Who waits in one ClusterQueue: those that are to be tried, and those that were tried and wait for a change.

Facts: kueue v0.15 pkg/cache/queue/cluster_queue.go. Higher priority first, then the earlier moment. With
StrictFIFO the head that does not fit blocks; with BestEffortFIFO it is set aside. A head that others give
way to keeps its place until it is admitted.
"""

import heapq
from collections.abc import Callable

from cockpit.k8s.admission.admission_specs import STRICT, WorkloadInfo

Key = tuple[str, str]
_Order = tuple[int, float, int]


def order_of(info: WorkloadInfo) -> _Order:
    """Sort key of a line."""
    return (-info.priority, info.moment, info.serial)


class PendingQueue:
    """The pending workloads of one ClusterQueue."""

    def __init__(self, strategy: str) -> None:
        self.strategy = strategy
        self._ready: dict[Key, WorkloadInfo] = {}
        self._parked: dict[Key, WorkloadInfo] = {}
        self._heap: list[tuple[_Order, Key]] = []
        self._sticky: Key | None = None

    def __len__(self) -> int:
        return len(self._ready) + len(self._parked)

    def __contains__(self, key: Key) -> bool:
        return key in self._ready or key in self._parked

    def is_parked(self, key: Key) -> bool:
        """True for one that was tried and waits for a change."""
        return key in self._parked

    def put(self, info: WorkloadInfo, *, ready: bool) -> None:
        """Line up `info`, or replace it; `ready` False parks it."""
        self._parked.pop(info.key, None)
        if not ready:
            self._ready.pop(info.key, None)
            self._parked[info.key] = info
            return
        self._ready[info.key] = info
        heapq.heappush(self._heap, (order_of(info), info.key))

    def replace(self, info: WorkloadInfo) -> None:
        """New content for one that is in line; it stays as it stands, tried or not."""
        self.put(info, ready=info.key not in self._parked)

    def drop(self, key: Key) -> None:
        """Take one out, wherever it stands."""
        self._ready.pop(key, None)
        self._parked.pop(key, None)
        if self._sticky == key:
            self._sticky = None

    def head(self) -> WorkloadInfo | None:
        """Who is next, None when nobody is to be tried."""
        if self._sticky is not None and self._sticky in self._ready:
            return self._ready[self._sticky]
        while self._heap:
            order, key = self._heap[0]
            info = self._ready.get(key)
            if info is not None and order_of(info) == order:
                return info
            heapq.heappop(self._heap)
        return None

    def failed(self, info: WorkloadInfo, *, never_here: bool = False) -> bool:
        """The head did not fit; answers whether another is to be tried now. `never_here`: it can only
        be admitted after its own namespace changes, so it blocks nobody."""
        if self.strategy == STRICT and not never_here:
            return False
        if self._sticky == info.key:
            self._sticky = None
        self._parked[info.key] = self._ready.pop(info.key, info)
        return bool(self._ready)

    def stick(self, info: WorkloadInfo) -> None:
        """Others give way to `info`: it stays the head (kueue issues 6929 and 7101)."""
        if self.strategy != STRICT:
            self._sticky = info.key

    def release(self, may: Callable[[WorkloadInfo], bool]) -> None:
        """Something changed: parked ones for whom `may` holds are to be tried again."""
        for key in [key for key, info in self._parked.items() if may(info)]:
            self.put(self._parked[key], ready=True)

    def in_order(self) -> list[WorkloadInfo]:
        """All that wait, parked ones too, as the visibility API lists them."""
        sticky = self._sticky
        waiting = [*self._ready.values(), *self._parked.values()]
        return sorted(waiting, key=lambda info: (info.key != sticky, order_of(info)))
