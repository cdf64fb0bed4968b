"""What bounds a NodePool besides its number of nodes, and how many GPUs a node of it would have.

Sources: karpenter pkg/apis/v1/nodepool.go (limits), labels of its clouds: aws/karpenter-provider-aws
pkg/apis/v1/labels.go, Azure/karpenter-provider-azure pkg/apis/v1beta1/labels.go; gpu-feature-discovery.
"""

from cockpit.model.pool import PoolObject, ResourceLimit
from cockpit.model.record import label

_COUNTS = (
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.azure.com/sku-gpu-count",
    "nvidia.com/gpu.count",
)
GPUS_NOTE = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
"""The annotation by which other owners tell it of a pool at zero; some sites put it on NodePools as well."""
_GPU = "nvidia.com/gpu"


def gpus_of(found: PoolObject) -> int | None:
    """GPUs of each node where its object says so; None where it leaves more than one number, or none."""
    for key in _COUNTS:
        said = label(found.template_labels, key)
        if said:
            return _whole(said)
        allowed = {one.values for one in found.requirements if one.key == key and one.operator == "In"}
        if len(allowed) == 1 and len(values := next(iter(allowed))) == 1:
            return _whole(values[0])
    return _whole(label(found.annotations, GPUS_NOTE))


def most_gpus_of(found: PoolObject) -> int | None:
    """GPUs of its largest machine type where its object lists how many they have; None where not."""
    listed = [one for one in found.requirements if one.key in _COUNTS and one.operator == "In"]
    return max((_whole(value) or 0 for one in listed for value in one.values), default=None)


def no_room(found: PoolObject, nodes: int, gpus: int | None) -> str:
    """Why so many more nodes would be beyond a limit, "" where they are not, as far as is known."""
    for one in found.limits:
        if one.used is None:
            continue
        more = nodes * gpus if one.resource == _GPU and gpus else 0
        if one.used + more > one.most or (not more and one.used >= one.most):
            return (
                f"limit {limit_words(one)}: Karpenter adds none beyond it; raise spec.limits of the NodePool"
            )
    return ""


def limit_words(one: ResourceLimit) -> str:
    """`nvidia.com/gpu 16 of 32 used`, `cpu 64 of 100 used`, `memory 512 of 1024 GiB used`."""
    each, unit = {"cpu": (1000, ""), "memory": (1 << 30, " GiB")}.get(one.resource, (1, ""))
    used = "?" if one.used is None else f"{one.used / each:.4g}"
    return f"{one.resource} {used} of {one.most / each:.4g}{unit} used"


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else None
