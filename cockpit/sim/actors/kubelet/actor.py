"""Many kubelets as one actor: nodes that carry the mark, and the pods that are bound to them."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from cockpit.errors import BadInput
from cockpit.kube.resource import NODES, PODS
from cockpit.sim.actors.common.recorder import Recorder
from cockpit.sim.actors.kubelet.adopt import adopt
from cockpit.sim.actors.kubelet.behaviour import FOREVER, PREFIX, Habits
from cockpit.sim.actors.kubelet.containers import ContainerSteps
from cockpit.sim.actors.kubelet.devices import DeviceTable
from cockpit.sim.actors.kubelet.images import ImageStore
from cockpit.sim.actors.kubelet.leases import RENEW_SECONDS, SLOTS, Leases
from cockpit.sim.actors.kubelet.local_images import Local
from cockpit.sim.actors.kubelet.nodes import (
    OUTAGE_ANNOTATION,
    STATUS_SECONDS,
    KubeletAddress,
    ready_at,
    write_node,
)
from cockpit.sim.actors.kubelet.pods import PodSteps, due, new_run
from cockpit.sim.actors.kubelet.ports import announced
from cockpit.sim.actors.kubelet.runs import NodeRun, PodHost, PodRun
from cockpit.sim.actors.kubelet.runtime import Runtime
from cockpit.sim.actors.kubelet.simulated import SimulatedRuntime
from cockpit.sim.actors.kubelet.status import OWNED, status
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree

_log = logging.getLogger(__name__)

MARK = f"{PREFIX}kubelet"
"""Annotation or label of a node: which runtime plays its kubelet (`simulated`, `process`)."""

_LEAST_SECONDS = 0.001


class Kubelets(Actor):
    """Plays the kubelet of every marked node."""

    name = "kubelet"
    watches = (NODES, PODS)

    def __init__(
        self,
        *,
        random: Random,
        habits: Habits | None = None,
        endpoint: KubeletAddress | None = None,
        devices: DeviceTable | None = None,
        runtimes: Sequence[Runtime] = (),
        local: Local | None = None,
        mark: str = MARK,
        unmarked: str = "",
    ) -> None:
        """`runtimes` are those besides the simulated one that a node's mark may name; `local` plays pods of
        certain images wherever they run; `unmarked` is the runtime of nodes without the mark, "" where
        those are not ours."""
        super().__init__()
        self.habits = habits or Habits()
        self.devices = devices or DeviceTable()
        self.endpoint = endpoint or KubeletAddress()
        self.nodes: dict[str, NodeRun] = {}
        self.pods: dict[tuple[str, str], PodRun] = {}
        self._mark = mark
        self._unmarked = unmarked
        self._seed = random.getrandbits(64)
        self._random = random
        self._runtimes: dict[str, Runtime] = {one.name: one for one in runtimes}
        self._runtimes["simulated"] = SimulatedRuntime(self.habits, self._seed, self.until)
        self._local = local
        self._recorders: dict[str, Recorder] = {}
        self._strangers: dict[str, dict[tuple[str, str], None]] = {}
        self._alarms: dict[int, asyncio.Future[float]] = {}
        self._alarm_count = 0

    # What others may ask

    def run_of(self, namespace: str, name: str) -> PodRun | None:
        """What is known of a pod on one of our nodes."""
        return self.pods.get((namespace, name))

    def runtime_of(self, run: PodRun) -> Runtime:
        """The runtime that plays a pod's containers."""
        if run.is_local and self._local is not None:
            return self._local.runtime
        return self._runtimes[self.nodes[run.node].runtime]

    def process_ports(self) -> set[int]:
        """Ports of this machine that pods announce whose containers really run on it."""
        return {
            port
            for run in self.pods.values()
            if self.runtime_of(run).name == "process"
            for _, port in announced(run.pod)
        }

    def outage(self, node: str, *, is_out: bool) -> None:
        """Silence a node's kubelet (no lease, no status, no answer) or let it speak again."""
        self.nodes[node].is_out = is_out
        self._look_at(self.nodes[node])

    async def until(self, at: float) -> float:
        """Wait until a moment of the cluster's time; answers the time then."""
        now = self.engine.now()
        if at <= now:
            return now
        self._alarm_count += 1
        number = self._alarm_count
        ringing = self._alarms[number] = asyncio.get_running_loop().create_future()
        self.engine.after(at - now, self, ("alarm", str(number)))
        try:
            then: float = await ringing
            return then
        finally:
            self._alarms.pop(number, None)

    # The actor

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Nodes by name, pods of our nodes by name; what only a status says of a pod wakes nobody."""
        metadata = change.tree["metadata"]
        if change.resource == NODES:
            is_other = _told(change.tree) != _told(before)
            if is_other or self._is_news(change, before, ("labels", "annotations", "uid")):
                yield ("node", metadata["name"])
            return
        key = (metadata.get("namespace", ""), metadata["name"])
        node = change.tree["spec"].get("nodeName", "")
        if key not in self.pods and (not node or not self._runtime_word(node)):
            self._note_stranger(key, node, is_gone=change.type is ChangeType.DELETED)
            return
        if (
            self._is_news(change, before, ("annotations", "deletionTimestamp", "uid", "generation"))
            or (before is not None and before["spec"].get("nodeName") != node)
            or change.tree["spec"].get("readinessGates")
        ):
            yield ("pod", *key)

    def _note_stranger(self, key: tuple[str, str], node: str, *, is_gone: bool) -> None:
        """Remember a pod of a node that is not ours: the node may be marked later."""
        if is_gone:
            self._strangers.get(node, {}).pop(key, None)
        elif node:
            self._strangers.setdefault(node, {})[key] = None

    def _is_news(self, change: ObjectChange, before: Tree | None, fields: Sequence[str]) -> bool:
        if before is None or change.type is not ChangeType.MODIFIED:
            return True
        old, new = before["metadata"], change.tree["metadata"]
        return any(old.get(field) != new.get(field) for field in fields)

    async def start(self) -> None:
        """Take nodes and pods that are there already."""
        self._leases = Leases(self.engine.port)
        steps = ContainerSteps(self.engine.port, self.habits, self.devices, self._seed, self.endpoint.host)
        self._steps = PodSteps(self.engine.port, self.habits, self.devices, steps, self.endpoint.host)
        for tree in self.engine.cache(NODES):
            self.engine.soon(self, ("node", tree["metadata"]["name"]))
        for tree in self.engine.cache(PODS):
            if tree["spec"].get("nodeName"):
                self.engine.soon(
                    self, ("pod", tree["metadata"].get("namespace", ""), tree["metadata"]["name"])
                )

    async def reconcile(self, key: Key) -> None:
        """Node, pod, slot of leases or alarm."""
        match key:
            case ("node", name):
                await self._node(name)
            case ("pod", namespace, name):
                await self._pod(namespace, name)
            case ("lease", slot):
                await self._leases.beat(int(slot), self.engine.now())
                if not self._leases.is_empty(int(slot)):
                    self.engine.after(RENEW_SECONDS, self, key)
            case ("alarm", number):
                ringing = self._alarms.get(int(number))
                if ringing is not None and not ringing.done():
                    ringing.set_result(self.engine.now())

    async def stop(self) -> None:
        """End every child, let go everybody who waits."""
        for ringing in self._alarms.values():
            ringing.cancel()
        for runtime in self._runtimes.values():
            await runtime.close()
        if self._local is not None:
            await self._local.runtime.close()

    # Nodes

    def _runtime_word(self, name: str) -> str:
        tree = self.engine.cache(NODES).get("", name)
        if tree is None:
            return ""
        metadata = tree["metadata"]
        for place in ("annotations", "labels"):
            word = (metadata.get(place) or {}).get(self._mark)
            if word:
                return str(word) if word in self._runtimes else ""
        return self._unmarked

    def recorder(self, node: str) -> Recorder:
        """The recorder of one node's kubelet."""
        found = self._recorders.get(node)
        if found is None:
            engine = self.engine
            random = Random(f"{self._seed}/events/{node}")
            found = self._recorders[node] = Recorder(engine.port, engine.clock, random, "kubelet", node)
        return found

    async def _node(self, name: str) -> None:
        tree = self.engine.cache(NODES).get("", name)
        word = self._runtime_word(name)
        if tree is None or not word:
            await self._forget_node(name)
            return
        now = self.engine.now()
        node = self.nodes.get(name)
        if node is None:
            node = self._new_node(tree, word)
        node.tree = tree
        annotations: Mapping[str, str] = tree["metadata"].get("annotations") or {}
        was_out = node.is_out
        if OUTAGE_ANNOTATION in annotations:
            node.is_out = annotations[OUTAGE_ANNOTATION] == "true"
            node.is_out_by_annotation = True
        elif node.is_out_by_annotation:
            node.is_out = node.is_out_by_annotation = False
        self.devices.know(tree)
        if node.is_out:
            return
        if was_out:
            self._look_at(node)
        await write_node(node, self.engine.port, self.recorder(name), self.endpoint, now)
        if name not in self._leases:
            await self._leases.begin(node, now)
        next_at = node.written_at + STATUS_SECONDS
        if ready_at(node) > now:
            next_at = min(next_at, ready_at(node))
        self.engine.after(max(_LEAST_SECONDS, next_at - now), self, ("node", name))

    def _new_node(self, tree: Tree, word: str) -> NodeRun:
        node = NodeRun(tree, word, ImageStore(self.habits))
        self.nodes[node.name] = node
        for key in self._strangers.pop(node.name, {}):
            self.engine.soon(self, ("pod", *key))
        slot = self._leases.add(node)
        self.engine.after(RENEW_SECONDS * (slot + 1) / SLOTS, self, ("lease", str(slot)))
        # A DaemonSet's pods are bound to a node before its kubelet is there: the mark comes later.
        name = node.name
        for pod in self.engine.cache(PODS):
            if pod["spec"].get("nodeName") == name:
                self.engine.soon(self, ("pod", pod["metadata"].get("namespace", ""), pod["metadata"]["name"]))
        return node

    def _look_at(self, node: NodeRun) -> None:
        self.engine.soon(self, ("node", node.name))
        for run in node.pods.values():
            self.engine.soon(self, ("pod", run.namespace, run.name))

    async def _forget_node(self, name: str) -> None:
        """The machine is gone, and all that ran on it."""
        node = self.nodes.get(name)
        if node is None:
            return
        for run in list(node.pods.values()):
            await self._forget(run)
        del self.nodes[name]
        self._leases.remove(name)
        self._recorders.pop(name, None)
        self.devices.forget(name)

    # Pods

    async def _pod(self, namespace: str, name: str) -> None:
        tree = self.engine.cache(PODS).get(namespace, name)
        run = self.pods.get((namespace, name))
        if run is not None and (tree is None or tree["metadata"]["uid"] != run.uid):
            await self._forget(run)
            run = None
        if tree is None:
            return
        node_name = tree["spec"].get("nodeName", "")
        node = self.nodes.get(node_name)
        if node is None:
            if self._runtime_word(node_name):
                self.engine.soon(self, ("node", node_name))
                self.engine.soon(self, ("pod", namespace, name))
            return
        now = self.engine.now()
        if run is None:
            run = await self._new_run(tree, node, now)
            if run is None:
                return
        run.pod = tree
        if node.is_out:
            return

        def wake() -> None:
            self.engine.soon(self, ("pod", namespace, name))

        await self._steps.step(run, PodHost(node, self.runtime_of(run), wake), now)
        await self._write(run, now)
        next_at = due(run)
        if next_at != FOREVER:
            self.engine.after(max(_LEAST_SECONDS, next_at - now), self, ("pod", namespace, name))

    async def _new_run(self, tree: Tree, node: NodeRun, now: float) -> PodRun | None:
        known = tree.get("status") or {}
        try:
            run = new_run(tree, node.name, now)
        except BadInput as error:
            _log.warning("%s", error.sentence)
            await self.recorder(node.name).event(tree, "Warning", "FailedValidation", error.sentence)
            return None
        run.is_local = self._local is not None and self._local.plays(tree)
        if known.get("phase") in ("Succeeded", "Failed"):
            run.is_admitted = run.is_final = True
            run.is_known_final = True
        elif known.get("startTime"):
            await adopt(run, node, self.runtime_of(run), self.devices, now)
            if run.address:
                self._steps.addresses.keep(run.address)
        node.pods[run.uid] = run
        self.pods[(run.namespace, run.name)] = run
        return run

    async def _write(self, run: PodRun, now: float) -> None:
        """Events, then the status if it is another one, then the delete that ends a deletion."""
        while run.told:
            kind, reason, message, field_path = run.told.pop(0)
            recorder = self.recorder(run.node)
            await recorder.event(run.pod, kind, reason, message, field_path=field_path)
        is_over = run.is_final or run.is_rejected
        if not run.is_known_final:
            await self._write_status(run, now)
        if not is_over:
            return
        self.devices.release(run.node, run.uid)
        if run.pod["metadata"].get("deletionTimestamp"):
            try:
                await self.engine.port.delete(PODS, run.namespace, run.name, uid=run.uid, grace_seconds=0)
            except PortError as error:
                if not error.is_gone:
                    raise

    async def _write_status(self, run: PodRun, now: float) -> None:
        conditions = (run.pod.get("status") or {}).get("conditions") or ()
        foreign = [one for one in conditions if one["type"] not in OWNED]
        wanted = status(run, self.devices, self.endpoint.host, now, foreign)
        if wanted == run.written:
            return
        metadata = run.pod["metadata"]
        held: Tree = {"uid": run.uid}
        if metadata.get("resourceVersion"):
            held["resourceVersion"] = metadata["resourceVersion"]
        await self.engine.port.patch(
            PODS, run.namespace, run.name, {"metadata": held, "status": wanted}, subresource="status"
        )
        run.written = wanted
        run.is_known_final = run.is_final or run.is_rejected

    async def _forget(self, run: PodRun) -> None:
        """The pod's object is gone: whatever still runs is killed at once."""
        node = self.nodes[run.node]
        now = self.engine.now()
        for one in run.containers:
            if one.running is not None:
                one.running.stop(now, 0.0)
        await self.runtime_of(run).clear(run.pod)
        self.devices.release(run.node, run.uid)
        self._steps.addresses.give(run.address)
        node.pods.pop(run.uid, None)
        if self.pods.get((run.namespace, run.name)) is run:
            del self.pods[(run.namespace, run.name)]


def _told(tree: Tree | None) -> tuple[object, ...]:
    """What others write into a node's status that its kubelet has to look at."""
    known = (tree or {}).get("status") or {}
    ready = [one["status"] for one in known.get("conditions", ()) if one["type"] == "Ready"]
    return known.get("capacity"), known.get("allocatable"), ready
