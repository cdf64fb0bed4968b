"""The cluster that is measured: training pods, GPU nodes and their jobs, the same for the same seed.

Objects are plain trees, as a person or an operator would post them; the API server adds defaults and
managedFields. What differs between the workers of one job has the same length for ranks of the same number
of digits, because `plant` makes them by replacing bytes.
"""

import random
import zlib
from dataclasses import dataclass
from typing import Any

from cockpit.views.order import natural

Tree = dict[str, Any]

GPUS_PER_NODE = 8
TEAMS = ("vision", "speech", "llm", "ranking", "robotics", "biology", "weather", "ads")
MODELS = ("resnet", "bert", "llama", "whisper", "gnn", "vit", "mamba", "diffusion")
STAGES = ("pretrain", "tune", "eval", "ablate")
PHASES = ("Pending", "Running", "Succeeded")
WORKERS = (4, 8, 16, 32, 64, 128, 256)
KINDS = (("kubeflow.org/v2beta1", "MPIJob", "mpijobs"), ("kubeflow.org/v1", "PyTorchJob", "pytorchjobs"))
IMAGE = "registry.example.com/ml/train-runtime:2026.08-cuda12.8-py311"
MEMBER_HASH = "example.com/member-hash"
"""A label that no controller of note writes, with another value on each pod of a job."""
NCCL = {
    "NCCL_DEBUG": "WARN",
    "NCCL_IB_HCA": "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7",
    "NCCL_SOCKET_IFNAME": "eth0",
    "HOROVOD_FUSION_THRESHOLD": "134217728",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:512",
    "DATA_ROOT": "/data/corpus/2026-08/shards",
    "CHECKPOINT_ROOT": "/checkpoints/experiments/production",
}


@dataclass(frozen=True)
class TrainingJob:
    """One owner of pods: `workers` pods of `gpus` devices each, called `name-worker-0` and so on."""

    namespace: str
    name: str
    kind: tuple[str, str, str]  # apiVersion, kind, plural
    workers: int
    gpus: int
    first_node: int
    phase: str  # Running, Pending (no node, no status) or Succeeded
    has_unlike_labels: bool = False  # whether each pod has `MEMBER_HASH`

    @property
    def path(self) -> str:
        version, _, plural = self.kind
        return f"/apis/{version}/namespaces/{self.namespace}/{plural}"

    def tree(self) -> Tree:
        version, kind, _ = self.kind
        return {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"runPolicy": {"cleanPodPolicy": "Running"}, "workers": self.workers},
        }

    def pod_name(self, rank: int) -> str:
        return f"{self.name}-worker-{rank}"

    def member_hash(self, rank: int) -> str:
        """Always 8 characters."""
        return f"{zlib.crc32(self.pod_name(rank).encode()):08x}"

    def node_of(self, rank: int, nodes: int) -> str:
        return node_name((self.first_node + rank) % nodes)


def namespaces() -> list[str]:
    """Where the pods lie."""
    return [f"team-{team}" for team in TEAMS]


def training_jobs(pods: int, seed: int, nodes: int, *, has_unlike_labels: bool = False) -> list[TrainingJob]:
    """Jobs whose workers are exactly `pods` in all; four pods of ten ask for a GPU."""
    rng = random.Random(seed)
    jobs: list[TrainingJob] = []
    left = pods
    while left:
        workers = min(left, rng.choice(WORKERS))
        number = len(jobs)
        jobs.append(
            TrainingJob(
                namespace=f"team-{TEAMS[number % len(TEAMS)]}",
                name=f"{rng.choice(MODELS)}-{rng.choice(STAGES)}-{number:04d}",
                kind=KINDS[rng.randrange(2)],
                workers=workers,
                gpus=1 if rng.random() < 0.4 else 0,
                first_node=rng.randrange(max(1, nodes)),
                phase=rng.choices(("Running", "Pending", "Succeeded"), (88, 8, 4))[0],
                has_unlike_labels=has_unlike_labels,
            )
        )
        left -= workers
    return jobs


