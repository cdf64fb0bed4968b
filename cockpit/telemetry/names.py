"""The one table that knows raw metric names. Nothing else in the program does.

Sources: NVIDIA/dcgm-exporter etc/default-counters.csv (A, B: tags up to 4.8.4), the release note of 4.9.0
with NVIDIA/DCGM dcgmlib/dcgm_fields.h (C: 23 names and 11 units changed), kubeflow/arena
pkg/apis/types/gpu_metric.go and mindprince/nvidia_gpu_prometheus_exporter (the fourth family),
ROCm/device-metrics-exporter docs/configuration/metricslist.md (AMD: the lists print capitals, pages small
letters, often behind the configured prefix `amd_`), intel/xpumanager rest/prometheus_exporter.py (Intel 1.x).
What only the page of a node shows is in `cockpit.telemetry.detail_names`.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class GpuMetric(enum.Enum):
    """What a series measures, in the cockpit's base unit."""

    DUTY = "duty, 0..1"
    ENGINE = "engine active, 0..1"  # the only duty that MIG instances have
    MEMORY_USED = "memory used, bytes"
    MEMORY_FREE = "memory free, bytes"
    MEMORY_RESERVED = "memory reserved, bytes"
    MEMORY_TOTAL = "total memory, bytes"
    TEMPERATURE = "temperature, degrees Celsius"
    POWER = "power, watts"
    SM_CLOCK = "SM clock, hertz"
    XID = "last XID code"
    THROTTLE = "reasons why the clocks are throttled, NVML's bits"
    HOLDER = "1 for each container on the card: a shared card has all its pods here and its numbers once"


class ExporterFamily(enum.Enum):
    """Whose series it is. The order is the order of trust where several report the same card."""

    COCKPIT = "cockpit"
    DCGM_C = "dcgm C"
    DCGM_AB = "dcgm A"  # A and B share their names; the host label tells them apart
    ARENA = "arena"
    AMD = "amd"
    INTEL = "intel"


class Meaning(NamedTuple):
    """What a raw name stands for: its value times `factor` is the quantity in base units."""

    quantity: GpuMetric
    factor: float
    source: ExporterFamily
    slot: int  # place of the quantity in Quantity: hashing a member for every sample would cost more
    trust: int  # place of the source in Source, 0 is trusted most


_MIB = 1_048_576.0
_DEV = "DCGM_FI_DEV_"
_PROF = "DCGM_FI_PROF_"

_AB: dict[str, tuple[GpuMetric, float]] = {
    f"{_DEV}GPU_UTIL": (GpuMetric.DUTY, 0.01),
    f"{_PROF}GR_ENGINE_ACTIVE": (GpuMetric.ENGINE, 1.0),
    f"{_DEV}FB_USED": (GpuMetric.MEMORY_USED, _MIB),
    f"{_DEV}FB_FREE": (GpuMetric.MEMORY_FREE, _MIB),
    f"{_DEV}FB_RESERVED": (GpuMetric.MEMORY_RESERVED, _MIB),
    f"{_DEV}FB_TOTAL": (GpuMetric.MEMORY_TOTAL, _MIB),
    f"{_DEV}GPU_TEMP": (GpuMetric.TEMPERATURE, 1.0),
    f"{_DEV}POWER_USAGE": (GpuMetric.POWER, 1.0),
    f"{_DEV}SM_CLOCK": (GpuMetric.SM_CLOCK, 1e6),
    f"{_DEV}XID_ERRORS": (GpuMetric.XID, 1.0),
    f"{_DEV}CLOCK_THROTTLE_REASONS": (GpuMetric.THROTTLE, 1.0),
    f"{_DEV}CLOCKS_EVENT_REASONS": (GpuMetric.THROTTLE, 1.0),
}
_C: dict[str, tuple[GpuMetric, float]] = {
    f"{_DEV}GPU_UTIL_RATIO": (GpuMetric.DUTY, 1.0),
    f"{_PROF}GR_ENGINE_UTIL_RATIO": (GpuMetric.ENGINE, 1.0),
    f"{_DEV}FB_USED_BYTES": (GpuMetric.MEMORY_USED, 1.0),
    f"{_DEV}FB_FREE_BYTES": (GpuMetric.MEMORY_FREE, 1.0),
    f"{_DEV}FB_RESERVED_BYTES": (GpuMetric.MEMORY_RESERVED, 1.0),
    f"{_DEV}FB_CAPACITY_BYTES": (GpuMetric.MEMORY_TOTAL, 1.0),
    f"{_DEV}GPU_TEMP_CELSIUS": (GpuMetric.TEMPERATURE, 1.0),
    f"{_DEV}BOARD_POWER_WATTS": (GpuMetric.POWER, 1.0),
    f"{_DEV}SM_CLOCK_HERTZ": (GpuMetric.SM_CLOCK, 1.0),
    f"{_DEV}XID_ERROR": (GpuMetric.XID, 1.0),
}
_COCKPIT: dict[str, tuple[GpuMetric, float]] = {
    "cockpit_gpu_duty_ratio": (GpuMetric.DUTY, 1.0),
    "cockpit_gpu_engine_active_ratio": (GpuMetric.ENGINE, 1.0),
    "cockpit_gpu_memory_used_bytes": (GpuMetric.MEMORY_USED, 1.0),
    "cockpit_gpu_memory_free_bytes": (GpuMetric.MEMORY_FREE, 1.0),
    "cockpit_gpu_memory_reserved_bytes": (GpuMetric.MEMORY_RESERVED, 1.0),
    "cockpit_gpu_memory_total_bytes": (GpuMetric.MEMORY_TOTAL, 1.0),
    "cockpit_gpu_temperature_celsius": (GpuMetric.TEMPERATURE, 1.0),
    "cockpit_gpu_power_watts": (GpuMetric.POWER, 1.0),
    "cockpit_gpu_sm_clock_hertz": (GpuMetric.SM_CLOCK, 1.0),
    "cockpit_gpu_xid": (GpuMetric.XID, 1.0),
    "cockpit_gpu_throttle": (GpuMetric.THROTTLE, 1.0),
    "cockpit_gpu_holder": (GpuMetric.HOLDER, 1.0),
}
_ARENA: dict[str, tuple[GpuMetric, float]] = {
    "nvidia_gpu_duty_cycle": (GpuMetric.DUTY, 0.01),
    "nvidia_gpu_memory_used_bytes": (GpuMetric.MEMORY_USED, 1.0),
    "nvidia_gpu_memory_total_bytes": (GpuMetric.MEMORY_TOTAL, 1.0),
    "nvidia_gpu_temperature_celsius": (GpuMetric.TEMPERATURE, 1.0),
    "nvidia_gpu_power_usage_milliwatts": (GpuMetric.POWER, 0.001),
}
_AMD_FIELDS: dict[str, tuple[GpuMetric, float]] = {
    "gpu_gfx_activity": (GpuMetric.DUTY, 0.01),
    "gpu_used_vram": (GpuMetric.MEMORY_USED, _MIB),
    "gpu_free_vram": (GpuMetric.MEMORY_FREE, _MIB),
    "gpu_total_vram": (GpuMetric.MEMORY_TOTAL, _MIB),
    "gpu_junction_temperature": (GpuMetric.TEMPERATURE, 1.0),
    "gpu_package_power": (GpuMetric.POWER, 1.0),
    "gpu_clock": (GpuMetric.SM_CLOCK, 1e6),
}
_AMD: dict[str, tuple[GpuMetric, float]] = {
    spelt: meaning for name, meaning in _AMD_FIELDS.items() for spelt in (name, f"amd_{name}", name.upper())
}
_INTEL: dict[str, tuple[GpuMetric, float]] = {
    "xpum_engine_ratio": (GpuMetric.DUTY, 1.0),
    "xpum_memory_used_bytes": (GpuMetric.MEMORY_USED, 1.0),
    "xpum_temperature_celsius": (GpuMetric.TEMPERATURE, 1.0),
    "xpum_power_watts": (GpuMetric.POWER, 1.0),
    "xpum_frequency_mhz": (GpuMetric.SM_CLOCK, 1e6),
}

