"""MIG instances of a card."""

import re
from typing import Any, NamedTuple

from cockpit_exporter.driver import CallFailed, Nvml, text

_PROFILE = re.compile(r"\bMIG ((?:\d+c\.)?\d+g\.\d+gb\S*)")


class InstanceHandle(NamedTuple):
    """An instance and the driver's handle for it, good for this round only."""

    handle: Any
    uuid: str
    gpu_instance: int
    compute_instance: int
    profile: str


def instances_of(nvml: Nvml, card: Any) -> list[InstanceHandle]:
    """The instances of a card in MIG mode, by slot. Empty slots say not-found and are passed over; so is an
    instance that goes while it is looked at."""
    found: list[InstanceHandle] = []
    for slot in range(nvml.call("nvmlDeviceGetMaxMigDeviceCount", card)):
        try:
            handle = nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", card, slot)
            found.append(
                InstanceHandle(
                    handle,
                    text(nvml.call("nvmlDeviceGetUUID", handle)),
                    nvml.call("nvmlDeviceGetGpuInstanceId", handle),
                    nvml.call("nvmlDeviceGetComputeInstanceId", handle),
                    _profile(nvml, handle),
                )
            )
        except CallFailed as problem:
            if problem.error not in ("not-found", "invalid-argument"):
                raise
    return found


def _profile(nvml: Nvml, handle: Any) -> str:
    """1g.10gb, 1c.3g.20gb: from the instance's name, else from its slices and memory; "" if neither tells."""
    try:
        match = _PROFILE.search(text(nvml.call("nvmlDeviceGetName", handle)))
        if match:
            return match[1]
        found = nvml.call("nvmlDeviceGetAttributes_v2", handle)
    except CallFailed as problem:
        if problem.error in ("not-supported", "function-not-found"):
            return ""
        raise
    whole, part = found.gpuInstanceSliceCount, found.computeInstanceSliceCount
    shares = f"{part}c." if part and part < whole else ""
    return f"{shares}{whole}g.{round(found.memorySizeMB / 1024)}gb"
