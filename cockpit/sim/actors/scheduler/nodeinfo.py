"""One node as the scheduler counts it, kept up to date pod by pod, and the filters that need no other node.

The order and the wording are those of kube-scheduler 1.36's default plugins: NodeUnschedulable, NodeName,
TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit.
"""

from collections import Counter
from collections.abc import Mapping

from cockpit.k8s import labels as well_known
from cockpit.k8s.host_ports import collide
from cockpit.k8s.quantity import amounts_of
from cockpit.k8s.tolerations import HARD, is_tolerated, taint_of, untolerated
from cockpit.model.node import Taint
from cockpit.model.scheduling import HostPort
from cockpit.sim.actors.scheduler.podinfo import Amounts, PodInfo
from cockpit.sim.actors.scheduler.verdict import (
    Code,
    Status,
    unresolvable,
    unschedulable,
)
from cockpit.sim.port import Tree

CORDON = Taint(well_known.UNSCHEDULABLE, "", "NoSchedule")

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
        self.ports: Counter[HostPort] = Counter()
        self.pods: dict[str, PodInfo] = {}
        self.lowest: int | None = None
        self.put(tree)

    def put(self, tree: Tree) -> None:
        """Take over the node's own part."""
        spec = tree.get("spec") or {}
        self.tree = tree
        self.labels: Mapping[str, str] = tree["metadata"].get("labels") or {}
        taints = [taint_of(one) for one in spec.get("taints") or ()]
        self.taints = [taint for taint in taints if taint.effect in HARD]
        self.soft_taints = [taint for taint in taints if taint.effect == "PreferNoSchedule"]
        self.is_cordoned = bool(spec.get("unschedulable"))
        self.allocatable = amounts_of((tree.get("status") or {}).get("allocatable"))
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


def matches_labels(pod: PodInfo, name: str, labels: Mapping[str, str]) -> bool:
    """nodeSelector and required node affinity."""
    for key, value in pod.node_selector.items():
        if labels.get(key) != value:
            return False
    return pod.node_terms is None or pod.node_terms.matches(name, labels)


def _clashes(wanted: HostPort, taken: Mapping[HostPort, int]) -> bool:
    return any(count and collide(wanted, port) for port, count in taken.items())


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


def look_alone(pod: PodInfo, node: NodeInfo) -> Status | None:
    """The filters that look at this node alone, in order; the first refusal counts."""
    if node.is_cordoned and not is_tolerated(CORDON, pod.tolerations):
        return UNSCHEDULABLE
    if pod.node and pod.node != node.name:
        return OTHER_NAME
    if node.taints and untolerated(node.taints, pod.tolerations) is not None:
        return TAINTED
    if (pod.node_selector or pod.node_terms is not None) and not matches_labels(pod, node.name, node.labels):
        return OTHER_LABELS
    if pod.ports and any(_clashes(port, node.ports) for port in pod.ports):
        return PORTS_TAKEN
    return insufficient(pod, node)
