"""What the nodes say of shapes of pods, kept for all who ask: pods alike share it."""

from typing import Final

from msgspec import structs

from cockpit.fit.scheduling_context import UNKNOWN
from cockpit.fit.shape import Shape
from cockpit.model.finding import Finding
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage import filters
from cockpit.triage.context import Context
from cockpit.triage.funnel import Sifted, sift

LOOKS: Final = 2_500
"""So many nodes are looked at again for one state of the store, and at least those of one funnel."""
STANDS_SECONDS: Final = 5.0
"""So long what is told of pods that do not exist stands, whatever room moves meanwhile."""
_FUNNELS: Final = 48
"""So many are kept: each holds a look at every node."""
_ANSWERS: Final = 1_024
"""So many blockers of shapes are kept: a few hundred bytes each."""


class Funnels:
    """The funnels of one store. `is_asked` tells whether anybody has asked since it was set
    to False, `is_owing` whether somebody got no answer because no look was left."""

    def __init__(self, store: StoreReader) -> None:
        self.looks_left = LOOKS
        self.is_asked = self.is_owing = False
        self._store = store
        self._kept: dict[Shape, tuple[int, Sifted]] = {}
        self._told: dict[tuple[Shape, int], tuple[int, float, tuple[Finding, ...]]] = {}

    def sifted(self, shape: Shape) -> Sifted:
        """The funnel of the shape; where no look is left the one that was made last."""
        self.is_asked = True
        room, alike = self._store.room_revision, self._alike(shape)
        kept = self._kept.get(alike)
        if kept is not None and (kept[0] == room or self.looks_left <= 0):
            return kept[1]._replace(shape=shape)
        made = sift(self._store, shape, UNKNOWN, None if kept is None else kept[1])
        self.looks_left -= len(self._store.records(Kind.NODE))
        self._kept.pop(alike, None)
        self._kept[alike] = (room, made)
        if len(self._kept) > _FUNNELS:
            del self._kept[next(iter(self._kept))]
        return made

    def blockers(self, shape: Shape, count: int, now_seconds: float) -> tuple[Finding, ...]:
        """What the nodes say of `count` pods of that shape, one filter behind the other; () where no look is
        left."""
        self.is_asked = True
        room, asked = self._store.room_revision, (self._alike(shape), count)
        kept = self._told.get(asked)
        if kept is not None and (
            kept[0] == room or self.looks_left <= 0 or 0 <= now_seconds - kept[1] < STANDS_SECONDS
        ):
            return kept[2]
        if self.looks_left <= 0:
            self.is_owing = True
            return ()
        context = Context(store=self._store, now_seconds=now_seconds, waiting=count, sift=self.sifted)
        made = tuple(filters.of_pods(shape, count, context))
        self._told.pop(asked, None)
        self._told[asked] = (room, now_seconds, made)
        if len(self._told) > _ANSWERS:
            del self._told[next(iter(self._told))]
        return made

    def _alike(self, shape: Shape) -> Shape:
        """The shape without whose pod it is, where no pod minds any other."""
        if shape.near or shape.keeps_away or shape.host_ports or shape.claims:
            return shape
        if any(pod.traits.keeps_away for pod in self._store.restrictive_pods()):
            return shape
        return structs.replace(shape, namespace="", labels=())
