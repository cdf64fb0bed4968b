"""What devices by claim (DRA) add to nodes and pods: their GPU counts, and which pod has which card.

Records of nodes and pods come bare from the API server and are dressed here on their way into the store; when
a slice or claim moves, the nodes and pods concerned are updated. A node that has a GPU resource
and offers the same cards to claims has them once: the larger count stands. A claim is charged to one of its
pods, so that sums count a device once; the others know it as shared.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from cockpit.k8s.gpu_resources import DevicePart, claimed_resource, device_part, is_gpu_class
from cockpit.model.batch import Batch
from cockpit.model.claim import DeviceClaim, DeviceRequest, DeviceSlice, OfferedDevice, TakenDevice
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import DeviceAllocation

Key = TypeVar("Key")

Pool = tuple[str, str]
"""Driver and pool: names of devices are unique in it."""

Device = tuple[str, str, str]
"""Driver, pool and device."""


@dataclass(frozen=True, slots=True)
class DeviceOffer:
    """What one node offers to claims. `count` are cards and those parts whose card is not itself offered."""

    resource: str
    count: int
    usable: int
    model: str
    memory_bytes: int | None


class Claims:
    """Slices and claims, joined to nodes and pods."""

    def __init__(self) -> None:
        self._slices: dict[Pool, dict[str, DeviceSlice]] = {}
        self._pools_of: dict[str, dict[Pool, None]] = {}  # by node
        self._claims: dict[str, DeviceClaim] = {}
        self._claims_of: dict[str, dict[str, None]] = {}  # by pod uid
        self._claims_in: dict[Pool, dict[str, None]] = {}
        self._bare: dict[str, Node] = {}  # nodes that were dressed, by name
        self._nodes_due: dict[str, None] = {}
        self._pods_due: dict[str, None] = {}

    # ---- slices and claims as they come and go

    def put_slice(self, old: DeviceSlice | None, new: DeviceSlice) -> None:
        if old is not None:
            self.drop_slice(old)
        pool = (new.driver, new.pool)
        self._slices.setdefault(pool, {})[new.uid] = new
        if new.node:
            self._pools_of.setdefault(new.node, {})[pool] = None
        self._note(pool)

    def drop_slice(self, old: DeviceSlice) -> None:
        pool = (old.driver, old.pool)
        self._note(pool)
        some = self._slices.get(pool, {})
        some.pop(old.uid, None)
        if not some:
            self._slices.pop(pool, None)
        if old.node and not any(item.node == old.node for item in some.values()):
            pools = self._pools_of.get(old.node, {})
            pools.pop(pool, None)
            if not pools:
                self._pools_of.pop(old.node, None)

    def _note(self, pool: Pool) -> None:
        for item in self._slices.get(pool, {}).values():
            self._nodes_due[item.node] = None
        for uid in self._claims_in.get(pool, ()):
            self._pods_due.update({pod.uid: None for pod in self._claims[uid].consumers})

    def put_claim(self, old: DeviceClaim | None, new: DeviceClaim) -> None:
        if old is not None:
            self.drop_claim(old)
        self._claims[new.uid] = new
        for pod in new.consumers:
            self._claims_of.setdefault(pod.uid, {})[new.uid] = None
            self._pods_due[pod.uid] = None
        for item in new.taken:
            self._claims_in.setdefault((item.driver, item.pool), {})[new.uid] = None

    def drop_claim(self, old: DeviceClaim) -> None:
        self._claims.pop(old.uid, None)
        for pod in old.consumers:
            _discard(self._claims_of, pod.uid, old.uid)
            self._pods_due[pod.uid] = None
        for item in old.taken:
            _discard(self._claims_in, (item.driver, item.pool), old.uid)

    # ---- dressing

    @property
    def has_offers(self) -> bool:
        """True where any node offers devices to claims."""
        return bool(self._pools_of)

    def dressed(self, batch: Batch) -> Batch:
        """A batch of bare nodes or pods as it goes into the store; mostly the same."""
        if batch.kind == Kind.NODE:
            if not self._pools_of and not self._bare:
                return batch
            return msgspec.structs.replace(batch, changed=tuple(map(self._node, batch.changed)))
        if not self._claims_of and not any(item.traits.device_claims for item in batch.changed):
            return batch
        return msgspec.structs.replace(batch, changed=tuple(map(self._pod, batch.changed)))

    def anew(self, record: Node | Pod) -> Node | Pod:
        """A record of the store as it is dressed now."""
        if isinstance(record, Node):
            return self._node(self._bare.get(record.name, record))
        return self._pod(record)

    def nodes_due(self) -> tuple[str, ...]:
        """Names of nodes to update; returned once."""
        due = tuple(self._nodes_due)
        self._nodes_due.clear()
        return due

    def pods_due(self) -> tuple[str, ...]:
        """Uids of pods to update; returned once."""
        due = tuple(self._pods_due)
        self._pods_due.clear()
        return due

    @property
    def is_due(self) -> bool:
        return bool(self._nodes_due or self._pods_due)

    def forget_node(self, name: str) -> None:
        self._bare.pop(name, None)

    def _node(self, bare: Node) -> Node:
        offer = self.offer(bare.name)
        if offer is None:
            self._bare.pop(bare.name, None)
            return bare
        self._bare[bare.name] = bare
        named = msgspec.structs.replace(
            bare,
            gpus_by_claim=offer.count,
            gpu_model=bare.gpu_model or offer.model,
            gpu_memory_bytes=bare.gpu_memory_bytes or offer.memory_bytes,
        )
        if (bare.gpu_capacity or 0) >= offer.count:
            return named
        return msgspec.structs.replace(
            named,
            gpu_resource=bare.gpu_resource or offer.resource,
            gpu_capacity=offer.count,
            gpu_allocatable=max(offer.usable, bare.gpu_allocatable or 0),
        )

    def _pod(self, pod: Pod) -> Pod:
        bare = _undressed(pod)
        uids = self._claims_of.get(bare.uid)
        asked = len(bare.traits.device_claims)
        if not uids and not asked:
            return bare
        own = shared = 0
        resource = ""
        known = sum(not self._claims[uid].is_request for uid in uids or ())
        is_unknown = known < asked and not bare.is_finished
        for uid in uids or ():
            claim = self._claims[uid]
            if claim.is_request:
                continue
            count = self.gpus_of(claim)
            if count is None:
                is_unknown = True
            elif claim.consumers[0].uid == bare.uid:
                own += count
            else:
                shared += count
            resource = resource or _resource_of(claim)
        return msgspec.structs.replace(
            bare,
            gpus=bare.gpus + own,
            gpu_resource=bare.gpu_resource or (resource if own else ""),
            gpus_claimed=own,
            gpus_shared=shared,
            has_unknown_gpus=is_unknown,
        )

    # ---- looking

    def offer(self, node: str) -> DeviceOffer | None:
        """What a node offers to claims; None where it offers no GPU."""
        found: list[tuple[str, OfferedDevice]] = []
        for pool in self._pools_of.get(node, ()):
            found += [(pool[0], device) for device in self._devices(pool, node)]
        counted = _counted([one for _, one in found])
        if not counted:
            return None
        drivers = {driver for driver, one in found}
        sizes = {item.memory_bytes for item in counted}
        models = {item.model for item in counted if item.model}
        return DeviceOffer(
            resource=claimed_resource(min(drivers)),
            count=len(counted),
            usable=sum(item.is_usable for item in counted),
            model=min(models, default=""),
            memory_bytes=sizes.pop() if len(sizes) == 1 else None,
        )

    def holdings(self, node: str) -> tuple[DeviceAllocation, ...]:
        """Every GPU that the node offers to claims, by name, with the pods that have it."""
        found = [
            DeviceAllocation(device, self._pods_with((*pool, device.name)))
            for pool in self._pools_of.get(node, ())
            for device in self._devices(pool, node)
        ]
        return tuple(sorted(found, key=lambda one: (len(one.device.name), one.device.name)))

    def pods_by_card(self, node: str) -> dict[str, tuple[tuple[str, str], ...]]:
        """Pods by the uuid of the whole card that they have by claim."""
        return {
            item.device.uuid: item.pods
            for item in self.holdings(node)
            if item.pods and item.device.uuid and not item.device.is_part
        }

    def _pods_with(self, device: Device) -> tuple[tuple[str, str], ...]:
        pods: dict[tuple[str, str], None] = {}
        for uid in self._claims_in.get(device[:2], ()):
            claim = self._claims[uid]
            if any(
                (item.driver, item.pool, item.device) == device and not item.is_watched
                for item in claim.taken
            ):
                pods.update({(claim.namespace, pod.name): None for pod in claim.consumers})
        return tuple(sorted(pods))

    def gpus_of(self, claim: DeviceClaim) -> int | None:
        """GPUs that the claim takes, or will take; None where that cannot be told."""
        if claim.is_allocated:
            return sum(self._is_gpu(item) for item in claim.taken if not item.is_watched)
        counts = [_asked(request) for request in claim.requests]
        return None if None in counts else sum(count for count in counts if count is not None)

    def _is_gpu(self, one: TakenDevice) -> bool:
        """By its slice; where that is not known by the name of the driver."""
        slices = self._slices.get((one.driver, one.pool))
        if slices is None:
            return device_part(one.driver) is not DevicePart.NO_GPU
        return any(device.name == one.device for some in slices.values() for device in some.devices)

    def _devices(self, pool: Pool, node: str) -> Iterator[OfferedDevice]:
        """Of the newest generation, where it is whole."""
        slices = self._slices.get(pool, {})
        newest = max((slice_.generation for slice_ in slices.values()), default=0)
        current = [slice_ for slice_ in slices.values() if slice_.generation == newest]
        if not current or len(current) < current[0].slices:
            return
        for item in current:
            if item.node == node:
                yield from item.devices


def _discard(index: dict[Key, dict[str, None]], key: Key, uid: str) -> None:
    some = index.get(key)
    if some is not None:
        some.pop(uid, None)
        if not some:
            del index[key]


def _undressed(pod: Pod) -> Pod:
    if not pod.gpus_claimed and not pod.gpus_shared and not pod.has_unknown_gpus:
        return pod
    own = pod.gpus - pod.gpus_claimed
    return msgspec.structs.replace(
        pod,
        gpus=own,
        gpu_resource=pod.gpu_resource if own else "",
        gpus_claimed=0,
        gpus_shared=0,
        has_unknown_gpus=False,
    )


def _counted(devices: Iterable[OfferedDevice]) -> list[OfferedDevice]:
    """Each card once, although it may be offered whole, in parts and for passing through to a VM."""
    cards: dict[str, OfferedDevice] = {}
    parts: list[OfferedDevice] = []
    for device in devices:
        if device.is_part:
            parts.append(device)
        else:
            cards.setdefault(device.uuid or device.name, device)
    # a part that has no uuid is one that could be made; it is no device yet
    return [*cards.values(), *(part for part in parts if part.uuid and part.parent_uuid not in cards)]


def _asked(request: DeviceRequest) -> int | None:
    if request.is_watched or not is_gpu_class(request.device_class):
        return 0
    return request.count


def _resource_of(claim: DeviceClaim) -> str:
    drivers = [item.driver for item in claim.taken if device_part(item.driver) is not DevicePart.NO_GPU]
    if drivers:
        return claimed_resource(drivers[0])
    classes = [request.device_class for request in claim.requests if is_gpu_class(request.device_class)]
    return claimed_resource(classes[0].replace("mig.", "gpu.", 1)) if classes else ""
