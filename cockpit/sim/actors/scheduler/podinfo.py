"""One pod as the scheduler counts it: requests, ports, tolerations, affinity, parsed once."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from cockpit.k8s.host_ports import host_ports_of
from cockpit.k8s.node_affinity import (
    PREFERRED,
    REQUIRED,
    NodeTerms,
    names_required,
    node_term_of,
    required_terms_of,
)
from cockpit.k8s.pod_requests import pod_requests
from cockpit.k8s.selectors import LabelSelector, selector_of
from cockpit.k8s.tolerations import tolerations_of
from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

_FIRST = ("cpu", "memory", "ephemeral-storage")
UNSTATED_MILLICORES = 100
UNSTATED_BYTES = 200 * 1024 * 1024
"""What scoring takes for a container without a request (pkg/scheduler/util/pod_resources.go)."""
Amounts = dict[str, int]


class AffinityTerm(NamedTuple):
    """One required (anti-)affinity term: which pods, in which namespaces, within which topology."""

    key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector

    def matches(self, labels: Mapping[str, str], namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """True when a pod with these labels in this namespace is meant."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(labels)
        return False


class SpreadConstraint(NamedTuple):
    """One hard topology spread constraint."""

    key: str
    max_skew: int
    min_domains: int
    selector: LabelSelector
    honors_affinity: bool
    honors_taints: bool


