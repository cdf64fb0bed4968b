"""Kinds that are served and that no actor acts on: an autoscaler or a scheduler that lists them finds them.

Defaults are those of `pkg/apis/{storage,resource,core}/v1/defaults.go`; what a driver or a controller writes
is not checked.
"""

from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.pod_spec import complete_template


def detached(tree: Tree, old: Tree | None) -> Tree:
    """A new attachment is attached by its driver later."""
    return tree if old is not None else {**tree, "status": {"attached": False}}


def complete_driver(tree: Tree) -> Tree:
    """What a driver leaves out."""
    spec = filled(
        tree.get("spec") or {},
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        requiresRepublish=False,
        seLinuxMount=False,
    )
    if not spec.get("volumeLifecycleModes"):
        spec = {**spec, "volumeLifecycleModes": ["Persistent"]}
    return {**tree, "spec": spec}


def complete_controller(tree: Tree) -> Tree:
    """One replica; labels and selector are those of its template where it names none."""
    spec = filled(tree.get("spec") or {}, replicas=1)
    template = spec.get("template")
    if template is None:
        return {**tree, "spec": spec}
    spec = {**spec, "template": complete_template(template)}
    labels = (template.get("metadata") or {}).get("labels") or {}
    metadata = tree["metadata"]
    if labels:
        spec = spec if spec.get("selector") else {**spec, "selector": labels}
        metadata = metadata if metadata.get("labels") else {**metadata, "labels": labels}
    return {**tree, "metadata": metadata, "spec": spec}


def nothing_runs(tree: Tree, old: Tree | None) -> Tree:
    """No controller acts on it, so it has no pods."""
    return tree if old is not None else {**tree, "status": {"replicas": 0}}


def complete_claim(tree: Tree) -> Tree:
    """A request for devices is for one of them, unless it says otherwise."""
    return {**tree, "spec": _complete_claim_spec(tree.get("spec") or {})}


def complete_claim_template(tree: Tree) -> Tree:
    """The same for the claims that are made of it."""
    spec = tree.get("spec") or {}
    return {**tree, "spec": {**spec, "spec": _complete_claim_spec(spec.get("spec") or {})}}


def _complete_claim_spec(spec: Tree) -> Tree:
    devices = spec.get("devices") or {}
    if not devices.get("requests"):
        return spec
    requests = [_complete_request(request) for request in devices["requests"]]
    return {**spec, "devices": {**devices, "requests": requests}}


def _complete_request(request: Tree) -> Tree:
    whole: dict[str, Any] = dict(request)
    if request.get("exactly"):
        whole["exactly"] = _counted(request["exactly"])
    if request.get("firstAvailable"):
        whole["firstAvailable"] = [_counted(choice) for choice in request["firstAvailable"]]
    return whole


def _counted(request: Tree) -> Tree:
    request = filled(request, allocationMode="ExactCount")
    is_exact = request["allocationMode"] == "ExactCount"
    return filled(request, count=1) if is_exact else request
