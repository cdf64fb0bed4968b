"""One node as the scheduler counts it, kept up to date pod by pod, and the filters that need no other node.

The order and the wording are those of kube-scheduler 1.36's default plugins: NodeUnschedulable, NodeName,
TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from cockpit.sim.actors.scheduler.podinfo import Amounts, PodInfo, Port, amounts
from cockpit.sim.actors.scheduler.selectors import tolerates
from cockpit.sim.actors.scheduler.verdict import (
    WORDS_1_36,
    Code,
    Status,
    Words,
    unresolvable,
    unschedulable,
)
from cockpit.sim.port import Tree

CORDON = ("node.kubernetes.io/unschedulable", "", "NoSchedule")
_HARD = ("NoSchedule", "NoExecute")
_ANY = "0.0.0.0"

Taint = tuple[str, str, str]
"""Key, value, effect."""

UNSCHEDULABLE = unresolvable("NodeUnschedulable", "node(s) were unschedulable")
OTHER_NAME = unresolvable("NodeName", "node(s) didn't match the requested node name")
TAINTED = unresolvable("TaintToleration", "node(s) had untolerated taint(s)")
OTHER_LABELS = unresolvable("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
PORTS_TAKEN = unschedulable("NodePorts", "node(s) didn't have free ports for the requested pod ports")


class NodeInfo:
    """A node and the pods on it. Changed only by `World` and by trials on a `copy`."""

    __slots__ = (
        "allocatable",
        "is_cordoned",
        "labels",
        "lowest",
        "most_pods",
        "name",
        "pods",
        "ports",
        "requested",
        "scored_cpu",
        "scored_memory",
        "soft_taints",
        "taints",
        "tree",
    )  # fmt: skip

    def __init__(self, tree: Tree) -> None:
        self.name: str = tree["metadata"]["name"]
        self.requested: Amounts = {}
        self.scored_cpu = 0
        self.scored_memory = 0
        self.ports: Counter[Port] = Counter()
        self.pods: dict[str, PodInfo] = {}
        self.lowest: int | None = None
        self.put(tree)

    def put(self, tree: Tree) -> None:
        """Take over the node's own part."""
        spec = tree.get("spec") or {}
        self.tree = tree
        self.labels: Mapping[str, str] = tree["metadata"].get("labels") or {}
        taints: list[Taint] = [
            (t["key"], t.get("value") or "", t.get("effect") or "") for t in spec.get("taints") or ()
        ]
        self.taints = [taint for taint in taints if taint[2] in _HARD]
        self.soft_taints = [taint for taint in taints if taint[2] == "PreferNoSchedule"]
        self.is_cordoned = bool(spec.get("unschedulable"))
        self.allocatable = amounts((tree.get("status") or {}).get("allocatable"))
        self.most_pods = self.allocatable.get("pods", 0)

    def add(self, pod: PodInfo) -> None:
        """Count a pod in; one that is there already is replaced."""
        self.remove(pod.uid)
        self.pods[pod.uid] = pod
        for name, value in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + value
        self.scored_cpu += pod.scored_cpu
        self.scored_memory += pod.scored_memory
        self.ports.update(pod.ports)
        if self.lowest is not None:
            self.lowest = min(self.lowest, pod.priority)

    def remove(self, uid: str) -> None:
        """Count a pod out; nothing happens when it is not there."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        for name, value in pod.requests.items():
            self.requested[name] -= value
        self.scored_cpu -= pod.scored_cpu
        self.scored_memory -= pod.scored_memory
        self.ports.subtract(pod.ports)
        self.lowest = None

    def has_below(self, priority: int) -> bool:
        """True when some pod here has a lower priority."""
        if not self.pods:
            return False
        if self.lowest is None:
            self.lowest = min(pod.priority for pod in self.pods.values())
        return self.lowest < priority

    def copy(self) -> "NodeInfo":
        """The same node for a trial: adding and removing pods there changes nothing here."""
        other: NodeInfo = object.__new__(NodeInfo)
        for name in NodeInfo.__slots__:
            setattr(other, name, getattr(self, name))
        other.requested = dict(self.requested)
        other.ports = Counter(self.ports)
        other.pods = dict(self.pods)
        return other


def untolerated(taints: Iterable[Taint], pod: PodInfo) -> Taint | None:
    """The first taint that nothing in the pod covers."""
    for taint in taints:
        if not any(tolerates(toleration, taint) for toleration in pod.tolerations):
            return taint
    return None


def matches_labels(pod: PodInfo, name: str, labels: Mapping[str, str]) -> bool:
    """nodeSelector and required node affinity."""
    for key, value in pod.node_selector.items():
        if labels.get(key) != value:
            return False
    return pod.node_terms is None or pod.node_terms.matches(name, labels)


def _clashes(wanted: Port, taken: Mapping[Port, int]) -> bool:
    address, protocol, number = wanted
    if address == _ANY:
        return any(n and p == protocol and port == number for (_, p, port), n in taken.items())
    return bool(taken.get(wanted) or taken.get((_ANY, protocol, number)))


def insufficient(pod: PodInfo, node: NodeInfo) -> Status | None:
    """NodeResourcesFit; what even the empty node could not give is beyond preemption."""
    reasons: list[str] = []
    code = Code.UNSCHEDULABLE
    if len(node.pods) + 1 > node.most_pods:
        reasons.append("Too many pods")
    for name, wanted in pod.requests.items():
        capacity = node.allocatable.get(name, 0)
        if wanted > capacity - node.requested.get(name, 0):
            reasons.append(f"Insufficient {name}")
            if wanted > capacity:
                code = Code.UNRESOLVABLE
    return Status(code, "NodeResourcesFit", tuple(reasons)) if reasons else None


def look_alone(pod: PodInfo, node: NodeInfo, words: Words = WORDS_1_36) -> Status | None:
    """The filters that look at this node alone, in order; the first refusal counts."""
    if node.is_cordoned and not any(tolerates(t, CORDON) for t in pod.tolerations):
        return UNSCHEDULABLE
    if pod.node and pod.node != node.name:
        return OTHER_NAME
    if node.taints and (taint := untolerated(node.taints, pod)) is not None:
        if not words.names_taints:
            return TAINTED
        return unresolvable("TaintToleration", f"node(s) had untolerated taint {{{taint[0]}: {taint[1]}}}")
    if (pod.node_selector or pod.node_terms is not None) and not matches_labels(pod, node.name, node.labels):
        return OTHER_LABELS
    if pod.ports and any(_clashes(port, node.ports) for port in pod.ports):
        return PORTS_TAKEN
    return insufficient(pod, node)
