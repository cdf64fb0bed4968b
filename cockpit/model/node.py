"""Nodes and their devices as the API server tells them."""

import math

import msgspec

from cockpit.model.record import Condition, Labels, Record


class Taint(msgspec.Struct, frozen=True, gc=False):
    key: str
    value: str
    effect: str


class Node(Record, frozen=True, gc=False, kw_only=True):
    """One node. GPU counts are whole devices of `gpu_resource` (e.g. nvidia.com/gpu).

    `gpu_capacity` and `gpu_allocatable` are None when the node does not show the resource at all: a GPU
    node whose device plugin has not registered yet reads *not advertised*, not zero. `gpus_expected` is
    what labels promise (`nvidia.com/gpu.count`, instance type hints), None when none names a number;
    `is_gpu_labelled` says that a label promises GPUs, with a number or without.
    Time-slicing multiplies capacity; `gpu_replicas` (label nvidia.com/gpu.replicas) divides it back.
    `gpus_by_claim` are those that ResourceSlices offer to claims (DRA), None where none are; where they are
    more than the node shows otherwise, the store puts them into capacity and allocatable.
    """

    labels: Labels = ()
    annotations: Labels = ()  # only those that name an owner or a hold
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    cordoned_seconds: float | None = None  # when that was written; only of one that was read for a plan
    conditions: tuple[Condition, ...] = ()
    provider_id: str = ""
    internal_ip: str = ""
    kubelet_version: str = ""
    capacity: tuple[tuple[str, int], ...] = ()  # cpu in millicores, memory in bytes, others whole
    allocatable: tuple[tuple[str, int], ...] = ()
    gpu_resource: str = ""
    gpu_capacity: int | None = None
    gpu_allocatable: int | None = None
    gpus_expected: int | None = None
    is_gpu_labelled: bool = False
    gpus_by_claim: int | None = None
    gpu_replicas: int = 1
    gpu_model: str = ""  # as labelled, e.g. "NVIDIA-H100-80GB-HBM3"; "" unknown
    gpu_memory_bytes: int | None = None  # per card, label nvidia.com/gpu.memory
    instance_type: str = ""
    zone: str = ""
    pool: str = ""  # name of the pool that labels tell, "" unknown
    pool_label: str = ""  # the label key that told it

    @property
    def ready(self) -> str:
        """Status of the Ready condition: "True", "False", "Unknown", or "" before the kubelet spoke."""
        for condition in self.conditions:
            if condition.type == "Ready":
                return condition.status
        return ""

    @property
    def has_gpus(self) -> bool:
        """True for a node that shows or is promised GPUs."""
        return bool(self.gpu_capacity) or bool(self.gpus_expected) or self.is_gpu_labelled

    @property
    def has_mig(self) -> bool:
        """True where cards are cut into MIG instances, as capacity or product label tell."""
        if "-MIG-" in self.gpu_model:
            return True
        for name, count in self.capacity:  # noqa: SIM110 - asked for every node of a big list, any() costs double
            if count and name.startswith("nvidia.com/mig-"):
                return True
        return False

    @property
    def usable_cards(self) -> int:
        """Physical cards of which something can be placed; with the MIG strategy `single` the API server
        counts instances, and only telemetry knows the cards."""
        offered = self.gpu_allocatable or 0
        if self.gpu_replicas <= 1 and not self.has_mig:
            return offered
        by_replicas = math.ceil(offered / max(1, self.gpu_replicas))
        return min(offered, self.gpus_expected or by_replicas)
