"""What goes by itself: finished Jobs with a time to live, pods of nodes that are gone, old events."""

from collections.abc import Iterable

from cockpit.kube.resource import EVENTS, JOBS, NODES, PODS
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.job.round import is_finished
from cockpit.sim.actors.controllers.trees import is_deleting, is_ended, key_of, set_condition, uid_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.times import seconds_of

_ROUND: Key = ("round",)
_ROUND_SECONDS = 20.0
_QUARANTINE_SECONDS = 40.0
EVENT_SECONDS = 3600.0
_EVENT_ROUND_SECONDS = 60.0


class FinishedJobs(Controller):
    """Deletes a Job `ttlSecondsAfterFinished` after its end (pkg/controller/ttlafterfinished)."""

    name = "ttl-after-finished-controller"
    watches = (JOBS,)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        tree = change.tree
        if change.type is not ChangeType.DELETED and tree["spec"].get("ttlSecondsAfterFinished") is not None:
            yield key_of(tree)

    async def reconcile(self, key: Key) -> None:
        job = self.engine.cache(JOBS).get(*key)
        if job is None or is_deleting(job) or not is_finished(job):
            return
        limit = job["spec"].get("ttlSecondsAfterFinished")
        if limit is None:
            return
        end = next(
            c["lastTransitionTime"]
            for c in job["status"]["conditions"]
            if c["type"] in ("Complete", "Failed") and c["status"] == "True"
        )
        left = seconds_of(end) + limit - self.engine.now()
        if left > 0:
            self.engine.after(left, self, key)
            return
        try:
            await self.engine.port.delete(JOBS, *key_of(job), uid=uid_of(job), propagation="Foreground")
        except PortError as error:
            if not error.is_gone:
                raise


class PodLeftovers(Controller):
    """Pods of nodes that are gone, and unscheduled pods that were deleted (pkg/controller/podgc)."""

    name = "pod-garbage-collector"
    watches = (NODES, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._on_node: dict[str, dict[tuple[str, str], None]] = {}
        self._missing: dict[str, float] = {}

    async def start(self) -> None:
        self.engine.soon(self, _ROUND)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == PODS:
            node = change.tree["spec"].get("nodeName")
            if node:
                held = self._on_node.setdefault(node, {})
                if change.type is ChangeType.DELETED:
                    held.pop(key_of(change.tree), None)
                    if not held:
                        del self._on_node[node]
                else:
                    held[key_of(change.tree)] = None
        return ()

    async def reconcile(self, key: Key) -> None:
        self.engine.after(_ROUND_SECONDS, self, _ROUND)
        now, nodes = self.engine.now(), self.engine.cache(NODES)
        gone = [name for name in self._on_node if nodes.get("", name) is None]
        self._missing = {name: self._missing.get(name, now) for name in gone}
        for name, since in list(self._missing.items()):
            if now - since >= _QUARANTINE_SECONDS:
                for namespace, pod_name in list(self._on_node.get(name, {})):
                    pod = self.engine.cache(PODS).get(namespace, pod_name)
                    if pod is not None:
                        await self._remove(pod)

    async def _remove(self, pod: Tree) -> None:
        """Fail the pod, say why, and delete it without grace: no kubelet is left to do it."""
        namespace, name = key_of(pod)
        status: Tree = {}
        if not is_ended(pod):
            conditions = [dict(c) for c in pod.get("status", {}).get("conditions") or ()]
            set_condition(
                conditions,
                "DisruptionTarget",
                "True",
                reason="DeletionByPodGC",
                message="PodGC: node no longer exists",
                now=self.engine.now(),
            )
            status = {"phase": "Failed", "conditions": conditions}
        try:
            if status:
                patch = {"metadata": {"uid": uid_of(pod)}, "status": status}
                await self.engine.port.patch(PODS, namespace, name, patch, subresource="status")
            await self.engine.port.delete(PODS, namespace, name, uid=uid_of(pod), grace_seconds=0)
        except PortError as error:
            if not error.is_gone:
                raise


class OldEvents(Controller):
    """Events go an hour after they were written last, as etcd's leases do it for the real API server."""

    name = "event-ttl"
    watches = (EVENTS,)

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[tuple[str, str], float] = {}
        """Event -> when it was written last, oldest first."""

    async def start(self) -> None:
        self.engine.soon(self, _ROUND)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        key = key_of(change.tree)
        self._written.pop(key, None)
        if change.type is not ChangeType.DELETED:
            self._written[key] = self.engine.now()
        return ()

    async def reconcile(self, key: Key) -> None:
        self.engine.after(_EVENT_ROUND_SECONDS, self, _ROUND)
        limit = self.engine.now() - EVENT_SECONDS
        while self._written:
            (namespace, name), at = next(iter(self._written.items()))
            if at > limit:
                return
            del self._written[(namespace, name)]
            try:
                await self.engine.port.delete(EVENTS, namespace, name)
            except PortError as error:
                if not error.is_gone:
                    raise
