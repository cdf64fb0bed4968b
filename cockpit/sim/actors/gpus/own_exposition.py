"""What our own exporter would print for a node: base units, a series a reason, a holder a container.

Names, kinds and labels are those of exporter/cockpit_exporter/families.py (a test holds them side by side):
the whole card tells heat, power and clocks once, its MIG instances tell memory and engine; a shared card has
its numbers once and all its pods; a card that fell off the bus says so instead of falling silent.
"""

from collections.abc import Callable, Iterable, Mapping

from cockpit.sim.actors.gpus.exposition import CardReading, ExposedSample, pci_address, printed, written
from cockpit.sim.actors.gpus.physics import Throttle

PREFIX = "cockpit_gpu_"
_REASONS = {
    "gpu_idle": Throttle.GPU_IDLE,
    "power_cap": Throttle.POWER_CAP,
    "hw_slowdown": Throttle.HW_SLOWDOWN,
    "sw_thermal": Throttle.SW_THERMAL,
    "hw_thermal": Throttle.HW_THERMAL,
}
Labels = Mapping[str, str]

_WHOLE: dict[str, Callable[[CardReading], float]] = {
    "temperature_celsius": lambda one: round(one.state.temperature_celsius),
    "power_watts": lambda one: one.state.power_watts,
    "power_limit_watts": lambda one: one.model.cap_watts,
    "energy_joules_total": lambda one: one.state.energy_joules,
    "sm_clock_hertz": lambda one: one.state.sm_clock_hertz,
    "sm_clock_max_hertz": lambda one: one.model.sm_clock_hertz,
    "memory_clock_hertz": lambda one: one.model.memory_clock_hertz,
    "row_remap_failed": lambda one: int(one.faults.has_remap_failed),
    "xid": lambda one: one.faults.xid,
}
"""Of the card, whether or not it is cut."""

_UNCUT: dict[str, Callable[[CardReading], float]] = {
    "duty_ratio": lambda one: round(100 * one.state.duty_ratio) / 100,
    "memory_busy_ratio": lambda one: round(60 * one.state.duty_ratio) / 100,
}
"""Of a card that is not cut: the driver tells no utilisation under MIG."""

_EACH: dict[str, Callable[[CardReading], float]] = {
    "memory_used_bytes": lambda one: one.memory_used_bytes,
    "memory_free_bytes": lambda one: one.memory_free_bytes,
    "memory_reserved_bytes": lambda one: one.memory_reserved_bytes,
    "memory_total_bytes": lambda one: one.memory_total_bytes,
}
_PROFILED: dict[str, Callable[[CardReading], float]] = {
    "engine_active_ratio": lambda one: round(one.engine_ratio, 6),
    "tensor_active_ratio": lambda one: round(0.62 * one.engine_ratio, 6),
    "dram_active_ratio": lambda one: round(0.48 * one.engine_ratio, 6),
}
"""Of a card that is not cut, or of an instance."""


METRIC_NAMES = tuple(
    PREFIX + name
    for name in (
        *("up", "lost", "memory_temperature_celsius", "temperature_limit_celsius", "throttle"),
        *("ecc_errors_total", "remapped_rows_total", "holder"),
        *(*_WHOLE, *_UNCUT, *_EACH, *_PROFILED),
    )
)
"""All that a page may have."""


class _Page:
    """Series by family, in the order in which families came up."""

    def __init__(self) -> None:
        self._rows: dict[str, list[ExposedSample]] = {}

    def add(self, name: str, labels: Labels, value: float) -> None:
        row = (PREFIX + name, tuple(labels.items()), value)
        self._rows.setdefault(PREFIX + name, []).append(row)

    def samples(self) -> list[ExposedSample]:
        return [row for rows in self._rows.values() for row in rows]


def samples(node: str, readings: Iterable[CardReading]) -> list[ExposedSample]:
    """The lines of a node's page."""
    page = _Page()
    told: set[str] = set()
    for one in readings:
        labels = {
            "gpu": str(one.card.index),
            "uuid": one.card.uuid,
            "device": f"nvidia{one.card.index}",
            "model": one.model.name,
            "node": node,
            "pci_bus_id": pci_address(one.card.index).upper(),
        }
        if one.card.uuid not in told:
            told.add(one.card.uuid)
            _add_card(page, one, labels)
        if not one.faults.is_lost:
            _add_unit(page, one, labels)
    return page.samples()


def text(node: str, readings: Iterable[CardReading]) -> str:
    """The /metrics page of a node."""
    lines: list[str] = []
    before = ""
    for name, labels, value in samples(node, readings):
        if name != before:
            lines.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}")
            before = name
        lines.append(f"{name}{{{printed(labels)}}} {written(value)}")
    return "\n".join(lines) + "\n" if lines else ""


def _add_card(page: _Page, one: CardReading, labels: Labels) -> None:
    """What is said of the card once, also of one that is lost."""
    page.add("up", {**labels, "reason": "GpuIsLost" if one.faults.is_lost else ""}, not one.faults.is_lost)
    page.add("lost", labels, one.faults.is_lost)
    if one.faults.is_lost:
        return
    own = {**labels, **_holder_labels(one)} if one.slot is None else labels
    for name, of in _WHOLE.items():
        page.add(name, own, of(one))
    if one.model.has_memory_sensor:
        page.add("memory_temperature_celsius", own, round(one.state.memory_temperature_celsius))
    for limit, celsius in (
        ("slowdown", one.model.slowdown_celsius),
        ("shutdown", one.model.shutdown_celsius),
    ):
        page.add("temperature_limit_celsius", {**own, "limit": limit}, celsius)
    for reason, bit in _REASONS.items():
        page.add("throttle", {**own, "reason": reason}, bool(one.state.throttle & bit))
    for kind, count in (("corrected", 0), ("uncorrected", one.faults.ecc_double)):
        page.add("ecc_errors_total", {**own, "kind": kind, "counter": "volatile"}, count)
    page.add("remapped_rows_total", {**own, "kind": "uncorrected"}, one.faults.remapped_rows)


def _add_unit(page: _Page, one: CardReading, labels: Labels) -> None:
    """What is said of each device that can be held: a card, or an instance."""
    unit = dict(labels)
    families = {**_EACH, **(_PROFILED if one.model.has_profiling else {})}
    if one.slot is None:
        families |= _UNCUT
    else:
        instance, profile = str(one.slot.instance), one.slot.profile
        unit |= {"mig_profile": profile, "mig_instance": instance, "mig_uuid": one.slot.uuid}
    own = {**unit, **_holder_labels(one)}
    for name, of in families.items():
        page.add(name, own, of(one))
    for holder in one.sharers:
        of_pod = {"namespace": holder.namespace, "pod": holder.pod, "container": holder.container}
        more = {"source": "kubelet", "pod_uid": "", "claim": "", "replicas": str(one.card.replicas)}
        page.add("holder", {**unit, **of_pod, **more}, 1.0)


def _holder_labels(one: CardReading) -> dict[str, str]:
    """Of the one holder; empty where there is none or several."""
    if len(one.sharers) != 1:
        return {"namespace": "", "pod": "", "container": ""}
    only = one.sharers[0]
    return {"namespace": only.namespace, "pod": only.pod, "container": only.container}
