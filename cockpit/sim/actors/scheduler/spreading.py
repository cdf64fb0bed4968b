"""PodTopologySpread (hard constraints) and InterPodAffinity: filters that count pods on other nodes.

Default constraints (soft, by owner) take part in the real scheduler's scoring only and are not modelled.
"""

from collections.abc import Mapping

from cockpit.k8s.selectors import LabelSelector
from cockpit.k8s.tolerations import untolerated
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo, matches_labels
from cockpit.sim.actors.scheduler.podinfo import AffinityTerm, PodInfo, SpreadConstraint
from cockpit.sim.actors.scheduler.verdict import Status, unresolvable, unschedulable

_SKEW = "node(s) didn't match pod topology spread constraints"
_SKEWED = unschedulable("PodTopologySpread", _SKEW)
_NO_LABEL = unresolvable("PodTopologySpread", f"{_SKEW} (missing required label)")
_NO_AFFINITY = unresolvable("InterPodAffinity", "node(s) didn't match pod affinity rules")
_BAD_ANTI_AFFINITY = unschedulable("InterPodAffinity", "node(s) didn't match pod anti-affinity rules")
_UNWELCOME = unschedulable("InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules")


class SpreadCounts:
    """How many matching pods each topology domain has, for each hard constraint of one pod."""

    def __init__(self, cache: SchedulerCache, pod: PodInfo) -> None:
        self.pod = pod
        self.keys = [spread.key for spread in pod.spreads]
        self.counts: list[dict[str, int]] = [{} for _ in pod.spreads]
        self._least: list[int | None] = [None for _ in pod.spreads]
        if not pod.spreads:
            return
        on_node: dict[str, list[PodInfo]] = {}
        for other in cache.spaces.get(pod.namespace, {}).values():
            if not other.is_leaving:
                on_node.setdefault(other.node, []).append(other)
        for node in cache.nodes.values():
            if all(key in node.labels for key in self.keys):
                for index, spread in enumerate(pod.spreads):
                    if _takes_part(spread, pod, node):
                        here = on_node.get(node.name, ())
                        count = sum(spread.selector.matches(p.labels) for p in here)
                        value = node.labels[spread.key]
                        empty = 0 if spread.selector.is_empty else count
                        self.counts[index][value] = self.counts[index].get(value, 0) + empty

    def copy(self) -> "SpreadCounts":
        """The same counts for a trial."""
        other: SpreadCounts = object.__new__(SpreadCounts)
        other.pod, other.keys = self.pod, self.keys
        other.counts = [dict(count) for count in self.counts]
        other._least = list(self._least)
        return other

    def count(self, other: PodInfo, node: NodeInfo, by: int) -> None:
        """A trial adds (1) or removes (-1) a pod on `node`."""
        if other.namespace != self.pod.namespace or not all(key in node.labels for key in self.keys):
            return
        for index, spread in enumerate(self.pod.spreads):
            if spread.selector.matches(other.labels) and _takes_part(spread, self.pod, node):
                value = node.labels[spread.key]
                self.counts[index][value] = self.counts[index].get(value, 0) + by
                self._least[index] = None

    def look(self, node: NodeInfo) -> Status | None:
        """Whether one more pod on `node` keeps the skew."""
        for index, spread in enumerate(self.pod.spreads):
            value = node.labels.get(spread.key)
            if value is None:
                return _NO_LABEL
            counts = self.counts[index]
            least = self._least[index]
            if least is None:
                least = self._least[index] = min(counts.values(), default=0)
            if len(counts) < spread.min_domains:
                least = 0
            own = spread.selector.matches(self.pod.labels)
            if counts.get(value, 0) + own - least > spread.max_skew:
                return _SKEWED
        return None


def _takes_part(spread: SpreadConstraint, pod: PodInfo, node: NodeInfo) -> bool:
    if spread.honors_affinity and not matches_labels(pod, node.name, node.labels):
        return False
    return not (spread.honors_taints and untolerated(node.taints, pod.tolerations) is not None)


_NO_SELECTOR = LabelSelector(None)

Pair = tuple[str, str]
"""A topology label and its value."""


