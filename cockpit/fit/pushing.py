"""Whom a gang would push aside: preemption by priority, disruption budgets kept where that is possible.

As the scheduler does, pods of lower priority make room, on few nodes, the least important first, and those
that no exhausted budget protects before others. The scheduler chooses for each member anew, so it may choose
other victims of the same standing. Source: kube-scheduler 1.36, framework/preemption.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.looks import Look
from cockpit.fit.matching import selects
from cockpit.fit.scene import Scene
from cockpit.fit.shape import Part
from cockpit.fit.surroundings import Budget
from cockpit.model.pod import Pod

_FEWEST_CANDIDATES = 100
"""The scheduler too looks at a tenth of the nodes, at least so many (DefaultPreemptionArgs)."""


class Push(NamedTuple):
    """Victims as `namespace/name`, their jobs, and how many of them a budget protects."""

    members: int  # that would find a seat so, of those that miss one
    victims: tuple[str, ...]
    jobs: tuple[str, ...]
    protected: int
    knows_budgets: bool


class _Way(NamedTuple):
    """How one node gains `gain` seats."""

    protected: int
    highest: int
    victims: tuple[Pod, ...]
    gain: int
    node: str


def push_aside(scene: Scene, part: Part, looks: Sequence[Look], missing: int) -> Push | None:
    """What preemption could do for `missing` members; None where nobody of lower priority is in the way.

    Spread and affinity among the members are not looked at again here.
    """
    priority = scene.priority(part.shape)
    if priority is None or not part.shape.preempts:
        return None
    ruler = _Ruler(scene, part, priority)
    open_looks = {one.node.name: one for one in looks if not one.blocks}
    ways: list[_Way] = []
    candidates = max(_FEWEST_CANDIDATES, len(looks) // 10)
    for one in open_looks.values():
        way = ruler.way(one, missing)
        if way is not None:
            ways.append(way)
        if len(ways) >= candidates and sum(each.gain for each in ways) >= missing:
            break
    ways.sort(key=lambda one: (one.protected, one.highest, len(one.victims) / one.gain, one.node))
    victims: list[Pod] = []
    placed = protected = 0
    for each in ways:
        if placed >= missing:
            break
        is_more = placed + each.gain > missing
        chosen = (is_more and ruler.way(open_looks[each.node], missing - placed)) or each
        victims += chosen.victims
        placed += chosen.gain
        protected += chosen.protected
    if not victims:
        return None
    keys = tuple(sorted(one.key for one in victims))
    jobs = tuple(
        sorted({f"{one.namespace}/{one.job_label or one.owner_name or one.name}" for one in victims})
    )
    return Push(min(placed, missing), keys, jobs, protected, scene.around.budgets is not None)


class _Guard:
    """Which pods are protected by a budget that allows no disruption."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets

    def allows(self, pods: Sequence[Pod]) -> list[bool]:
        """For each pod in turn: may it go, after those before it have gone."""
        left = {id(one): one.allowed for one in self._budgets}
        out: list[bool] = []
        for pod in pods:
            labels = dict(pod.traits.labels)
            mine = [
                one
                for one in self._budgets
                if one.namespace == pod.namespace and selects(one.selector, labels)
            ]
            out.append(all(left[id(one)] > 0 for one in mine))
            for one in mine:
                left[id(one)] -= 1
        return out


class _Ruler:
    """Measures how one node after the other gains seats for members of one part."""

    def __init__(self, scene: Scene, part: Part, priority: int) -> None:
        self._scene = scene
        self._priority = priority
        self._guard = _Guard(scene.around.budgets or ())
        self._asked = {**dict(part.shape.requests), "pods": 1}

    def way(self, look: Look, wanted: int) -> _Way | None:
        """How the node gains up to `wanted` seats; None where no pod of lower priority makes any."""
        lower = [
            pod
            for pod in self._scene.store.pods_on(look.node.name)
            if not pod.is_finished and (pod.priority or 0) < self._priority
        ]
        if not lower:
            return None
        lower.sort(key=lambda pod: (pod.priority or 0, -(pod.started_seconds or 0.0), pod.key))
        may_go = self._guard.allows(lower)
        kept = [pod for pod, may in zip(lower, may_go, strict=True) if not may]
        order = [pod for pod, may in zip(lower, may_go, strict=True) if may] + kept
        free = self._free(look)
        before = _rooms(free, self._asked)
        best: _Way | None = None
        for count, pod in enumerate(order, 1):
            _give_back(free, pod)
            gain = _rooms(free, self._asked) - before
            if gain > (best.gain if best else 0):
                needed = self._needed(look, order[:count], before + gain)
                shielded = sum(1 for one in needed if one in kept)
                highest = max(one.priority or 0 for one in needed)
                best = _Way(shielded, highest, needed, gain, look.node.name)
                if gain >= wanted:
                    break
        return best

    def _free(self, look: Look) -> dict[str, int]:
        return dict(zip(self._asked, self._scene.free(look.node, self._asked), strict=True))

    def _needed(self, look: Look, gone: Sequence[Pod], wanted: int) -> tuple[Pod, ...]:
        """Those who have to go for `wanted` seats: the most important are spared first."""
        free = self._free(look)
        for pod in gone:
            _give_back(free, pod)
        needed: list[Pod] = []
        for pod in reversed(gone):
            _give_back(free, pod, -1)
            if _rooms(free, self._asked) < wanted:
                _give_back(free, pod)
                needed.append(pod)
        return tuple(needed)


def _rooms(free: Mapping[str, int], asked: Mapping[str, int]) -> int:
    return max(0, min(free[name] // each for name, each in asked.items()))


def _give_back(free: dict[str, int], pod: Pod, sign: int = 1) -> None:
    amounts = {"cpu": pod.cpu_millicores, "memory": pod.memory_bytes, "pods": 1}
    amounts.update(pod.traits.resources or {pod.gpu_resource: pod.gpus})
    for name in free:
        free[name] += sign * amounts.get(name, 0)
