"""One pod as the scheduler counts it: requests, ports, tolerations, affinity, parsed once."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from cockpit.model.quantity import millicores, whole
from cockpit.sim.actors.scheduler.selectors import NodeTerms, Selector, names_required
from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

_FIRST = ("cpu", "memory", "ephemeral-storage")
_POD_LEVEL = ("cpu", "memory")
UNSTATED_MILLICORES = 100
UNSTATED_BYTES = 200 * 1024 * 1024
"""What scoring takes for a container without a request (pkg/scheduler/util/pod_resources.go)."""
Amounts = dict[str, int]


def amounts(stated: Mapping[str, Any] | None) -> Amounts:
    """Quantities in base units; CPU in thousandths of a core."""
    return {
        name: millicores(str(value)) if name == "cpu" else whole(str(value))
        for name, value in (stated or {}).items()
    }


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _largest(total: Amounts, other: Mapping[str, int]) -> None:
    for name, value in other.items():
        total[name] = max(total.get(name, 0), value)


def _asked(container: Tree) -> Amounts:
    """Requests; a limit stands for a request that is not stated, as the API server's defaults have it."""
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def pod_requests(spec: Tree, floor: Mapping[str, int] | None = None) -> Amounts:
    """What the pod asks of a node: containers and sidecars together, at least each init container's phase.

    `floor` is what a container without a statement counts as. Source: component-helpers/resource.
    """
    floor = floor or {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, {**floor, **_asked(container)})
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = {**floor, **_asked(container)}
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _largest(starting, sidecars)
        else:
            _add(asked, sidecars)
            _largest(starting, asked)
    _largest(total, starting)
    whole_pod = amounts((spec.get("resources") or {}).get("requests"))
    for name, value in whole_pod.items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = value
    _add(total, amounts(spec.get("overhead")))
    return total


class Term(NamedTuple):
    """One required (anti-)affinity term: which pods, in which namespaces, within which topology."""

    key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, labels: Mapping[str, str], namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """True when a pod with these labels in this namespace is meant."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(labels)
        return False


class Spread(NamedTuple):
    """One hard topology spread constraint."""

    key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honors_affinity: bool
    honors_taints: bool


Port = tuple[str, str, int]
"""Host address, protocol, port."""


class PodInfo:
    """A parsed pod.

    `shape` is equal for pods that look the same to every filter of one node alone, `standing` for pods that
    stand in the same relation to other pods.
    """

    __slots__ = (
        "affinity",
        "anti_affinity",
        "claims",
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
        self.ports = host_ports(spec)

    def _place(self, spec: Tree) -> None:
        self.tolerations = [
            (t.get("key") or "", t.get("operator") or "", t.get("value") or "", t.get("effect") or "")
            for t in spec.get("tolerations") or ()
        ]
        self.node_selector: dict[str, str] = spec.get("nodeSelector") or {}
        node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        terms = (required or {}).get("nodeSelectorTerms") or ()
        self.node_terms = None if required is None else NodeTerms(terms)
        self.node_names = names_required(terms) if terms else None
        self.preferred = [
            (each.get("weight", 0), NodeTerms([each.get("preference") or {}]))
            for each in node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ]

    def _terms(self, affinity: Tree | None) -> list[Term]:
        required = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        return [self._term(term) for term in required]

    def _term(self, term: Tree) -> Term:
        named = term.get("namespaces") or ()
        selector = term.get("namespaceSelector")
        own = (self.namespace,) if not named and selector is None else named
        return Term(
            term["topologyKey"], Selector(term.get("labelSelector")), frozenset(own), Selector(selector)
        )

    def _spread(self, each: Tree) -> Spread:
        also = {key: self.labels[key] for key in each.get("matchLabelKeys") or () if key in self.labels}
        return Spread(
            each["topologyKey"],
            each.get("maxSkew", 1),
            each.get("minDomains") or 1,
            Selector(each.get("labelSelector"), also),
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


def start_of(tree: Tree) -> float:
    """When the pod started, for choosing victims; a pod that has not counts as the youngest."""
    text = (tree.get("status") or {}).get("startTime")
    return seconds_of(text) if text else float("inf")


def host_ports(spec: Tree) -> list[Port]:
    """Ports that the pod takes on its node: those of containers and sidecars."""
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in (*sidecars, *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


def _ordered(total: Amounts) -> Iterable[tuple[str, int]]:
    """CPU, memory and local storage first, as NodeResourcesFit looks at them."""
    for name in _FIRST:
        if name in total:
            yield name, total[name]
    yield from sorted((name, value) for name, value in total.items() if name not in _FIRST)
