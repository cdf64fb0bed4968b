"""Eviction by NoExecute taints (component `taint-eviction-controller`; pkg/controller/tainteviction)."""

from collections.abc import Iterable

from cockpit.k8s.tolerations import taint_of, tolerates, toleration_of
from cockpit.kube.resource import NODES, PODS
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.nodes.placed import PlacedPods
from cockpit.sim.actors.controllers.nodes.taints import taints_of
from cockpit.sim.actors.controllers.trees import is_deleting, key_of, set_condition, uid_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree

_FOREVER = -1.0


class TaintEviction(Controller):
    """Deletes pods that do not tolerate a NoExecute taint, or no longer."""

    name = "taint-eviction-controller"
    watches = (NODES, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._pods = PlacedPods()
        self._due: dict[tuple[str, str], tuple[float, float]] = {}
        """Pod -> (when its time began, when it is up)."""

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == PODS:
            node = self._pods.take(change)
            key = key_of(change.tree)
            if change.type is ChangeType.DELETED:
                if key in self._due:
                    yield key
            elif node and self._is_news(change.tree, before):
                tree = self.engine.cache(NODES).get("", node)
                if tree is not None and _no_execute(tree):
                    yield key
            return
        held = [] if before is None else _no_execute(before)
        found = [] if change.type is ChangeType.DELETED else _no_execute(change.tree)
        if held != found:
            for pod in self._pods.on(change.tree["metadata"]["name"]):
                yield key_of(pod)

    def _is_news(self, pod: Tree, before: Tree | None) -> bool:
        if before is None:
            return True
        old, new = before["spec"], pod["spec"]
        return (old.get("nodeName"), old.get("tolerations")) != (new.get("nodeName"), new.get("tolerations"))

    async def reconcile(self, key: Key) -> None:
        namespace, name = key
        pod = self.engine.cache(PODS).get(namespace, name)
        if pod is None:
            await self._cancel(namespace, name)
            return
        node = self.engine.cache(NODES).get("", pod["spec"].get("nodeName", ""))
        taints = [] if node is None else _no_execute(node)
        now = self.engine.now()
        left = _tolerated_seconds(pod, taints)
        if not taints or left == _FOREVER:
            await self._cancel(namespace, name)
            return
        held = self._due.get((namespace, name))
        begun = now if held is None else held[0]
        due = now if left == 0 else begun + left
        if due <= now:
            self._due.pop((namespace, name), None)
            await self._evict(pod)
            return
        if held is not None and held[1] > due:
            await self._cancel(namespace, name)
        self._due[(namespace, name)] = (begun, due)
        self.engine.after(due - now, self, key)

    async def _cancel(self, namespace: str, name: str) -> None:
        if self._due.pop((namespace, name), None) is not None:
            await self._tell(namespace, name, "Cancelling deletion of Pod")

    async def _evict(self, pod: Tree) -> None:
        if is_deleting(pod):
            return
        namespace, name = key_of(pod)
        await self._tell(namespace, name, "Marking for deletion Pod")
        conditions = [dict(c) for c in pod.get("status", {}).get("conditions") or ()]
        set_condition(
            conditions,
            "DisruptionTarget",
            "True",
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
            now=self.engine.now(),
        )
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": conditions}}
        try:
            await self.engine.port.patch(PODS, namespace, name, patch, subresource="status")
            await self.engine.port.delete(PODS, namespace, name, uid=uid_of(pod))
        except PortError as error:
            if not error.is_gone:
                raise

    async def _tell(self, namespace: str, name: str, what: str) -> None:
        # The real controller knows the pod by its name only: there is no uid in these events.
        about: Tree = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": namespace, "name": name},
        }
        await self.normal(about, "TaintManagerEviction", f"{what} {namespace}/{name}")


def _no_execute(node: Tree) -> list[Tree]:
    return [taint for taint in taints_of(node) if taint["effect"] == "NoExecute"]


def _tolerated_seconds(pod: Tree, taints: list[Tree]) -> float:
    """How long the pod may stay: 0 not at all, -1 for ever."""
    limits: list[float] = []
    tolerations = [(one, toleration_of(one)) for one in pod["spec"].get("tolerations") or ()]
    for taint in map(taint_of, taints):
        used = next((tree for tree, one in tolerations if tolerates(one, taint)), None)
        if used is None:
            return 0.0
        if used.get("tolerationSeconds") is not None:
            limits.append(max(0.0, float(used["tolerationSeconds"])))
    return min(limits, default=_FOREVER)
