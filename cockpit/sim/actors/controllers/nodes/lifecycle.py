"""The node lifecycle controller (component `node-controller`): who is heard of no more, and its taints.

A node without a heartbeat (its lease, or a newer `lastHeartbeatTime`) for 40 s is Unknown. Its pods are no
longer ready, it gets NoSchedule at once and NoExecute one node in ten seconds per zone; nothing is evicted
while no node at all is ready. Source: pkg/controller/nodelifecycle.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from cockpit.k8s.labels import NOT_READY, UNREACHABLE
from cockpit.kube.resource import NODES, PODS
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.nodes.placed import PlacedPods
from cockpit.sim.actors.controllers.nodes.taints import is_of_condition, taints_of, wanted_no_schedule
from cockpit.sim.actors.controllers.trees import condition_of, created_seconds, is_ready, key_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import LEASES
from cockpit.sim.times import rfc3339

GRACE_SECONDS = 40.0
STARTUP_GRACE_SECONDS = 60.0
MONITOR_SECONDS = 5.0
_TAINT_SECONDS = 10.0
_TAINT_SECONDS_LARGE_PARTIAL = 100.0
_LARGE_ZONE = 50
_PARTIAL_SHARE = 0.55
_MONITOR: Key = ("monitor",)
_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_LEASE_NAMESPACE = "kube-node-lease"


@dataclass(slots=True)
class _Zone:
    """How a zone does, and when the next node in it may get a NoExecute taint (None: never)."""

    ready: int = 0
    unready: int = 0

    @property
    def is_dark(self) -> bool:
        return self.ready == 0 and self.unready > 0

    @property
    def pause_seconds(self) -> float | None:
        total = self.ready + self.unready
        if self.unready > 2 and self.unready / total >= _PARTIAL_SHARE and not self.is_dark:
            return _TAINT_SECONDS_LARGE_PARTIAL if total > _LARGE_ZONE else None
        return _TAINT_SECONDS


class NodeLifecycle(Controller):
    """Watches heartbeats and keeps the taints that follow from a node's conditions."""

    name = "node-controller"
    watches = (NODES, LEASES, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._pods = PlacedPods()
        self._heard: dict[str, float] = {}
        self._known: dict[str, Tree] = {}
        self._gone: list[Tree] = []
        self._next_taint: dict[str, float] = {}
        self._is_dark = False

    async def start(self) -> None:
        self.engine.soon(self, _MONITOR)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        metadata = change.tree["metadata"]
        if change.resource == PODS:
            node = self._pods.take(change)
            was_placed = before is not None and before["spec"].get("nodeName")
            if node and not was_placed and change.type is not ChangeType.DELETED:
                yield ("pod", metadata["namespace"], metadata["name"])
        elif change.resource == LEASES:
            if metadata.get("namespace") == _LEASE_NAMESPACE and change.type is not ChangeType.DELETED:
                self._heard[metadata["name"]] = self.engine.now()
        elif change.type is ChangeType.DELETED:
            self._heard.pop(metadata["name"], None)
            if metadata["name"] in self._known:
                self._gone.append(self._known.pop(metadata["name"]))
        else:
            if before is None or _heartbeat(before) != _heartbeat(change.tree):
                self._heard[metadata["name"]] = self.engine.now()
            if before is None or _tainting(before) != _tainting(change.tree):
                yield ("node", metadata["name"])

    async def reconcile(self, key: Key) -> None:
        if key == _MONITOR:
            self.engine.after(MONITOR_SECONDS, self, _MONITOR)
            await self._monitor()
        elif key[0] == "node":
            node = self.engine.cache(NODES).get("", key[1])
            if node is not None:
                await self._taint_no_schedule(node)
        else:
            await self._mark_new_pod(key[1], key[2])

    async def _monitor(self) -> None:
        for node in self._gone:
            name = node["metadata"]["name"]
            await self._tell_node(node, "RemovingNode", f"Removing Node {name} from Controller")
        self._gone.clear()
        zones: dict[str, _Zone] = {}
        for node in self.engine.cache(NODES):
            name = node["metadata"]["name"]
            if name not in self._known:
                await self._tell_node(node, "RegisteredNode", f"Registered Node {name} in Controller")
            self._known[name] = node
            zone = zones.setdefault(_zone_of(node), _Zone())
            try:
                status = await self._judge(node)
            except PortError as error:
                if not error.is_gone and not error.is_conflict:
                    raise
                continue
            if status == "True":
                zone.ready += 1
            elif status:
                zone.unready += 1
        await self._taint_no_execute(zones)

    async def _tell_node(self, node: Tree, reason: str, what: str) -> None:
        metadata = node["metadata"]
        about: Tree = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": metadata["name"], "uid": metadata.get("uid", "")},
        }
        await self.normal(about, reason, f"Node {metadata['name']} event: {what}")

    async def _judge(self, node: Tree) -> str:
        """Mark a silent node Unknown; answers the status of its condition Ready ("" without one)."""
        name, now = node["metadata"]["name"], self.engine.now()
        ready = condition_of(node, "Ready")
        grace = GRACE_SECONDS if ready is not None else STARTUP_GRACE_SECONDS
        heard = self._heard.setdefault(name, now if ready is not None else created_seconds(node))
        if now <= heard + grace or (ready is not None and ready["status"] == "Unknown"):
            return "" if ready is None else str(ready["status"])
        conditions = _all_unknown(node, now)
        metadata = {"resourceVersion": node["metadata"]["resourceVersion"]}
        patch = {"metadata": metadata, "status": {"conditions": conditions}}
        after = await self.engine.port.patch(NODES, "", name, patch, subresource="status")
        if ready is not None and ready["status"] == "True":
            await self.normal(after, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            for pod in self._pods.on(name):
                await self._mark_not_ready(pod)
        return "Unknown"

    async def _mark_new_pod(self, namespace: str, name: str) -> None:
        """A pod that is bound to a node which is not ready is not ready."""
        pod = self.engine.cache(PODS).get(namespace, name)
        node = self.engine.cache(NODES).get("", pod["spec"].get("nodeName", "")) if pod is not None else None
        if pod is not None and node is not None and not is_ready(node):
            await self._mark_not_ready(pod)

    async def _mark_not_ready(self, pod: Tree) -> None:
        if not is_ready(pod):
            return
        at = rfc3339(self.engine.now())
        conditions = [
            {**c, "status": "False", "lastTransitionTime": at} if c["type"] == "Ready" else c
            for c in pod["status"]["conditions"]
        ]
        namespace, name = key_of(pod)
        patch = {
            "metadata": {"resourceVersion": pod["metadata"]["resourceVersion"]},
            "status": {"conditions": conditions},
        }
        try:
            await self.engine.port.patch(PODS, namespace, name, patch, subresource="status")
        except PortError as error:
            if error.is_gone or error.is_conflict:
                return
            raise
        await self.warning(pod, "NodeNotReady", "Node is not ready")

    async def _taint_no_schedule(self, node: Tree) -> None:
        """NoSchedule taints follow conditions and `spec.unschedulable` at once."""
        wanted, held = wanted_no_schedule(node), taints_of(node)
        has = [taint["key"] for taint in held if is_of_condition(taint)]
        if sorted(has) == sorted(wanted):
            return
        at = rfc3339(self.engine.now())
        kept = [taint for taint in held if not is_of_condition(taint) or taint["key"] in wanted]
        fresh = [{"key": key, "effect": "NoSchedule", "timeAdded": at} for key in wanted if key not in has]
        await self._write_taints(node, kept + fresh)

    async def _taint_no_execute(self, zones: dict[str, _Zone]) -> None:
        now = self.engine.now()
        is_dark = bool(zones) and all(zone.is_dark for zone in zones.values())
        if self._is_dark and not is_dark:
            # Light again: everybody gets the time to be heard of before anything is concluded.
            self._heard = dict.fromkeys(self._heard, now)
        self._is_dark = is_dark
        for node in self.engine.cache(NODES):
            ready = condition_of(node, "Ready")
            wanted = (
                "" if ready is None else {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready["status"], "")
            )
            held = [
                taint["key"]
                for taint in taints_of(node)
                if taint["effect"] == "NoExecute" and taint["key"] in (NOT_READY, UNREACHABLE)
            ]
            if is_dark or not wanted:
                if held:
                    await self._swap_no_execute(node, "")
                continue
            if wanted in held:
                continue
            zone = _zone_of(node)
            pause = zones[zone].pause_seconds if zone in zones else _TAINT_SECONDS
            if held or (pause is not None and self._next_taint.get(zone, now) <= now):
                if not held and pause is not None:
                    self._next_taint[zone] = now + pause
                await self._swap_no_execute(node, wanted)

    async def _swap_no_execute(self, node: Tree, key: str) -> None:
        kept = [
            taint
            for taint in taints_of(node)
            if taint["effect"] != "NoExecute" or taint["key"] not in (NOT_READY, UNREACHABLE)
        ]
        if key:
            kept.append({"key": key, "effect": "NoExecute", "timeAdded": rfc3339(self.engine.now())})
        try:
            await self._write_taints(node, kept)
        except PortError as error:
            if not error.is_gone and not error.is_conflict:
                raise

    async def _write_taints(self, node: Tree, taints: list[Tree]) -> None:
        metadata = node["metadata"]
        patch = {
            "metadata": {"resourceVersion": metadata["resourceVersion"]},
            "spec": {"taints": taints or None},
        }
        await self.engine.port.patch(NODES, "", metadata["name"], patch)


def _all_unknown(node: Tree, now: float) -> list[Tree]:
    """The node's conditions, those that a kubelet writes being Unknown."""
    conditions: list[Tree] = copy.deepcopy(node.get("status", {}).get("conditions") or [])
    held = {condition["type"]: condition for condition in conditions}
    for type_ in _CONDITIONS:
        condition = held.get(type_)
        if condition is None:
            conditions.append(
                {
                    "type": type_,
                    "status": "Unknown",
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                    "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
                    "lastTransitionTime": rfc3339(now),
                }
            )
        elif condition["status"] != "Unknown":
            condition |= {
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": rfc3339(now),
            }
    return conditions


def _heartbeat(node: Tree) -> object:
    ready = condition_of(node, "Ready")
    return None if ready is None else (ready.get("lastHeartbeatTime"), ready["status"] == "Unknown")


def _tainting(node: Tree) -> object:
    return (wanted_no_schedule(node), [taint["key"] for taint in taints_of(node) if is_of_condition(taint)])


def _zone_of(node: Tree) -> str:
    labels = node["metadata"].get("labels") or {}
    return ":".join(labels.get(f"topology.kubernetes.io/{part}", "") for part in ("region", "zone"))
