"""A rendered manifest as a gang for the fit: the pods its controller would make, with the labels it adds."""

from collections.abc import Mapping
from typing import Any

from cockpit.fit.pod_sets import pods_asked
from cockpit.fit.shape import Part, shape_of
from cockpit.gangs import registry


def planned_gang(manifest: Mapping[str, Any], namespace: str = "default") -> tuple[Part, ...]:
    """The parts of the gang whose number is known; whether that is all of it, `pods_asked` tells.

    The namespace of the manifest goes before `namespace`. Labels of controllers: mpi-operator
    pkg/controller/mpi_job_controller.go, training-operator pkg/apis common.go, batch/v1 labels.
    """
    metadata = manifest.get("metadata")
    meta: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    where = str(meta.get("namespace") or namespace or "default")
    name = str(meta.get("name") or "")
    kind, version = str(manifest.get("kind") or ""), str(manifest.get("apiVersion") or "")
    return tuple(
        Part(item.role, item.replicas, shape_of(item.template, where, _added(kind, version, name, item.role)))
        for item in pods_asked(manifest).sets
        if item.replicas
    )


def _added(kind: str, api_version: str, name: str, role: str) -> dict[str, str]:
    if kind == "Pod":
        return {}
    if (own := registry.own_job(api_version, kind)) is not None:
        return own.pod_labels(name, role)
    if kind == "Job":
        return {"batch.kubernetes.io/job-name": name, "job-name": name}
    if kind in ("JobSet", "TrainJob"):
        return {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": role}
    added = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/job-role": role}
    return {**added, "training.kubeflow.org/operator-name": "mpi-operator"} if kind == "MPIJob" else added
