"""dcgm-exporter's names, units and types as data.

A: names up to 4.8.4; types as declared in NVIDIA/dcgm-exporter etc/default-counters.csv and
etc/dcp-metrics-included.csv, also of those that are commented out there. C: names since 4.9.0 by its release
note and NVIDIA/DCGM dcgmlib/dcgm_fields.h; a renamed field keeps its type. An empty name is one that is not
known. DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL is left out: what it counts differs between releases.
"""

from typing import NamedTuple

from cockpit_exporter.families import Kind

MIB = 1_048_576.0
_DEV, _PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"


class Name(NamedTuple):
    """A name, what one of its units is worth in ours, and the type that dcgm-exporter declares."""

    name: str
    unit: float
    kind: Kind


class Names(NamedTuple):
    """One number under both generations; None where a generation has no known name."""

    a: Name | None
    c: Name | None


def _names(kind: Kind, a: str, unit: float, c: str) -> Names:
    return Names(Name(a, unit, kind) if a else None, Name(c, 1.0, kind) if c else None)


def _gauge(a: str, unit: float, c: str) -> Names:
    return _names("gauge", a, unit, c)


def _counter(a: str, unit: float, c: str) -> Names:
    return _names("counter", a, unit, c)


TABLE: dict[tuple[str, ...], Names] = {
    ("duty_ratio",): _gauge(f"{_DEV}GPU_UTIL", 0.01, f"{_DEV}GPU_UTIL_RATIO"),
    ("memory_busy_ratio",): _gauge(f"{_DEV}MEM_COPY_UTIL", 0.01, f"{_DEV}MEMORY_UTIL_RATIO"),
    ("encoder_ratio",): _gauge(f"{_DEV}ENC_UTIL", 0.01, f"{_DEV}ENC_UTIL_RATIO"),
    ("decoder_ratio",): _gauge(f"{_DEV}DEC_UTIL", 0.01, f"{_DEV}DEC_UTIL_RATIO"),
    ("memory_used_bytes",): _gauge(f"{_DEV}FB_USED", MIB, f"{_DEV}FB_USED_BYTES"),
    ("memory_free_bytes",): _gauge(f"{_DEV}FB_FREE", MIB, f"{_DEV}FB_FREE_BYTES"),
    ("memory_reserved_bytes",): _gauge(f"{_DEV}FB_RESERVED", MIB, f"{_DEV}FB_RESERVED_BYTES"),
    ("memory_total_bytes",): _gauge(f"{_DEV}FB_TOTAL", MIB, f"{_DEV}FB_CAPACITY_BYTES"),
    ("temperature_celsius",): _gauge(f"{_DEV}GPU_TEMP", 1.0, f"{_DEV}GPU_TEMP_CELSIUS"),
    ("memory_temperature_celsius",): _gauge(f"{_DEV}MEMORY_TEMP", 1.0, f"{_DEV}MEMORY_TEMP_CELSIUS"),
    ("power_watts",): _gauge(f"{_DEV}POWER_USAGE", 1.0, f"{_DEV}BOARD_POWER_WATTS"),
    ("energy_joules_total",): _counter(
        f"{_DEV}TOTAL_ENERGY_CONSUMPTION", 0.001, f"{_DEV}GPU_ENERGY_JOULES_TOTAL"
    ),
    ("sm_clock_hertz",): _gauge(f"{_DEV}SM_CLOCK", 1e6, f"{_DEV}SM_CLOCK_HERTZ"),
    ("memory_clock_hertz",): _gauge(f"{_DEV}MEM_CLOCK", 1e6, f"{_DEV}MEMORY_CLOCK_HERTZ"),
    ("pcie_replays_total",): _counter(f"{_DEV}PCIE_REPLAY_COUNTER", 1.0, f"{_DEV}PCIE_REPLAY_TOTAL"),
    # rates, against the commented-out lines of the lists
    ("pcie_transmit_bytes_per_second",): _gauge(f"{_PROF}PCIE_TX_BYTES", 1.0, f"{_PROF}PCIE_TX_BYTES"),
    ("pcie_receive_bytes_per_second",): _gauge(f"{_PROF}PCIE_RX_BYTES", 1.0, f"{_PROF}PCIE_RX_BYTES"),
    ("ecc_errors_total", "corrected", "volatile"): _counter(f"{_DEV}ECC_SBE_VOL_TOTAL", 1.0, ""),
    ("ecc_errors_total", "uncorrected", "volatile"): _counter(f"{_DEV}ECC_DBE_VOL_TOTAL", 1.0, ""),
    ("ecc_errors_total", "corrected", "aggregate"): _counter(f"{_DEV}ECC_SBE_AGG_TOTAL", 1.0, ""),
    ("ecc_errors_total", "uncorrected", "aggregate"): _counter(f"{_DEV}ECC_DBE_AGG_TOTAL", 1.0, ""),
    ("retired_pages", "multiple_single_bit"): _counter(f"{_DEV}RETIRED_SBE", 1.0, ""),
    ("retired_pages", "double_bit"): _counter(f"{_DEV}RETIRED_DBE", 1.0, ""),
    ("retired_pages_pending",): _counter(f"{_DEV}RETIRED_PENDING", 1.0, ""),
    ("nvlink_errors_total", "crc_flit"): _counter(f"{_DEV}NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 1.0, ""),
    ("nvlink_errors_total", "crc_data"): _counter(f"{_DEV}NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 1.0, ""),
    ("nvlink_errors_total", "replay"): _counter(f"{_DEV}NVLINK_REPLAY_ERROR_COUNT_TOTAL", 1.0, ""),
    ("nvlink_errors_total", "recovery"): _counter(f"{_DEV}NVLINK_RECOVERY_ERROR_COUNT_TOTAL", 1.0, ""),
    ("remapped_rows_total", "uncorrected"): _counter(
        f"{_DEV}UNCORRECTABLE_REMAPPED_ROWS", 1.0, f"{_DEV}ROW_REMAP_UNCORRECTABLE_TOTAL"
    ),
    ("remapped_rows_total", "corrected"): _counter(
        f"{_DEV}CORRECTABLE_REMAPPED_ROWS", 1.0, f"{_DEV}ROW_REMAP_CORRECTABLE_TOTAL"
    ),
    ("row_remap_failed",): _gauge(f"{_DEV}ROW_REMAP_FAILURE", 1.0, f"{_DEV}ROW_REMAP_FAILED"),
    ("engine_active_ratio",): _gauge(f"{_PROF}GR_ENGINE_ACTIVE", 1.0, f"{_PROF}GR_ENGINE_UTIL_RATIO"),
    ("tensor_active_ratio",): _gauge(f"{_PROF}PIPE_TENSOR_ACTIVE", 1.0, f"{_PROF}TENSOR_UTIL_RATIO"),
    ("dram_active_ratio",): _gauge(f"{_PROF}DRAM_ACTIVE", 1.0, f"{_PROF}DRAM_UTIL_RATIO"),
    ("sm_active_ratio",): _gauge(f"{_PROF}SM_ACTIVE", 1.0, ""),
    ("sm_occupancy_ratio",): _gauge(f"{_PROF}SM_OCCUPANCY", 1.0, ""),
    ("throttle_seconds_total", "power"): _counter(
        f"{_DEV}POWER_VIOLATION", 1e-9, f"{_DEV}GPU_POWER_THROTTLE_SECONDS_TOTAL"
    ),
    ("throttle_seconds_total", "thermal"): _counter(f"{_DEV}THERMAL_VIOLATION", 1e-9, ""),
    ("throttle_seconds_total", "sync_boost"): _counter(f"{_DEV}SYNC_BOOST_VIOLATION", 1e-9, ""),
    ("throttle_seconds_total", "board_limit"): _counter(f"{_DEV}BOARD_LIMIT_VIOLATION", 1e-9, ""),
    ("throttle_seconds_total", "low_utilization"): _counter(f"{_DEV}LOW_UTIL_VIOLATION", 1e-9, ""),
    ("throttle_seconds_total", "reliability"): _counter(f"{_DEV}RELIABILITY_VIOLATION", 1e-9, ""),
}
"""By our family and the values of its labels (without the link's: links are added up)."""

XID = _gauge(f"{_DEV}XID_ERRORS", 1.0, f"{_DEV}XID_ERROR")
"""The last code, not a count."""
