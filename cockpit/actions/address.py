"""Where an object lives below the API server, from its apiVersion and kind."""

from collections.abc import Callable
from typing import Final, Protocol

from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.kube.resource import Resource
from cockpit.model.job import GANG


class Addressed(Protocol):
    """A served resource, as far as its path is asked for (cockpit.kube.resource.Resource)."""

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str: ...


Lookup = Callable[[str, str], Addressed | None]
"""From apiVersion and kind to the resource that the cluster serves, None when it does not."""

# Spelled out for the kinds that the built-in templates make, so that a plan needs no cluster.
_PLURALS: Final = {
    ("v1", "Pod"): "pods",
    ("batch/v1", "Job"): "jobs",
    ("batch/v1", "CronJob"): "cronjobs",
    ("kubeflow.org/v2beta1", "MPIJob"): "mpijobs",
    ("kubeflow.org/v1", "MPIJob"): "mpijobs",
    ("kubeflow.org/v1", "PyTorchJob"): "pytorchjobs",
    ("kubeflow.org/v1", "TFJob"): "tfjobs",
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): "jobsets",
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): "trainjobs",
    ("ray.io/v1", "RayJob"): "rayjobs",
    ("ray.io/v1", "RayCluster"): "rayclusters",
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): "leaderworkersets",
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("apps/v1", "ReplicaSet"): "replicasets",
}


_OPERATORS: Final = {
    "kubeflow.org": "the Kubeflow operator for it (mpi-operator, training-operator, notebook-controller)",
    "trainer.kubeflow.org": "Kubeflow Trainer",
    "jobset.x-k8s.io": "the JobSet controller",
    "leaderworkerset.x-k8s.io": "the LeaderWorkerSet controller",
    "ray.io": "KubeRay",
}
"""What brings the kinds of a group, by its group."""


def unserved(api_version: str, kind: str, lookup: Lookup) -> str:
    """Why an object of that kind cannot be made in this cluster, with the remedy; "" where it can."""
    served = lookup(api_version, kind)
    if served is None:
        own = registry.engine_with_own(api_version, kind)
        operator = (
            own.name
            if own
            else _OPERATORS.get(api_version.rpartition("/")[0], "the operator that defines it")
        )
        remedy = f"install {operator}, or choose another kind"
        return f"this cluster does not serve {kind} of {api_version}: {remedy}"
    path = served.path("default").split("/")
    found = "/".join(path[2:4]) if path[1] == "apis" else path[2]
    if found == api_version:
        return ""
    remedy = "change it to that version, or update the operator"
    return f"what is created is {kind} of {api_version}, but this cluster serves only {found}: {remedy}"


def object_path(
    api_version: str, kind: str, namespace: str, name: str = "", lookup: Lookup | None = None
) -> str:
    """The path of the object, or of its collection without `name`.

    Raises BadInput when the cluster does not serve the kind and it is none of the known ones.
    """
    resource = lookup(api_version, kind) if lookup is not None else None
    if resource is not None:
        return resource.path(namespace, name)
    plural = _PLURALS.get((api_version, kind)) or registry.plurals().get((api_version, kind))
    if kind == GANG:
        raise BadInput(f"gang {namespace}/{name} has no object of its own: do it to its pods, one by one")
    if plural is None:
        raise BadInput(f"this cluster does not serve {kind} of {api_version}: install its operator first")
    group, _, version = api_version.rpartition("/")
    return Resource(group, version, plural, kind, namespaced=True).path(namespace, name)