class InterPodAffinity:
    """Which topology domains required (anti-)affinity asks for or forbids, for one pod."""

    def __init__(self, cache: SchedulerCache, pod: PodInfo) -> None:
        self.pod = pod
        self.space = cache.namespaces.get(pod.namespace, {})
        self.unwelcome: dict[Pair, int] = {}
        self.wanted: dict[Pair, int] = {}
        self.shunned: dict[Pair, int] = {}
        self.affinity = [_resolved(term, cache) for term in pod.affinity]
        self.anti_affinity = [_resolved(term, cache) for term in pod.anti_affinity]
        for other in cache.keeping_away.values():
            if (node := cache.nodes.get(other.node)) is not None:
                self._count_unwelcome(other, node, 1)
        if pod.affinity or pod.anti_affinity:
            for other in cache.pods.values():
                if (node := cache.nodes.get(other.node)) is not None:
                    self._count_own(other, node, 1)

    @property
    def is_empty(self) -> bool:
        """True when nothing here can refuse a node."""
        return not (self.unwelcome or self.affinity or self.anti_affinity)

    def copy(self) -> "InterPodAffinity":
        """The same counts for a trial."""
        other: InterPodAffinity = object.__new__(InterPodAffinity)
        other.pod, other.space = self.pod, self.space
        other.affinity, other.anti_affinity = self.affinity, self.anti_affinity
        other.unwelcome, other.wanted = dict(self.unwelcome), dict(self.wanted)
        other.shunned = dict(self.shunned)
        return other

    def count(self, other: PodInfo, node: NodeInfo, by: int) -> None:
        """A trial adds (1) or removes (-1) a pod on `node`."""
        self._count_unwelcome(other, node, by)
        self._count_own(other, node, by)

    def _count_unwelcome(self, other: PodInfo, node: NodeInfo, by: int) -> None:
        for term in other.anti_affinity:
            if term.matches(self.pod.labels, self.pod.namespace, self.space):
                _bump(self.unwelcome, term.key, node, by)

    def _count_own(self, other: PodInfo, node: NodeInfo, by: int) -> None:
        if self.affinity and _meets_all(self.affinity, other):
            for term in self.affinity:
                _bump(self.wanted, term.key, node, by)
        for term in self.anti_affinity:
            if term.matches(other.labels, other.namespace, {}):
                _bump(self.shunned, term.key, node, by)

    def look(self, node: NodeInfo) -> Status | None:
        """Whether the pod may be in the domains of `node`."""
        if self.affinity and not self._meets_affinity(node.labels):
            return _NO_AFFINITY
        for term in self.anti_affinity:
            value = node.labels.get(term.key)
            if value is not None and self.shunned.get((term.key, value), 0) > 0:
                return _BAD_ANTI_AFFINITY
        if self.unwelcome and any(self.unwelcome.get(pair, 0) > 0 for pair in node.labels.items()):
            return _UNWELCOME
        return None

    def _meets_affinity(self, labels: Mapping[str, str]) -> bool:
        there = True
        for term in self.affinity:
            value = labels.get(term.key)
            if value is None:
                return False
            there = there and self.wanted.get((term.key, value), 0) > 0
        # The first of a group may meet its own affinity.
        return there or (not self.wanted and _meets_all(self.affinity, self.pod))


def _meets_all(terms: list[AffinityTerm], pod: PodInfo) -> bool:
    return all(term.matches(pod.labels, pod.namespace, {}) for term in terms)


def _resolved(term: AffinityTerm, cache: SchedulerCache) -> AffinityTerm:
    """The term with its namespace selector turned into names; an empty selector stays (it means all)."""
    selector = term.namespace_selector
    if selector.is_nothing or selector.is_empty:
        return term
    chosen = {name for name, labels in cache.namespaces.items() if selector.matches(labels)}
    return term._replace(namespaces=term.namespaces | chosen, namespace_selector=_NO_SELECTOR)


def _bump(counts: dict[Pair, int], key: str, node: NodeInfo, by: int) -> None:
    value = node.labels.get(key)
    if value is None:
        return
    count = counts.get((key, value), 0) + by
    if count:
        counts[(key, value)] = count
    else:
        counts.pop((key, value), None)
