"""One pod against the cache as it is: all filters, with nominations, on the nodes that may matter."""

from collections.abc import Mapping

from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.device_claims import PodDevices
from cockpit.sim.actors.scheduler.equivalence_cache import EquivalenceCache, EquivalenceClass
from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo, look_alone
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.spreading import InterPodAffinity, SpreadCounts
from cockpit.sim.actors.scheduler.verdict import Status
from cockpit.sim.actors.scheduler.volumes import PodVolumes

_MOST_KINDS = 64


class CycleState:
    """What more than one node decides for one pod; trials work on a copy."""

    def __init__(
        self,
        pod: PodInfo,
        needs: PodVolumes,
        spread: SpreadCounts | None,
        affinity: InterPodAffinity | None,
        devices: PodDevices,
    ) -> None:
        self.pod = pod
        self.needs = needs
        self.devices = devices
        self.spread = spread
        self.affinity = affinity

    @property
    def is_empty(self) -> bool:
        """True when only each node alone decides."""
        alone = self.spread is None and self.affinity is None
        return alone and self.needs.is_empty and self.devices.is_empty

    def copy(self) -> "CycleState":
        """The same for a trial."""
        spread = None if self.spread is None else self.spread.copy()
        affinity = None if self.affinity is None else self.affinity.copy()
        return CycleState(self.pod, self.needs.copy(), spread, affinity, self.devices)

    def count(self, other: PodInfo, node: NodeInfo, by: int) -> None:
        """A trial adds (1) or removes (-1) a pod on `node`."""
        self.needs.count(other, by)
        if self.spread is not None:
            self.spread.count(other, node, by)
        if self.affinity is not None:
            self.affinity.count(other, node, by)

    def look(self, node: NodeInfo) -> Status | None:
        """The filters behind NodeResourcesFit, in order."""
        if status := self.needs.look(node):
            return status
        if self.spread is not None and (status := self.spread.look(node)):
            return status
        if self.affinity is not None and (status := self.affinity.look(node)):
            return status
        return self.devices.look(node)


class _Counted:
    __slots__ = ("affinity", "layout", "seen", "spread")

    def __init__(self, cache: SchedulerCache, pod: PodInfo) -> None:
        self.layout = cache.layout
        self.seen = cache.moves.end
        self.spread = SpreadCounts(cache, pod) if pod.spreads else None
        self.affinity = InterPodAffinity(cache, pod)

    def is_mended(self, cache: SchedulerCache) -> bool:
        """Take over what moved since; False where only counting anew helps."""
        moves = cache.moves.since(self.seen)
        if self.layout != cache.layout or moves is None:
            return False
        for other, node, by in moves:
            if self.spread is not None and not other.is_leaving:
                self.spread.count(other, node, by)
            self.affinity.count(other, node, by)
        self.seen = cache.moves.end
        return True


class Neighbours:
    """Counts of other pods, shared by pods that stand in the same relation to them."""

    def __init__(self, cache: SchedulerCache) -> None:
        self._cache = cache
        self._kinds: dict[bytes, _Counted] = {}

    def of(self, pod: PodInfo) -> tuple[SpreadCounts | None, InterPodAffinity | None]:
        """The counts for `pod`, up to date; None for what cannot refuse a node."""
        if not (pod.spreads or pod.affinity or pod.anti_affinity or self._cache.keeping_away):
            return None, None
        held = self._kinds.pop(pod.standing, None)
        if held is None or not held.is_mended(self._cache):
            held = _Counted(self._cache, pod)
            if len(self._kinds) >= _MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
        self._kinds[pod.standing] = held
        return held.spread, None if held.affinity.is_empty else held.affinity


class SchedulingAttempt:
    """One pod in one cycle. `failed` holds each refusing node's status once `find` answered ""."""

    def __init__(
        self, cache: SchedulerCache, shapes: EquivalenceCache, neighbours: Neighbours, pod: PodInfo
    ) -> None:
        self.cache = cache
        self.pod = pod
        self.shape: EquivalenceClass = shapes.of(pod)
        spread, affinity = neighbours.of(pod)
        self.around = CycleState(pod, PodVolumes(cache, pod), spread, affinity, PodDevices(cache, pod))
        self.failed: Mapping[str, Status] = {}
        self.counts: Mapping[Status, int] = {}
        self.outside = 0

    def look(self, node: NodeInfo, around: CycleState) -> Status | None:
        """All filters on one node as it is given, without nominations."""
        return look_alone(self.pod, node) or around.look(node)

    def look_with_nominated(self, node: NodeInfo, around: CycleState) -> Status | None:
        """All filters, first with pods counted in for which the node is being emptied, then without."""
        coming = self.cache.nominated_above(node.name, self.pod)
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
        pod, cache = self.pod, self.cache
        node = cache.nodes.get(pod.nominated) if pod.nominated else None
        if (
            node is not None
            and (pod.node_names is None or node.name in pod.node_names)
            and self.look_with_nominated(node, self.around) is None
        ):
            return node.name
        if pod.node_names is None and self.around.is_empty and not cache.nominated:
            best = self.shape.best()
            if not best:
                self.failed, self.counts = self.shape.failed, self.shape.counts
            return best
        return self._find_looking_around()

    def _find_looking_around(self) -> str:
        cache, names = self.cache, self.pod.node_names
        refused: dict[str, Status] = {}
        if names is not None:
            refused = {name: status for name, status in self.shape.failed.items() if name in names}
            self.outside = len(cache.nodes) - sum(name in cache.nodes for name in names)

        def accepts(name: str) -> bool:
            if names is not None and name not in names:
                return False
            node = cache.nodes[name]
            if name in cache.nominated:
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
