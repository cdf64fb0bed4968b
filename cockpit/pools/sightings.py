"""When nodes were first seen with their GPUs: what no object dates."""

from collections.abc import Iterable

from cockpit.model.node import Node


class Sightings:
    """When nodes were first seen with their GPUs: no object dates that. Bounded; one that had them when it
    was first seen is not dated."""

    def __init__(self, most: int = 4_000) -> None:
        self._most = most
        self._seen: dict[str, float | None] = {}
        self._without: dict[str, None] = {}

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

    def at(self, uid: str) -> float | None:
        """When, None: never, or before anybody looked."""
        return self._seen.get(uid)


NO_SIGHTINGS = Sightings()
