"""What dcgm-exporter would print for a node, in each of its three generations (ours: `own_exposition`).

Names, units, labels and their order follow NVIDIA/dcgm-exporter: etc/default-counters.csv and
internal/pkg/rendermetrics/render_metrics.go (A up to 4.5; B: label `hostname`; C: 4.9.0, base units).
"""

from collections.abc import Callable, Container, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from cockpit.sim.actors.gpus.models import Model
from cockpit.sim.actors.gpus.physics import Faults, State
from cockpit.sim.devices import NodeCard, Slot

DRIVER = "570.124.06"
_MIB = 1024 * 1024
_BUSES = ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db")


class Generation(StrEnum):
    """Which exporter speaks: dcgm-exporter's three generations, or our own."""

    A = "A"
    B = "B"
    C = "C"
    COCKPIT = "cockpit"


class DeviceOwner(msgspec.Struct, frozen=True):
    """The container that a device is given to."""

    namespace: str
    pod: str
    container: str


class CardReading(msgspec.Struct, frozen=True):
    """One card, or one MIG instance of it (`slot`), at one moment. Ratios 0..1, base units."""

    card: NodeCard
    model: Model
    state: State
    faults: Faults
    memory_used_bytes: int
    memory_total_bytes: int
    engine_ratio: float
    slot: Slot | None = None
    holder: DeviceOwner | None = None
    sharers: tuple[DeviceOwner, ...] = ()
    """Every container on the device; `holder` is the one that dcgm-exporter names."""

    @property
    def memory_reserved_bytes(self) -> int:
        """Held by the driver; instances share that of their card."""
        return self.model.reserved_bytes if self.slot is None else 0

    @property
    def memory_free_bytes(self) -> int:
        """What a new allocation could get."""
        return max(0, self.memory_total_bytes - self.memory_reserved_bytes - self.memory_used_bytes)


Value = Callable[[CardReading], float | None]


class _Family(msgspec.Struct, frozen=True):
    name: str
    kind: str
    text: str
    value: Value


def _mib(value: int) -> float:
    return value // _MIB


def _percent(ratio: float) -> float:
    return round(100 * ratio)


def _whole(one: CardReading, value: float) -> float | None:
    """What only the whole card can tell: instances say nothing."""
    return value if one.slot is None else None


def _profiled(one: CardReading, value: float) -> float | None:
    return round(value, 6) if one.model.has_profiling else None


def _memory_celsius(one: CardReading) -> float | None:
    if not one.model.has_memory_sensor:
        return None
    return _whole(one, round(one.state.memory_temperature_celsius))


_SHARED_VALUES: dict[str, Value] = {
    "duty": lambda one: _whole(one, one.state.duty_ratio),
    "copy": lambda one: _whole(one, 0.6 * one.state.duty_ratio),
    "engine": lambda one: _profiled(one, one.engine_ratio),
    "tensor": lambda one: _profiled(one, 0.62 * one.engine_ratio),
    "dram": lambda one: _profiled(one, 0.48 * one.engine_ratio),
    "power": lambda one: one.state.power_watts,
    "celsius": lambda one: round(one.state.temperature_celsius),
    "memory_celsius": _memory_celsius,
    "clock": lambda one: one.state.sm_clock_hertz,
    "memory_clock": lambda one: one.model.memory_clock_hertz,
    "energy": lambda one: _whole(one, one.state.energy_joules),
    "used": lambda one: one.memory_used_bytes,
    "free": lambda one: one.memory_free_bytes,
    "reserved": lambda one: one.memory_reserved_bytes,
    "total": lambda one: one.memory_total_bytes,
    "xid": lambda one: _whole(one, one.faults.xid),
    "remapped": lambda one: _whole(one, one.faults.remapped_rows),
    "remap_failed": lambda one: _whole(one, int(one.faults.has_remap_failed)),
}


def _scaled(what: str, factor: Callable[[float], float]) -> Value:
    base = _SHARED_VALUES[what]

    def value(one: CardReading) -> float | None:
        found = base(one)
        return None if found is None else factor(found)

    return value


_DEV, _PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"


def _mhz(hertz: float) -> float:
    return round(hertz / 1e6)


def _to_mib(value: float) -> float:
    return _mib(int(value))


