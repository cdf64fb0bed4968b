"""A GPU estate for tests: nodes of a known make, and Kueue queues with a GPU quota."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.bed.api import Api, Tree
from tests.bed.setup import apply_all

GPU = "nvidia.com/gpu"
PRODUCT = "NVIDIA-H100-80GB-HBM3"
GPU_MEMORY_MIB = 81559
FLAVOR = "h100"
CLUSTER_QUEUE = "research"
LOCAL_QUEUE = "main"
POOL_LABEL = "node-pool"
ZONES = ("zone-a", "zone-b", "zone-c")


def gpu_node(name: str, index: int = 0, *, gpus: int = 8, pool: str = "h100") -> Tree:
    """A Node as the GPU operator's feature discovery labels it, run by kwok."""
    capacity = {"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti"}
    if gpus:
        capacity[GPU] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "gpu-8x",
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
                POOL_LABEL: pool,
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": PRODUCT,
                "nvidia.com/gpu.count": str(gpus),
                "nvidia.com/gpu.memory": str(GPU_MEMORY_MIB),
            },
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def flavor(name: str = FLAVOR) -> Tree:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}}


def cluster_queue(name: str = CLUSTER_QUEUE, *, gpus: int, flavor_name: str = FLAVOR) -> Tree:
    """A ClusterQueue whose GPU quota binds first; cpu and memory have room for every pod of the bed."""
    quotas = [
        {"name": "cpu", "nominalQuota": "10000"},
        {"name": "memory", "nominalQuota": "100Ti"},
        {"name": GPU, "nominalQuota": str(gpus)},
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory", GPU],
                    "flavors": [{"name": flavor_name, "resources": quotas}],
                }
            ],
        },
    }


def local_queue(namespace: str, name: str = LOCAL_QUEUE, *, queue: str = CLUSTER_QUEUE) -> Tree:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": queue},
    }


def _gpu_pod_template(gpus: int, *, container: str, image: str, command: Sequence[str] = ()) -> Tree:
    resources: Tree = {"requests": {"cpu": "4", "memory": "16Gi"}}
    if gpus:
        resources["limits"] = {GPU: str(gpus)}
    one: Tree = {"name": container, "image": image, "resources": resources}
    if command:
        one["command"] = list(command)
    return {"spec": {"restartPolicy": "Never", "containers": [one]}}


def _queue_labels(queue: str) -> dict[str, str]:
    return {"kueue.x-k8s.io/queue-name": queue} if queue else {}


def gpu_job(name: str, *, gpus: int, namespace: str = "team-a", queue: str = LOCAL_QUEUE) -> Tree:
    """A batch Job of one pod; suspended when a queue is to admit it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": _queue_labels(queue)},
        "spec": {
            "suspend": bool(queue),
            "backoffLimit": 0,
            "template": _gpu_pod_template(gpus, container="main", image="example/train:1"),
        },
    }


def mpi_job(
    name: str, *, workers: int, gpus_each: int, namespace: str = "team-a", queue: str = LOCAL_QUEUE
) -> Tree:
    """An MPIJob: a launcher without GPUs and `workers` workers."""
    launcher = _gpu_pod_template(
        0, container="launcher", image="example/mpi:1", command=["mpirun", "-n", str(workers), "/train"]
    )
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": namespace, "labels": _queue_labels(queue)},
        "spec": {
            "slotsPerWorker": gpus_each,
            "runPolicy": {"suspend": bool(queue), "cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": launcher},
                "Worker": {
                    "replicas": workers,
                    "template": _gpu_pod_template(gpus_each, container="worker", image="example/mpi:1"),
                },
            },
        },
    }


class Estate:
    """Creates the objects of an estate through one API client."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def create(
        self, *, nodes: int, gpus_each: int = 8, quota: int | None = None, queues: bool = True
    ) -> None:
        """`nodes` GPU nodes gpu-000.., and with `queues` a ClusterQueue over all their GPUs (or `quota`)."""
        self.nodes(nodes, gpus_each=gpus_each)
        if queues:
            self.queues(gpus=nodes * gpus_each if quota is None else quota)

    def nodes(self, count: int, *, gpus_each: int = 8, prefix: str = "gpu", pool: str = "h100") -> list[str]:
        """Creates nodes PREFIX-000.. and returns their names."""
        names = [f"{prefix}-{index:03d}" for index in range(count)]
        trees = [gpu_node(name, index, gpus=gpus_each, pool=pool) for index, name in enumerate(names)]
        with ThreadPoolExecutor(4) as pool_of_threads:
            for _ in pool_of_threads.map(lambda tree: self._api.create("/api/v1/nodes", tree), trees):
                pass
        return names

    def queues(self, *, gpus: int, namespaces: Sequence[str] = ("team-a", "team-b")) -> None:
        """One flavor, one ClusterQueue with `gpus` GPUs, a LocalQueue in every namespace."""
        queues = [local_queue(namespace) for namespace in namespaces]
        apply_all(self._api, [flavor(), cluster_queue(gpus=gpus), *queues], workers=1)
