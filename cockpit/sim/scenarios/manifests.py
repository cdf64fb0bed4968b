"""The objects behind a scenario's short forms: jobs, pools, queues, as a person would have written them."""

from collections.abc import Iterator
from typing import Any

from cockpit.sim.actors.autoscaler.groups import MAXIMUM, MINIMUM
from cockpit.sim.actors.common.gpu_load import ANNOTATION as LOAD_ANNOTATION
from cockpit.sim.actors.common.machine_template import (
    KUBELET_ANNOTATION,
    RACK_SIZE_ANNOTATION,
    ZONES_ANNOTATION,
)
from cockpit.sim.durations import seconds
from cockpit.sim.port import Tree
from cockpit.sim.scenarios.schema import Scenario, ScenarioJob, ScenarioPool, ScenarioQueue

POOLS_NAMESPACE = "pools"
MONITORING = "monitoring"
POOL_LABEL = "node-pool"
MEMORY_MIB = {
    "NVIDIA-H100-80GB-HBM3": 81559, "NVIDIA-A100-SXM4-80GB": 81920, "NVIDIA-A100-SXM4-40GB": 40960,
    "NVIDIA-A10G": 23028, "Tesla-T4": 15360, "Tesla-V100-SXM2-16GB": 16384, "Tesla-K80": 11441,
}  # fmt: skip
LOCAL_QUEUE = "main"
GANG_SCHEDULER = "scheduler-plugins-scheduler"
"""What the chart of scheduler-plugins calls its second scheduler: whoever names none means this one."""
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def capacity_of(pool: ScenarioPool) -> dict[str, str]:
    """What a node of the pool offers when all is well."""
    found = {"cpu": pool.cpu, "memory": pool.memory, "pods": str(pool.pods), "ephemeral-storage": "894Gi"}
    if pool.mig:
        found |= {f"nvidia.com/mig-{profile}": str(count) for profile, count in pool.mig.items()}
    elif pool.gpus:
        found["nvidia.com/gpu"] = str(pool.gpus * pool.replicas)
    return found


def labels_of(pool: ScenarioPool, index: int) -> dict[str, str]:
    """Labels of the pool's node number `index`: pool, zone, rack, and what GPU Feature Discovery says."""
    found = {POOL_LABEL: pool.name, "node.kubernetes.io/instance-type": f"{pool.name}.large", **pool.labels}
    if pool.zones:
        found["topology.kubernetes.io/zone"] = pool.zones[index % len(pool.zones)]
    if pool.rack_size:
        found["cockpit.dev/rack"] = f"{pool.name}-rack-{index // pool.rack_size}"
    if pool.gpus:
        product = f"{pool.product}-SHARED" if pool.replicas > 1 else pool.product
        found |= {
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.count": str(pool.gpus),
            "nvidia.com/gpu.product": product,
            "nvidia.com/gpu.memory": str(MEMORY_MIB.get(pool.product, 81559)),
            "nvidia.com/gpu.replicas": str(pool.replicas),
            "nvidia.com/gpu.sharing-strategy": "time-slicing" if pool.replicas > 1 else "none",
            "nvidia.com/mig.strategy": "mixed" if pool.mig else "none",
            "nvidia.com/mig.capable": "true" if pool.mig else "false",
        }
    return found


def _taints(pool: ScenarioPool) -> list[dict[str, str]]:
    return [{"key": one.key, "value": one.value, "effect": one.effect} for one in pool.taints]


def node(pool: ScenarioPool, name: str, index: int, *, has_gpus: bool = True) -> Tree:
    """A node that nobody owns; without `has_gpus` its devices are not advertised yet."""
    capacity = capacity_of(pool)
    if not has_gpus:
        capacity = {key: value for key, value in capacity.items() if not key.startswith("nvidia.com/")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                **labels_of(pool, index),
            },
            "annotations": {KUBELET_ANNOTATION: "simulated"},
        },
        "spec": {"providerID": f"cockpit:///{pool.name}/{name}", "taints": _taints(pool)},
        "status": {"capacity": capacity, "allocatable": dict(capacity)},
    }  # fmt: skip


def machine_deployment(pool: ScenarioPool) -> Tree:
    """The owner of a pool's number of nodes."""
    said = {f"cockpit.dev/{stage}-seconds": f"{seconds(getattr(pool.stages, stage)):g}" for stage in _STAGES}
    if pool.launch_fails:
        said["cockpit.dev/launch-fails"] = pool.launch_fails
    if pool.zones:
        said[ZONES_ANNOTATION] = ",".join(pool.zones)
    if pool.rack_size:
        said[RACK_SIZE_ANNOTATION] = str(pool.rack_size)
    if pool.min is not None and pool.max is not None:
        said |= {MINIMUM: str(pool.min), MAXIMUM: str(pool.max)}
    if pool.gpus:
        said["capacity.cluster-autoscaler.kubernetes.io/gpu-count"] = str(pool.gpus)
        said["capacity.cluster-autoscaler.kubernetes.io/gpu-type"] = "nvidia.com/gpu"
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineDeployment",
        "metadata": {"name": pool.name, "namespace": POOLS_NAMESPACE, "annotations": said},
        "spec": {
            "clusterName": "demo",
            "replicas": pool.nodes,
            "template": {
                "spec": {
                    "node": {
                        "labels": labels_of(pool, 0),
                        "taints": _taints(pool),
                        "capacity": capacity_of(pool),
                    }
                }
            },
        },
    }