_OLD: tuple[_Family, ...] = (
    _Family(f"{_DEV}SM_CLOCK", "gauge", "SM clock frequency (in MHz).", _scaled("clock", _mhz)),
    _Family(f"{_DEV}MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).", _scaled("memory_clock", _mhz)),
    _Family(
        f"{_DEV}MEMORY_TEMP", "gauge", "Memory temperature (in C).", _SHARED_VALUES["memory_celsius"]
    ),
    _Family(f"{_DEV}GPU_TEMP", "gauge", "GPU temperature (in C).", _SHARED_VALUES["celsius"]),
    _Family(f"{_DEV}POWER_USAGE", "gauge", "Power draw (in W).", _SHARED_VALUES["power"]),
    _Family(
        f"{_DEV}TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ).",
        _scaled("energy", lambda joules: round(1000 * joules)),
    ),
    _Family(f"{_DEV}GPU_UTIL", "gauge", "GPU utilization (in %).", _scaled("duty", _percent)),
    _Family(f"{_DEV}MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", _scaled("copy", _percent)),
    _Family(f"{_DEV}XID_ERRORS", "gauge", "Value of the last XID error encountered.", _SHARED_VALUES["xid"]),
    _Family(f"{_DEV}FB_FREE", "gauge", "Framebuffer memory free (in MiB).", _scaled("free", _to_mib)),
    _Family(f"{_DEV}FB_USED", "gauge", "Framebuffer memory used (in MiB).", _scaled("used", _to_mib)),
    _Family(
        f"{_DEV}FB_RESERVED", "gauge", "Framebuffer memory reserved (in MiB).", _scaled("reserved", _to_mib)
    ),
    _Family(
        f"{_DEV}UNCORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for uncorrectable errors",
        _SHARED_VALUES["remapped"],
    ),
    _Family(
        f"{_DEV}ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed",
        _SHARED_VALUES["remap_failed"],
    ),
    _Family(
        f"{_PROF}GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.",
        _SHARED_VALUES["engine"],
    ),
    _Family(
        f"{_PROF}PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active.",
        _SHARED_VALUES["tensor"],
    ),
    _Family(
        f"{_PROF}DRAM_ACTIVE", "gauge", "Ratio of cycles the device memory interface is active.",
        _SHARED_VALUES["dram"],
    ),
)  # fmt: skip

_NEW: tuple[_Family, ...] = (
    _Family(f"{_DEV}SM_CLOCK_HERTZ", "gauge", "SM clock frequency.", _SHARED_VALUES["clock"]),
    _Family(f"{_DEV}MEMORY_CLOCK_HERTZ", "gauge", "Memory clock frequency.", _SHARED_VALUES["memory_clock"]),
    _Family(f"{_DEV}MEMORY_TEMP_CELSIUS", "gauge", "Memory temperature.", _SHARED_VALUES["memory_celsius"]),
    _Family(f"{_DEV}GPU_TEMP_CELSIUS", "gauge", "GPU temperature.", _SHARED_VALUES["celsius"]),
    _Family(f"{_DEV}BOARD_POWER_WATTS", "gauge", "Power draw of the board.", _SHARED_VALUES["power"]),
    _Family(f"{_DEV}GPU_ENERGY_JOULES_TOTAL", "counter", "Energy used since boot.", _SHARED_VALUES["energy"]),
    _Family(
        f"{_DEV}GPU_UTIL_RATIO", "gauge", "GPU utilization.",
        _scaled("duty", lambda ratio: _percent(ratio) / 100),
    ),
    _Family(
        f"{_DEV}MEMORY_UTIL_RATIO", "gauge", "Memory utilization.",
        _scaled("copy", lambda ratio: _percent(ratio) / 100),
    ),
    _Family(f"{_DEV}XID_ERROR", "gauge", "Last XID error.", _SHARED_VALUES["xid"]),
    _Family(f"{_DEV}FB_FREE_BYTES", "gauge", "Framebuffer memory free.", _SHARED_VALUES["free"]),
    _Family(f"{_DEV}FB_USED_BYTES", "gauge", "Framebuffer memory used.", _SHARED_VALUES["used"]),
    _Family(f"{_DEV}FB_RESERVED_BYTES", "gauge", "Framebuffer memory reserved.", _SHARED_VALUES["reserved"]),
    _Family(f"{_DEV}FB_CAPACITY_BYTES", "gauge", "Framebuffer memory in all.", _SHARED_VALUES["total"]),
    _Family(
        f"{_DEV}ROW_REMAP_UNCORRECTABLE_TOTAL", "counter", "Rows remapped for uncorrectable errors.",
        _SHARED_VALUES["remapped"],
    ),
    _Family(
        f"{_DEV}ROW_REMAP_FAILED", "gauge", "Whether remapping of rows has failed.",
        _SHARED_VALUES["remap_failed"],
    ),
    _Family(f"{_PROF}GR_ENGINE_UTIL_RATIO", "gauge", "Graphics engine active.", _SHARED_VALUES["engine"]),
    _Family(f"{_PROF}TENSOR_UTIL_RATIO", "gauge", "Tensor pipe active.", _SHARED_VALUES["tensor"]),
    _Family(f"{_PROF}DRAM_UTIL_RATIO", "gauge", "Memory interface active.", _SHARED_VALUES["dram"]),
)  # fmt: skip

