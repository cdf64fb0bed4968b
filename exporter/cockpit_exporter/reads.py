"""Which driver calls give which families, and how often. One `Read` is one group that fails or holds as one.

Functions and units: https://docs.nvidia.com/deploy/nvml-api/ and pynvml of nvidia-ml-py 13.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from cockpit_exporter.driver import CallFailed, Nvml
from cockpit_exporter.model import Value

MIB = 1_048_576.0
KIB = 1024.0

BLANK_UNSIGNED = 2**64 - 1
"""NVML_VALUE_NOT_AVAILABLE as an unsigned 64-bit number."""

THROTTLE_REASONS: tuple[tuple[int, str], ...] = (
    (0x1, "gpu_idle"),
    (0x2, "clocks_setting"),
    (0x4, "power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal"),
    (0x40, "hw_thermal"),
    (0x80, "hw_power_brake"),
    (0x100, "display_clocks"),
)
"""Bits of nvmlDeviceGetCurrentClocksEventReasons, in dcgm-exporter's words."""

RECOVERY_ACTIONS = (
    "none",
    "reset_gpu",
    "reboot_node",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex",
    "bus_reset",
    "system_reboot",
)
"""Values of field 230 in order."""

_POLICIES = (
    (0, "power"),
    (1, "thermal"),
    (2, "sync_boost"),
    (3, "board_limit"),
    (4, "low_utilization"),
    (5, "reliability"),
)
_LIMITS = ((0, "shutdown"), (1, "slowdown"), (2, "memory_max"), (3, "gpu_max"))
_LINK_ERRORS = ((0, "replay"), (1, "recovery"), (2, "crc_flit"), (3, "crc_data"))
_CAUSES = ((0, "multiple_single_bit"), (1, "double_bit"))
_ECC = (
    (0, 0, "corrected", "volatile"),
    (1, 0, "uncorrected", "volatile"),
    (0, 1, "corrected", "aggregate"),
    (1, 1, "uncorrected", "aggregate"),
)
MOST_LINKS = 36


class Rate(Enum):
    """How often a group is read, in seconds at the least; FAST is every round."""

    FAST = 0.0
    PROCESSES = 10.0
    SLOW = 60.0


Values = Iterator[Value]


class Read(NamedTuple):
    """A group of families: `run(nvml, handle)` yields its values or raises CallFailed."""

    name: str
    rate: Rate
    run: Callable[[Nvml, Any], Values]


def _utilization(nvml: Nvml, handle: Any) -> Values:
    found = nvml.call("nvmlDeviceGetUtilizationRates", handle)
    yield Value("duty_ratio", found.gpu / 100)
    yield Value("memory_busy_ratio", found.memory / 100)


def memory(nvml: Nvml, handle: Any) -> Values:
    """Also of MIG instances. Version 1 counts what is reserved as used, which is said by a family."""
    try:
        found = nvml.call("nvmlDeviceGetMemoryInfo", handle, nvml.nvmlMemory_v2)
        yield Value("memory_reserved_bytes", float(found.reserved))
    except CallFailed as problem:
        if problem.error not in ("function-not-found", "argument-version-mismatch"):
            raise
        found = nvml.call("nvmlDeviceGetMemoryInfo", handle)
        yield Value("memory_used_holds_reserved", 1.0)
    yield Value("memory_used_bytes", float(found.used))
    yield Value("memory_free_bytes", float(found.free))
    yield Value("memory_total_bytes", float(found.total))


def _temperature(nvml: Nvml, handle: Any) -> Values:
    found = nvml.first(
        ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"), handle, nvml.NVML_TEMPERATURE_GPU
    )
    yield Value("temperature_celsius", float(found))


def _margin(nvml: Nvml, handle: Any) -> Values:
    yield Value("temperature_margin_celsius", float(nvml.call("nvmlDeviceGetMarginTemperature", handle)))


def _power(nvml: Nvml, handle: Any) -> Values:
    yield Value("power_watts", nvml.call("nvmlDeviceGetPowerUsage", handle) / 1000)


def _energy(nvml: Nvml, handle: Any) -> Values:
    yield Value("energy_joules_total", nvml.call("nvmlDeviceGetTotalEnergyConsumption", handle) / 1000)


def _clock(family: str, function: str, domain: int) -> Callable[[Nvml, Any], Values]:
    def run(nvml: Nvml, handle: Any) -> Values:
        yield Value(family, nvml.call(function, handle, domain) * 1e6)

    return run


