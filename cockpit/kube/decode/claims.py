"""ResourceSlices and ResourceClaims of resource.k8s.io (v1, v1beta2, v1beta1), of devices only what are GPUs.

Sources: kubernetes/api resource/v1/types.go and resource/v1beta1/types.go (a device's fields one level
deeper, in `basic`; a request without `exactly`; in v1alpha3 of 1.31 a capacity is the quantity itself);
attributes of NVIDIA's driver: kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go.
"""

import msgspec

from cockpit.k8s.gpu_resources import DevicePart, device_part
from cockpit.kube.decode.amounts import base_units
from cockpit.kube.decode.common import identity
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import NodeSelector, ObjectMeta, OwnerReference, WireShape
from cockpit.model.claim import (
    Consumer,
    DeviceClaim,
    DeviceRequest,
    DeviceSlice,
    OfferedDevice,
    TakenDevice,
)
from cockpit.sanitise import WORDS, clean

EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of a claim that stands for a pod's extended resources (KEP 5004)."""

_KEEPS_OFF = ("NoSchedule", "NoExecute")


class _Attribute(WireShape, frozen=True, gc=False):
    string: str = ""


class _Capacity(WireShape, frozen=True, gc=False):
    value: str | int | float = ""


class _Taint(WireShape, frozen=True, gc=False):
    effect: str = ""


class _Fields(WireShape, frozen=True, gc=False):
    attributes: dict[str, _Attribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, _Capacity | str | int | float] = msgspec.field(default_factory=dict)
    taints: tuple[_Taint, ...] = ()


class _Device(_Fields, frozen=True, gc=False):
    name: str = ""
    basic: _Fields | None = None


class _Pool(WireShape, frozen=True, gc=False):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class _SliceSpec(WireShape, frozen=True, gc=False):
    driver: str = ""
    pool: _Pool = _Pool()
    node_name: str = ""
    devices: tuple[_Device, ...] = ()


class SliceShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _SliceSpec = _SliceSpec()


class _Exactly(WireShape, frozen=True, gc=False):
    device_class_name: str = ""
    allocation_mode: str = ""
    count: int = 1
    admin_access: bool = False


class _Request(_Exactly, frozen=True, gc=False):
    exactly: _Exactly | None = None
    first_available: tuple[_Exactly, ...] = ()


class _Devices(WireShape, frozen=True, gc=False):
    requests: tuple[_Request, ...] = ()


class _ClaimSpec(WireShape, frozen=True, gc=False):
    devices: _Devices = _Devices()


class _Result(WireShape, frozen=True, gc=False):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False


class _Results(WireShape, frozen=True, gc=False):
    results: tuple[_Result, ...] = ()


class _Allocation(WireShape, frozen=True, gc=False):
    devices: _Results = _Results()
    node_selector: NodeSelector | None = None


class _Consumer(WireShape, frozen=True, gc=False):
    resource: str = ""
    name: str = ""
    uid: str = ""


class _ClaimStatus(WireShape, frozen=True, gc=False):
    allocation: _Allocation | None = None
    reserved_for: tuple[_Consumer, ...] = ()


class ClaimShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ClaimSpec = _ClaimSpec()
    status: _ClaimStatus = _ClaimStatus()


def slice_record(shape: SliceShape) -> DeviceSlice:
    """The record of one ResourceSlice."""
    spec = shape.spec
    driver = WORDS[spec.driver]
    devices = (_device(driver, device) for device in spec.devices)
    return DeviceSlice(
        **identity(shape.metadata, JSON),
        driver=driver,
        pool=WORDS[spec.pool.name],
        generation=spec.pool.generation,
        slices=spec.pool.resource_slice_count,
        node=WORDS[spec.node_name],
        devices=tuple(device for device in devices if device is not None),
    )


def _device(driver: str, one: _Device) -> OfferedDevice | None:
    told = one if one.basic is None else one.basic
    words = {name.rpartition("/")[2]: value.string for name, value in told.attributes.items()}
    part = device_part(driver, words.get("type", ""))
    if part is DevicePart.NO_GPU:
        return None
    sizes = {
        name.rpartition("/")[2]: size.value if isinstance(size, _Capacity) else size
        for name, size in told.capacity.items()
    }
    memory = sizes.get("memory", sizes.get("addressableMemory"))
    return OfferedDevice(
        name=WORDS[one.name],
        is_part=part is DevicePart.PART,
        uuid=clean(words.get("uuid", "")),
        parent_uuid=clean(words.get("parentUUID", "")),
        model="-".join(WORDS[words.get("productName") or words.get("model", "")].split()),
        profile=WORDS[words.get("profile", "")],
        memory_bytes=None if memory is None else base_units("memory", str(memory)),
        is_usable=not any(taint.effect in _KEEPS_OFF for taint in told.taints),
    )


def claim_record(shape: ClaimShape) -> DeviceClaim:
    """The record of one ResourceClaim."""
    meta, status = shape.metadata, shape.status
    results = () if status.allocation is None else status.allocation.devices.results
    return DeviceClaim(
        **identity(meta, JSON),
        consumers=_consumers(meta.owner_references, status.reserved_for),
        is_allocated=status.allocation is not None,
        where="" if status.allocation is None else _where(status.allocation.node_selector),
        taken=tuple(
            TakenDevice(WORDS[result.driver], WORDS[result.pool], WORDS[result.device], result.admin_access)
            for result in results
        ),
        requests=tuple(_request(request) for request in shape.spec.devices.requests),
        is_request=meta.annotations.get(EXTENDED) == "true",
    )


def _where(selector: NodeSelector | None) -> str:
    """The first value by which the nodes are chosen that its devices can be used on."""
    terms = () if selector is None else selector.node_selector_terms
    every = (
        value
        for term in terms
        for item in (*term.match_fields, *term.match_expressions)
        for value in item.values
    )
    return WORDS[next(every, "")]


def _consumers(owners: tuple[OwnerReference, ...], reserved: tuple[_Consumer, ...]) -> tuple[Consumer, ...]:
    named = [(item.uid, item.name) for item in reserved if item.resource == "pods"]
    if not named:
        named = [(owner.uid, owner.name) for owner in owners if owner.controller and owner.kind == "Pod"]
    return tuple(Consumer(clean(uid), clean(name)) for uid, name in named)


def _request(one: _Request) -> DeviceRequest:
    if one.first_available:
        classes, counts = set(), set()
        for choice in one.first_available:
            classes.add(choice.device_class_name)
            counts.add(_count(choice))
        only = classes.pop() if len(classes) == 1 else one.first_available[0].device_class_name
        return DeviceRequest(WORDS[only], counts.pop() if len(counts) == 1 and not classes else None)
    told = one if one.exactly is None else one.exactly
    return DeviceRequest(WORDS[told.device_class_name], _count(told), told.admin_access)


def _count(one: _Exactly) -> int | None:
    return None if one.allocation_mode == "All" else one.count
