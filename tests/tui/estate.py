"""A scripted GPU estate as records, for pictures and screen tests: the same every time.

Three pools (h100 x 20, a100 x 12, l40s x 6), two queues, and one of everything that needs a human.
"""

from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload
from cockpit.model.job import JobObject, OwnerObject, ReplicaSpec
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import PoolObject
from cockpit.model.record import Condition, Kind, OwnerRef, Record
from cockpit.model.scheduling import NO_WISHES, PodWishes, Traits
from tests.tui import estate_told
from tests.tui.estate_told import POOLS, Told

NOW = estate_told.NOW
GPU = "nvidia.com/gpu"
MPI_API = "kubeflow.org/v2beta1"
AMOUNTS = (("cpu", 190_000), ("memory", 2 << 40), ("pods", 110))
"""What a node offers beside its GPUs, in base units."""
NO_SUCH_CARD = estate_told.NO_SUCH_CARD
NO_ROOM = (
    "0/38 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: },"
    " 1 node(s) were unschedulable, 36 Insufficient nvidia.com/gpu. preemption: 0/38 nodes are available:"
    " 2 Preemption is not helpful for scheduling, 36 No preemption victims found for incoming pod."
)


QUEUES = {"team-a": "research", "team-b": "product"}
"""The ClusterQueue of each namespace that has a LocalQueue."""


class Estate(Told):
    """Builds the records of one estate; `batches` hands them over as a reflector would."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        for pool, count, gpus, model, memory_gib, machine in POOLS:
            self._pool(pool, count, gpus, model, memory_gib, machine)
        self._queues()
        self._jobs()
        self._cards()
        self._details("gpu-a100-00", hot=2)
        self._details("gpu-h100-07", hot=-1)
        self._events()

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
                    admitted=2,
                    conditions=active,
                ),
            )
        for namespace, cluster_queue, pending, admitted in (
            ("team-a", QUEUES["team-a"], 2, 2),
            ("team-b", QUEUES["team-b"], 0, 2),
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
        self._stuck("team-c", "sweep-12", 2, 8, family="blackwell")

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
                is_suspended=is_suspended, active=0 if is_suspended else workers,
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
            f"Quota reserved in ClusterQueue {QUEUES[namespace]}" if is_admitted else message,
            born + 2,
        )
        admitted = (Condition("Admitted", "True", "Admitted", "The workload is admitted", born + 2),)
        self.add(
            Kind.WORKLOAD,
            Workload(
                uid=f"wl-{namespace}-{name}", name=f"mpijob-{name}-1a2b3", namespace=namespace, created_seconds=born,
                owner=OwnerRef(MPI_API, "MPIJob", name, owner_uid), queue=queue, priority=priority,
                cluster_queue=QUEUES[namespace] if is_admitted else "",
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

    def _stuck(self, namespace: str, name: str, pods: int, gpus: int, family: str = "") -> None:
        """A job that the scheduler refuses; with `family` because it asks for cards that no node has."""
        born = NOW - 1_980
        wishes = PodWishes(node_selector=(("nvidia.com/gpu.family", family),)) if family else NO_WISHES
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
                scheduled_message=NO_SUCH_CARD if family else NO_ROOM, traits=Traits(wishes=wishes),
            )  # fmt: skip
