"""What a pod without a node is judged by."""

from collections.abc import Callable

import msgspec

from cockpit.fit.shape import Shape
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.model.finding import Funnel
from cockpit.model.listing import listing
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.cluster_view import NO_TREES, Trees
from cockpit.triage.funnel import Sifted, sift


class PlacementContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod without a node is judged by. `now_seconds` None: causes that take time are not told yet."""

    store: StoreReader
    now_seconds: float | None = None
    around: Surroundings = UNKNOWN
    trees: Trees = NO_TREES
    waiting: int = 1  # members of its job without a node, itself included
    sift: Callable[[Shape], Sifted] | None = None

    @property
    def knows_nodes(self) -> bool:
        """False where nodes may not be listed: nothing may be said of what there is."""
        return listing(self.store, Kind.NODE).has_all

    def sifted(self, shape: Shape) -> Sifted:
        """The funnel of pods of that shape; an empty one that stops nowhere where nodes are not known."""
        if not self.knows_nodes:
            return Sifted(Funnel(nodes=0), "", {}, (), shape, {})
        if (shape.near or shape.spreads) and not listing(self.store, Kind.POD).has_all:
            shape = msgspec.structs.replace(shape, near=(), spreads=())  # who is there is not known
        if self.sift is not None:
            return self.sift(shape)
        return sift(self.store, shape, self.around)
