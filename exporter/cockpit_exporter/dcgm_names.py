"""The same numbers under dcgm-exporter's names, for dashboards that know only those. Pure.

A: names and units up to 4.8.4 (etc/default-counters.csv), label `Hostname`. C: names and units since 4.9.0,
label `hostname`; its further labels could not be checked and are those of A without the driver's version.
Families that a generation has no known name for are left out. As with dcgm-exporter's virtual-GPU option a
shared card has its series once for each pod: count UUIDs, not series.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from prometheus_client.metrics_core import Metric

from cockpit_exporter.attribution import Holder
from cockpit_exporter.exposition import Page, add_node
from cockpit_exporter.families import CARD_FAMILIES, Family, Kind
from cockpit_exporter.model import Card, Instance, Value
from cockpit_exporter.seen import Seen, instance_label, pci_address

Generation = Literal["A", "C"]

MIB = 1_048_576.0
_DEV, _PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"


class _Name(NamedTuple):
    """The name and what one of its units is worth in ours."""

    name: str
    unit: float


class _Both(NamedTuple):
    a: _Name | None
    c: _Name | None


def _both(a: str, unit: float, c: str) -> _Both:
    return _Both(_Name(a, unit) if a else None, _Name(c, 1.0) if c else None)


_TABLE: dict[tuple[str, str], _Both] = {
    ("duty_ratio", ""): _both(f"{_DEV}GPU_UTIL", 0.01, f"{_DEV}GPU_UTIL_RATIO"),
    ("memory_busy_ratio", ""): _both(f"{_DEV}MEM_COPY_UTIL", 0.01, f"{_DEV}MEMORY_UTIL_RATIO"),
    ("encoder_ratio", ""): _both(f"{_DEV}ENC_UTIL", 0.01, f"{_DEV}ENC_UTIL_RATIO"),
    ("decoder_ratio", ""): _both(f"{_DEV}DEC_UTIL", 0.01, f"{_DEV}DEC_UTIL_RATIO"),
    ("memory_used_bytes", ""): _both(f"{_DEV}FB_USED", MIB, f"{_DEV}FB_USED_BYTES"),
    ("memory_free_bytes", ""): _both(f"{_DEV}FB_FREE", MIB, f"{_DEV}FB_FREE_BYTES"),
    ("memory_reserved_bytes", ""): _both(f"{_DEV}FB_RESERVED", MIB, f"{_DEV}FB_RESERVED_BYTES"),
    ("memory_total_bytes", ""): _both(f"{_DEV}FB_TOTAL", MIB, f"{_DEV}FB_CAPACITY_BYTES"),
    ("temperature_celsius", ""): _both(f"{_DEV}GPU_TEMP", 1.0, f"{_DEV}GPU_TEMP_CELSIUS"),
    ("memory_temperature_celsius", ""): _both(f"{_DEV}MEMORY_TEMP", 1.0, f"{_DEV}MEMORY_TEMP_CELSIUS"),
    ("power_watts", ""): _both(f"{_DEV}POWER_USAGE", 1.0, f"{_DEV}BOARD_POWER_WATTS"),
    ("energy_joules_total", ""): _both(
        f"{_DEV}TOTAL_ENERGY_CONSUMPTION", 0.001, f"{_DEV}GPU_ENERGY_JOULES_TOTAL"
    ),
    ("sm_clock_hertz", ""): _both(f"{_DEV}SM_CLOCK", 1e6, f"{_DEV}SM_CLOCK_HERTZ"),
    ("memory_clock_hertz", ""): _both(f"{_DEV}MEM_CLOCK", 1e6, f"{_DEV}MEMORY_CLOCK_HERTZ"),
    ("pcie_replays_total", ""): _both(f"{_DEV}PCIE_REPLAY_COUNTER", 1.0, f"{_DEV}PCIE_REPLAY_TOTAL"),
    ("pcie_transmit_bytes_per_second", ""): _both(f"{_PROF}PCIE_TX_BYTES", 1.0, f"{_PROF}PCIE_TX_BYTES"),
    ("pcie_receive_bytes_per_second", ""): _both(f"{_PROF}PCIE_RX_BYTES", 1.0, f"{_PROF}PCIE_RX_BYTES"),
    ("remapped_rows_total", "uncorrected"): _both(
        f"{_DEV}UNCORRECTABLE_REMAPPED_ROWS", 1.0, f"{_DEV}ROW_REMAP_UNCORRECTABLE_TOTAL"
    ),
    ("remapped_rows_total", "corrected"): _both(
        f"{_DEV}CORRECTABLE_REMAPPED_ROWS", 1.0, f"{_DEV}ROW_REMAP_CORRECTABLE_TOTAL"
    ),
    ("row_remap_failed", ""): _both(f"{_DEV}ROW_REMAP_FAILURE", 1.0, f"{_DEV}ROW_REMAP_FAILED"),
    ("engine_active_ratio", ""): _both(f"{_PROF}GR_ENGINE_ACTIVE", 1.0, f"{_PROF}GR_ENGINE_UTIL_RATIO"),
    ("tensor_active_ratio", ""): _both(f"{_PROF}PIPE_TENSOR_ACTIVE", 1.0, f"{_PROF}TENSOR_UTIL_RATIO"),
    ("dram_active_ratio", ""): _both(f"{_PROF}DRAM_ACTIVE", 1.0, f"{_PROF}DRAM_UTIL_RATIO"),
    ("sm_active_ratio", ""): _both(f"{_PROF}SM_ACTIVE", 1.0, ""),
    ("sm_occupancy_ratio", ""): _both(f"{_PROF}SM_OCCUPANCY", 1.0, ""),
    ("throttle_seconds_total", "power"): _both(
        f"{_DEV}POWER_VIOLATION", 1e-9, f"{_DEV}GPU_POWER_THROTTLE_SECONDS_TOTAL"
    ),
    ("throttle_seconds_total", "thermal"): _both(f"{_DEV}THERMAL_VIOLATION", 1e-9, ""),
}
_XID = _both(f"{_DEV}XID_ERRORS", 1.0, f"{_DEV}XID_ERROR")


def page(seen: Seen, generation: Generation) -> Iterable[Metric]:
    """Families of dcgm-exporter's names, and those of the node and of the exporter itself."""
    found = Page()
    add_node(found, seen, f"dcgm {generation}")
    for card in seen.snapshot.cards:
        if not card.down:
            _add_card(found, seen, card, generation)
    return found.metrics()


