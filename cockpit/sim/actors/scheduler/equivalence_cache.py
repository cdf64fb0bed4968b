"""Pods that look the same share their verdicts: one table for each kind of pod, mended where nodes changed.

Scoring, stated: NodeResourcesFit (least allocated) and NodeResourcesBalancedAllocation over CPU and memory,
preferred node affinity and PreferNoSchedule taints, weighted as in kube-scheduler 1.36; the last two are
scaled by the highest value among all nodes (the real one: among those that fit). Images, soft spreading and
preferred pod affinity do not count. Every feasible node is scored (the real one stops at a share of a large
cluster). Ties are broken by the seed.
"""

import heapq
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from cockpit.k8s.tolerations import is_tolerated
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo, look_alone
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.verdict import Status

_MOST_KINDS = 64
_AFFINITY_WEIGHT = 2
_TAINT_WEIGHT = 3


class ScoreScale(NamedTuple):
    """The highest wish and the most soft taints that any node has for one kind of pod."""

    preferred: int = 0
    soft_taints: int = 0


def _wished(pod: PodInfo, node: NodeInfo) -> int:
    return sum(weight for weight, terms in pod.preferred if terms.matches(node.name, node.labels))


def _unwished(pod: PodInfo, node: NodeInfo) -> int:
    return sum(not is_tolerated(taint, pod.tolerations) for taint in node.soft_taints)


def scale_of(pod: PodInfo, cache: SchedulerCache) -> ScoreScale:
    """What the scores of `pod` are measured against."""
    preferred = max((_wished(pod, node) for node in cache.nodes.values()), default=0) if pod.preferred else 0
    return ScoreScale(
        preferred, max((_unwished(pod, node) for node in cache.nodes.values() if node.soft_taints), default=0)
    )


def score(pod: PodInfo, node: NodeInfo, scale: ScoreScale) -> int:
    """How good `node` is for `pod`; more is better."""
    cpu, memory = node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0)
    before = _shares(node.scored_cpu, cpu, node.scored_memory, memory)
    cpu_used, memory_used = node.scored_cpu + pod.scored_cpu, node.scored_memory + pod.scored_memory
    after = _shares(cpu_used, cpu, memory_used, memory)
    free = [_free(used, all_) for used, all_ in ((cpu_used, cpu), (memory_used, memory)) if all_]
    total = sum(free) // len(free) if free else 0
    total += 50 + (50 + _balance(after) - _balance(before)) // 2
    if scale.preferred:
        total += _AFFINITY_WEIGHT * (_wished(pod, node) * 100 // scale.preferred)
    if scale.soft_taints:
        total += _TAINT_WEIGHT * (100 - _unwished(pod, node) * 100 // scale.soft_taints)
    return total


def _free(used: int, capacity: int) -> int:
    return 0 if used > capacity else (capacity - used) * 100 // capacity


def _shares(cpu_used: int, cpu: int, memory_used: int, memory: int) -> list[float]:
    return [min(1.0, used / all_) for used, all_ in ((cpu_used, cpu), (memory_used, memory)) if all_]


def _balance(shares: list[float]) -> int:
    """100 when CPU and memory are used to the same share."""
    spread = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - spread) * 100)


class EquivalenceClass:
    """What every node alone says to one kind of pod, and the feasible ones by score."""

    def __init__(self, cache: SchedulerCache, pod: PodInfo, random: Random) -> None:
        self.pod = pod
        self.failed: dict[str, Status] = {}
        self.scores: dict[str, int] = {}
        self.counts: dict[Status, int] = {}
        self.refused: tuple[object, ...] = ()
        """What was last answered to a pod that fits nowhere, with what it depended on; kept by the cycle."""
        self.answer: object = None
        self._random = random
        self._heap: list[tuple[int, float, str]] = []
        self._seen = -1
        self._layout = -1
        self._scale = ScoreScale()
        self.mend(cache)

    def mend(self, cache: SchedulerCache) -> None:
        """Look again at the nodes that changed since the last look."""
        changed = cache.changed.since(self._seen) if self._seen >= 0 else None
        if self._layout != cache.layout:
            self._layout = cache.layout
            scale = scale_of(self.pod, cache)
            if scale != self._scale:
                self._scale, changed = scale, None
        if changed is None:
            self.failed.clear()
            self.scores.clear()
            self.counts.clear()
            self._heap.clear()
        for name in dict.fromkeys(changed) if changed is not None else cache.nodes:
            self._look(name, cache.nodes.get(name))
        self._seen = cache.changed.end
        if len(self._heap) > 64 + 8 * len(self.scores):
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapq.heapify(self._heap)

    def _look(self, name: str, node: NodeInfo | None) -> None:
        before = self.failed.pop(name, None)
        if before is not None:
            self.counts[before] -= 1
            if not self.counts[before]:
                del self.counts[before]
        self.scores.pop(name, None)
        if node is None:
            return
        status = look_alone(self.pod, node)
        if status is not None:
            self.failed[name] = status
            self.counts[status] = self.counts.get(status, 0) + 1
            return
        worth = self.scores[name] = score(self.pod, node, self._scale)
        heapq.heappush(self._heap, (-worth, self._random.random(), name))

    def _is_current(self, entry: tuple[int, float, str]) -> bool:
        return self.scores.get(entry[2]) == -entry[0]

    def best(self, accepts: Callable[[str], bool] | None = None) -> str:
        """The feasible node with the highest score that `accepts` takes; "" when there is none."""
        aside: list[tuple[int, float, str]] = []
        chosen = ""
        while self._heap:
            entry = self._heap[0]
            if self._is_current(entry):
                if accepts is None or accepts(entry[2]):
                    chosen = entry[2]
                    break
                aside.append(entry)
            heapq.heappop(self._heap)
        for entry in aside:
            heapq.heappush(self._heap, entry)
        return chosen


class EquivalenceCache:
    """The tables in use; the one that was not asked for the longest goes first."""

    def __init__(self, cache: SchedulerCache, random: Random) -> None:
        self._cache = cache
        self._random = random
        self._kinds: dict[bytes, EquivalenceClass] = {}

    def of(self, pod: PodInfo) -> EquivalenceClass:
        """The table for pods like `pod`, up to date."""
        shape = self._kinds.pop(pod.shape, None)
        if shape is None:
            shape = EquivalenceClass(self._cache, pod, self._random)
            if len(self._kinds) >= _MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]
        else:
            shape.mend(self._cache)
        self._kinds[pod.shape] = shape
        return shape
