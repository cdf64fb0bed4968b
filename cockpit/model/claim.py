"""Devices by claim (dynamic resource allocation, resource.k8s.io): what nodes offer and what claims took."""

import msgspec

from cockpit.model.record import Record


class OfferedDevice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One GPU or part of one in a ResourceSlice."""

    name: str
    is_part: bool = False  # a MIG instance or another part of a card
    uuid: str = ""
    parent_uuid: str = ""
    model: str = ""
    profile: str = ""  # of a MIG instance
    memory_bytes: int | None = None
    is_usable: bool = True  # False where a taint keeps new pods off it


class DeviceSlice(Record, frozen=True, gc=False, kw_only=True):
    """One ResourceSlice: some GPUs of one pool; other devices are left out.

    Only a pool's newest `generation` counts, and only when all `slices` of it are there.
    """

    driver: str
    pool: str
    generation: int = 0
    slices: int = 1  # resourceSliceCount
    node: str = ""  # "" where several nodes can reach the devices
    devices: tuple[OfferedDevice, ...] = ()


class TakenDevice(msgspec.Struct, frozen=True, gc=False):
    """One device that was allocated to a claim; `is_watched` is admin access, which holds nothing."""

    driver: str
    pool: str
    device: str
    is_watched: bool = False


class DeviceRequest(msgspec.Struct, frozen=True, gc=False):
    """One request of a claim; `count` is None where it depends on the node (mode All, alternatives)."""

    device_class: str
    count: int | None = 1
    is_watched: bool = False


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """A pod that may use a claim, in the claim's namespace."""

    uid: str
    name: str


class DeviceClaim(Record, frozen=True, gc=False, kw_only=True):
    """One ResourceClaim. `consumers` are the pods it is reserved for, else the pod that it was made for.

    `is_request` is a claim that the scheduler made for an extended resource (nvidia.com/gpu: 1) of a pod:
    what it takes is part of what the pod asks for anyway.
    """

    consumers: tuple[Consumer, ...] = ()
    is_allocated: bool = False
    where: str = ""  # the node that its devices bind it to, or what else they do
    taken: tuple[TakenDevice, ...] = ()
    requests: tuple[DeviceRequest, ...] = ()
    is_request: bool = False