def pod_keys(jobs: list[TrainingJob]) -> tuple[str, ...]:
    """`namespace/name` of every pod, in the cockpit's own order: what waits first, what is over last."""
    ranked = [
        (PHASES.index(job.phase), f"{job.namespace}/{job.pod_name(rank)}")
        for job in jobs
        for rank in range(job.workers)
    ]
    return tuple(key for _, key in sorted(ranked, key=lambda found: (found[0], natural(found[1]))))


def pod_tree(job: TrainingJob, rank: int, owner_uid: str, nodes: int) -> Tree:
    """One worker as its operator would create it, already bound to a node."""
    version, kind, _ = job.kind
    resources = {"cpu": "12", "memory": "96Gi", "ephemeral-storage": "64Gi"}
    if job.gpus:
        resources["nvidia.com/gpu"] = str(job.gpus)
    labels = {
        "app": "training",
        "team": job.namespace.removeprefix("team-"),
        "training.kubeflow.org/job-name": job.name,
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/replica-index": str(rank),
        "training.kubeflow.org/replica-type": "worker",
        "kueue.x-k8s.io/queue-name": f"queue-{job.namespace}",
    }
    if job.has_unlike_labels:
        labels[MEMBER_HASH] = job.member_hash(rank)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": job.pod_name(rank),
            "namespace": job.namespace,
            "labels": labels,
            "annotations": {
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
                "k8s.v1.cni.cncf.io/networks": "sriov-rail-0,sriov-rail-1,sriov-rail-2,sriov-rail-3",
            },
            "ownerReferences": [
                {
                    "apiVersion": version,
                    "kind": kind,
                    "name": job.name,
                    "uid": owner_uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            **({} if job.phase == "Pending" else {"nodeName": job.node_of(rank, nodes)}),
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 120,
            "hostname": job.pod_name(rank),
            "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000},
            "containers": [_container(job, rank, resources)],
            "volumes": _volumes(job),
            "tolerations": _tolerations(),
            "affinity": _affinity(),
        },
    }


def _container(job: TrainingJob, rank: int, resources: dict[str, str]) -> Tree:
    env: list[Tree] = [{"name": name, "value": value} for name, value in NCCL.items()]
    env += [
        {"name": "MASTER_ADDR", "value": f"{job.name}-master.{job.name}.{job.namespace}.svc"},
        {"name": "WORLD_SIZE", "value": str(job.workers)},
        {"name": "RANK", "value": str(rank)},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    return {
        "name": "worker",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["torchrun", f"--nnodes={job.workers}", "--nproc-per-node=1", "/opt/train/main.py"],
        "args": ["--config=/etc/train/config.yaml", f"--run={job.name}", "--resume=auto", "--precision=bf16"],
        "env": env,
        "ports": [{"name": "rendezvous", "containerPort": 23456}, {"name": "metrics", "containerPort": 9400}],
        "resources": {"limits": resources, "requests": resources},
        "volumeMounts": [
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "checkpoints", "mountPath": "/checkpoints"},
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "config", "mountPath": "/etc/train", "readOnly": True},
        ],
    }


def _volumes(job: TrainingJob) -> list[Tree]:
    return [
        {"name": "data", "persistentVolumeClaim": {"claimName": "corpus-shared", "readOnly": True}},
        {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
        {"name": "config", "configMap": {"name": f"{job.name}-config"}},
    ]


def _tolerations() -> list[Tree]:
    return [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"},
    ]


def _affinity() -> Tree:
    term = {
        "matchExpressions": [
            {
                "key": "nvidia.com/gpu.product",
                "operator": "In",
                "values": ["NVIDIA-H100-80GB-HBM3", "NVIDIA-H200"],
            }
        ]
    }
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
    }


