"""Cards and events of the scripted estate, and how its records are kept."""

import random

from cockpit.model.alert import Alert
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.gpu_detail import GpuDetail, ProcessUse
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, Record

NOW = 1_790_000_000.0
NO_SUCH_CARD = (
    "0/38 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 1 node(s) were"
    " unschedulable, 36 node(s) didn't match Pod's node affinity/selector. preemption: 0/38 nodes are available: 38"
    " Preemption is not helpful for scheduling."
)
POOLS = (
    ("h100", 20, 8, "NVIDIA-H100-80GB-HBM3", 80, "gpu-h100-8x"),
    ("a100", 12, 8, "NVIDIA-A100-SXM4-40GB", 40, "gpu-a100-8x"),
    ("l40s", 6, 4, "NVIDIA-L40S", 48, "gpu-l40s-4x"),
)


class Records:
    """Records by kind, and the cards that each node's pods hold."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.records: dict[str, list[Record | Gpu | GpuDetail | Alert]] = {}
        self._free: dict[str, int] = {}
        self._held: dict[str, list[tuple[str, str]]] = {}

    def add(self, kind: str, record: Record | Gpu | GpuDetail | Alert) -> None:
        self.records.setdefault(kind, []).append(record)

    def batches(self) -> list[Batch]:
        """Each kind as one whole list, with a live status."""
        found = []
        for kind, records in self.records.items():
            status = StreamStatus(
                kind=kind,
                phase=Phase.LIVE,
                objects=len(records),
                since_seconds=NOW - 60,
                heard_seconds=NOW - 1,
            )
            found.append(Batch(kind=kind, mark=ListMark.BEGIN))
            found.append(Batch(kind=kind, mark=ListMark.END, changed=tuple(records), status=status))
        return found


class Told(Records):
    """What exporters and the event log tell of the nodes and jobs that are there."""

    # ---- telemetry

    def _cards(self) -> None:
        for pool, count, gpus, model, memory_gib, _ in POOLS:
            for number in range(count):
                name = f"gpu-{pool}-{number:02d}"
                if name not in ("gpu-h100-19", "gpu-l40s-05"):
                    self._node_cards(name, gpus, model, memory_gib << 30)

    def _node_cards(self, node: str, gpus: int, model: str, memory_bytes: int) -> None:
        holders = self._held[node]
        for index in range(gpus):
            uuid = f"GPU-{node}-{index}"
            if node == "gpu-h100-07" and index >= gpus - 2:
                self.add(
                    Kind.GPU, self._silent(uuid, node, index, model, xid=79 if index == gpus - 1 else None)
                )
                continue
            holder = holders[index] if index < len(holders) else None
            self.add(Kind.GPU, self._card(uuid, node, index, model, memory_bytes, holder))

    def _details(self, node: str, *, hot: int) -> None:
        """Second records of one node's cards, as our exporter tells them: one card is held down by heat."""
        for index in range(8):
            is_hot = index == hot
            self.add(
                Kind.GPU_DETAIL,
                GpuDetail(
                    uuid=f"GPU-{node}-{index}", node=node, power_cap_watts=700.0, sm_clock_max_hertz=1.98e9,
                    memory_clock_hertz=2.619e9, memory_temperature_celsius=71.0 + index, slowdown_celsius=87.0,
                    shutdown_celsius=92.0, tensor_ratio=0.58 - index / 100, dram_ratio=0.44, sm_ratio=0.86,
                    energy_joules=3.1e9 + index * 1e8, ecc_double=0.0, remapped_rows=float(index == 5),
                    remap_pending=0.0, remap_failed=0.0, nvlink_errors=0.0, nvlinks=18.0, nvlinks_up=18.0,
                    pcie_replays=0.0, throttle=0x48 if is_hot else 0x4 if index % 3 == 0 else 0, recovery="none",
                    processes=(ProcessUse(4711 + index, "python3", "", 68.0 * 2**30, 0.86),),
                    sampled_seconds=NOW - 8,
                ),
            )  # fmt: skip

    def _silent(self, uuid: str, node: str, index: int, model: str, *, xid: int | None) -> Gpu:
        stale = Absent.STALE
        return Gpu(
            uuid=uuid, node=node, index=index, model=model, duty_ratio=stale, memory_used_bytes=stale,
            memory_total_bytes=stale, temperature_celsius=stale, power_watts=stale, xid=xid, mark=Mark.NOT_COLLECTED,
            sampled_seconds=NOW - 720, source="dcgm A",
        )  # fmt: skip

    def _card(
        self, uuid: str, node: str, index: int, model: str, memory_bytes: int, holder: tuple[str, str] | None
    ) -> Gpu:
        is_idle = holder is None or holder[1].startswith("notebook")
        duty = 0.0 if is_idle else min(1.0, max(0.05, self.rng.gauss(0.88, 0.09)))
        if holder is not None and holder[1] == "vision-pretrain-worker-3":
            duty = 0.31
        used = 0.02 if holder is None else 0.55 + 0.4 * self.rng.random()
        return Gpu(
            uuid=uuid, node=node, index=index, model=model, duty_ratio=round(duty, 2),
            memory_used_bytes=float(int(memory_bytes * used)), memory_total_bytes=float(memory_bytes),
            temperature_celsius=float(round(31 + 34 * duty + self.rng.random() * 8)),
            power_watts=float(round(72 + 560 * duty)), sm_clock_hertz=1.98e9 if duty else 3.45e8, xid=0,
            pod_namespace=holder[0] if holder else "", pod_name=holder[1] if holder else "",
            container="worker" if holder else "", mark=Mark.SURE if holder else Mark.UNALLOCATED,
            sampled_seconds=NOW - 6, source="dcgm A",
        )  # fmt: skip

    # ---- events

    def _events(self) -> None:
        rows = (
            ("Warning", "FailedScheduling", "Pod", "team-c", "sweep-12-0-q2v9z", NO_SUCH_CARD, 1_900, 60, 14),
            ("Normal", "QuotaReserved", "Workload", "team-a", "mpijob-llm-7b-sft-1a2b3", "Quota reserved in ClusterQueue research, wait time since queued was 3s", 18_000, 18_000, 1),
            ("Warning", "NodeNotReady", "Node", "", "gpu-h100-19", "Node gpu-h100-19 status is now: NodeNotReady", 1_500, 1_500, 1),
            ("Normal", "MPIJobRunning", "MPIJob", "team-b", "asr-large", "MPIJob team-b/asr-large is running", 7_100, 7_100, 1),
            ("Normal", "ScalingUp", "MachineDeployment", "fleet", "a100", "Scaled up machine set to 13", 300, 300, 1),
        )  # fmt: skip
        for number, (type_, reason, kind, namespace, name, message, first, last, count) in enumerate(rows):
            uids = {"Pod": f"pod-{namespace}-{name}", "Node": f"node-{name}", "MPIJob": f"mpi-{namespace}-{name}",
                    "Workload": f"wl-{namespace}-llm-7b-sft", "MachineDeployment": f"md-{name}"}  # fmt: skip
            self.add(
                Kind.EVENT,
                Event(
                    uid=f"event-{number}", name=f"{name}.{number}", namespace=namespace or "default", type=type_, reason=reason,
                    message=message, component="default-scheduler" if kind == "Pod" else "controller", count=count,
                    first_seconds=NOW - first, last_seconds=NOW - last, object_kind=kind, object_namespace=namespace,
                    object_name=name, object_uid=uids[kind],
                ),
            )  # fmt: skip
