"""Whom a gang would push aside: preemption by priority, disruption budgets kept where that is possible.

As the scheduler does, pods of lower priority make room, on few nodes, the least important first, and those
that no exhausted budget protects before others. The scheduler chooses for each member again, so it may choose
other victims of the same standing. Source: kube-scheduler 1.36, framework/preemption.
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.demand import held_by
from cockpit.fit.node_filters import NodeFit
from cockpit.fit.scheduling_context import Budget
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s.selectors import selects
from cockpit.model.pod import Pod

_PRIORITY_OFFSET = 1 << 31
"""Added to each victim's priority before they are summed, so that fewer victims weigh less."""
_MOST_MEMBERS = 256
"""Most members for which victims are computed one by one; a larger gang gets the cost of these."""
_FEWEST_CANDIDATES = 100
"""Least number of candidate nodes, else a tenth of all, as in the scheduler (DefaultPreemptionArgs)."""


class Push(NamedTuple):
    """Victims as `namespace/name`, their jobs, and how many of them a budget protects."""

    members: int  # that would find a seat so, of those that miss one
    victims: tuple[str, ...]
    jobs: tuple[str, ...]
    protected: int
    knows_budgets: bool


class _Way(NamedTuple):
    """How one node makes a seat for one more member; in the scheduler's order of preference."""

    protected: int
    highest: int
    weight: int
    size: int
    minus_start: float  # the youngest of the earliest started among the most important victims is preferred
    node: str
    victims: tuple[Pod, ...]


def preempt(snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit], missing: int) -> Push | None:
    """What preemption could do for `missing` members; None where no pod of lower priority is in the way.

    Spread and affinity among the members are not looked at again here.
    """
    priority = snapshot.priority(part.shape)
    is_never = not part.shape.preempts or part.shape.priority_class in snapshot.around.never_preempting
    if priority is None or is_never:
        return None
    ruler = _Ruler(snapshot, part, priority)
    ways: list[_Way] = []
    candidates = max(_FEWEST_CANDIDATES, len(node_fits) // 10, min(missing, _MOST_MEMBERS))
    for item in node_fits:
        way = None if item.blocks else ruler.way(item.node.name)
        if way is not None:
            heapq.heappush(ways, way)
        if len(ways) >= candidates:
            break
    victims: list[Pod] = []
    placed = protected = 0
    while ways and placed < min(missing, _MOST_MEMBERS):
        way = heapq.heappop(ways)
        ruler.take(way)
        victims += way.victims
        protected += way.protected
        placed += 1
        more = ruler.way(way.node)
        if more is not None:
            heapq.heappush(ways, more)
    if not victims:
        return None
    keys = tuple(sorted(item.key for item in victims))
    jobs = tuple(
        sorted({f"{item.namespace}/{item.job_label or item.owner_name or item.name}" for item in victims})
    )
    return Push(placed, keys, jobs, protected, snapshot.around.budgets is not None)


class _Guard:
    """Which pods are protected by a budget that allows no disruption."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets

    def protects(self, pods: Sequence[Pod]) -> list[bool]:
        """For each pod in turn: would it break a budget, after those before it have gone."""
        left = [budget.allowed for budget in self._budgets]
        out: list[bool] = []
        for pod in pods:
            labels = dict(pod.traits.labels)
            mine = [
                at
                for at, one in enumerate(self._budgets)
                if one.namespace == pod.namespace and selects(one.selector, labels)
            ]
            for at in mine:
                left[at] -= 1
            out.append(any(left[at] < 0 for at in mine))
        return out


class _Ruler:
    """Measures how nodes make seats for members of one part, one seat after the other."""

    def __init__(self, snapshot: ClusterSnapshot, part: Part, priority: int) -> None:
        self._snapshot = snapshot
        self._priority = priority
        self._guard = _Guard(snapshot.around.budgets or ())
        self._asked = {**dict(part.shape.requests), "pods": 1}
        self._gone: dict[str, list[Pod]] = {}
        self._seated: dict[str, int] = {}

    def take(self, way: _Way) -> None:
        """The victims go and the member sits down."""
        self._gone.setdefault(way.node, []).extend(way.victims)
        self._seated[way.node] = self._seated.get(way.node, 0) + 1

    def way(self, name: str) -> _Way | None:
        """How the node makes one seat more; None where pods of lower priority do not suffice."""
        gone = self._gone.get(name, [])
        lower = [
            pod
            for pod in self._snapshot.store.pods_on(name)
            if not pod.is_finished and (pod.priority or 0) < self._priority and pod not in gone
        ]
        free = dict(
            zip(self._asked, self._snapshot.free(self._snapshot.nodes[name], self._asked), strict=True)
        )
        for pod in gone:
            _give_back(free, pod)
        for pod in lower:
            _give_back(free, pod)
        wanted = self._seated.get(name, 0) + 1
        if _rooms(free, self._asked) < wanted:
            return None
        lower.sort(key=lambda pod: (-(pod.priority or 0), _start(pod), pod.key))
        shielded = self._guard.protects(lower)
        order = [(pod, True) for pod, is_in in zip(lower, shielded, strict=True) if is_in]
        order += [(pod, False) for pod, is_in in zip(lower, shielded, strict=True) if not is_in]
        victims: list[Pod] = []
        protected = 0
        for pod, is_protected in order:  # the most important are spared first, the protected before others
            _give_back(free, pod, -1)
            if _rooms(free, self._asked) < wanted:
                _give_back(free, pod)
                victims.append(pod)
                protected += is_protected
        highest = max((pod.priority or 0 for pod in victims), default=0)
        weight = sum((pod.priority or 0) + _PRIORITY_OFFSET for pod in victims)
        first = min((_start(pod) for pod in victims if (pod.priority or 0) == highest), default=0.0)
        return _Way(protected, highest, weight, len(victims), -first, name, tuple(victims))


def _start(pod: Pod) -> float:
    """A pod that has not started counts as started now."""
    return math.inf if pod.started_seconds is None else pod.started_seconds


def _rooms(free: Mapping[str, int], asked: Mapping[str, int]) -> int:
    return max(0, min(free[name] // each for name, each in asked.items()))


def _give_back(free: dict[str, int], pod: Pod, sign: int = 1) -> None:
    amounts = held_by(pod)
    for name in free:
        free[name] += sign * amounts.get(name, 0)