def _throttle(nvml: Nvml, handle: Any) -> Values:
    bits = nvml.first(
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"), handle
    )
    for bit, word in THROTTLE_REASONS:
        yield Value("throttle", float(bool(bits & bit)), (("reason", word),))


def _throttle_time(nvml: Nvml, handle: Any) -> Values:
    for policy, word in _POLICIES:
        try:
            found = nvml.call("nvmlDeviceGetViolationStatus", handle, policy)
        except CallFailed as problem:
            if policy == 0 or problem.error not in ("not-supported", "invalid-argument"):
                raise
            continue
        yield Value("throttle_seconds_total", found.violationTime / 1e9, (("policy", word),))


def _coder(family: str, function: str) -> Callable[[Nvml, Any], Values]:
    def run(nvml: Nvml, handle: Any) -> Values:
        yield Value(family, nvml.call(function, handle)[0] / 100)

    return run


def field_number(nvml: Nvml, one: Any) -> float | None:
    """The number in a field's answer by its type, None where the driver gave none."""
    if one.nvmlReturn != 0:
        return None
    member = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}.get(
        one.valueType
    )
    found = getattr(one.value, member) if member else None
    return None if found is None or found == BLANK_UNSIGNED else float(found)


def _fields(*wanted: tuple[int | tuple[int, int], str, float]) -> Callable[[Nvml, Any], Values]:
    """Several fields in one driver call; each has its own return code."""

    def run(nvml: Nvml, handle: Any) -> Values:
        answer = nvml.call("nvmlDeviceGetFieldValues", handle, [item[0] for item in wanted])
        for one, (_, family, factor) in zip(answer, wanted, strict=True):
            number = field_number(nvml, one)
            # chips without a sensor in their memory may answer 0 degrees
            if number is not None and not (family == "memory_temperature_celsius" and number == 0):
                yield Value(family, number * factor)

    return run


