"""Kinds that are served and that no actor acts on: an autoscaler or a scheduler that lists them finds them.

Defaults are those of `pkg/apis/{storage,resource,core}/v1/defaults.go`; what a driver or a controller writes
is not checked.
"""

from typing import Any

from cockpit.sim import resources as r
from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.pod_spec import complete_template
from cockpit.sim.server.kinds import ScaleSubresource, ServedKind


def unattended_kinds() -> list[ServedKind]:
    """Storage drivers, what they attach, devices, and replication controllers."""
    return [
        ServedKind(
            resource=r.CSI_NODES,
            singular="csinode",
            deletion_returns_object=True,
        ),
        ServedKind(
            resource=r.CSI_DRIVERS,
            singular="csidriver",
            deletion_returns_object=True,
            complete=(_complete_driver,),
        ),
        ServedKind(resource=r.CSI_STORAGE_CAPACITIES, singular="csistoragecapacity"),
        ServedKind(
            resource=r.VOLUME_ATTACHMENTS,
            singular="volumeattachment",
            has_status=True,
            deletion_returns_object=True,
            revise=(_detached,),
        ),
        ServedKind(
            resource=r.DEVICE_CLASSES,
            singular="deviceclass",
            deletion_returns_object=True,
            has_generation=True,
        ),
        ServedKind(
            resource=r.RESOURCE_SLICES,
            singular="resourceslice",
            deletion_returns_object=True,
            has_generation=True,
            fields={"spec.driver": ("spec", "driver"), "spec.nodeName": ("spec", "nodeName")},
        ),
        ServedKind(
            resource=r.REPLICATION_CONTROLLERS,
            singular="replicationcontroller",
            short_names=("rc",),
            categories=("all",),
            has_status=True,
            has_generation=True,
            default_propagation="Orphan",
            fields={"status.replicas": ("status", "replicas")},
            absent_fields={"status.replicas": "0"},
            scale=ScaleSubresource(selector=("spec", "selector"), is_label_map=True),
            complete=(_complete_controller,),
            revise=(_nothing_runs,),
        ),
    ]


def claim_kinds() -> list[ServedKind]:
    """Claims on devices, which a controller makes and the scheduler waits for, and their templates."""
    return [
        ServedKind(
            resource=r.RESOURCE_CLAIMS,
            singular="resourceclaim",
            has_status=True,
            deletion_returns_object=True,
            complete=(_complete_claim,),
            revise=(_unallocated,),
        ),
        ServedKind(
            resource=r.RESOURCE_CLAIM_TEMPLATES,
            singular="resourceclaimtemplate",
            deletion_returns_object=True,
            complete=(_complete_claim_template,),
        ),
    ]


def _detached(tree: Tree, old: Tree | None) -> Tree:
    return tree if old is not None else {**tree, "status": {"attached": False}}


def _complete_driver(tree: Tree) -> Tree:
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


def _complete_controller(tree: Tree) -> Tree:
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


def _nothing_runs(tree: Tree, old: Tree | None) -> Tree:
    return tree if old is not None else {**tree, "status": {"replicas": 0}}


def _unallocated(tree: Tree, old: Tree | None) -> Tree:
    return tree if old is not None else {**tree, "status": {}}


def _complete_claim(tree: Tree) -> Tree:
    return {**tree, "spec": _complete_claim_spec(tree.get("spec") or {})}


def _complete_claim_template(tree: Tree) -> Tree:
    spec = tree.get("spec") or {}
    return {**tree, "spec": {**spec, "spec": _complete_claim_spec(spec.get("spec") or {})}}


def _complete_claim_spec(spec: Tree) -> Tree:
    """A request for devices is for one of them, unless it says otherwise."""
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
