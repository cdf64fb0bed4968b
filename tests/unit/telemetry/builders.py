"""Series of every exporter generation, as a Prometheus answers them, and the small cluster around them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store
from cockpit.telemetry.faults import Complaint
from cockpit.telemetry.rows import Row as RowOfBytes
from cockpit.telemetry.rows import vector

T = TypeVar("T")
NOW = 1_790_000_000.0
Row = dict[str, Any]

A = {
    "DCGM_FI_DEV_GPU_UTIL": 71.0,
    "DCGM_FI_DEV_FB_USED": 40_000.0,
    "DCGM_FI_DEV_FB_FREE": 41_000.0,
    "DCGM_FI_DEV_FB_RESERVED": 559.0,
    "DCGM_FI_DEV_GPU_TEMP": 64.0,
    "DCGM_FI_DEV_POWER_USAGE": 412.5,
    "DCGM_FI_DEV_SM_CLOCK": 1_410.0,
    "DCGM_FI_DEV_XID_ERRORS": 0.0,
}
MIB = 1_048_576.0
C = {
    "DCGM_FI_DEV_GPU_UTIL_RATIO": 0.71,
    "DCGM_FI_DEV_FB_USED_BYTES": 40_000.0 * MIB,
    "DCGM_FI_DEV_FB_CAPACITY_BYTES": 81_559.0 * MIB,
    "DCGM_FI_DEV_GPU_TEMP_CELSIUS": 64.0,
    "DCGM_FI_DEV_BOARD_POWER_WATTS": 412.5,
    "DCGM_FI_DEV_SM_CLOCK_HERTZ": 1.41e9,
    "DCGM_FI_DEV_XID_ERROR": 0.0,
}
COCKPIT = {
    "cockpit_gpu_duty_ratio": 0.71,
    "cockpit_gpu_memory_used_bytes": 40_000.0 * MIB,
    "cockpit_gpu_memory_total_bytes": 81_559.0 * MIB,
    "cockpit_gpu_temperature_celsius": 64.0,
    "cockpit_gpu_power_watts": 412.5,
    "cockpit_gpu_sm_clock_hertz": 1.41e9,
    "cockpit_gpu_xid": 0.0,
}
ARENA = {
    "nvidia_gpu_duty_cycle": 71.0,
    "nvidia_gpu_memory_used_bytes": 40_000.0 * MIB,
    "nvidia_gpu_memory_total_bytes": 81_559.0 * MIB,
    "nvidia_gpu_temperature_celsius": 64.0,
    "nvidia_gpu_power_usage_milliwatts": 412_500.0,
}


def row(name: str, labels: Mapping[str, str], value: float | str, at: float = NOW) -> Row:
    """One row of a vector answer."""
    return {"metric": {"__name__": name, **labels}, "value": [at, str(value)]}


def family(values: Mapping[str, float], labels: Mapping[str, str], at: float = NOW) -> list[Row]:
    """A row for each quantity of one card."""
    return [row(name, labels, value, at) for name, value in values.items()]


def card_a(index: int = 0, node: str = "gpu-1", **more: str) -> dict[str, str]:
    """Labels of generation A as the exporter writes them."""
    return {
        "gpu": str(index),
        "UUID": f"GPU-{node}-{index}",
        "pci_bus_id": "00000000:07:00.0",
        "device": f"nvidia{index}",
        "modelName": "NVIDIA A100-SXM4-80GB",
        "Hostname": node,
        **more,
    }


def card_b(index: int = 0, node: str = "gpu-1", **more: str) -> dict[str, str]:
    """Generations B and C write the host in lower case."""
    labels = card_a(index, node)
    labels["hostname"] = labels.pop("Hostname")
    return {**labels, **more}


def node(name: str = "gpu-1", gpus: int = 8, *, ip: str = "", replicas: int = 1) -> Node:
    return Node(
        uid=f"uid-{name}",
        name=name,
        gpu_resource="nvidia.com/gpu",
        gpu_capacity=gpus,
        gpu_allocatable=gpus,
        gpu_replicas=replicas,
        internal_ip=ip,
        conditions=(Condition("Ready", "True"),),
    )


def pod(
    name: str, *, on: str = "gpu-1", gpus: int = 1, namespace: str = "team-a", phase: str = "Running"
) -> Pod:
    return Pod(uid=f"uid-{namespace}-{name}", name=name, namespace=namespace, node=on, gpus=gpus, phase=phase)


class SmallCluster(Store):
    """A store with these nodes and pods."""

    def __init__(self, nodes: Sequence[Node] = (), pods: Sequence[Pod] = ()) -> None:
        super().__init__()
        self.put(Kind.NODE, *nodes)
        self.put(Kind.POD, *pods)

    def put(self, kind: str, *records: Node | Pod) -> None:
        """All of a kind that there are from now on."""
        self.apply(Batch(kind=kind, removed=tuple(self.records(kind))))
        self.apply(Batch(kind=kind, changed=records))


class PrometheusStub:
    """A Prometheus without a past; `query` is what a test makes of it."""

    who = "Prometheus at test"

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        raise NotImplementedError

    async def series(self, promql: str, at_seconds: float | None = None) -> list[RowOfBytes]:
        body = msgspec.json.encode({"data": {"result": await self.query(promql, at_seconds)}})
        return vector(body).rows

    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]:
        return []

    async def apart(self, work: Callable[[], T]) -> T:
        return work()

    def take_complaint(self) -> Complaint:
        return Complaint()

    async def close(self) -> None:
        """Nothing to let go of."""