def names(generation: Generation) -> frozenset[str]:
    """All names that a page of this generation may have."""
    told = (_pick(one, generation) for one in (*_TABLE.values(), _XID))
    return frozenset(one.name for one in told if one is not None)


def _pick(both: _Both, generation: Generation) -> _Name | None:
    return both.a if generation == "A" else both.c


def _labels(seen: Seen, card: Card, instance: Instance | None, generation: Generation) -> dict[str, str]:
    device = card.device
    labels = {
        "gpu": str(device.index),
        "UUID": device.uuid,
        "pci_bus_id": pci_address(device.pci_bus_id),
        "device": "" if device.minor is None else f"nvidia{device.minor}",
        "modelName": device.model,
    }
    if instance is not None:
        labels["GPU_I_PROFILE"] = instance.profile
        labels["GPU_I_ID"] = instance_label(card, instance)
    labels["Hostname" if generation == "A" else "hostname"] = seen.node
    if generation == "A" and seen.snapshot.versions.driver:
        labels["DCGM_FI_DRIVER_VERSION"] = seen.snapshot.versions.driver
    return labels


def _add_card(found: Page, seen: Seen, card: Card, generation: Generation) -> None:
    values = list(card.values)
    xid = seen.xids.get(card.device.uuid)
    code = xid.last if xid is not None else 0
    for labels in _for_each(seen, card, None, generation):
        _add_values(found, values, labels, generation)
        name = _pick(_XID, generation)
        if name is not None and (xid is not None or seen.is_xid_watched):
            found.add(
                Family(name.name, "gauge", CARD_FAMILIES["xid"].help), {**labels, "err_code": str(code)}, code
            )
    for instance in card.instances:
        for labels in _for_each(seen, card, instance, generation):
            _add_values(found, instance.values, labels, generation)


def _for_each(
    seen: Seen, card: Card, instance: Instance | None, generation: Generation
) -> Iterable[dict[str, str]]:
    """The labels for each pod on the card, or without a pod."""
    labels = _labels(seen, card, instance, generation)
    holders = seen.holders(card, instance) or (Holder("", "", "", ""),)
    for one in holders:
        if seen.joined is None or not one.pod:
            yield labels
            return
        yield {**labels, "container": one.container, "namespace": one.namespace, "pod": one.pod}


def _add_values(found: Page, values: Iterable[Value], labels: dict[str, str], generation: Generation) -> None:
    for value in values:
        kind_of = value.labels[0][1] if value.labels else ""
        both = _TABLE.get((value.family, kind_of))
        name = _pick(both, generation) if both is not None else None
        if name is None:
            continue
        ours = CARD_FAMILIES[value.family]
        kind: Kind = "counter" if ours.kind == "counter" else "gauge"
        found.add(Family(name.name, kind, ours.help), labels, _in_unit(value.value, name.unit))


def _in_unit(value: float, unit: float) -> float:
    """57 percent for 0.57, without the dust of a division."""
    if unit < 1.0:
        return round(value * round(1.0 / unit), 6)
    return value / unit