_STAGES = ("launch", "join", "ready", "gpus")


def queue_objects(scenario: Scenario) -> Iterator[Tree]:
    """Flavors, ClusterQueues and LocalQueues."""
    flavored = {flavor.pool for queue in scenario.queues for flavor in queue.flavors}
    for pool in scenario.pools:
        if pool.name in flavored:
            yield {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ResourceFlavor",
                "metadata": {"name": pool.name},
                "spec": {
                    "nodeLabels": {POOL_LABEL: pool.name},
                    "tolerations": [
                        {"key": one.key, "operator": "Exists", "effect": one.effect} for one in pool.taints
                    ],
                },
            }
    yield from (_cluster_queue(queue) for queue in scenario.queues)
    for namespace in scenario.namespaces:
        if namespace.queue:
            yield {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "LocalQueue",
                "metadata": {"name": LOCAL_QUEUE, "namespace": namespace.name},
                "spec": {"clusterQueue": namespace.queue},
            }


def _cluster_queue(queue: ScenarioQueue) -> Tree:
    flavors = []
    for flavor in queue.flavors:
        quota: dict[str, Any] = {"name": "nvidia.com/gpu", "nominalQuota": str(flavor.gpus)}
        if flavor.borrow is not None:
            quota["borrowingLimit"] = str(flavor.borrow)
        # Kueue admits nothing that asks for a resource without a quota, so these are wide rather than absent.
        wide = [{"name": "cpu", "nominalQuota": "100k"}, {"name": "memory", "nominalQuota": "1Pi"}]
        flavors.append({"name": flavor.pool, "resources": [quota, *wide]})
    spec: Tree = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": ["nvidia.com/gpu", "cpu", "memory"], "flavors": flavors}],
        "preemption": {
            "withinClusterQueue": queue.preemption.within,
            "reclaimWithinCohort": queue.preemption.reclaim,
        },
    }
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": queue.name},
        "spec": spec,
    }


def job_objects(job: ScenarioJob, pools: dict[str, ScenarioPool]) -> list[Tree]:
    """What is created for a job, in order."""
    match job.kind:
        case "mpijob":
            return [_mpijob(job, pools)]
        case "job":
            return [_batch_job(job, pools)]
        case "deployment":
            return [_deployment(job, pools)]
        case "gang":
            return _gang(job, pools)
        case "pod":
            return [
                _pod(job, pools, job.name if job.workers == 1 else f"{job.name}-{index}")
                for index in range(job.workers)
            ]


def _metadata(job: ScenarioJob, name: str = "") -> Tree:
    labels = {"app.kubernetes.io/name": job.name, **job.labels}
    if job.queue:
        labels[_QUEUE_LABEL] = job.queue
    if job.priority and job.queue:
        labels[_PRIORITY_LABEL] = job.priority
    said = {"cockpit.dev/submitted-by": job.owner} if job.owner else {}
    return {
        "name": name or job.name, "namespace": job.namespace, "labels": labels,
        **({"annotations": said} if said else {}),
    }  # fmt: skip


def _told(job: ScenarioJob) -> dict[str, str]:
    """Annotations by which the simulated kubelet and the GPUs know what a pod does."""
    found = dict(job.annotations)
    if job.seconds is not None:
        found["cockpit.dev/duration"] = f"{seconds(job.seconds):g}s"
    if job.exit_code is not None:
        found["cockpit.dev/exit-code"] = str(job.exit_code)
    if job.load:
        found[LOAD_ANNOTATION] = job.load
    return found


def _pod_spec(job: ScenarioJob, pools: dict[str, ScenarioPool], *, restart: str, name: str = "main") -> Tree:
    resources = {"cpu": job.cpu, "memory": job.memory}
    if job.gpus:
        resources[job.resource] = str(job.gpus)
    spec: Tree = {
        "restartPolicy": restart,
        "containers": [
            {
                "name": name, "image": job.image, "command": list(job.command),
                "resources": {"requests": dict(resources), "limits": resources},
            }
        ],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }  # fmt: skip
    if job.pool:
        spec["nodeSelector"] = {POOL_LABEL: job.pool}
        more = [
            {"key": one.key, "operator": "Exists", "effect": one.effect}
            for one in pools[job.pool].taints
            if one.key != "nvidia.com/gpu"
        ]
        spec["tolerations"] += more
    if job.priority:
        spec["priorityClassName"] = job.priority
    return spec


