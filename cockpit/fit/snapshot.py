"""The cluster as a placement sees it: nodes and pods of the store, and members that were put already."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.node import Node
from cockpit.model.record import Kind, Labels
from cockpit.model.scheduling import HostPort, PodTerm
from cockpit.model.store_reader import StoreReader

UNBOUNDED = 1 << 62
_FINISHED = ("Succeeded", "Failed")
_NOTHING: Mapping[str, int] = {}


class Present(NamedTuple):
    """`members` pods that are alike, bound to a node or put there in thought."""

    namespace: str
    labels: Labels
    node: str
    members: int = 1
    is_leaving: bool = False


def _unstated(node: Node, name: str) -> int:
    """A record without a list of amounts may still tell its GPUs; of the rest nothing is known."""
    if not is_gpu_resource(name):
        return UNBOUNDED
    is_own = not node.gpu_resource or node.gpu_resource == name
    return (node.gpu_allocatable or 0) if is_own else 0


class ClusterSnapshot:
    """Store and surroundings, and the members that this fit has put on nodes so far."""

    def __init__(self, store: StoreReader, surroundings: Surroundings = UNKNOWN) -> None:
        self.store = store
        self.around = surroundings
        self.nodes: dict[str, Node] = {record.name: record for record in store.records(Kind.NODE).values()}
        self.put: list[tuple[Shape, str, int]] = []
        self._taken: dict[str, dict[str, int]] = {}
        self._labels: dict[str, dict[str, str]] = {}

    def labels(self, node: str) -> Mapping[str, str]:
        """Labels of a node; made once."""
        found = self._labels.get(node)
        if found is None:
            record = self.nodes.get(node)
            found = self._labels[node] = dict(record.labels) if record else {}
        return found

    def place(self, shape: Shape, node: str, count: int) -> None:
        """Members of an earlier part are there for the parts that follow."""
        self.put.append((shape, node, count))
        taken = self._taken.setdefault(node, {})
        for name, each in (*shape.requests, ("pods", 1)):
            taken[name] = taken.get(name, 0) + each * count

    def unplace(self, times: int) -> None:
        """Take the last placings back."""
        for _ in range(times):
            shape, node, count = self.put.pop()
            taken = self._taken[node]
            for name, each in (*shape.requests, ("pods", 1)):
                taken[name] -= each * count

    def free(self, node: Node, names: Iterable[str]) -> list[int]:
        """What is left of each resource; UNBOUNDED where a record states no amounts. May be negative."""
        offered = dict(node.allocatable)
        cpu, memory, _, pods = self.store.requests_on(node.name)
        held = self.store.named_requests_on(node.name)
        unnamed = held.get("", 0)  # of records that do not name their GPU resource
        taken = self._taken.get(node.name, _NOTHING)
        out: list[int] = []
        for name in names:
            if name == "cpu":
                used = cpu
            elif name == "memory":
                used = memory
            elif name == "pods":
                used = pods
            else:
                used = held.get(name, 0)
                if unnamed and is_gpu_resource(name):
                    used += unnamed
            if taken:
                used += taken.get(name, 0)
            out.append((offered.get(name, 0) if offered else _unstated(node, name)) - used)
        return out

    def present(self, namespaces: Collection[str] | None = None) -> Iterator[Present]:
        """Every pod that is on a node and not finished, and members put there; None: of all namespaces."""
        for pod in self.store.records(Kind.POD).values():
            if namespaces is not None and pod.namespace not in namespaces:
                continue
            if pod.node and pod.phase not in _FINISHED:
                yield Present(pod.namespace, pod.traits.labels, pod.node, 1, pod.deleting_seconds is not None)
        for shape, node, count in self.put:
            if namespaces is None or shape.namespace in namespaces:
                yield Present(shape.namespace, shape.labels, node, count)

    def keeping_away(self) -> Iterator[tuple[PodTerm, str]]:
        """Required anti-affinity terms of pods that are there, with the node of each."""
        for pod in self.store.restrictive_pods():
            if pod.node and not pod.is_finished:
                for term in pod.traits.keeps_away:
                    yield term, pod.node
        for shape, node, _ in self.put:
            for term in shape.keeps_away:
                yield term, node

    def ports_held(self) -> dict[str, list[HostPort]]:
        """Host ports in use, by node."""
        found: dict[str, list[HostPort]] = {}
        for pod in self.store.restrictive_pods():
            if pod.node and not pod.is_finished and pod.traits.host_ports:
                found.setdefault(pod.node, []).extend(pod.traits.host_ports)
        for shape, node, _ in self.put:
            if shape.host_ports:
                found.setdefault(node, []).extend(shape.host_ports)
        return found

    def claims_used(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Namespace, node and claims of every pod that is on a node and not finished, and of members put
        there."""
        for pod in self.store.records(Kind.POD).values():
            if pod.traits.claims and pod.node and pod.phase not in _FINISHED:
                yield pod.namespace, pod.node, pod.traits.claims
        yield from ((shape.namespace, node, shape.claims) for shape, node, _ in self.put)

    def claim_users(self, namespace: str, claim: str) -> int:
        """Pods that use a claim now, leaving ones too."""
        users = sum(
            1
            for pod in self.store.records(Kind.POD).values()
            if pod.namespace == namespace
            and claim in pod.traits.claims
            and pod.node
            and pod.phase not in _FINISHED
        )
        return users + sum(
            count for shape, _, count in self.put if shape.namespace == namespace and claim in shape.claims
        )

    def priority(self, shape: Shape) -> int | None:
        """The number behind the shape's priority; None where its class is not known from anywhere."""
        if shape.priority is not None:
            return shape.priority
        known = self.around.priorities
        if not shape.priority_class:
            return 0 if known is None else known.get("", 0)
        if known is not None and shape.priority_class in known:
            return known[shape.priority_class]
        for pod in self.store.records(Kind.POD).values():
            if pod.priority_class == shape.priority_class and pod.priority is not None:
                return int(pod.priority)
        return None