def _recovery(nvml: Nvml, handle: Any) -> Values:
    one = nvml.call("nvmlDeviceGetFieldValues", handle, [nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0]
    number = field_number(nvml, one)
    if number is not None:
        known = 0 <= number < len(RECOVERY_ACTIONS)
        word = RECOVERY_ACTIONS[int(number)] if known else f"action_{int(number)}"
        yield Value("recovery_action", 1.0, (("action", word),))


def _limits(nvml: Nvml, handle: Any) -> Values:
    found = 0
    for threshold, word in _LIMITS:
        try:
            number = nvml.call("nvmlDeviceGetTemperatureThreshold", handle, threshold)
        except CallFailed as problem:
            if problem.error not in ("not-supported", "invalid-argument") or (threshold == 3 and not found):
                raise
            continue
        found += 1
        yield Value("temperature_limit_celsius", float(number), (("limit", word),))


def _power_limit(nvml: Nvml, handle: Any) -> Values:
    yield Value("power_limit_watts", nvml.call("nvmlDeviceGetEnforcedPowerLimit", handle) / 1000)


def _pcie_link(nvml: Nvml, handle: Any) -> Values:
    yield Value("pcie_link_generation", float(nvml.call("nvmlDeviceGetCurrPcieLinkGeneration", handle)))
    yield Value("pcie_link_width", float(nvml.call("nvmlDeviceGetCurrPcieLinkWidth", handle)))


def _pcie_replays(nvml: Nvml, handle: Any) -> Values:
    yield Value("pcie_replays_total", float(nvml.call("nvmlDeviceGetPcieReplayCounter", handle)))


def _pcie_traffic(nvml: Nvml, handle: Any) -> Values:
    """Each call blocks for its window of 20 ms, so it is read rarely."""
    yield Value(
        "pcie_transmit_bytes_per_second", nvml.call("nvmlDeviceGetPcieThroughput", handle, 0) * 1000.0
    )
    yield Value("pcie_receive_bytes_per_second", nvml.call("nvmlDeviceGetPcieThroughput", handle, 1) * 1000.0)


def _nvlinks(nvml: Nvml, handle: Any) -> Values:
    """Links by their numbers until the card knows no more."""
    for link in range(MOST_LINKS):
        try:
            state = nvml.call("nvmlDeviceGetNvLinkState", handle, link)
        except CallFailed as problem:
            if link == 0 or problem.error not in ("not-supported", "invalid-argument"):
                raise
            return
        yield Value("nvlink_up", float(bool(state)), (("link", str(link)),))


def _nvlink_errors(nvml: Nvml, handle: Any) -> Values:
    """Of each link; newer drivers have the counters of fields only and say not-supported here."""
    for link in range(MOST_LINKS):
        for counter, word in _LINK_ERRORS:
            try:
                count = nvml.call("nvmlDeviceGetNvLinkErrorCounter", handle, link, counter)
            except CallFailed as problem:
                if link == 0 or problem.error not in ("not-supported", "invalid-argument"):
                    raise
                return
            yield Value("nvlink_errors_total", float(count), (("link", str(link)), ("kind", word)))


def _ecc(nvml: Nvml, handle: Any) -> Values:
    enabled = nvml.call("nvmlDeviceGetEccMode", handle)[0]
    yield Value("ecc_enabled", float(enabled))
    if not enabled:
        return
    for kind, counter, kind_word, counter_word in _ECC:
        found = nvml.call("nvmlDeviceGetTotalEccErrors", handle, kind, counter)
        yield Value("ecc_errors_total", float(found), (("kind", kind_word), ("counter", counter_word)))


def _remaps(nvml: Nvml, handle: Any) -> Values:
    corrected, uncorrected, pending, failed = nvml.call("nvmlDeviceGetRemappedRows", handle)
    yield Value("remapped_rows_total", float(corrected), (("kind", "corrected"),))
    yield Value("remapped_rows_total", float(uncorrected), (("kind", "uncorrected"),))
    yield Value("row_remap_pending", float(bool(pending)))
    yield Value("row_remap_failed", float(bool(failed)))


def _retired(nvml: Nvml, handle: Any) -> Values:
    for cause, word in _CAUSES:
        pages = nvml.first(("nvmlDeviceGetRetiredPages", "nvmlDeviceGetRetiredPages_v2"), handle, cause)
        yield Value("retired_pages", float(len(pages)), (("cause", word),))
    pending = nvml.call("nvmlDeviceGetRetiredPagesPendingStatus", handle)
    yield Value("retired_pages_pending", float(bool(pending)))


_EVERY_LINK = 0xFFFFFFFF

READS: tuple[Read, ...] = (
    Read("utilization", Rate.FAST, _utilization),
    Read("memory", Rate.FAST, memory),
    Read("temperature", Rate.FAST, _temperature),
    Read("margin", Rate.FAST, _margin),
    Read("power", Rate.FAST, _power),
    Read("energy", Rate.FAST, _energy),
    Read("sm clock", Rate.FAST, _clock("sm_clock_hertz", "nvmlDeviceGetClockInfo", 1)),
    Read("memory clock", Rate.FAST, _clock("memory_clock_hertz", "nvmlDeviceGetClockInfo", 2)),
    Read("graphics clock", Rate.FAST, _clock("graphics_clock_hertz", "nvmlDeviceGetClockInfo", 0)),
    Read("video clock", Rate.FAST, _clock("video_clock_hertz", "nvmlDeviceGetClockInfo", 3)),
    Read("throttle", Rate.FAST, _throttle),
    Read("encoder", Rate.FAST, _coder("encoder_ratio", "nvmlDeviceGetEncoderUtilization")),
    Read("decoder", Rate.FAST, _coder("decoder_ratio", "nvmlDeviceGetDecoderUtilization")),
    Read(
        "fields",
        Rate.FAST,
        _fields(
            (82, "memory_temperature_celsius", 1.0),
            (185, "power_average_watts", 0.001),
            (186, "power_instant_watts", 0.001),
            ((138, _EVERY_LINK), "nvlink_transmit_bytes_total", KIB),
            ((139, _EVERY_LINK), "nvlink_receive_bytes_total", KIB),
        ),
    ),
    Read("recovery", Rate.SLOW, _recovery),
    Read("throttle time", Rate.SLOW, _throttle_time),
    Read("limits", Rate.SLOW, _limits),
    Read("power limit", Rate.SLOW, _power_limit),
    Read("sm clock max", Rate.SLOW, _clock("sm_clock_max_hertz", "nvmlDeviceGetMaxClockInfo", 1)),
    Read("memory clock max", Rate.SLOW, _clock("memory_clock_max_hertz", "nvmlDeviceGetMaxClockInfo", 2)),
    Read("pcie link", Rate.SLOW, _pcie_link),
    Read("pcie replays", Rate.SLOW, _pcie_replays),
    Read("pcie traffic", Rate.SLOW, _pcie_traffic),
    Read("nvlinks", Rate.SLOW, _nvlinks),
    Read("nvlink errors", Rate.SLOW, _nvlink_errors),
    Read("ecc", Rate.SLOW, _ecc),
    Read("row remaps", Rate.SLOW, _remaps),
    Read("retired pages", Rate.SLOW, _retired),
)
"""Groups of a whole card, in the order they are read."""
