"""The one table that knows raw metric names: `exporters.toml`, a section for each family. Nothing else in the
program does. What only the page of a node shows is in `cockpit.telemetry.detail_names`.
"""

import enum
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple


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
    DCGM_1 = "dcgm 1"
    ARENA = "arena"
    NVIDIA_SMI = "nvidia-smi"
    HAMI = "hami"
    GKE = "gke"
    ALL_SMI = "all-smi"
    AMD = "amd"
    INTEL = "intel"
    XPUMD = "xpumd"
    GAUDI = "gaudi"
    NEURON = "neuron"
    ASCEND = "ascend"
    SITE = "configured"  # of a vendor that the site's configuration names (`site_vendors`)


class Meaning(NamedTuple):
    """What a raw name stands for: its value times `factor` is the quantity in base units."""

    quantity: GpuMetric
    factor: float
    source: ExporterFamily
    slot: int  # place of the quantity in Quantity: hashing a member for every sample would cost more
    trust: int  # place of the source in Source, 0 is trusted most


_UNITS = {"": 1.0, "%": 0.01, "MiB": 1_048_576.0, "MHz": 1e6, "Hz": 1.0, "mW": 0.001}

TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("exporters.toml").read_text(encoding="utf-8")
)
"""A section for each `ExporterFamily`, as the file has it."""

SLOTS: dict[GpuMetric, int] = {quantity: slot for slot, quantity in enumerate(GpuMetric)}


def _spelt(name: str, section: Mapping[str, Any]) -> tuple[str, ...]:
    """The name as the exporter's versions and settings write it."""
    spellings = {"lower": name.lower(), "upper": name.upper(), "amd_": f"amd_{name}"}
    return (name, *(spellings[how] for how in section.get("spelt", ())))


_NOTHING: dict[str, Any] = {"metrics": {}}


def _meanings() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    for trust, family in enumerate(ExporterFamily):
        section = TABLE.get(family.value, _NOTHING)
        for name, told in {**section["metrics"], **section.get("fallback", {})}.items():
            word, _, unit = told.partition(" ")
            quantity = GpuMetric[word.upper()]
            meaning = Meaning(quantity, _UNITS[unit], family, SLOTS[quantity], trust)
            found |= dict.fromkeys(_spelt(name, section), meaning)
    return found


MEANINGS: dict[str, Meaning] = _meanings()

ONLY: dict[str, dict[str, frozenset[str]]] = {
    spelt: {label: frozenset(values) for label, values in wanted.items()}
    for section in TABLE.values()
    for name, wanted in section.get("only", {}).items()
    for spelt in _spelt(name, section)
}
"""Names that mean their quantity only where each of these labels has one of these values."""

TILED: dict[str, tuple[str, str]] = {
    name: (label, how)
    for section in TABLE.values()
    for name, parts in section.get("parts", {}).items()
    for how, label in parts.items()
}
"""Names that are printed once for each part of a card: the label that names the part, and whether the card's
value is the `sum` or the `mean`."""

FALLBACKS: dict[str, int] = {
    spelt: rank
    for section in TABLE.values()
    for rank, name in enumerate(section.get("fallback", ()))
    for spelt in _spelt(name, section)
}
"""Names that count only where a card has no better reading of the quantity, the better ones first."""

ABSENT_AS_0: frozenset[str] = frozenset(
    name for section in TABLE.values() for name in section.get("absent_as_0", ())
)
"""Names whose 0 says that nothing measures it."""

MODEL_LABELS: dict[ExporterFamily, str] = {
    family: label for family in ExporterFamily if (label := TABLE.get(family.value, _NOTHING).get("model"))
}
"""The label with the model, of families that write it under an unusual one."""

RATIO_NAMES: frozenset[str] = frozenset(
    name
    for name, meaning in MEANINGS.items()
    if meaning.source is ExporterFamily.DCGM_C and name.upper().endswith("_RATIO")
)
"""Names that promise 0..1 but carry an integer percent under DCGM 4.6, as aliases of field 203."""

FAMILY_LABEL = "cockpit_family"
"""The label by which sample times say of which name they are: `timestamp()` drops the name."""

SAMPLED_AT: list[str] = [name for section in TABLE.values() for name in section["sampled_at"]]
"""One name a family that every card has, MIG or not: its sample time stands for the card's."""


_COMMON = (ExporterFamily.GKE, ExporterFamily.XPUMD)
"""Families whose names others use for what is no card of theirs."""


def is_meant(name: str, labels: Mapping[str, str]) -> bool:
    """False for a series of another of the card's sensors than the one that stands for the card."""
    only = ONLY.get(name)
    return only is None or all(labels.get(label, "") in values for label, values in only.items())


def is_foreign(name: str, meaning: Meaning, labels: Mapping[str, str]) -> bool:
    """True for a series of something else whose name is a common word (`memory_used`, `hw_power_watts`)."""
    return meaning.source in _COMMON and not is_meant(name, labels)


def names_of(quantities: Iterable[GpuMetric]) -> tuple[str, ...]:
    """Every raw name of these quantities, in all generations."""
    wanted = frozenset(quantities)
    return tuple(name for name, meaning in MEANINGS.items() if meaning.quantity in wanted)


def generation(source: ExporterFamily, has_lower_case_host: bool) -> str:
    """The word in `Gpu.source`. B differs from A by the label `hostname` (A: `Hostname`)."""
    if source is ExporterFamily.DCGM_AB:
        return "dcgm B" if has_lower_case_host else "dcgm A"
    return str(source.value)