SLOTS: dict[GpuMetric, int] = {quantity: slot for slot, quantity in enumerate(GpuMetric)}

MEANINGS: dict[str, Meaning] = {
    name: Meaning(quantity, factor, source, SLOTS[quantity], trust)
    for trust, (source, family) in enumerate(
        (
            (ExporterFamily.COCKPIT, _COCKPIT),
            (ExporterFamily.DCGM_C, _C),
            (ExporterFamily.DCGM_AB, _AB),
            (ExporterFamily.ARENA, _ARENA),
            (ExporterFamily.AMD, _AMD),
            (ExporterFamily.INTEL, _INTEL),
        )
    )
    for name, (quantity, factor) in family.items()
}

ONLY: dict[str, tuple[str, frozenset[str]]] = {
    **{
        name: ("clock_type", frozenset({"GPU_CLOCK_TYPE_SYSTEM", "system"}))
        for name in ("gpu_clock", "amd_gpu_clock", "GPU_CLOCK")
    },
    "xpum_temperature_celsius": ("location", frozenset({"gpu"})),
    "xpum_frequency_mhz": ("type", frozenset({"actual"})),
}
"""Names that mean their quantity only where this label has one of these values."""

TILED = frozenset({"xpum_memory_used_bytes"})
"""Names that Intel's exporter prints once a tile (`sub_dev`): the card's value is the sum."""

RATIO_NAMES: frozenset[str] = frozenset(name for name in MEANINGS if name.endswith("_RATIO"))
"""Names that promise 0..1 but carry an integer percent under DCGM 4.6, as aliases of field 203."""

FAMILY_LABEL = "cockpit_family"
"""The label by which sample times say of which name they are: `timestamp()` drops the name."""

SAMPLED_AT = (
    f"{_DEV}GPU_TEMP",
    f"{_DEV}GPU_TEMP_CELSIUS",
    "cockpit_gpu_temperature_celsius",
    "nvidia_gpu_duty_cycle",
    "gpu_used_vram",
    "amd_gpu_used_vram",
    "GPU_USED_VRAM",
    "xpum_memory_used_bytes",
)
"""One name a family that every card has, MIG or not: its sample time stands for the card's."""


def is_meant(name: str, labels: Mapping[str, str]) -> bool:
    """False for a series of another of the card's sensors than the one that stands for the card."""
    only = ONLY.get(name)
    return only is None or labels.get(only[0], "") in only[1]


def names_of(quantities: Iterable[GpuMetric]) -> tuple[str, ...]:
    """Every raw name of these quantities, in all generations."""
    wanted = frozenset(quantities)
    return tuple(name for name, meaning in MEANINGS.items() if meaning.quantity in wanted)


def generation(source: ExporterFamily, has_lower_case_host: bool) -> str:
    """The word in `Gpu.source`. B differs from A by the label `hostname` (A: `Hostname`)."""
    if source is ExporterFamily.DCGM_AB:
        return "dcgm B" if has_lower_case_host else "dcgm A"
    return str(source.value)
