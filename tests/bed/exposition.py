"""Deterministic GPU metrics, written as dcgm-exporter writes them (generation A names, default counters).

Every value is a pure function of node, GPU index, seed, tick and whether a pod holds the GPU, so a test knows
what a screen must show: `reading(...)` is what `text(...)` says. Names, units and label order follow
dcgm-exporter 3.3-4.x: etc/default-counters.csv and internal/pkg/rendermetrics/render_metrics.go.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

MODEL = "NVIDIA H100 80GB HBM3"
MEMORY_MIB = 81559
RESERVED_MIB = 610
DRIVER = "570.124.06"
_BUSES = ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db")


@dataclass(frozen=True)
class Holder:
    """The container that a GPU is given to."""

    namespace: str
    pod: str
    container: str


@dataclass(frozen=True)
class Reading:
    """One GPU at one tick: percent, MiB, Celsius, watts, MHz; `xid` is the last error code, 0 none."""

    node: str
    gpu: int
    uuid: str
    pci_bus_id: str
    duty_percent: int
    used_mib: int
    free_mib: int
    temperature_celsius: int
    power_watts: float
    sm_clock_mhz: int
    xid: int


def _number(limit: int, *what: object) -> int:
    """A number in 0..limit-1 that depends on all of `what` and on nothing else."""
    digest = hashlib.sha256("/".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % limit


def uuid_of(node: str, gpu: int) -> str:
    """The same for every seed and tick: it names the card."""
    text = hashlib.sha256(f"card/{node}/{gpu}".encode()).hexdigest()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def reading(
    node: str, gpu: int, *, seed: int = 0, tick: int = 0, held: bool = False, xid: int = 0
) -> Reading:
    """What GPU `gpu` of `node` reports; a GPU that nobody holds is idle and empty."""

    def draw(limit: int, what: str) -> int:
        return _number(limit, seed, tick, node, gpu, what)

    duty = 55 + draw(45, "duty") if held else 0
    used = 20_000 + draw(60_000, "memory") if held else 4
    return Reading(
        node=node,
        gpu=gpu,
        uuid=uuid_of(node, gpu),
        pci_bus_id=f"00000000:{_BUSES[gpu % len(_BUSES)]}:00.{gpu // len(_BUSES)}",
        duty_percent=duty,
        used_mib=used,
        free_mib=MEMORY_MIB - RESERVED_MIB - used,
        temperature_celsius=(52 if held else 28) + draw(25 if held else 8, "temperature"),
        # Milliwatt digits, as DCGM gives them, so that rounding on the way shows.
        power_watts=(380_000 + draw(310_000, "power") if held else 65_000 + draw(15_000, "power")) / 1000,
        sm_clock_mhz=1980 if held else 345,
        xid=xid,
    )


@dataclass(frozen=True)
class _Metric:
    name: str
    kind: str
    text: str
    value: Callable[[Reading], float]


_METRICS: tuple[_Metric, ...] = (
    _Metric("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", lambda one: one.sm_clock_mhz),
    _Metric("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", lambda one: one.temperature_celsius),
    _Metric("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", lambda one: one.power_watts),
    _Metric("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", lambda one: one.duty_percent),
    _Metric(
        "DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.", lambda one: one.xid
    ),
    _Metric("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", lambda one: one.free_mib),
    _Metric("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", lambda one: one.used_mib),
    _Metric(
        "DCGM_FI_DEV_FB_RESERVED",
        "gauge",
        "Framebuffer memory reserved (in MiB).",
        lambda one: RESERVED_MIB,
    ),
)


def _labels(one: Reading, holder: Holder | None) -> str:
    pairs = {
        "gpu": str(one.gpu),
        "UUID": one.uuid,
        "pci_bus_id": one.pci_bus_id,
        "device": f"nvidia{one.gpu}",
        "modelName": MODEL,
        "Hostname": one.node,
        "DCGM_FI_DRIVER_VERSION": DRIVER,
    }
    if holder is not None:
        pairs |= {"container": holder.container, "namespace": holder.namespace, "pod": holder.pod}
    return ",".join(f'{name}="{value}"' for name, value in pairs.items())


def text(readings: Iterable[Reading], holders: Mapping[int, Holder], silent: Collection[int] = ()) -> str:
    """The /metrics page of one node; GPUs in `silent` are left out, as a card that fell off the bus is."""
    speaking = [one for one in readings if one.gpu not in silent]
    lines: list[str] = []
    for metric in _METRICS:
        lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}"]
        for one in speaking:
            labels = _labels(one, holders.get(one.gpu))
            if metric.name == "DCGM_FI_DEV_XID_ERRORS":
                message = "No Error" if one.xid == 0 else f"XID {one.xid}"
                labels += f',err_code="{one.xid}",err_msg="{message}"'
            lines.append(f"{metric.name}{{{labels}}} {metric.value(one)}")
    return "\n".join(lines) + "\n"
