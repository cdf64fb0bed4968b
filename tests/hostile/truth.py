"""What a truthful Prometheus says of the estate: eight cards, no value of which is zero."""

import re
from typing import Any

NODES = ("gpu-0", "gpu-1")
CARDS_EACH = 4
MIB = 1_048_576.0
FAMILY = {
    "DCGM_FI_DEV_GPU_UTIL": 71.0,
    "DCGM_FI_DEV_FB_USED": 40_000.0,
    "DCGM_FI_DEV_FB_FREE": 41_000.0,
    "DCGM_FI_DEV_FB_RESERVED": 559.0,
    "DCGM_FI_DEV_GPU_TEMP": 64.0,
    "DCGM_FI_DEV_POWER_USAGE": 412.5,
    "DCGM_FI_DEV_SM_CLOCK": 1_410.0,
}
RIGHT = {
    "duty_ratio": 0.71,
    "memory_used_bytes": 40_000.0 * MIB,
    "memory_total_bytes": 81_559.0 * MIB,
    "temperature_celsius": 64.0,
    "power_watts": 412.5,
    "sm_clock_hertz": 1.41e9,
}
"""What the cockpit has to read out of it."""

Row = dict[str, Any]


def uuid(node: str, index: int) -> str:
    """A card's identity."""
    return f"GPU-{node}-{index}"


VICTIM = uuid(NODES[0], 0)
"""The card whose series modes spoil where they spoil one alone."""


def labels(node: str, index: int) -> dict[str, str]:
    """As dcgm-exporter writes them."""
    return {
        "gpu": str(index),
        "UUID": uuid(node, index),
        "pci_bus_id": f"00000000:{index:02}:00.0",
        "device": f"nvidia{index}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": node,
    }


def rows(query: str, now: float) -> list[Row]:
    """Rows of an instant query, as far as it is one that the cockpit asks."""
    if query.startswith("vector("):
        return [{"metric": {}, "value": [now, "1"]}]
    if "timestamp(" in query:
        keep = ("UUID", "Hostname")
        return [
            {"metric": {name: value for name, value in labels(node, index).items() if name in keep},
             "value": [now, f"{now - 3:.3f}"]}
            for node in NODES
            for index in range(CARDS_EACH)
        ]  # fmt: skip
    asked = [
        re.compile(pattern.replace("\\\\", "\\")) for pattern in re.findall(r'__name__=~"([^"]*)"', query)
    ]
    return [
        {"metric": {"__name__": name, **labels(node, index)}, "value": [now, repr(value)]}
        for node in NODES
        for index in range(CARDS_EACH)
        for name, value in FAMILY.items()
        if any(pattern.fullmatch(name) for pattern in asked)
    ]
