"""Nodes: capacity, GPUs advertised and promised, the pool that labels tell."""

import re
from typing import Any

from cockpit.k8s.gpu_resources import device_count, main_resource, model_of_machine, site_vendors
from cockpit.k8s.labels import POOL_LABELS
from cockpit.kube.decode.amounts import pairs
from cockpit.kube.decode.common import annotations, conditions, identity, labels
from cockpit.kube.decode.reading import Reading
from cockpit.model.node import Node, Taint
from cockpit.sanitise import WORDS, clean

CAPI_OWNER_NAME = "cluster.x-k8s.io/owner-name"
CAPI_OWNER_KIND = "cluster.x-k8s.io/owner-kind"
CAPI_MACHINE = "cluster.x-k8s.io/machine"
OPENSHIFT_MACHINE = "machine.openshift.io/machine"
"""`openshift-machine-api/NAME`: the name of its machine set and drawn letters (source: openshift
machine-api-operator pkg/controller/nodelink)."""
_DRAWN = re.compile(r"-(?:[bcdfghjklmnpqrstvwxz2456789]{5,10}|\d{8,10})$")
"""What a MachineDeployment appends to its name for each of its MachineSets, drawn from these characters;
before that a hash (source: cluster-api internal/controllers/machinedeployment/machinedeployment_sync.go)."""

_MODEL_LABELS: tuple[str, ...] = (
    "nvidia.com/gpu.product",
    "gpu.nvidia.com/model",
    "nebius.com/gpu-name",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "doks.digitalocean.com/gpu-model",
    "gpu.intel.com/product",
    "node.kubernetes.io/npu.chip.name",
    "karpenter.k8s.aws/instance-accelerator-name",
    "karpenter.k8s.aws/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
    "kubernetes.azure.com/accelerator",
    "accelerator",
    "cluster-api/accelerator",
    "aliyun.accelerator/nvidia_name",
)
_NO_MODELS = frozenset({"nvidia", "amd", "intel", "gpu", "true"})
"""Values of those labels that name who made the GPU, or that there is one."""
PRESENT_LABEL = "nvidia.com/gpu.present"
_BARE_MODEL_LABEL = "accelerator"
"""A generic label, which nodes without a GPU may have too."""
_COUNT_LABELS: tuple[str, ...] = (
    "nvidia.com/gpu.count",
    "gpu.nvidia.com/count",
    "aliyun.accelerator/nvidia_count",
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.k8s.aws/instance-accelerator-count",
    "cloud.google.com/gke-accelerator-count",
)
TYPE_LABELS: tuple[str, ...] = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ZONE_LABELS: tuple[str, ...] = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
MEMORY_LABEL = "nvidia.com/gpu.memory"  # MiB a card (source: gpu-feature-discovery README)
REPLICAS_LABEL = "nvidia.com/gpu.replicas"

KEPT_ANNOTATIONS: tuple[str, ...] = (
    "cluster.x-k8s.io/",
    OPENSHIFT_MACHINE,
    "gpu-cockpit/",
    "gpu-cockpit.",
    "karpenter.sh/do-not-disrupt",
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
)
"""Annotations that name an owner or a hold, beside those that note a cordon; the rest is large and nobody's
concern."""

_MIB = 1 << 20


def model_labels() -> tuple[str, ...]:
    """Labels with the model of a node's accelerators, the most telling first."""
    return (*(vendor.model_label for vendor in site_vendors()), *_MODEL_LABELS)


def count_labels() -> tuple[str, ...]:
    """Labels with how many accelerators a node is to have."""
    return (*(vendor.count_label for vendor in site_vendors()), *_COUNT_LABELS)


def is_kept(key: str) -> bool:
    """True for an annotation that a record keeps."""
    return key.startswith(KEPT_ANNOTATIONS) or "cordon" in key


def _first(found: dict[str, str], keys: tuple[str, ...]) -> tuple[str, str]:
    """The value and key of the first key that has a value."""
    for key in keys:
        if found.get(key):
            return found[key], key
    return "", ""


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _model(found: dict[str, str], type_: str) -> str:
    """The model as a label tells it, else as the machine type does."""
    told = (found.get(label, "") for label in model_labels())
    return next(
        (model for model in told if model and model.lower() not in _NO_MODELS), model_of_machine(type_)
    )


def node_record(node: Any, reading: Reading) -> Node:
    """The record of one core/v1 Node."""
    meta, spec, status = node.metadata, node.spec, node.status
    marks = labels(meta.labels)
    found = dict(marks)
    notes = annotations(meta.annotations, is_kept)
    noted = dict(notes)
    pool, pool_label = _first(found, POOL_LABELS)
    is_named = pool_label.startswith("karpenter.sh/") or "cluster.x-k8s.io" in pool_label
    if not is_named and CAPI_MACHINE in noted and noted.get(CAPI_OWNER_NAME):
        pool, pool_label = noted[CAPI_OWNER_NAME], CAPI_OWNER_NAME
        if noted.get(CAPI_OWNER_KIND) == "MachineSet":
            pool = _DRAWN.sub("", pool)
    if not pool and _DRAWN.search(machine := noted.get(OPENSHIFT_MACHINE, "")):
        pool, pool_label = _DRAWN.sub("", machine.rpartition("/")[2]), OPENSHIFT_MACHINE
    memory = _count(found.get(MEMORY_LABEL, ""))
    model, model_label = _first(found, model_labels())
    type_ = _first(found, TYPE_LABELS)[0]
    is_modelled = bool(model) and model_label != _BARE_MODEL_LABEL
    return Node(
        **identity(meta, reading),
        labels=marks,
        annotations=notes,
        taints=tuple(
            Taint(WORDS[taint.key], WORDS[taint.value], WORDS[taint.effect]) for taint in spec.taints
        ),
        unschedulable=spec.unschedulable,
        conditions=conditions(status.conditions, reading),
        provider_id=clean(spec.provider_id),
        internal_ip=next((clean(item.address) for item in status.addresses if item.type == "InternalIP"), ""),
        kubelet_version=WORDS[status.node_info.kubelet_version],
        **amounts(status, reading),
        gpus_expected=_count(_first(found, count_labels())[0]),
        gpu_replicas=_count(found.get(REPLICAS_LABEL, "")) or 1,
        is_gpu_labelled=found.get(PRESENT_LABEL) == "true" or is_modelled,
        gpu_model=_model(found, type_),
        gpu_memory_bytes=None if memory is None else memory * _MIB,
        instance_type=type_,
        zone=_first(found, ZONE_LABELS)[0],
        pool=pool,
        pool_label=pool_label,
    )


def amounts(status: Any, reading: Reading) -> dict[str, Any]:
    """Keyword arguments of `Node`: what the status tells of capacity, allocatable and GPUs."""
    capacity = pairs(status.capacity, reading.amount)
    allocatable = pairs(status.allocatable, reading.amount)
    shown, usable = dict(capacity), dict(allocatable)
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "gpu_resource": main_resource({**dict.fromkeys(usable, 0), **shown}.items()),
        "gpu_capacity": device_count(shown),
        "gpu_allocatable": device_count(usable),
    }
