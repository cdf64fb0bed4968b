"""A scripted GPU estate as records, for pictures and screen tests: the same every time.

Three pools (h100 x 20, a100 x 12, l40s x 6), two queues, and one of everything that needs a human.
"""

import random

from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.gpu_detail import GpuDetail, ProcessUse
from cockpit.model.job import JobObject, OwnerObject, ReplicaSpec
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import PoolObject
from cockpit.model.quantity import Absent
from cockpit.model.record import Condition, Kind, OwnerRef, Record

NOW = 1_790_000_000.0
GPU = "nvidia.com/gpu"
POOLS = (
    ("h100", 20, 8, "NVIDIA-H100-80GB-HBM3", 80, "gpu-h100-8x"),
    ("a100", 12, 8, "NVIDIA-A100-SXM4-40GB", 40, "gpu-a100-8x"),
    ("l40s", 6, 4, "NVIDIA-L40S", 48, "gpu-l40s-4x"),
)
MPI_API = "kubeflow.org/v2beta1"
AMOUNTS = (("cpu", 190_000), ("memory", 2 << 40), ("pods", 110))
"""What a node offers beside its GPUs, in base units."""


class Estate:
    """Builds the records of one estate; `batches` hands them over as a reflector would."""

    def __init__(self, seed: int = 7) -> None:
        self.rng = random.Random(seed)
        self.records: dict[str, list[Record | Gpu | GpuDetail]] = {}
        self._free: dict[str, int] = {}
        self._held: dict[str, list[tuple[str, str]]] = {}
        for pool, count, gpus, model, memory_gib, machine in POOLS:
            self._pool(pool, count, gpus, model, memory_gib, machine)
        self._queues()
        self._jobs()
        self._cards()
        self._details("gpu-a100-00", hot=2)
        self._details("gpu-h100-07", hot=-1)
        self._events()

    def add(self, kind: str, record: Record | Gpu | GpuDetail) -> None:
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

    # ---- nodes and pools

    def _pool(self, pool: str, count: int, gpus: int, model: str, memory_gib: int, machine: str) -> None:
        for number in range(count):
            name = f"gpu-{pool}-{number:02d}"
            self._node(name, pool, gpus, model, memory_gib, machine, number)
        self.add(
            Kind.POOL,
            PoolObject(
                uid=f"md-{pool}",
                name=pool,
                namespace="fleet",
                resource_version="1001",
                created_seconds=NOW - 90 * 86_400,
                api_version="cluster.x-k8s.io/v1beta1",
                kind="MachineDeployment",
                resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machinedeployments",
                replicas=count + (1 if pool == "a100" else 0),
                status_replicas=count,
                ready_replicas=count - (1 if pool == "h100" else 0),
                min_replicas=0,
                max_replicas=count if pool == "h100" else 40,
                template_labels=(("cluster.x-k8s.io/deployment-name", pool),),
                instance_type=machine,
            ),
        )

    def _node(
        self, name: str, pool: str, gpus: int, model: str, memory_gib: int, machine: str, number: int
    ) -> None:
        ready, shown, cordoned = "True", gpus, False
        taints: tuple[Taint, ...] = ()
        if name == "gpu-h100-07":
            shown = gpus - 2
        if name == "gpu-h100-19":
            ready = "Unknown"
            taints = (Taint("node.kubernetes.io/unreachable", "", "NoSchedule"),)
        if name == "gpu-a100-11":
            cordoned = True
            taints = (Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)
        is_joining = name == "gpu-l40s-05"
        self.add(
            Kind.NODE,
            Node(
                uid=f"node-{name}",
                name=name,
                resource_version="500",
                created_seconds=NOW - (240 if is_joining else 30 * 86_400 + number * 977),
                labels=(("cluster.x-k8s.io/deployment-name", pool), ("nvidia.com/gpu.product", model)),
                taints=taints,
                unschedulable=cordoned,
                conditions=(
                    Condition(
                        "Ready",
                        ready,
                        "KubeletReady" if ready == "True" else "NodeStatusUnknown",
                        "kubelet is posting ready status"
                        if ready == "True"
                        else "Kubelet stopped posting node status.",
                        NOW - 1_500,
                    ),
                ),
                kubelet_version="v1.36.3",
                internal_ip=f"10.64.{number}.10",
                capacity=(*AMOUNTS, *(() if is_joining else ((GPU, gpus),))),
                allocatable=(*AMOUNTS, *(() if is_joining else ((GPU, shown),))),
                gpu_resource=GPU,
                gpu_capacity=None if is_joining else gpus,
                gpu_allocatable=None if is_joining else shown,
                gpus_expected=gpus,
                gpu_model=model,
                gpu_memory_bytes=memory_gib << 30,
                instance_type=machine,
                zone=f"eu-1{'abc'[number % 3]}",
                pool=pool,
                pool_label="cluster.x-k8s.io/deployment-name",
            ),
        )
        if not is_joining and ready == "True" and not cordoned:
            self._free[name] = shown
        self._held[name] = []

    # ---- queues

    def _queues(self) -> None:
        active = (Condition("Active", "True", "Ready", "Can admit new workloads", NOW - 86_400),)
        for name, nominal, used, flavor, pending in (
            ("research", 128, 120, "h100", 2),
            ("product", 96, 72, "a100", 0),
        ):
            self.add(
                Kind.CLUSTER_QUEUE,
                ClusterQueue(
                    uid=f"cq-{name}",
                    name=name,
                    cohort="site",
                    strategy="BestEffortFIFO",
                    stop_policy="None",
                    preemption="lower priority in the queue",
                    quotas=(
                        QuotaRow(flavor, GPU, nominal, used, 0, 32, used),
                        QuotaRow(flavor, "cpu", 4_000_000, used * 1_000, 0, None, used * 1_000),
                        QuotaRow(flavor, "memory", 64 << 40, used << 33, 0, None, used << 33),
                    ),
                    pending=pending,
                    reserving=5,
                    admitted=5,
                    conditions=active,
                ),
            )
        for namespace, cluster_queue, pending, admitted in (
            ("team-a", "research", 2, 3),
            ("team-b", "product", 0, 4),
        ):
            self.add(
                Kind.LOCAL_QUEUE,
                LocalQueue(
                    uid=f"lq-{namespace}",
                    name="gpu-lq",
                    namespace=namespace,
                    cluster_queue=cluster_queue,
                    stop_policy="None",
                    pending=pending,
                    reserving=admitted,
                    admitted=admitted,
                    conditions=active,
                ),
            )
        for name in ("default", "team-a", "team-b", "team-c"):
            self.add(Kind.NAMESPACE, Record(uid=f"ns-{name}", name=name))

    # ---- jobs

    def _jobs(self) -> None:
        self._mpijob("team-a", "llm-70b", 12, 8, "h100", hours=30, queue="gpu-lq", user="ada")
        self._mpijob("team-a", "llm-7b-sft", 3, 8, "h100", hours=5, queue="gpu-lq", user="grace")
        self._mpijob("team-b", "vision-pretrain", 8, 8, "a100", hours=52, queue="gpu-lq", user="edsger")
        self._mpijob("team-b", "asr-large", 2, 4, "a100", hours=2, queue="gpu-lq", user="barbara")
        self._waiting("team-a", "llm-400b", 16, 8, minutes=41, position=1, more=120, priority=100)
        self._waiting("team-a", "ablation-9", 2, 8, minutes=12, position=2, more=8, priority=0)
        self._pytorchjob("team-c", "ranker", 4, 2, "l40s")
        self._notebook("team-c", "notebook-3", 4, "l40s")
        self._stuck("team-c", "sweep-12", 2, 8)

    def _pod(self, namespace: str, name: str, pool: str, gpus: int, **more: object) -> Pod:
        node = ""
        if pool:
            node = self._place(pool, gpus) if gpus else f"gpu-{pool}-00"
            if gpus:
                self._held[node] += [(namespace, name)] * gpus
        fields: dict[str, object] = {
            "uid": f"pod-{namespace}-{name}",
            "name": name,
            "namespace": namespace,
            "resource_version": "900",
            "created_seconds": NOW - 3_600,
            "phase": "Running" if pool else "Pending",
            "node": node,
            "gpus": gpus,
            "gpu_resource": GPU if gpus else "",
            "cpu_millicores": 8_000,
            "memory_bytes": 64 << 30,
            "scheduler": "default-scheduler",
            "image": "registry.example/train:1.4",
            "containers": "worker",
            "ready_containers": 1 if pool else 0,
            "total_containers": 1,
            "started_seconds": NOW - 3_550 if pool else None,
            "is_ready": bool(pool),
            "scheduled": "True" if pool else "False",
        }
        pod = Pod(**{**fields, **more})  # type: ignore[arg-type] # a table of the record's own fields
        self.add(Kind.POD, pod)
        return pod

    def _place(self, pool: str, gpus: int) -> str:
        for node, free in self._free.items():
            if node.startswith(f"gpu-{pool}-") and free >= gpus:
                self._free[node] = free - gpus
                return node
        raise ValueError(f"the scripted estate has no {gpus} free GPUs in pool {pool}")

    def _mpijob(
        self,
        namespace: str,
        name: str,
        workers: int,
        gpus: int,
        pool: str,
        *,
        hours: float,
        queue: str,
        user: str,
    ) -> None:
        uid, born = f"mpi-{namespace}-{name}", NOW - hours * 3_600
        self._mpi_object(namespace, name, workers, gpus, born, queue, user, is_suspended=False)
        owner = {"owner_api_version": MPI_API, "owner_kind": "MPIJob", "owner_name": name, "owner_uid": uid}
        self._pod(
            namespace, f"{name}-launcher-x7k2p", pool, 0, created_seconds=born, started_seconds=born + 40,
            job_label=name, role="launcher", owner_api_version="batch/v1", owner_kind="Job",
            owner_name=f"{name}-launcher", owner_uid=f"{uid}-launcher",
        )  # fmt: skip
        self.add(
            Kind.JOB,
            JobObject(
                uid=f"{uid}-launcher", name=f"{name}-launcher", namespace=namespace, api_version="batch/v1", kind="Job",
                owner=OwnerRef(MPI_API, "MPIJob", name, uid), replicas=(ReplicaSpec("main", 1),),
                created_seconds=born, active=1,
            ),
        )  # fmt: skip
        for rank in range(workers):
            self._pod(
                namespace, f"{name}-worker-{rank}", pool, gpus, created_seconds=born, started_seconds=born + 30,
                job_label=name, role="worker", rank=rank, **owner,
            )  # fmt: skip
        self._workload(
            namespace, name, uid, queue, workers, gpus, born, is_admitted=True, message="", priority=0
        )

    def _mpi_object(
        self,
        namespace: str,
        name: str,
        workers: int,
        gpus: int,
        born: float,
        queue: str,
        user: str,
        *,
        is_suspended: bool,
    ) -> None:
        running = Condition("Running", "False" if is_suspended else "True", "MPIJobRunning", "", born + 45)
        self.add(
            Kind.MPIJOB,
            JobObject(
                uid=f"mpi-{namespace}-{name}", name=name, namespace=namespace, resource_version="7001",
                created_seconds=born, api_version=MPI_API, kind="MPIJob",
                labels=(("kueue.x-k8s.io/queue-name", queue), ("user", user)),
                conditions=(Condition("Created", "True", "MPIJobCreated", "", born), running),
                replicas=(
                    ReplicaSpec("launcher", 1, 0, "", 1_000, 2 << 30, "registry.example/train:1.4"),
                    ReplicaSpec("worker", workers, gpus, GPU, 8_000, 64 << 30, "registry.example/train:1.4"),
                ),
                is_suspended=is_suspended, slots_per_worker=gpus, active=0 if is_suspended else workers,
                started_seconds=None if is_suspended else born + 30,
            ),
        )  # fmt: skip

    def _workload(
        self, namespace: str, name: str, owner_uid: str, queue: str, workers: int, gpus: int, born: float,
        *, is_admitted: bool, message: str, priority: int,
    ) -> None:  # fmt: skip
        reserved = Condition(
            "QuotaReserved",
            "True" if is_admitted else "False",
            "QuotaReserved" if is_admitted else "Pending",
            "Quota reserved in ClusterQueue research" if is_admitted else message,
            born + 2,
        )
        admitted = (Condition("Admitted", "True", "Admitted", "The workload is admitted", born + 2),)
        self.add(
            Kind.WORKLOAD,
            Workload(
                uid=f"wl-{namespace}-{name}", name=f"mpijob-{name}-1a2b3", namespace=namespace, created_seconds=born,
                owner=OwnerRef(MPI_API, "MPIJob", name, owner_uid), queue=queue, priority=priority,
                cluster_queue="research" if is_admitted else "",
                pod_sets=(
                    PodSet("launcher", 1, (("cpu", 1_000),)),
                    PodSet("worker", workers, ((GPU, workers * gpus), ("cpu", workers * 8_000)), "h100" if is_admitted else ""),
                ),
                conditions=(reserved, *(admitted if is_admitted else ())),
            ),
        )  # fmt: skip

    def _waiting(
        self,
        namespace: str,
        name: str,
        workers: int,
        gpus: int,
        *,
        minutes: float,
        position: int,
        more: int,
        priority: int,
    ) -> None:
        born = NOW - minutes * 60
        self._mpi_object(namespace, name, workers, gpus, born, "gpu-lq", "alan", is_suspended=True)
        message = (
            "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor h100,"
            f" {more} more needed"
        )
        self._workload(
            namespace, name, f"mpi-{namespace}-{name}", "gpu-lq", workers, gpus, born,
            is_admitted=False, message=message, priority=priority,
        )  # fmt: skip

    def _pytorchjob(self, namespace: str, name: str, workers: int, gpus: int, pool: str) -> None:
        self.add(
            Kind.OWNER,
            OwnerObject(
                uid=f"pt-{name}", name=name, namespace=namespace, api_version="kubeflow.org/v1", kind="PyTorchJob",
                created_seconds=NOW - 7_300, labels=(("user", "barbara"),),
            ),
        )  # fmt: skip
        for rank in range(workers):
            self._pod(
                namespace, f"{name}-worker-{rank}", pool, gpus, created_seconds=NOW - 7_200, started_seconds=NOW - 7_100,
                job_label=name, role="worker", rank=rank, owner_api_version="kubeflow.org/v1", owner_kind="PyTorchJob",
                owner_name=name, owner_uid=f"pt-{name}", restarts=1 if rank == 2 else 0,
            )  # fmt: skip

    def _notebook(self, namespace: str, name: str, gpus: int, pool: str) -> None:
        self.add(
            Kind.OWNER,
            OwnerObject(
                uid=f"nb-{name}", name=name, namespace=namespace, api_version="kubeflow.org/v1", kind="Notebook",
                created_seconds=NOW - 2 * 86_400,
            ),
        )  # fmt: skip
        self._pod(
            namespace, f"{name}-0", pool, gpus, created_seconds=NOW - 2 * 86_400, started_seconds=NOW - 2 * 86_400,
            owner_api_version="kubeflow.org/v1", owner_kind="Notebook", owner_name=name, owner_uid=f"nb-{name}",
        )  # fmt: skip

    def _stuck(self, namespace: str, name: str, pods: int, gpus: int) -> None:
        born = NOW - 1_980
        self.add(
            Kind.JOB,
            JobObject(
                uid=f"job-{name}", name=name, namespace=namespace, api_version="batch/v1", kind="Job", created_seconds=born,
                resource_version="77", replicas=(ReplicaSpec("main", pods, gpus, GPU),), active=pods, started_seconds=born,
            ),
        )  # fmt: skip
        for index in range(pods):
            self._pod(
                namespace, f"{name}-{index}-q2v9z", "", gpus, created_seconds=born, job_label=name, rank=index,
                owner_api_version="batch/v1", owner_kind="Job", owner_name=name, owner_uid=f"job-{name}",
                scheduled_reason="Unschedulable",
                scheduled_message=(
                    "0/38 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: },"
                    " 1 node(s) were unschedulable, 36 Insufficient nvidia.com/gpu. preemption: 0/38 nodes are available:"
                    " 2 Preemption is not helpful for scheduling, 36 No preemption victims found for incoming pod."
                ),
            )  # fmt: skip

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
            ("Warning", "FailedScheduling", "Pod", "team-c", "sweep-12-0-q2v9z", "0/38 nodes are available: 36 Insufficient nvidia.com/gpu", 1_900, 60, 14),
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
