"""What dcgm-exporter would print for a node, in each of its three generations (ours: `own_exposition`).

Names, units, labels and their order follow NVIDIA/dcgm-exporter: etc/default-counters.csv and
internal/pkg/rendermetrics/render_metrics.go (A up to 4.5; B: label `hostname`; C: 4.9.0, base units).
"""

from collections.abc import Callable, Container, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from importlib import resources

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


def _whole(one: CardReading, value: float) -> float | None:
    """What only the whole card can tell: instances say nothing."""
    return value if one.slot is None else None


def _profiled(one: CardReading, value: float) -> float | None:
    return round(value, 6) if one.model.has_profiling else None


def _memory_celsius(one: CardReading) -> float | None:
    if not one.model.has_memory_sensor:
        return None
    return _whole(one, round(one.state.memory_temperature_celsius))


_VALUES: dict[str, Value] = {
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


def _scaled(base: Value, unit: Callable[[float], float]) -> Value:
    def value(one: CardReading) -> float | None:
        found = base(one)
        return None if found is None else unit(found)

    return value


_UNITS: dict[str, Callable[[float], float]] = {
    "-": lambda value: value,
    "MHz": lambda hertz: round(hertz / 1e6),
    "mJ": lambda joules: round(1000 * joules),
    "MiB": lambda value: int(value) // _MIB,
    "percent": lambda ratio: round(100 * ratio),
    "hundredths": lambda ratio: round(100 * ratio) / 100,
}
"""In which a family is printed -> the number, from one in base units."""


@lru_cache
def _families(generation: Generation) -> tuple[_Family, ...]:
    """What a generation prints (`dcgm_families.txt`); nothing for our own exporter."""
    page = {Generation.A: "old", Generation.B: "old", Generation.C: "new"}.get(generation)
    text = resources.files("cockpit.sim.actors.gpus").joinpath("dcgm_families.txt").read_text("utf-8")
    rows = (line.split(" ", 5) for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        _Family(name, kind, said, _scaled(_VALUES[value], _UNITS[unit]))
        for which, name, kind, value, unit, said in rows
        if which == page
    )


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
    for family in _families(generation):
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
        for family in _families(generation)
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
    return tuple(family.name for family in _families(generation))