_FAMILIES = {Generation.A: _OLD, Generation.B: _OLD, Generation.C: _NEW}


def pci_address(index: int) -> str:
    """Where a card sits, as the driver spells it."""
    return f"00000000:{_BUSES[index % len(_BUSES)]}:00.{index // len(_BUSES)}"


Labels = tuple[tuple[str, str], ...]
"""Names and values in the order in which a page prints them."""

ExposedSample = tuple[str, Labels, float]
"""One line of a page: the metric's name, its labels, its value."""


def _labels(node: str, one: CardReading, generation: Generation) -> Labels:
    return _pairs(node, one.card.index, one.card.uuid, one.model.name, one.slot, one.holder, generation)


@lru_cache(maxsize=1 << 16)
def _pairs(  # noqa: PLR0917 - what labels hang on, and nothing else
    node: str,
    index: int,
    uuid: str,
    model: str,
    slot: Slot | None,
    holder: DeviceOwner | None,
    generation: Generation,
) -> Labels:
    """The labels of one card; a fleet asks for them at every scrape, and they hardly ever change."""
    pairs = {
        "gpu": str(index),
        "UUID": uuid,
        "pci_bus_id": pci_address(index),
        "device": f"nvidia{index}",
        "modelName": model,
    }
    if slot is not None:
        pairs |= {"GPU_I_PROFILE": slot.profile, "GPU_I_ID": str(slot.instance)}
    pairs["Hostname" if generation is Generation.A else "hostname"] = node
    pairs["driver_version" if generation is Generation.C else "DCGM_FI_DRIVER_VERSION"] = DRIVER
    if holder is not None:
        pairs |= {"container": holder.container, "namespace": holder.namespace, "pod": holder.pod}
    return tuple(pairs.items())


@lru_cache(maxsize=1 << 16)
def printed(labels: Labels) -> str:
    """Labels as the text format has them between braces."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels)


def escaped(value: str) -> str:
    """A label's value as the text format wants it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def written(value: float) -> str:
    """A sample's value; whole numbers without a point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def samples(
    node: str, readings: Iterable[CardReading], generation: Generation, names: Container[str] | None = None
) -> list[ExposedSample]:
    """The lines of a node's page, or those of some metrics. Cards that fell off the bus are left out, as DCGM
    leaves them out."""
    shown: Sequence[tuple[CardReading, Labels]] = [
        (one, _labels(node, one, generation)) for one in readings if not one.faults.is_lost
    ]
    found: list[ExposedSample] = []
    for family in _FAMILIES[generation]:
        if names is not None and family.name not in names:
            continue
        for one, labels in shown:
            value = family.value(one)
            if value is not None:
                more = _xid_labels(value) if family.name.endswith(("XID_ERRORS", "XID_ERROR")) else ()
                found.append((family.name, (*labels, *more), value))
    return found


def _xid_labels(value: float) -> Labels:
    return (("err_code", str(int(value))), ("err_msg", "No Error" if value == 0 else f"XID {int(value)}"))


def text(node: str, readings: Iterable[CardReading], generation: Generation = Generation.A) -> str:
    """The /metrics page of a node."""
    heads = {
        family.name: (f"# HELP {family.name} {family.text}", f"# TYPE {family.name} {family.kind}")
        for family in _FAMILIES[generation]
    }
    lines: list[str] = []
    before = ""
    for name, labels, value in samples(node, readings, generation):
        if name != before:
            lines += heads[name]
            before = name
        lines.append(f"{name}{{{printed(labels)}}} {written(value)}")
    return "\n".join(lines) + "\n" if lines else ""


@lru_cache
def metric_names(generation: Generation) -> tuple[str, ...]:
    """The metrics that a generation of dcgm-exporter may print."""
    return tuple(family.name for family in _FAMILIES.get(generation, ()))
