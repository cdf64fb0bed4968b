"""A share of a GPU that a pod asks for by annotations, where a scheduler divides cards.

Source: KAI-Scheduler docs/gpu-sharing and pkg/common/constants; Run:ai writes the same.
"""

from collections.abc import Mapping

from cockpit.model.gpu_share import GpuShare

FRACTION, MEMORY, DEVICES = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
"""A share of the time and memory of each of several devices (1 where not said); memory of one, in MiB."""
SHARE_ANNOTATIONS = (FRACTION, MEMORY, DEVICES)


def whole_number(text: str) -> int | None:
    """The number that stands there in plain digits, None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def gpu_share(annotations: Mapping[str, str]) -> GpuShare | None:
    """The share that they ask for; None where they ask for none, or what they say is no amount."""
    memory = whole_number(annotations.get(MEMORY, ""))
    devices = whole_number(annotations.get(DEVICES, "")) or 1
    if memory:
        return GpuShare(memory_bytes=memory << 20, devices=devices)
    try:
        fraction = float(annotations.get(FRACTION, "0"))
    except ValueError:
        return None
    return GpuShare(fraction=fraction, devices=devices) if 0.0 < fraction <= 1.0 else None
