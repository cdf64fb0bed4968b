"""Suspend and resume a job by its own suspend field, and what its object says about its end.

Not for jobs whose engine suspends them through a workload: it would un-suspend at once what somebody else
suspended, and all pods would start anew.
Sources: mpi-operator v2beta1 types.go (runPolicy.suspend), kubernetes batch/v1 (spec.suspend), jobset
v1alpha2, trainer v1alpha1, KubeRay RayJob (spec.suspend).
"""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.model.plan import Call

MERGE = "application/merge-patch+json"
_OWN: Final = ("spec", "suspend")
_POLICY: Final = ("spec", "runPolicy", "suspend")
_FIELDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("batch", "Job"): _OWN,
    ("batch", "CronJob"): _OWN,
    ("jobset.x-k8s.io", "JobSet"): _OWN,
    ("trainer.kubeflow.org", "TrainJob"): _OWN,
    ("ray.io", "RayJob"): _OWN,
    ("ray.io", "RayCluster"): _OWN,
    ("kubeflow.org", "MPIJob"): _POLICY,
    ("kubeflow.org", "PyTorchJob"): _POLICY,
    ("kubeflow.org", "TFJob"): _POLICY,
    ("kubeflow.org", "XGBoostJob"): _POLICY,
    ("kubeflow.org", "JAXJob"): _POLICY,
    ("kubeflow.org", "PaddleJob"): _POLICY,
}
_SUCCEEDED: Final = ("Complete", "Succeeded", "Completed")


def suspend_field(api_version: str, kind: str) -> tuple[str, ...]:
    """The path of the field that suspends a job of this kind, () where the kind has none."""
    return _FIELDS.get((api_version.rpartition("/")[0], kind), ())


def is_suspended(tree: Mapping[str, Any]) -> bool:
    """What the object is told to be; its conditions may say otherwise for a while, or for ever."""
    here: Any = tree
    for key in suspend_field(str(tree.get("apiVersion") or ""), str(tree.get("kind") or "")) or ("",):
        here = here.get(key) if isinstance(here, Mapping) else None
    return here is True


def ended_as(tree: Mapping[str, Any]) -> str:
    """`succeeded`, `failed`, or "" for an object that has not ended."""
    status = tree.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    for one in conditions if isinstance(conditions, list) else ():
        if not isinstance(one, Mapping) or one.get("status") != "True":
            continue
        if one.get("type") == "Failed":
            return "failed"
        if one.get("type") in _SUCCEEDED:
            return "succeeded"
    return ""


def suspend_call(tree: Mapping[str, Any], path: str, target: str, *, suspend: bool) -> Call:
    """The patch that sets the suspend field of the object `tree`, refused by the server once it changed.

    Raises BadInput where it can be neither suspended nor resumed, or is so already.
    """
    kind = str(tree.get("kind") or "object")
    field = suspend_field(str(tree.get("apiVersion") or ""), kind)
    if not field:
        raise BadInput(
            f"{target} cannot be suspended: a {kind} has no such field; kill it and clone it later"
        )
    if tree["metadata"].get("deletionTimestamp"):
        raise BadInput(f"{target} is already being deleted")
    if ended := ended_as(tree):
        raise BadInput(f"{target} has {ended}; it can be neither suspended nor resumed")
    if is_suspended(tree) == suspend:
        raise BadInput(f"{target} is {'already suspended' if suspend else 'not suspended'}")
    return patch_call(tree, path, target, _nested(field, suspend))


def patch_call(tree: Mapping[str, Any], path: str, target: str, change: Mapping[str, Any]) -> Call:
    """A merge patch of `change` that the server refuses (409) when the object is another or newer one."""
    metadata = tree["metadata"]
    if not metadata.get("uid"):
        raise BadInput(f"{target} has no known uid: it is not changed by name alone")
    guard = {"uid": metadata["uid"], "resourceVersion": metadata.get("resourceVersion", "")}
    own = change.get("metadata")
    return Call(
        method="PATCH",
        path=path,
        body={**change, "metadata": {**guard, **(own if isinstance(own, Mapping) else {})}},
        content_type=MERGE,
        target=target,
    )


def _nested(field: tuple[str, ...], value: Any) -> dict[str, Any]:
    inner = value
    for key in reversed(field):
        inner = {key: inner}
    return dict(inner)
