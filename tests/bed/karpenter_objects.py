"""Objects of Karpenter as its kwok provider reads them: machine classes, pools, a cloud that is sold out."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.bed.api import Tree
from tests.bed.estate import GPU_MEMORY_MIB, PRODUCT
from tests.bed.karpenter import EIGHT, GPUS_AFTER, READY_AFTER, having, policy

POOL_LABEL = "karpenter.sh/nodepool"
NODE_CLASS = "bed"
GPU_COUNT = "nvidia.com/gpu.count"
HOLDS = ("bed/booting", "bed/no-driver")
"""Annotations with which a node does not get Ready, and then not its GPUs."""


def node_class(name: str = NODE_CLASS, *, registers_after: str = "2s") -> Tree:
    """Machines of it join that long after their launch."""
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": name},
        "spec": {"nodeRegistrationDelay": registers_after},
    }


def node_pool(
    name: str,
    *,
    machines: Sequence[str] = (EIGHT,),
    limits: Mapping[str, str] | None = None,
    replicas: int | None = None,
    ready_after: str = "1s",
    gpus_after: str = "1s",
    gpus_each: int = 8,
    empty_after: str = "Never",
    class_name: str = NODE_CLASS,
    is_held: bool = False,
) -> Tree:
    """A NodePool: static with `replicas`, else grown by demand and emptied `empty_after`; delays as `2s`.

    Its nodes are held at two stages with `is_held`, until the annotations `HOLDS` are taken off them.
    """
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": PRODUCT}
    labels |= {"nvidia.com/gpu.memory": str(GPU_MEMORY_MIB), GPU_COUNT: str(gpus_each)}
    spec: dict[str, Any] = {
        "template": {
            "metadata": {
                "labels": labels if gpus_each else {},
                "annotations": {
                    READY_AFTER: ready_after,
                    **({GPUS_AFTER: gpus_after} if gpus_each else {}),
                    **(dict.fromkeys(HOLDS, "yes") if is_held else {}),
                },
            },
            "spec": {
                "nodeClassRef": {
                    "group": "karpenter.kwok.sh",
                    "kind": "KWOKNodeClass",
                    "name": class_name,
                },
                "requirements": [having("node.kubernetes.io/instance-type", *machines)],
                "expireAfter": "Never",
            },
        },
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": empty_after},
    }
    if replicas is not None:
        spec["replicas"] = replicas
        del spec["disruption"]
    if limits:
        spec["limits"] = dict(limits)
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": spec,
    }


def stockout(pool: str) -> list[Tree]:
    """From now on the cloud has no machine for this NodePool.

    The provider answers *insufficient capacity* for a class of machines that does not exist, so every new
    NodeClaim of the pool gets such a class.
    """
    ours = f"has(object.metadata.labels) && object.metadata.labels[?'{POOL_LABEL}'].orValue('') == '{pool}'"
    patch = "JSONPatch{op: 'replace', path: '/spec/nodeClassRef/name', value: 'sold-out'}"
    where = ("karpenter.sh", "v1", "nodeclaims")
    return policy(f"{pool}-sold-out", where, [{"name": "pool", "expression": ours}], f"[{patch}]")
