"""Everything the scheduler knows, kept up to date change by change: nodes with their pods, storage, budgets.

Every change of a node is written to a log, so that what was computed for a kind of pod (`shapes`) is mended
for the nodes that changed and not computed anew.
"""

from collections import Counter
from typing import Generic, TypeVar

from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import Tree

_LEAST_KEPT = 4096
T = TypeVar("T")


class ChangeLog(Generic[T]):
    """What happened, for readers that remember how far they have read; old entries are cut off."""

    def __init__(self) -> None:
        self._entries: list[T] = []
        self._start = 0

    @property
    def end(self) -> int:
        """The position behind the last entry."""
        return self._start + len(self._entries)

    def add(self, entry: T, keep: int) -> None:
        """Append; at least `keep` entries and some thousands stay readable."""
        self._entries.append(entry)
        if len(self._entries) > 2 * (_LEAST_KEPT + keep):
            half = len(self._entries) // 2
            del self._entries[:half]
            self._start += half

    def since(self, position: int) -> list[T] | None:
        """Entries behind `position`; None when some of them were cut off."""
        if position < self._start:
            return None
        return self._entries[position - self._start :]


class SchedulerCache:
    """Nodes, assigned pods (also those assumed to be), nominations, and the objects filters ask for."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.pods: dict[str, PodInfo] = {}
        self.spaces: dict[str, dict[str, PodInfo]] = {}
        self.keeping_away: dict[str, PodInfo] = {}
        self.nominated: dict[str, dict[str, PodInfo]] = {}
        self.namespaces: dict[str, dict[str, str]] = {}
        self.claims: dict[tuple[str, str], Tree] = {}
        self.volumes: dict[str, Tree] = {}
        self.classes: dict[str, Tree] = {}
        self.device_claims: dict[tuple[str, str], Tree] = {}
        self.device_classes: dict[str, Tree] = {}
        self.budgets: dict[tuple[str, str], Tree] = {}
        self.claim_users: Counter[tuple[str, str]] = Counter()
        self.version = 0
        self.layout = 0
        """Changes when nodes come, go or are labelled or tainted otherwise, and with labels of namespaces."""
        self.changed: ChangeLog[str] = ChangeLog()
        """Names of nodes that changed, or on which pods did."""
        self.moves: ChangeLog[tuple[PodInfo, NodeInfo, int]] = ChangeLog()
        """Pods that came to (1) or left (-1) a node."""
        self._waiting: dict[str, dict[str, PodInfo]] = {}

    def touch(self, node: str = "") -> None:
        """Note that something changed; `node` when it was that one."""
        self.version += 1
        if node:
            self.changed.add(node, 4 * len(self.nodes))

    def put_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """Note a namespace's labels; None when it is gone."""
        before = self.namespaces.get(name)
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        if before != labels:
            self.layout += 1
            self.touch()

    def put_node(self, tree: Tree) -> None:
        """Add or update a node; pods that named it before it was there are counted."""
        name = tree["metadata"]["name"]
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = NodeInfo(tree)
            for pod in self._waiting.pop(name, {}).values():
                node.add(pod)
            self.layout += 1
        else:
            before = (node.labels, node.taints, node.soft_taints)
            node.put(tree)
            if before != (node.labels, node.taints, node.soft_taints):
                self.layout += 1
        self.touch(name)

    def drop_node(self, name: str) -> None:
        """Forget a node; its pods are kept for the case that it returns."""
        node = self.nodes.pop(name, None)
        if node is not None:
            if node.pods:
                self._waiting[name] = dict(node.pods)
            self.layout += 1
            self.touch(name)

    def put_pod(self, pod: PodInfo) -> None:
        """Count an assigned pod, or count it anew after a change."""
        before = self.pods.get(pod.uid)
        if before is not None:
            self.drop_pod(pod.uid)
        self.pods[pod.uid] = pod
        self.spaces.setdefault(pod.namespace, {})[pod.uid] = pod
        if pod.anti_affinity:
            self.keeping_away[pod.uid] = pod
        for claim, _ in pod.claims:
            self.claim_users[(pod.namespace, claim)] += 1
        node = self.nodes.get(pod.node)
        if node is not None:
            node.add(pod)
            self.moves.add((pod, node, 1), len(self.nodes))
        else:
            self._waiting.setdefault(pod.node, {})[pod.uid] = pod
        self.touch(pod.node)

    def drop_pod(self, uid: str) -> PodInfo | None:
        """Count an assigned pod out; answers what it was."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return None
        self.spaces[pod.namespace].pop(uid, None)
        self.keeping_away.pop(uid, None)
        for claim, _ in pod.claims:
            self.claim_users[(pod.namespace, claim)] -= 1
        node = self.nodes.get(pod.node)
        if node is not None:
            node.remove(uid)
            self.moves.add((pod, node, -1), len(self.nodes))
        elif (held := self._waiting.get(pod.node)) is not None:
            held.pop(uid, None)
            if not held:
                del self._waiting[pod.node]
        self.touch(pod.node)
        return pod

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Note on which node victims leave for `pod`; "" withdraws it."""
        for name in [name for name, pods in self.nominated.items() if pod.uid in pods]:
            if name == node:
                self.nominated[name][pod.uid] = pod
                return
            del self.nominated[name][pod.uid]
            if not self.nominated[name]:
                del self.nominated[name]
            self.touch()
        if node:
            self.nominated.setdefault(node, {})[pod.uid] = pod
            self.touch()

    def nominated_above(self, node: str, pod: PodInfo) -> list[PodInfo]:
        """Pods of the same or a higher priority for which `node` is being emptied, other than `pod`."""
        held = self.nominated.get(node)
        if not held:
            return []
        return [p for p in held.values() if p.priority >= pod.priority and p.uid != pod.uid]
