"""Which pod holds which GPU of a node: what the kubelet's device plugin would have decided.

The API server knows only how many GPUs a pod asks for; the exposition needs indexes. A pod keeps its GPUs for
life, and a new pod gets the lowest free ones, in the order of creation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.bed.api import Tree
from tests.bed.estate import GPU
from tests.bed.exposition import Holder


@dataclass(frozen=True)
class GpuPod:
    """A pod on a node that asks for GPUs: (container, GPUs) pairs in their order."""

    uid: str
    namespace: str
    name: str
    node: str
    created: str  # RFC 3339, so it sorts as text
    containers: tuple[tuple[str, int], ...]


def gpu_pod(tree: Tree) -> GpuPod | None:
    """Out of a Pod; None when it holds no GPU (none asked for, not on a node, or ended)."""
    node = tree["spec"].get("nodeName", "")
    if not node or tree.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return None
    wanted = tuple(
        (one["name"], count)
        for one in tree["spec"]["containers"]
        if (count := int(one.get("resources", {}).get("limits", {}).get(GPU, 0))) > 0
    )
    if not wanted:
        return None
    metadata = tree["metadata"]
    return GpuPod(
        metadata["uid"],
        metadata["namespace"],
        metadata["name"],
        node,
        metadata.get("creationTimestamp", ""),
        wanted,
    )


class GpuHolders:
    """Keeps the assignment between looks at the cluster."""

    def __init__(self) -> None:
        self._indexes: dict[str, tuple[int, ...]] = {}  # pod uid -> GPUs on its node
        self._by_node: dict[str, dict[int, Holder]] = {}

    def update(self, gpus_on: Mapping[str, int], pods: Iterable[GpuPod]) -> None:
        """`gpus_on` maps node to its number of GPUs; `pods` are all that hold some now."""
        present = sorted(pods, key=lambda pod: (pod.created, pod.namespace, pod.name))
        kept = {pod.uid for pod in present}
        self._indexes = {uid: held for uid, held in self._indexes.items() if uid in kept}
        taken: dict[str, set[int]] = {}
        for pod in present:
            taken.setdefault(pod.node, set()).update(self._indexes.get(pod.uid, ()))
        self._by_node = {node: {} for node in gpus_on}
        for pod in present:
            count = sum(number for _, number in pod.containers)
            if pod.uid not in self._indexes:
                free = [gpu for gpu in range(gpus_on.get(pod.node, 0)) if gpu not in taken[pod.node]]
                self._indexes[pod.uid] = tuple(free[:count])
                taken[pod.node].update(free[:count])
            names = [name for name, number in pod.containers for _ in range(number)]
            holders = self._by_node.setdefault(pod.node, {})
            for gpu, name in zip(self._indexes[pod.uid], names, strict=False):
                holders[gpu] = Holder(pod.namespace, pod.name, name)

    def on(self, node: str) -> Mapping[int, Holder]:
        """GPU index -> holder."""
        return self._by_node.get(node, {})
