"""Every family the exporter can emit: name, kind, unit in the name, meaning. The only list of its names.

Names follow https://prometheus.io/docs/practices/naming/: base units, `_ratio` is 0..1, `_total` only grows
(until the driver is reloaded). A family that a card cannot tell is missing for it, never 0.
"""

from typing import Literal, NamedTuple

Kind = Literal["gauge", "counter"]


class Family(NamedTuple):
    """One metric family. `labels` are those it has beside the device's own."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


DEVICE_LABELS = ("gpu", "uuid", "device", "model", "node", "pci_bus_id")
"""On every series of a card: index, UUID, /dev name, model, node, PCI address."""

MIG_LABELS = ("mig_profile", "mig_instance", "mig_uuid")
"""On series of a MIG instance, beside the labels of its card (`uuid` is the card's)."""

HOLDER_LABELS = ("namespace", "pod", "container")
"""On series of a card or instance where attribution runs; empty where no pod or several have it."""

_CARD: tuple[Family, ...] = (
    Family(
        "up",
        "gauge",
        "1 where the card was read within the interval, 0 where not; `reason` says why",
        ("reason",),
    ),
    Family("lost", "gauge", "1 where the card fell off the bus or is no longer listed"),
    Family("sample_age_seconds", "gauge", "Age of the card's values when scraped"),
    Family(
        "info", "gauge", "1; serial, minor number and MIG mode of the card", ("serial", "minor", "mig_mode")
    ),
    Family("duty_ratio", "gauge", "Share of the last sample period with a kernel running; none under MIG"),
    Family("memory_busy_ratio", "gauge", "Share of the last sample period with memory read or written"),
    Family("encoder_ratio", "gauge", "Busy share of the video encoder"),
    Family("decoder_ratio", "gauge", "Busy share of the video decoder"),
    Family("memory_used_bytes", "gauge", "Allocated device memory"),
    Family("memory_free_bytes", "gauge", "Free device memory"),
    Family("memory_reserved_bytes", "gauge", "Device memory the driver keeps for itself"),
    Family("memory_total_bytes", "gauge", "Total device memory"),
    Family("memory_used_holds_reserved", "gauge", "1 where an old driver counts reserved memory as used"),
    Family("temperature_celsius", "gauge", "Temperature of the chip"),
    Family("memory_temperature_celsius", "gauge", "Temperature of the memory"),
    Family("temperature_margin_celsius", "gauge", "Degrees left to slowdown"),
    Family("temperature_limit_celsius", "gauge", "The card's own thresholds", ("limit",)),
    Family("power_watts", "gauge", "Power drawn; a 1 s average on most chips since Ampere"),
    Family("power_average_watts", "gauge", "Power drawn, average of one second"),
    Family("power_instant_watts", "gauge", "Power drawn at the moment"),
    Family("power_limit_watts", "gauge", "Enforced power limit"),
    Family("energy_joules_total", "counter", "Energy drawn since the driver was loaded"),
    Family("sm_clock_hertz", "gauge", "Clock of the multiprocessors"),
    Family("memory_clock_hertz", "gauge", "Clock of the memory"),
    Family("graphics_clock_hertz", "gauge", "Clock of the graphics domain"),
    Family("video_clock_hertz", "gauge", "Clock of the video domain"),
    Family("sm_clock_max_hertz", "gauge", "Highest clock of the multiprocessors"),
    Family("memory_clock_max_hertz", "gauge", "Highest clock of the memory"),
    Family("throttle", "gauge", "1 while this reason throttles the clocks", ("reason",)),
    Family("throttle_seconds_total", "counter", "Time throttled by this policy", ("policy",)),
    Family("pcie_transmit_bytes_per_second", "gauge", "PCIe traffic from the card"),
    Family("pcie_receive_bytes_per_second", "gauge", "PCIe traffic to the card"),
    Family("pcie_link_generation", "gauge", "Current PCIe generation"),
    Family("pcie_link_width", "gauge", "Current PCIe lanes"),
    Family("pcie_replays_total", "counter", "PCIe replays"),
    Family("nvlink_up", "gauge", "1 where the link is active", ("link",)),
    Family("nvlink_transmit_bytes_total", "counter", "NVLink payload sent, all links"),
    Family("nvlink_receive_bytes_total", "counter", "NVLink payload received, all links"),
    Family("nvlink_transmit_bytes_per_second", "gauge", "NVLink traffic sent, all links"),
    Family("nvlink_receive_bytes_per_second", "gauge", "NVLink traffic received, all links"),
    Family("nvlink_errors_total", "counter", "NVLink errors by link and kind", ("link", "kind")),
    Family("ecc_enabled", "gauge", "1 where ECC is on", ()),
    Family(
        "ecc_errors_total",
        "counter",
        "ECC errors by severity and counter (volatile: since boot)",
        ("kind", "counter"),
    ),
    Family("remapped_rows_total", "counter", "Remapped memory rows by severity", ("kind",)),
    Family("row_remap_pending", "gauge", "1 where a remap waits for a reset"),
    Family("row_remap_failed", "gauge", "1 where a remap failed: the card needs replacing"),
    Family("retired_pages", "gauge", "Retired memory pages by cause", ("cause",)),
    Family("retired_pages_pending", "gauge", "1 where a retirement waits for a reset"),
    Family("recovery_action", "gauge", "1 for the driver's own advice", ("action",)),
    Family("xid", "gauge", "Last XID since the exporter started, 0 for none"),
    Family("xid_age_seconds", "gauge", "Time since the last XID"),
    Family("xid_errors_total", "counter", "XIDs since the exporter started", ("xid",)),
    Family("engine_active_ratio", "gauge", "Share of time any engine was busy (GPM; also of MIG instances)"),
    Family("sm_active_ratio", "gauge", "Share of multiprocessors that were busy (GPM)"),
    Family("sm_occupancy_ratio", "gauge", "Resident warps of the most possible (GPM)"),
    Family("tensor_active_ratio", "gauge", "Share of time the tensor pipes ran (GPM)"),
    Family("dram_active_ratio", "gauge", "Share of the memory bandwidth used (GPM)"),
    Family("processes", "gauge", "Processes on the card by kind", ("kind",)),
    Family("process_memory_bytes", "gauge", "Device memory of a process", ("pid", "name", "kind", "pod_uid")),
    Family(
        "process_duty_ratio",
        "gauge",
        "Share of the multiprocessors a process used",
        ("pid", "name", "pod_uid"),
    ),
    Family(
        "holder",
        "gauge",
        "1 for each container that the card or instance is allocated to; `source` says how this is known",
        ("source", "pod_uid", "claim", "replicas"),
    ),
    Family("allocatable", "gauge", "1 where the kubelet may hand the card or instance out"),
    Family(
        "read_failed",
        "gauge",
        "1 for each group of values that the card refused last time",
        ("function", "error"),
    ),
)

PREFIX = "cockpit_gpu_"

_NODE: tuple[Family, ...] = (
    Family(
        "cockpit_nvml_up", "gauge", "1 where the driver library answers; `reason` says why not", ("reason",)
    ),
    Family(
        "cockpit_gpu_driver_info",
        "gauge",
        "1; versions of driver, library and CUDA",
        ("driver", "nvml", "cuda"),
    ),
    Family("cockpit_gpus", "gauge", "Cards that the driver lists"),
    Family(
        "cockpit_attribution_up",
        "gauge",
        "1 where the pods of cards are known; `reason` says why not",
        ("source", "reason"),
    ),
    Family("cockpit_attribution_age_seconds", "gauge", "Age of the kubelet's last answer"),
    Family("cockpit_attribution_unmatched", "gauge", "Device ids of pods that no card on this node has"),
    Family(
        "cockpit_attribution_slices_up",
        "gauge",
        "1 where this node's ResourceSlices and claims are read; `reason` says why not",
        ("reason",),
    ),
    Family("cockpit_exporter_info", "gauge", "1; version and naming of the exporter", ("version", "names")),
    Family("cockpit_exporter_snapshot_age_seconds", "gauge", "Age of the snapshot that this answer shows"),
    Family("cockpit_exporter_collect_seconds", "gauge", "Time the last round took", ("collector",)),
    Family("cockpit_exporter_rounds_total", "counter", "Rounds of the collector", ()),
    Family("cockpit_exporter_hung_calls", "gauge", "Driver calls that did not return by their deadline"),
    Family(
        "cockpit_exporter_call_failures_total", "counter", "Driver calls that failed", ("function", "error")
    ),
)

CARD_FAMILIES: dict[str, Family] = {item.name: item._replace(name=PREFIX + item.name) for item in _CARD}
"""Families of cards and instances by their short names."""

NODE_FAMILIES: dict[str, Family] = {item.name: item for item in _NODE}

FAMILIES: dict[str, Family] = {item.name: item for item in (*CARD_FAMILIES.values(), *NODE_FAMILIES.values())}
"""Every family by its full name."""
