"""Which extended resources count GPUs and other accelerators, which devices of claims are such, and which
model a machine type names: as `accelerators.toml` has it, a table a vendor."""

import enum
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cockpit.model.accelerator_vendor import AcceleratorVendor
from cockpit.model.gang import PodSet

TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("accelerators.toml").read_text(encoding="utf-8")
)
_VENDORS: list[dict[str, Any]] = TABLE["resource"]

_BUILT_IN: tuple[str, ...] = tuple(name for vendor in _VENDORS for name in vendor["names"])
_site: list[AcceleratorVendor] = []


def declare(vendors: Iterable[AcceleratorVendor]) -> None:
    """Count the accelerators of these vendors, too, from now on, and of none that was declared before."""
    _site[:] = vendors
    is_gpu_resource.cache_clear()


def site_vendors() -> tuple[AcceleratorVendor, ...]:
    """The vendors that the configuration names."""
    return tuple(_site)


def gpu_names() -> tuple[str, ...]:
    """Extended resources that count accelerators, without those of parts; the usual ones first."""
    return (*_BUILT_IN, *(vendor.resource for vendor in _site))


def resource_marks() -> tuple[str, ...]:
    """Texts of which one is in the name of each resource that counts accelerators or parts of them."""
    others = (name for name in (*gpu_names(), *_PARTS) if "gpu" not in name)
    return ("gpu", *dict.fromkeys(others))


_PARTS = tuple(start for vendor in _VENDORS for start in vendor.get("parts", ()))
_SHARES = tuple(name for vendor in _VENDORS for name in vendor.get("shares", ()))
"""What is asked of a device or instead of one: memory, cores."""
_SHARE_ENDS = tuple(end for vendor in _VENDORS for end in vendor.get("share_ends", ()))
_ALIASES = {name: vendor["names"] for vendor in _VENDORS if vendor.get("same") for name in vendor["names"]}
"""Resources by which a node offers the same devices more than once."""


@lru_cache(maxsize=1024)
def is_gpu_resource(name: str) -> bool:
    """True for a resource that counts accelerators or slices of them, e.g. `nvidia.com/mig-1g.10gb`."""
    return is_built_in(name) or any(vendor.resource == name for vendor in _site)


def is_built_in(name: str) -> bool:
    """The same without vendors of the configuration."""
    if name in _SHARES:
        return False
    if name in _BUILT_IN or name.endswith("/gpu"):
        return True
    return name.startswith(_PARTS) and not name.endswith(_SHARE_ENDS)


def device_count(resources: Mapping[str, int]) -> int | None:
    """Devices over all resources of accelerators (mixed MIG shows several), each once; None where there are
    none."""
    counts = {name: count for name, count in resources.items() if is_gpu_resource(name)}
    for names in _ALIASES.values():
        offered = [name for name in names if counts.get(name)]
        for name in offered[1:]:
            del counts[name]
    return sum(counts.values()) if counts else None


def main_resource(resources: Iterable[tuple[str, int]]) -> str:
    """Of the resources that a node offers the one with the most accelerators (mixed MIG has several)."""
    offered = [
        (count, -_ORDER.get(name, len(_ORDER)), name) for name, count in resources if is_gpu_resource(name)
    ]
    return max(offered, default=(0, 0, ""))[2]


_ORDER = {name: place for place, name in enumerate(_BUILT_IN)}


@cache
def _machines() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), model) for pattern, model in TABLE["machines"].items())


_SERVICE_PREFIX = "ml."
"""Before the machine types of SageMaker HyperPod, which are those of EC2."""


@lru_cache(maxsize=1024)
def model_of_machine(type_: str) -> str:
    """The model that a machine type names, "" where it names none: `Standard_NC24ads_A100_v4` has an A100."""
    name = type_.removeprefix(_SERVICE_PREFIX)
    for pattern, model in _machines():
        match = pattern.fullmatch(name)
        if match is not None:
            return model.format(match[1].upper()) if "{}" in model else model
    return ""


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

_RESOURCES: dict[str, str] = {
    vendor["driver"]: vendor.get("driver_resource", vendor["names"][0])
    for vendor in _VENDORS
    if "driver" in vendor
}
"""The extended resource that stands for a driver's devices (DeviceClass extendedResourceName)."""


@lru_cache(maxsize=256)
def device_part(driver: str, type_: str = "") -> DevicePart:
    """What a driver's device is by its attribute `type`, else by the driver's name (gpu.example.com)."""
    known = _TYPES.get(type_)
    if known is not None:
        return known
    is_known = driver in _RESOURCES or "gpu" in driver.split(".")
    return DevicePart.CARD if is_known and not type_ else DevicePart.NO_GPU


@lru_cache(maxsize=256)
def is_gpu_class(name: str) -> bool:
    """True for a device class that gives GPUs, by its name: gpu.nvidia.com, mig.nvidia.com, a100-gpu."""
    words = name.replace("-", ".").split(".")
    return "gpu" in words or "mig" in words or name in _RESOURCES


@lru_cache(maxsize=256)
def claimed_resource(driver: str) -> str:
    """The extended resource as which devices of that driver are counted."""
    return _RESOURCES.get(driver, f"{driver}/gpu")
