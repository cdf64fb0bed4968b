"""MachineDeployments make Machines, Machines become Nodes, and go again the same way.

Phases are Cluster API's (api/core/v1beta1/machine_phase_types.go): Pending, Provisioning, Provisioned,
Running, Deleting, Failed; `lastUpdated` dates the phase, the condition InfrastructureReady the instance
(machine_types.go, condition_consts.go). A Machine that is deleted drains its node first: cordon, evict what
no DaemonSet owns, delete the Node, then let the Machine go.
"""

from collections.abc import Iterable, Sequence

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.kube.resource import MACHINE_DEPLOYMENTS, NODES, PODS, Resource
from cockpit.sim.actors.common.drain import to_evict
from cockpit.sim.actors.common.machine_template import (
    CLUSTER_LABEL,
    DELETE_ANNOTATION,
    DEPLOYMENT_LABEL,
    FINALIZER,
    KUBELET_ANNOTATION,
    MACHINES,
    RACK_LABEL,
    full_node,
    joining_node,
    place_of,
    timing_of,
)
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.times import rfc3339, seconds_of

_DRAIN_RETRY_SECONDS = 5.0
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
DEPLOYMENT, MACHINE = "deployment", "machine"
_FAILED, _REFUSED = "Failed", "CreateError"


class Machines(Actor):
    """The controllers of Cluster API, as far as a pool's size shows them."""

    name = "machines"
    watches: tuple[Resource, ...] = (MACHINE_DEPLOYMENTS, MACHINES, NODES, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._machine_of_node: dict[str, tuple[str, str]] = {}
        self._machines: dict[tuple[str, str], dict[str, None]] = {}
        self._pods: dict[str, dict[tuple[str, str], Tree]] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Deployments wake themselves, machines also their deployment, nodes their machine."""
        metadata = change.tree["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        is_gone = change.type is ChangeType.DELETED
        if change.resource == MACHINE_DEPLOYMENTS:
            yield (DEPLOYMENT, namespace, name)
        elif change.resource == MACHINES:
            owner = (namespace, metadata.get("labels", {}).get(DEPLOYMENT_LABEL, ""))
            own = self._machines.setdefault(owner, {})
            if is_gone:
                own.pop(name, None)
            else:
                own[name] = None
                self._machine_of_node[name] = (namespace, name)
            yield (MACHINE, namespace, name)
            yield (DEPLOYMENT, *owner)
        elif change.resource == NODES:
            if name in self._machine_of_node:
                yield (MACHINE, *self._machine_of_node[name])
                labels = metadata.get("labels") or {}
                yield (DEPLOYMENT, self._machine_of_node[name][0], labels.get(DEPLOYMENT_LABEL, ""))
        else:
            yield from self._note_pod(change.tree, is_gone)

    def _note_pod(self, tree: Tree, is_gone: bool) -> Iterable[Key]:
        node = tree.get("spec", {}).get("nodeName", "")
        if not node:
            return
        metadata = tree["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if is_gone:
            self._pods.get(node, {}).pop(key, None)
            if node in self._machine_of_node:
                yield (MACHINE, *self._machine_of_node[node])
        else:
            self._pods.setdefault(node, {})[key] = tree

    async def reconcile(self, key: Key) -> None:
        """One deployment's number of machines, or one machine's next stage."""
        kind, namespace, name = key
        if kind == DEPLOYMENT:
            await self._deployment(namespace, name)
        else:
            await self._machine(namespace, name)

    # ---- deployments

    async def _deployment(self, namespace: str, name: str) -> None:
        deployment = self.engine.cache(MACHINE_DEPLOYMENTS).get(namespace, name)
        machines = self._own(namespace, name)
        staying = [one for one in machines if "deletionTimestamp" not in one["metadata"]]
        if deployment is None or "deletionTimestamp" in deployment["metadata"]:
            for machine in staying:
                await self._end(machine)
            return
        wanted = int(deployment.get("spec", {}).get("replicas", 0) or 0)
        for _ in range(wanted - len(staying)):
            staying.append(self._new_machine(deployment, staying))
            await self.engine.port.create(MACHINES, staying[-1], namespace)
        if len(staying) > wanted:
            for machine in sorted(staying, key=self._usefulness)[: len(staying) - wanted]:
                await self._end(machine)
        await self._report(deployment)

    def _own(self, namespace: str, name: str) -> list[Tree]:
        cache = self.engine.cache(MACHINES)
        found = (cache.get(namespace, one) for one in self._machines.get((namespace, name), {}))
        return [one for one in found if one is not None]

    def _new_machine(self, deployment: Tree, others: Sequence[Tree]) -> Tree:
        metadata = deployment["metadata"]
        suffix = "".join(self.engine.random.choice(_LETTERS) for _ in range(5))
        labels = {DEPLOYMENT_LABEL: metadata["name"]}
        cluster = (deployment.get("spec") or {}).get("clusterName", "")
        if cluster:
            labels[CLUSTER_LABEL] = cluster
        zone, rack = place_of(deployment, others)
        if rack:
            labels[RACK_LABEL] = rack
        return {
            "apiVersion": MACHINES.api_version,
            "kind": MACHINES.kind,
            "metadata": {
                "name": f"{metadata['name']}-{suffix}",
                "namespace": metadata["namespace"],
                "labels": labels,
                "finalizers": [FINALIZER],
                "ownerReferences": [
                    {
                        "apiVersion": MACHINE_DEPLOYMENTS.api_version,
                        "kind": MACHINE_DEPLOYMENTS.kind,
                        "name": metadata["name"],
                        "uid": metadata.get("uid", ""),
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "spec": {
                "clusterName": cluster or metadata["namespace"],
                **({"failureDomain": zone} if zone else {}),
            },
        }

    def _usefulness(self, machine: Tree) -> tuple[int, int, float]:
        """Least useful first: chosen ones, those that never ran, then the youngest."""
        said = machine["metadata"].get("annotations") or {}
        is_running = (machine.get("status") or {}).get("phase") == "Running"
        born = seconds_of(machine["metadata"]["creationTimestamp"])
        return (0 if DELETE_ANNOTATION in said else 1, int(is_running), -born)

    async def _end(self, machine: Tree) -> None:
        metadata = machine["metadata"]
        try:
            await self.engine.port.delete(
                MACHINES, metadata["namespace"], metadata["name"], uid=metadata["uid"]
            )
        except PortError as error:
            if not error.is_gone:
                raise

    async def _report(self, deployment: Tree) -> None:
        metadata = deployment["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        machines = self._own(namespace, name)
        ready = sum(self._is_ready(one["metadata"]["name"]) for one in machines)
        wanted = int(deployment.get("spec", {}).get("replicas", 0) or 0)
        phase = "ScalingUp" if ready < wanted else "ScalingDown" if len(machines) > wanted else "Running"
        status: Tree = {
            "observedGeneration": metadata.get("generation", 0),
            "replicas": len(machines),
            "updatedReplicas": len(machines),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(0, wanted - ready),
            "phase": phase,
            "selector": f"{DEPLOYMENT_LABEL}={name}",
        }
        if {key: (deployment.get("status") or {}).get(key) for key in status} != status:
            await self.engine.port.patch(
                MACHINE_DEPLOYMENTS, namespace, name, {"status": status}, subresource="status"
            )

    def _is_ready(self, node: str) -> bool:
        tree = self.engine.cache(NODES).get("", node)
        if tree is None:
            return False
        conditions = (tree.get("status") or {}).get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    # ---- machines

    async def _machine(self, namespace: str, name: str) -> None:
        machine = self.engine.cache(MACHINES).get(namespace, name)
        if machine is None:
            return
        if "deletionTimestamp" in machine["metadata"]:
            await self._leave(machine)
            return
        owner = machine["metadata"].get("labels", {}).get(DEPLOYMENT_LABEL, "")
        deployment = self.engine.cache(MACHINE_DEPLOYMENTS).get(namespace, owner)
        if deployment is not None:
            await self._climb(deployment, machine)

    async def _climb(self, deployment: Tree, machine: Tree) -> None:
        """Take the stages whose time has come; wait for the next."""
        timing = timing_of(deployment)
        name = machine["metadata"]["name"]
        age = self.engine.now() - seconds_of(machine["metadata"]["creationTimestamp"])
        key = (MACHINE, machine["metadata"]["namespace"], name)
        phase = (machine.get("status") or {}).get("phase")
        if phase == _FAILED:
            return  # as in Cluster API: a machine that failed is replaced, never tried again
        if timing.failure and phase not in ("Provisioned", "Running"):
            await self._set_phase(machine, _FAILED, failureReason=_REFUSED, failureMessage=timing.failure)
            return
        due = timing.launch_seconds
        if age < due:
            await self._set_phase(machine, "Provisioning")
            self.engine.after(due - age, self, key)
            return
        node = self.engine.cache(NODES).get("", name)
        due += timing.join_seconds
        if node is None and age < due:
            await self._set_phase(machine, "Provisioned")
            self.engine.after(due - age, self, key)
            return
        if node is None:
            await self._join(deployment, machine)
            self.engine.after(timing.ready_seconds, self, key)
            return
        await self._grow(deployment, machine, node, age - due)

    async def _join(self, deployment: Tree, machine: Tree) -> None:
        name = machine["metadata"]["name"]
        if (machine.get("status") or {}).get("nodeRef"):
            return  # somebody deleted the Node: the machine does not join twice
        at = rfc3339(self.engine.now())
        node = await self.engine.port.create(NODES, joining_node(deployment, machine, at))
        reference = {
            "apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"].get("uid", ""),
        }  # fmt: skip
        await self._set_phase(machine, "Running", nodeRef=reference)

    async def _grow(self, deployment: Tree, machine: Tree, node: Tree, age: float) -> None:
        timing = timing_of(deployment)
        name = machine["metadata"]["name"]
        key = (MACHINE, machine["metadata"]["namespace"], name)
        if age < timing.ready_seconds:
            self.engine.after(timing.ready_seconds - age, self, key)
            return
        if KUBELET_ANNOTATION not in (node["metadata"].get("annotations") or {}):
            patch = {"metadata": {"annotations": {KUBELET_ANNOTATION: "simulated"}}}
            await self.engine.port.patch(NODES, "", name, patch)
        wait = timing.ready_seconds + timing.gpus_seconds - age
        capacity = full_node(deployment, name)["status"]["capacity"]
        devices = {resource: count for resource, count in capacity.items() if is_gpu_resource(resource)}
        if not devices or set(devices) <= set((node.get("status") or {}).get("capacity") or {}):
            return
        if wait > 0:
            self.engine.after(wait, self, key)
            return
        status = {"status": {"capacity": devices, "allocatable": devices}}
        await self.engine.port.patch(NODES, "", name, status, subresource="status")

    async def _leave(self, machine: Tree) -> None:
        """Cordon, drain, delete the node, and let the machine go."""
        metadata = machine["metadata"]
        name = metadata["name"]
        node = self.engine.cache(NODES).get("", name)
        await self._set_phase(machine, "Deleting")
        if node is not None:
            if not node.get("spec", {}).get("unschedulable"):
                await self.engine.port.patch(NODES, "", name, {"spec": {"unschedulable": True}})
            if await self._drained(name):
                await self._delete_node(name)
            else:
                self.engine.after(_DRAIN_RETRY_SECONDS, self, (MACHINE, metadata["namespace"], name))
                return
        left = [one for one in metadata.get("finalizers", ()) if one != FINALIZER]
        self._machine_of_node.pop(name, None)
        await self.engine.port.patch(
            MACHINES, metadata["namespace"], name, {"metadata": {"finalizers": left or None}}
        )

    async def _drained(self, node: str) -> bool:
        """True when nothing is left that a drain waits for; asks the rest to go."""
        waiting = to_evict(self._pods.get(node, {}).values())
        for pod in waiting:
            if "deletionTimestamp" in pod["metadata"]:
                continue
            try:
                await self.engine.port.evict(pod["metadata"]["namespace"], pod["metadata"]["name"])
            except PortError as error:
                if error.status not in (404, 429):
                    raise
        return not waiting

    async def _delete_node(self, name: str) -> None:
        try:
            await self.engine.port.delete(NODES, "", name)
        except PortError as error:
            if not error.is_gone:
                raise

    async def _set_phase(self, machine: Tree, phase: str, **more: object) -> None:
        status = machine.get("status") or {}
        wanted: Tree = {"phase": phase, **more}
        if all(status.get(key) == value for key, value in wanted.items()):
            return
        metadata, at = machine["metadata"], rfc3339(self.engine.now())
        if status.get("phase") != phase:
            wanted["lastUpdated"] = at
        if phase in ("Provisioned", "Running") and not status.get("conditions"):
            wanted["conditions"] = [
                {"type": "InfrastructureReady", "status": "True", "lastTransitionTime": at}
            ]
        await self.engine.port.patch(
            MACHINES, metadata["namespace"], metadata["name"], {"status": wanted}, subresource="status"
        )
