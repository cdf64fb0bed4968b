"""Which container holds which device of which node: what a kubelet's device manager knows.

The ids a plugin would register come from the Node object (`cockpit.sim.devices`), so that they are the
same for everybody. What the pod-resources API (`v1.PodResourcesLister`) would say is `pod_resources`.
"""

from collections.abc import Iterator

import msgspec

from cockpit.sim.devices import device_ids
from cockpit.sim.port import Tree


class ContainerDevices(msgspec.Struct, frozen=True):
    """One container and the ids of one resource that it holds."""

    namespace: str
    pod: str
    uid: str
    container: str
    resource: str
    device_ids: tuple[str, ...]


class DevicesUnavailable(Exception):
    """Not enough free healthy devices."""

    def __init__(self, resource: str, requested: int, available: int, *, none_healthy: bool) -> None:
        super().__init__(f"{resource}: requested {requested}, available {available}")
        self.resource = resource
        self.requested = requested
        self.available = available
        self.none_healthy = none_healthy


class DeviceTable:
    """The devices of every node and their holders."""

    def __init__(self) -> None:
        self._devices: dict[str, dict[str, tuple[str, ...]]] = {}
        self._unhealthy: dict[str, dict[str, None]] = {}
        self._held: dict[str, dict[str, list[ContainerDevices]]] = {}

    def know(self, node: Tree) -> None:
        """Take the devices of a node; holders of devices that are gone keep them."""
        self._devices[node["metadata"]["name"]] = device_ids(node)

    def forget(self, node: str) -> None:
        """The node is gone, with its devices and holders."""
        for table in (self._devices, self._unhealthy, self._held):
            table.pop(node, None)

    def devices(self, node: str, resource: str = "nvidia.com/gpu") -> tuple[str, ...]:
        """Ids of a resource of a node, in the order of the cards."""
        return self._devices.get(node, {}).get(resource, ())

    def resources(self, node: str) -> tuple[str, ...]:
        """Resources of the node that a device plugin serves."""
        return tuple(self._devices.get(node, {}))

    def mark(self, node: str, device_id: str, *, healthy: bool) -> None:
        """A plugin reports a device ill or well; who holds it keeps it."""
        ill = self._unhealthy.setdefault(node, {})
        if healthy:
            ill.pop(device_id, None)
        else:
            ill[device_id] = None

    def is_healthy(self, node: str, device_id: str) -> bool:
        """What the plugin last said of a device; devices start well."""
        return device_id not in self._unhealthy.get(node, {})

    def free(self, node: str, resource: str) -> list[str]:
        """Healthy ids that nobody holds."""
        held = {one for holder in self.holders(node) for one in holder.device_ids}
        return [one for one in self.devices(node, resource) if one not in held and self.is_healthy(node, one)]

    def allot(self, node: str, pod: Tree, container: str, resource: str, count: int) -> tuple[str, ...]:
        """Give `count` free devices, the lowest first. Raises DevicesUnavailable and gives none."""
        known = self.devices(node, resource)
        free = self.free(node, resource)
        if len(free) < count:
            ill = bool(known) and not any(self.is_healthy(node, one) for one in known)
            raise DevicesUnavailable(resource, count, len(free), none_healthy=ill)
        metadata = pod["metadata"]
        holder = ContainerDevices(
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
            container,
            resource,
            tuple(free[:count]),
        )
        self._held.setdefault(node, {}).setdefault(holder.uid, []).append(holder)
        return holder.device_ids

    def release(self, node: str, uid: str) -> None:
        """A pod has ended: its devices are free."""
        self._held.get(node, {}).pop(uid, None)

    def holders(self, node: str) -> list[ContainerDevices]:
        """Who holds what on a node, in the order in which it was given."""
        return [holder for held in self._held.get(node, {}).values() for holder in held]

    def held_by(self, node: str, uid: str, container: str = "") -> Iterator[ContainerDevices]:
        """What one pod (or one of its containers) holds."""
        for holder in self._held.get(node, {}).get(uid, ()):
            if not container or holder.container == container:
                yield holder

    def pod_resources(self, node: str) -> Tree:
        """What the pod-resources API's `List` would say of a node, as JSON."""
        pods: dict[str, Tree] = {}
        for holder in self.holders(node):
            pod = pods.setdefault(
                holder.uid, {"name": holder.pod, "namespace": holder.namespace, "containers": []}
            )
            containers: list[Tree] = pod["containers"]
            if not containers or containers[-1]["name"] != holder.container:
                containers.append({"name": holder.container, "devices": []})
            containers[-1]["devices"].append(
                {"resource_name": holder.resource, "device_ids": list(holder.device_ids)}
            )
        return {"pod_resources": list(pods.values())}
