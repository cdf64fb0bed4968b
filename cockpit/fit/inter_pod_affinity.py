"""Pods that are there already and the domains that they open or close to a member: InterPodAffinity."""

from collections.abc import Iterator, Mapping

from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s.labels import NAMESPACE_NAME
from cockpit.k8s.selectors import selects
from cockpit.model.record import Labels
from cockpit.model.scheduling import PodTerm

Pair = tuple[str, str]
"""A topology label and its value."""


def meets_all(terms: tuple[PodTerm, ...], shape: Shape, spaces: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a member is itself such a pod as all the terms ask for."""
    labels = dict(shape.labels)
    return all(concerns(term, shape.namespace, labels, spaces) for term in terms)


def concerns(
    term: PodTerm, namespace: str, labels: Mapping[str, str], space_labels: Mapping[str, Mapping[str, str]]
) -> bool:
    """Whether a term of pod (anti-)affinity chooses a pod.

    `space_labels` are labels of namespaces as far as known; a name of its own every namespace has.
    """
    if not selects(term.selector, labels):
        return False
    if namespace in term.namespaces:
        return True
    if term.namespace_selector is None:
        return False
    return selects(term.namespace_selector, {NAMESPACE_NAME: namespace, **space_labels.get(namespace, {})})


class PodAffinityFilter:
    """For one shape: domains that anti-affinity closes, and those that affinity asks for."""

    def __init__(self, snapshot: ClusterSnapshot, shape: Shape) -> None:
        self._snapshot = snapshot
        self._shape = shape
        self._spaces = snapshot.around.namespaces or {}
        self._unwelcome: dict[Pair, None] = {}  # existing pods keep it away
        self._apart: dict[Pair, None] = {}  # it keeps away from existing pods
        self._near: set[Pair] = set()
        self.starts_itself = False
        """The members ask to be near their own kind and none is there: the first may go anywhere."""
        self._look_who_keeps_away()
        if shape.near or shape.keeps_away:
            self._look_whom_it_minds()

    @property
    def is_empty(self) -> bool:
        """True when no node can be refused here."""
        return not (self._unwelcome or self._apart or self._shape.near)

    def _look_who_keeps_away(self) -> None:
        own = dict(self._shape.labels)
        verdicts: dict[PodTerm, bool] = {}
        for term, node in self._snapshot.keeping_away():
            minds = verdicts.get(term)
            if minds is None:
                minds = verdicts[term] = concerns(term, self._shape.namespace, own, self._spaces)
            value = self._snapshot.labels(node).get(term.topology_key) if minds else None
            if value is not None:
                self._unwelcome[(term.topology_key, value)] = None

    def _look_whom_it_minds(self) -> None:
        shape, snapshot = self._shape, self._snapshot
        has_friends = False
        known: dict[tuple[str, Labels], tuple[bool, tuple[PodTerm, ...]]] = {}
        terms = (*shape.near, *shape.keeps_away)
        spaces = {name for term in terms for name in term.namespaces}
        reaches_further = any(term.namespace_selector is not None for term in terms)
        for item in snapshot.present(None if reaches_further else spaces):
            key = (item.namespace, item.labels)
            verdict = known.get(key)
            if verdict is None:
                verdict = known[key] = self._judge(item.namespace, dict(item.labels))
            is_friend, minded = verdict
            if not is_friend and not minded:
                continue
            labels = snapshot.labels(item.node)
            for term in minded:
                if term.topology_key in labels:
                    self._apart[(term.topology_key, labels[term.topology_key])] = None
            if is_friend and item.node in snapshot.nodes:
                for term in shape.near:
                    if term.topology_key in labels:
                        has_friends = True
                        self._near.add((term.topology_key, labels[term.topology_key]))
        if shape.near and not has_friends:
            self.starts_itself = meets_all(shape.near, shape, self._spaces)

    def _judge(self, namespace: str, labels: Mapping[str, str]) -> tuple[bool, tuple[PodTerm, ...]]:
        shape = self._shape
        is_friend = bool(shape.near) and all(
            concerns(item, namespace, labels, self._spaces) for item in shape.near
        )
        return is_friend, tuple(
            item for item in shape.keeps_away if concerns(item, namespace, labels, self._spaces)
        )

    def obstacles(self, node: str) -> Iterator[Pair]:
        """(kind of block, topology label) for one node."""
        labels = self._snapshot.labels(node)
        for key, value in self._unwelcome:
            if labels.get(key) == value:
                yield "unwelcome", key
        for key, value in self._apart:
            if labels.get(key) == value:
                yield "pod_anti_affinity", key
        for term in self._shape.near:
            value_here = labels.get(term.topology_key)
            if value_here is None or (
                not self.starts_itself and (term.topology_key, value_here) not in self._near
            ):
                yield "pod_affinity", term.topology_key
                break
