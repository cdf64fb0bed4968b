"""The cluster in which plays about queues are played, and the objects that they use."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Tree = dict[str, Any]


GPU = "nvidia.com/gpu"


KUEUE = "kueue.x-k8s.io/v1beta2"


class Cluster(Protocol):
    """One side of the comparison. `space` is the namespace of the play."""

    space: str

    def make(self, tree: Tree) -> None:
        """Create an object and let what follows from it happen."""

    def change(self, kind: str, name: str, patch: Tree, *, namespaced: bool = True) -> None:
        """A merge patch, and what follows from it."""

    def remove(self, kind: str, name: str) -> None:
        """Delete an object of the play's namespace, and what follows from it."""

    def workload_of(self, job: str) -> str:
        """The name of a job's Workload."""

    def end_pods(self, job: str, phase: str) -> None:
        """The pods of a Job end."""

    def look(self) -> None:
        """Compare everything."""


Play = Callable[[Cluster], None]


def a_flavor(name: str, **spec: Any) -> Tree:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def a_queue(name: str, flavors: Mapping[str, int], limits: Tree | None = None, **spec: Any) -> Tree:
    rows = [
        {"name": one, "resources": [{"name": GPU, "nominalQuota": str(gpus), **(limits or {})}]}
        for one, gpus in flavors.items()
    ]
    groups = [{"coveredResources": [GPU], "flavors": rows}]
    whole = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": whole}


def a_door(space: str, queue: str, name: str = "main") -> Tree:
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": queue}}


def a_pod(gpus: int, name: str = "main", **spec: Any) -> Tree:
    resources = {"limits": {GPU: str(gpus)}} if gpus else {}
    container = {"name": name, "image": "example/train:1", "resources": resources}
    return {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def a_job(cluster: Cluster, name: str, gpus: int = 4, *, queue: str = "main", **more: Any) -> None:
    labels = {"kueue.x-k8s.io/queue-name": queue, **more.pop("labels", {})}
    if "priority" in more:
        labels["kueue.x-k8s.io/priority-class"] = more.pop("priority")
    spec = {
        "parallelism": more.pop("pods", 1),
        "completions": more.pop("completions", 1),
        "backoffLimit": 0,
        "template": a_pod(gpus, **more),
    }
    metadata = {"name": name, "namespace": cluster.space, "labels": labels}
    cluster.make({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


def usual_ground(cluster: Cluster, gpus: int = 8, **spec: Any) -> str:
    """A queue named after the namespace, with a door called main."""
    name = f"cq-{cluster.space}"
    cluster.make(a_flavor(f"h100-{cluster.space}"))
    cluster.make(a_queue(name, {f"h100-{cluster.space}": gpus}, **spec))
    cluster.make(a_door(cluster.space, name))
    return name


def stopping(cluster: Cluster, queue: str, policy: str) -> None:
    cluster.change("clusterqueues", queue, {"spec": {"stopPolicy": policy}}, namespaced=False)
