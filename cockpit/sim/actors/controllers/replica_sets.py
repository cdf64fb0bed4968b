"""The ReplicaSet controller (component `replicaset-controller`; pkg/controller/replicaset).

Not modelled: pods without an owner are not adopted.
"""

from collections.abc import Iterable

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller, pod_of_template
from cockpit.sim.actors.controllers.trees import (
    condition_of,
    is_active,
    is_deleting,
    is_ready,
    is_terminating,
    key_of,
    ready_since_seconds,
    removal_order,
    without_empty,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import REPLICA_SETS
from cockpit.sim.times import rfc3339

_MOST_PER_ROUND = 500


class ReplicaSets(Controller):
    """Keeps as many pods as a ReplicaSet wants, and counts them."""

    name = "replicaset-controller"
    watches = (REPLICA_SETS, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._pods = Children(("ReplicaSet",))

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == REPLICA_SETS:
            yield key_of(change.tree)
            return
        owner = self._pods.take(change)
        if owner is not None:
            yield (change.tree["metadata"]["namespace"], owner["name"])

    async def reconcile(self, key: Key) -> None:
        tree = self.engine.cache(REPLICA_SETS).get(*key)
        if tree is None:
            return
        active = [pod for pod in self._pods.of(tree) if is_active(pod)]
        refusal: PortError | None = None
        if not is_deleting(tree):
            try:
                await self._manage(tree, active)
            except PortError as error:
                refusal = error
        await self.write_status(REPLICA_SETS, tree, self._status(tree, active, refusal))
        if refusal is not None:
            raise refusal
        self._look_again_when_available(tree, active)

    async def _manage(self, tree: Tree, active: list[Tree]) -> None:
        wanted = replicas_of(tree)
        for _ in range(min(wanted - len(active), _MOST_PER_ROUND)):
            await self.create_pod(tree, pod_of_template(tree, tree["spec"]["template"]), self._pods)
        surplus = len(active) - wanted
        if surplus > 0:
            for pod in self._removal_order(tree, active)[: min(surplus, _MOST_PER_ROUND)]:
                await self.delete_pod(tree, pod)

    def _removal_order(self, tree: Tree, active: list[Tree]) -> list[Tree]:
        """First the pods that come first anyway; among equals those that share a node with siblings."""
        on_node: dict[str, int] = {}
        for pod in active:
            node = pod["spec"].get("nodeName", "")
            on_node[node] = on_node.get(node, 0) + 1

        def order(pod: Tree) -> tuple[object, ...]:
            head = removal_order(pod)
            return (*head[:4], -on_node[pod["spec"].get("nodeName", "")], *head[4:])

        return sorted(active, key=order)

    def _status(self, tree: Tree, active: list[Tree], refusal: PortError | None) -> Tree:
        """Counts as of the pods that were there when this round began."""
        now = self.engine.now()
        labels = tree["spec"]["template"].get("metadata", {}).get("labels") or {}
        minimum = tree["spec"].get("minReadySeconds", 0)
        full = [pod for pod in active if labels.items() <= (pod["metadata"].get("labels") or {}).items()]
        counts: Tree = {
            "replicas": len(active),
            "fullyLabeledReplicas": len(full),
            "readyReplicas": sum(map(is_ready, active)),
            "availableReplicas": sum(is_available(pod, minimum, now) for pod in active),
            "terminatingReplicas": sum(map(is_terminating, self._pods.of(tree))),
            "observedGeneration": tree["metadata"].get("generation", 0),
            "conditions": self._conditions(tree, active, refusal),
        }
        return without_empty(counts, keep=("replicas", "terminatingReplicas"))

    def _conditions(self, tree: Tree, active: list[Tree], refusal: PortError | None) -> list[Tree]:
        held = condition_of(tree, "ReplicaFailure")
        others = [c for c in tree.get("status", {}).get("conditions") or () if c["type"] != "ReplicaFailure"]
        if refusal is None:
            return others
        if held is not None:
            return [*others, held]
        failed = "FailedCreate" if len(active) < replicas_of(tree) else "FailedDelete"
        return [
            *others,
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": failed,
                "message": refusal.message,
                "lastTransitionTime": rfc3339(self.engine.now()),
            },
        ]

    def _look_again_when_available(self, tree: Tree, active: list[Tree]) -> None:
        minimum = tree["spec"].get("minReadySeconds", 0)
        if not minimum:
            return
        waits = [
            since + minimum - self.engine.now()
            for pod in active
            if (since := ready_since_seconds(pod)) is not None
        ]
        due = [wait for wait in waits if wait > 0]
        if due:
            self.engine.after(min(due), self, key_of(tree))


def replicas_of(tree: Tree) -> int:
    """`spec.replicas`, 1 where it is not set."""
    return int(tree["spec"].get("replicas", 1))


def is_available(pod: Tree, minimum_seconds: float, now: float) -> bool:
    """True when the pod has been ready for at least that long."""
    if not is_ready(pod):
        return False
    if not minimum_seconds:
        return True
    since = ready_since_seconds(pod)
    return since is not None and since + minimum_seconds <= now
