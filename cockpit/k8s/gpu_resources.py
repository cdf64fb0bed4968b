"""Which extended resources count GPUs, by name, and which devices of claims are GPUs."""

import enum
from collections.abc import Iterable
from functools import lru_cache

from cockpit.model.gang import PodSet

GPU_NAMES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "alpha.kubernetes.io/nvidia-gpu",
    "aliyun.com/gpu",
)
"""Source: cluster-autoscaler pkg/utils/gpu/gpu.go and the vendors' device plugins."""

_NOT_GPUS = ("gpu.intel.com/i915_monitoring", "gpu.intel.com/xe_monitoring", "gpu.intel.com/monitoring")


@lru_cache(maxsize=1024)
def is_gpu_resource(name: str) -> bool:
    """True for a resource that counts GPUs or slices of them, e.g. `nvidia.com/mig-1g.10gb`."""
    if name in _NOT_GPUS:
        return False
    if name in GPU_NAMES or name.endswith("/gpu") or name.startswith("nvidia.com/mig-"):
        return True
    return name.startswith("gpu.intel.com/") and not name.endswith(("memory.max", "tiles", "millicores"))


def resource_word(name: str, count: int | None = None) -> str:
    """What a person calls the resource: "GPUs" ("GPU" for one), "CPU", "memory", else its own name."""
    if name.startswith("nvidia.com/mig-"):
        return f"MIG {name.removeprefix('nvidia.com/mig-')}"
    if is_gpu_resource(name):
        return "GPU" if count == 1 else "GPUs"
    return {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "local disk"}.get(name, name)


def gpus_asked(pod_sets: Iterable[PodSet]) -> int:
    """GPUs that a gang asks for, over all its pod sets."""
    return sum(
        amount for part in pod_sets for resource, amount in part.resources if is_gpu_resource(resource)
    )


class DevicePart(enum.Enum):
    """What a device of a claim is."""

    CARD = "card"
    PART = "part of a card"
    NO_GPU = "no GPU"


_TYPES = {
    "gpu": DevicePart.CARD,
    "vfio": DevicePart.CARD,
    "amdgpu": DevicePart.CARD,
    "mig": DevicePart.PART,
    "amdgpu-partition": DevicePart.PART,
}
"""Attribute `type` (dra-driver-nvidia-gpu deviceinfo.go, ROCm/k8s-gpu-dra-driver)."""

_RESOURCES = {
    "gpu.nvidia.com": "nvidia.com/gpu",
    "gpu.amd.com": "amd.com/gpu",
    "gpu.intel.com": "gpu.intel.com/xe",
}
"""The extended resource that stands for a driver's devices (DeviceClass extendedResourceName)."""


@lru_cache(maxsize=256)
def device_part(driver: str, type_: str = "") -> DevicePart:
    """What a driver's device is by its attribute `type`, else by the driver's name (gpu.example.com)."""
    known = _TYPES.get(type_)
    if known is not None:
        return known
    return DevicePart.CARD if not type_ and "gpu" in driver.split(".") else DevicePart.NO_GPU


@lru_cache(maxsize=256)
def is_gpu_class(name: str) -> bool:
    """True for a device class that gives GPUs, by its name: gpu.nvidia.com, mig.nvidia.com, a100-gpu."""
    words = name.replace("-", ".").split(".")
    return "gpu" in words or "mig" in words


@lru_cache(maxsize=256)
def claimed_resource(driver: str) -> str:
    """The extended resource as which devices of that driver are counted."""
    return _RESOURCES.get(driver, f"{driver}/gpu")
