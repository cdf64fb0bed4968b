"""One pod against the world as it is: all filters, with nominations, on the nodes that may matter."""

from collections.abc import Mapping

from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo, look_alone
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.shapes import Shape, Shapes
from cockpit.sim.actors.scheduler.spreading import Company, SpreadCounts
from cockpit.sim.actors.scheduler.verdict import Status, Words
from cockpit.sim.actors.scheduler.volumes import VolumeNeeds
from cockpit.sim.actors.scheduler.world import World

_MOST_KINDS = 64


class Surroundings:
    """What more than one node decides for one pod; trials work on a copy."""

    def __init__(
        self, pod: PodInfo, needs: VolumeNeeds, spread: SpreadCounts | None, company: Company | None
    ) -> None:
        self.pod = pod
        self.needs = needs
        self.spread = spread
        self.company = company

    @property
    def is_empty(self) -> bool:
        """True when only each node alone decides."""
        return self.needs.is_empty and self.spread is None and self.company is None

    def copy(self) -> "Surroundings":
        """The same for a trial."""
        spread = None if self.spread is None else self.spread.copy()
        company = None if self.company is None else self.company.copy()
        return Surroundings(self.pod, self.needs.copy(), spread, company)

    def count(self, other: PodInfo, node: NodeInfo, by: int) -> None:
        """A trial adds (1) or removes (-1) a pod on `node`."""
        self.needs.count(other, by)
        if self.spread is not None:
            self.spread.count(other, node, by)
        if self.company is not None:
            self.company.count(other, node, by)

    def look(self, node: NodeInfo) -> Status | None:
        """The filters behind NodeResourcesFit, in order."""
        if status := self.needs.look(node):
            return status
        if self.spread is not None and (status := self.spread.look(node)):
            return status
        return None if self.company is None else self.company.look(node)


class _Counted:
    __slots__ = ("company", "layout", "seen", "spread")

    def __init__(self, world: World, pod: PodInfo) -> None:
        self.layout = world.layout
        self.seen = world.moves.end
        self.spread = SpreadCounts(world, pod) if pod.spreads else None
        self.company = Company(world, pod)

    def is_mended(self, world: World) -> bool:
        """Take over what moved since; False where only counting anew helps."""
        moves = world.moves.since(self.seen)
        if self.layout != world.layout or moves is None:
            return False
        for other, node, by in moves:
            if self.spread is not None and not other.is_leaving:
                self.spread.count(other, node, by)
            self.company.count(other, node, by)
        self.seen = world.moves.end
        return True


class Neighbours:
    """Counts of other pods, shared by pods that stand in the same relation to them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kinds: dict[bytes, _Counted] = {}

    def of(self, pod: PodInfo) -> tuple[SpreadCounts | None, Company | None]:
        """The counts for `pod`, up to date; None for what cannot refuse a node."""
        if not (pod.spreads or pod.affinity or pod.anti_affinity or self._world.keeping_away):
            return None, None
        held = self._kinds.pop(pod.standing, None)
        if held is None or not held.is_mended(self._world):
            held = _Counted(self._world, pod)
            if len(self._kinds) >= _MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
        self._kinds[pod.standing] = held
        return held.spread, None if held.company.is_empty else held.company


class Attempt:
    """One pod in one cycle. `failed` holds each refusing node's status once `find` answered ""."""

    def __init__(
        self, world: World, shapes: Shapes, neighbours: Neighbours, pod: PodInfo, words: Words
    ) -> None:
        self.world = world
        self.pod = pod
        self.words = words
        self.shape: Shape = shapes.of(pod)
        spread, company = neighbours.of(pod)
        self.around = Surroundings(pod, VolumeNeeds(world, pod), spread, company)
        self.failed: Mapping[str, Status] = {}
        self.counts: Mapping[Status, int] = {}
        self.outside = 0

    def look(self, node: NodeInfo, around: Surroundings) -> Status | None:
        """All filters on one node as it is given, without nominations."""
        return look_alone(self.pod, node, self.words) or around.look(node)

    def look_with_nominated(self, node: NodeInfo, around: Surroundings) -> Status | None:
        """All filters, first with pods counted in for which the node is being emptied, then without."""
        coming = self.world.nominated_above(node.name, self.pod)
        if coming:
            crowded, then = node.copy(), around.copy()
            for other in coming:
                crowded.add(other)
                then.count(other, node, 1)
            if status := self.look(crowded, then):
                return status
        return self.look(node, around)

    def find(self) -> str:
        """The node to take, or "" (then `failed` and `counts` say why not)."""
        pod, world = self.pod, self.world
        node = world.nodes.get(pod.nominated) if pod.nominated else None
        if (
            node is not None
            and (pod.node_names is None or node.name in pod.node_names)
            and self.look_with_nominated(node, self.around) is None
        ):
            return node.name
        if pod.node_names is None and self.around.is_empty and not world.nominated:
            best = self.shape.best()
            if not best:
                self.failed, self.counts = self.shape.failed, self.shape.counts
            return best
        return self._find_looking_around()

    def _find_looking_around(self) -> str:
        world, names = self.world, self.pod.node_names
        refused: dict[str, Status] = {}
        if names is not None:
            refused = {name: status for name, status in self.shape.failed.items() if name in names}
            self.outside = len(world.nodes) - sum(name in world.nodes for name in names)

        def accepts(name: str) -> bool:
            if names is not None and name not in names:
                return False
            node = world.nodes[name]
            if name in world.nominated:
                status = self.look_with_nominated(node, self.around)
            else:
                status = self.around.look(node)
            if status is None:
                return True
            refused[name] = status
            return False

        if best := self.shape.best(accepts):
            return best
        if names is None:
            refused.update(self.shape.failed)
        self.failed = refused
        counts: dict[Status, int] = {}
        for status in refused.values():
            counts[status] = counts.get(status, 0) + 1
        self.counts = counts
        return ""