def _pod(job: ScenarioJob, pools: dict[str, ScenarioPool], name: str) -> Tree:
    metadata = _metadata(job, name)
    metadata["annotations"] = {**metadata.get("annotations", {}), **_told(job)}
    spec = _pod_spec(job, pools, restart="Never")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _gang(job: ScenarioJob, pools: dict[str, ScenarioPool]) -> list[Tree]:
    """A pod group that binds whole or not at all, and its pods."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": job.name, "namespace": job.namespace},
        "spec": {"minMember": job.workers},
    }
    pods = [_pod(job, pools, f"{job.name}-{index}") for index in range(job.workers)]
    for pod in pods:
        pod["metadata"]["labels"][_GROUP_LABEL] = job.name
        pod["spec"]["schedulerName"] = GANG_SCHEDULER
    return [group, *pods]


def _batch_job(job: ScenarioJob, pools: dict[str, ScenarioPool]) -> Tree:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(job),
        "spec": {
            "parallelism": job.workers,
            "completions": job.workers,
            "completionMode": "Indexed",
            "backoffLimit": job.retries,
            "suspend": bool(job.queue),
            "template": {
                "metadata": {"annotations": _told(job)},
                "spec": _pod_spec(job, pools, restart="Never"),
            },
        },
    }


def _deployment(job: ScenarioJob, pools: dict[str, ScenarioPool]) -> Tree:
    chosen = {"app.kubernetes.io/name": job.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(job),
        "spec": {
            "replicas": job.workers,
            "selector": {"matchLabels": chosen},
            "template": {
                "metadata": {"labels": chosen, "annotations": _told(job)},
                "spec": _pod_spec(job, pools, restart="Always"),
            },
        },
    }


def _mpijob(job: ScenarioJob, pools: dict[str, ScenarioPool]) -> Tree:
    """Workers run sshd until the launcher is done, so only the launcher is told how long it takes."""
    worker_told = {
        key: value for key, value in _told(job).items() if not key.endswith(("/duration", "/exit-code"))
    }
    launcher_spec: Tree = {
        "containers": [
            {
                "name": "launcher",
                "image": job.image,
                "command": ["mpirun", "-np", str(job.workers * job.gpus), *job.command],
                "resources": {"limits": {"cpu": "1", "memory": "2Gi"}},
            }
        ]
    }
    if job.priority:
        launcher_spec["priorityClassName"] = job.priority
    worker_spec = _pod_spec(job, pools, restart="Never", name="worker")
    worker_spec.pop("restartPolicy")
    worker_spec["containers"][0].pop("command")
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": _metadata(job),
        "spec": {
            "slotsPerWorker": max(1, job.gpus),
            "runPolicy": {
                "cleanPodPolicy": "Running",
                "suspend": bool(job.queue),
                "backoffLimit": job.retries,
            },
            "mpiReplicaSpecs": {
                "Launcher": {
                    "replicas": 1,
                    "restartPolicy": "Never",
                    "template": {"metadata": {"annotations": _told(job)}, "spec": launcher_spec},
                },
                "Worker": {
                    "replicas": job.workers,
                    "restartPolicy": "Never",
                    "template": {"metadata": {"annotations": worker_told}, "spec": worker_spec},
                },
            },
        },
    }


def exporter_daemon_set(pool: ScenarioPool) -> Tree:
    """The exporter of a pool: dcgm-exporter as the GPU Operator runs it, or our own."""
    name = "cockpit-exporter" if pool.exporter == "cockpit" else "nvidia-dcgm-exporter"
    labels = {"app": name, POOL_LABEL: pool.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": f"{name}-{pool.name}", "namespace": "gpu-operator", "labels": labels,
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"cockpit.dev/image-size": "180Mi"}},
                "spec": {
                    "nodeSelector": {POOL_LABEL: pool.name},
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [
                        {
                            "name": name,
                            "image": _IMAGES[pool.exporter],
                            "ports": [{"name": "metrics", "containerPort": 9400}],
                            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
                        }
                    ],
                },
            },
        },
    }  # fmt: skip


def prometheus_objects() -> list[Tree]:
    """A Prometheus as its operator's chart names it: a Deployment of one, and the Service before it."""
    labels = {"app.kubernetes.io/name": "prometheus"}
    container = {
        "name": "prometheus",
        "image": "quay.example/prometheus/prometheus:v3.8.0",
        "ports": [{"name": "web", "containerPort": 9090}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }
    metadata = {"name": "prometheus", "namespace": MONITORING, "labels": labels}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": labels, "ports": [{"name": "web", "port": 9090, "targetPort": "web"}]},
        },
    ]


_DCGM = "nvcr.example/nvidia/k8s/dcgm-exporter"
_IMAGES = {
    "A": f"{_DCGM}:4.5.3-4.8.2-distroless",
    "B": f"{_DCGM}:4.6.0-4.8.3-distroless",
    "C": f"{_DCGM}:4.9.0-4.9.1-distroless",
    "cockpit": "ghcr.example/gpu-cockpit/cockpit-exporter:0.1.0",
}