def pod_status(job: TrainingJob, address: str) -> Tree:
    """The status that a kubelet reports for a worker that runs or has ended well."""
    since, until = "2026-08-20T10:15:00Z", "2026-08-20T18:15:00Z"
    runs = job.phase == "Running"
    conditions = [
        {
            "type": kind,
            "status": "True" if runs or kind in ("Initialized", "PodScheduled") else "False",
            "lastTransitionTime": since,
        }
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": until}
    return {
        "phase": job.phase,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "10.0.0.1",
        "startTime": since,
        "conditions": conditions,
        "containerStatuses": [
            {
                "name": "worker",
                "image": IMAGE,
                "imageID": "registry.example.com/ml/train-runtime@sha256:" + "5" * 64,
                "containerID": "containerd://" + "a" * 64,
                "ready": runs,
                "started": runs,
                "restartCount": 0,
                "state": {"running": {"startedAt": since}} if runs else {"terminated": ended},
            }
        ],
    }


def pod_address(number: int) -> str:
    """An address of always 14 characters."""
    return f"10.{100 + number // 10_000 % 100}.{100 + number // 100 % 100}.{100 + number % 100}"


def node_name(number: int) -> str:
    return f"gpu-{number:04d}"


def node_conditions() -> list[Tree]:
    """What a kubelet says of a node that is well."""
    when = "2026-08-20T09:00:00Z"
    return [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": f"Kubelet{kind}",
            "message": f"kubelet says {kind}",
            "lastHeartbeatTime": when,
            "lastTransitionTime": when,
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]


def node_images() -> list[Tree]:
    """Thirty images, as long as kubelets list them."""
    return [
        {
            "names": [f"registry.example.com/ml/image-{one:02d}@sha256:{one * 7919:064x}"],
            "sizeBytes": 4_000_000_000 + one,
        }
        for one in range(30)
    ]


def node_info(name: str) -> Tree:
    """What the machine says of itself."""
    return {
        "kubeletVersion": "v1.36.3",
        "osImage": "Ubuntu 24.04.2 LTS",
        "kernelVersion": "6.8.0-45-generic",
        "containerRuntimeVersion": "containerd://2.1.0",
        "architecture": "amd64",
        "operatingSystem": "linux",
        "machineID": name,
        "systemUUID": name,
        "bootID": name,
        "kubeProxyVersion": "",
    }


def node_tree(number: int) -> Tree:
    """One machine of eight H100, ready, with the labels GPU feature discovery writes and an image list."""
    name = node_name(number)
    amounts = {
        "cpu": "192",
        "memory": "2113392Ki",
        "pods": "250",
        "ephemeral-storage": "14000Gi",
        "nvidia.com/gpu": str(GPUS_PER_NODE),
        "hugepages-2Mi": "0",
        "rdma/hca": "8",
    }
    features = {f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{one:02d}": "true" for one in range(40)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "p5.48xlarge",
                "topology.kubernetes.io/zone": "zone-a",
                "topology.kubernetes.io/rack": f"rack-of-{name}",
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gpu.count": str(GPUS_PER_NODE),
                "nvidia.com/gpu.memory": "81559",
                "cloud.google.com/gke-nodepool": "h100-pool",
                **features,
            },
        },
        "spec": {
            "providerID": f"aws:///us-east-1a/i-{name}",
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": node_conditions(),
            "addresses": [
                {"type": "InternalIP", "address": pod_address(number)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": node_info(name),
            "images": node_images(),
        },
    }


def resource_definitions() -> list[Tree]:
    """MPIJob and PyTorchJob, with no schema of their own: what matters here is that the owners exist."""
    found: list[Tree] = []
    for version, kind, plural in KINDS:
        group, name = version.split("/")
        found.append(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.{group}"},
                "spec": {
                    "group": group,
                    "scope": "Namespaced",
                    "names": {
                        "kind": kind,
                        "plural": plural,
                        "singular": kind.lower(),
                        "listKind": f"{kind}List",
                    },
                    "versions": [
                        {
                            "name": name,
                            "served": True,
                            "storage": True,
                            "subresources": {"status": {}},
                            "schema": {
                                "openAPIV3Schema": {
                                    "type": "object",
                                    "x-kubernetes-preserve-unknown-fields": True,
                                }
                            },
                        }
                    ],
                },
            }
        )
    return found