class PodInfo:
    """A parsed pod.

    `shape` is equal for pods that look the same to every filter of one node alone, `standing` for pods that
    stand in the same relation to other pods.
    """

    __slots__ = (
        "affinity",
        "anti_affinity",
        "claims",
        "device_claims",
        "is_leaving",
        "key",
        "labels",
        "name",
        "namespace",
        "node",
        "node_names",
        "node_selector",
        "node_terms",
        "ports",
        "preferred",
        "priority",
        "requests",
        "scored_cpu",
        "scored_memory",
        "shape",
        "spreads",
        "standing",
        "started",
        "tolerations",
        "tree",
        "uid",
        "volumes",
    )  # fmt: skip

    def __init__(self, tree: Tree) -> None:
        metadata, spec = tree["metadata"], tree["spec"]
        self.tree = tree
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.key = (self.namespace, self.name)
        self.uid: str = metadata.get("uid") or f"{self.namespace}/{self.name}"
        self.labels: dict[str, str] = metadata.get("labels") or {}
        self.priority: int = spec.get("priority") or 0
        self.node: str = spec.get("nodeName") or ""
        self.is_leaving = bool(metadata.get("deletionTimestamp"))
        self.started = start_of(tree)
        self._ask(spec)
        self._place(spec)
        affinity = spec.get("affinity") or {}
        self.affinity = self._terms(affinity.get("podAffinity"))
        self.anti_affinity = self._terms(affinity.get("podAntiAffinity"))
        self.spreads = [
            self._spread(each)
            for each in spec.get("topologySpreadConstraints") or ()
            if each.get("whenUnsatisfiable") == "DoNotSchedule"
        ]
        self.volumes: list[Tree] = spec.get("volumes") or []
        self.claims = [claim for claim in map(self._claim, self.volumes) if claim]
        self.device_claims = _device_claims(tree)
        self.standing = msgspec.json.encode(
            [self.namespace, self.labels, affinity, spec.get("topologySpreadConstraints")]
        )
        self.shape = msgspec.json.encode(
            [
                (self.requests, self.scored_cpu, self.scored_memory, self.ports, self.node),
                (self.tolerations, spec.get("nodeSelector"), affinity.get("nodeAffinity")),
            ]
        )

    def _ask(self, spec: Tree) -> None:
        self.requests = {name: value for name, value in _ordered(pod_requests(spec)) if value}
        floor = {"cpu": UNSTATED_MILLICORES, "memory": UNSTATED_BYTES}
        scored = pod_requests(spec, floor)
        self.scored_cpu = scored.get("cpu", 0)
        self.scored_memory = scored.get("memory", 0)
        self.ports = list(host_ports_of(spec))

    def _place(self, spec: Tree) -> None:
        self.tolerations = tolerations_of(spec.get("tolerations"))
        self.node_selector: dict[str, str] = spec.get("nodeSelector") or {}
        terms = required_terms_of(spec)
        self.node_terms = None if terms is None else NodeTerms(terms)
        self.node_names = names_required(terms) if terms else None
        node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        self.preferred = [
            (each.get("weight", 0), NodeTerms([node_term_of(each.get("preference") or {})]))
            for each in node_affinity.get(PREFERRED) or ()
        ]

    def _terms(self, affinity: Tree | None) -> list[AffinityTerm]:
        required = (affinity or {}).get(REQUIRED) or ()
        return [self._term(term) for term in required]

    def _term(self, term: Tree) -> AffinityTerm:
        named = term.get("namespaces") or ()
        selector = term.get("namespaceSelector")
        own = (self.namespace,) if not named and selector is None else named
        return AffinityTerm(
            term["topologyKey"],
            LabelSelector(selector_of(term.get("labelSelector"))),
            frozenset(own),
            LabelSelector(selector_of(selector)),
        )

    def _spread(self, each: Tree) -> SpreadConstraint:
        also = {key: self.labels[key] for key in each.get("matchLabelKeys") or () if key in self.labels}
        return SpreadConstraint(
            each["topologyKey"],
            each.get("maxSkew", 1),
            each.get("minDomains") or 1,
            LabelSelector(selector_of(each.get("labelSelector"), also)),
            each.get("nodeAffinityPolicy", "Honor") == "Honor",
            each.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )

    def _claim(self, volume: Tree) -> tuple[str, bool] | None:
        """Name of the volume's claim, and whether it is made for this pod alone."""
        if claim := volume.get("persistentVolumeClaim"):
            return (claim.get("claimName", ""), False)
        if volume.get("ephemeral"):
            return (f"{self.name}-{volume['name']}", True)
        return None

    def on(self, node: str) -> "PodInfo":
        """The same pod, as it will be on `node`."""
        other: PodInfo = object.__new__(PodInfo)
        for name in PodInfo.__slots__:
            setattr(other, name, getattr(self, name))
        other.node = node
        return other

    def renew(self, tree: Tree) -> None:
        """Take over a state that differs in nothing the scheduler counts."""
        self.tree = tree
        self.started = start_of(tree)

    @property
    def never_preempts(self) -> bool:
        """True with `preemptionPolicy: Never`."""
        return bool(self.tree["spec"].get("preemptionPolicy") == "Never")

    @property
    def nominated(self) -> str:
        """The node that is being emptied for this pod."""
        return str((self.tree.get("status") or {}).get("nominatedNodeName") or "")


def _device_claims(tree: Tree) -> tuple[str, ...]:
    """Names of the pod's ResourceClaims, "" for one that has yet to be made from its template."""
    asked = tree["spec"].get("resourceClaims")
    if not asked:
        return ()
    statuses = (tree.get("status") or {}).get("resourceClaimStatuses") or ()
    made = {status["name"]: status.get("resourceClaimName", "") for status in statuses}
    return tuple(claim.get("resourceClaimName") or made.get(claim["name"], "") for claim in asked)


def start_of(tree: Tree) -> float:
    """When the pod started, for choosing victims; a pod that has not counts as the youngest."""
    text = (tree.get("status") or {}).get("startTime")
    return seconds_of(text) if text else float("inf")


def _ordered(total: Amounts) -> Iterable[tuple[str, int]]:
    """CPU, memory and local storage first, as NodeResourcesFit looks at them."""
    for name in _FIRST:
        if name in total:
            yield name, total[name]
    yield from sorted((name, value) for name, value in total.items() if name not in _FIRST)
