"""Machines on their way: Cluster API's Machine (v1beta1 and v1beta2) and Karpenter's NodeClaim, by one shape.

Sources: cluster-api api/core/v1beta1/machine_types.go, api/core/v1beta2/machine_types.go,
machine_phase_types.go, common_types.go; karpenter pkg/apis/v1/nodeclaim.go, nodeclaim_status.go, labels.go.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.kube.decode.amounts import pairs
from cockpit.kube.decode.common import annotations, conditions, controller, identity, labels
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, PodCondition, WireShape
from cockpit.kube.resource import Resource
from cockpit.mask import MESSAGES
from cockpit.model.pool import Machine, MachineStage
from cockpit.model.record import Condition, condition, label
from cockpit.sanitise import WORDS

NODE_CLAIM = "NodeClaim"
_NODE_POOL_LABEL = "karpenter.sh/nodepool"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_ZONE = "topology.kubernetes.io/zone"
_DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
_SET_LABEL = "cluster.x-k8s.io/set-name"
_POOL_LABEL = "cluster.x-k8s.io/pool-name"
_KEPT = ("cluster.x-k8s.io/delete-machine", "karpenter.sh/do-not-disrupt", "gpu-cockpit/", "gpu-cockpit.")


class _NodeRef(WireShape, frozen=True, gc=False):
    name: str = ""


class _Asked(WireShape, frozen=True, gc=False):
    requests: Mapping[str, str | int] = msgspec.field(default_factory=dict)


class _MachineSpec(WireShape, frozen=True, gc=False):
    resources: _Asked | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    failure_domain: str | None = None


class _V1Beta2(WireShape, frozen=True, gc=False):
    conditions: tuple[PodCondition, ...] = ()


class _MachineStatus(WireShape, frozen=True, gc=False):
    phase: str | None = None
    last_updated: str | None = None
    node_name: str | None = None
    node_ref: _NodeRef | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    failure_reason: str | None = None
    failure_message: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    last_pod_event_time: str | None = None
    capacity: Mapping[str, str | int] = msgspec.field(default_factory=dict)
    v1beta2: _V1Beta2 | None = msgspec.field(default=None, name="v1beta2")


class MachineShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _MachineSpec = _MachineSpec()
    status: _MachineStatus = _MachineStatus()


def machine_record(resource: Resource) -> Callable[[MachineShape], Machine]:
    """A function from the shape to the record of one machine of that resource."""
    parts = _of_node_claim if resource.kind == NODE_CLAIM else _of_machine

    def record(shape: MachineShape) -> Machine:
        meta = shape.metadata
        return Machine(
            **identity(meta, JSON),
            api_version=WORDS[resource.api_version],
            kind=WORDS[resource.kind],
            resource_path=WORDS[resource.path(meta.namespace)],
            annotations=annotations(meta.annotations, lambda key: key.startswith(_KEPT)),
            **parts(shape),
        )

    return record


def _of_node_claim(shape: MachineShape) -> dict[str, Any]:
    status = shape.status
    marks = labels(shape.metadata.labels)
    found = conditions(status.conditions, JSON)
    launched, registered = condition(found, "Launched"), condition(found, "Registered")
    initialized = condition(found, "Initialized")
    stage = MachineStage.ACCEPTED
    for one, reached in (
        (registered, MachineStage.JOINED),
        (initialized, MachineStage.INITIALIZED),
    ):
        if _is_true(one):
            stage = reached
    if stage is MachineStage.ACCEPTED and launched is not None:
        stage = MachineStage.LAUNCHED if launched.status == "True" else MachineStage.LAUNCHING
    pool = label(marks, _NODE_POOL_LABEL)
    gpu_resource, gpus = _gpus(shape)
    return {
        "pool_kind": "NodePool" if pool else "",
        "pool_key": pool,
        "node": WORDS[status.node_name or ""],
        "provider_id": WORDS[status.provider_id or ""],
        "instance_type": label(marks, _INSTANCE_TYPE),
        "zone": label(marks, _ZONE),
        "gpu_resource": gpu_resource,
        "gpus": gpus,
        "stage": stage,
        "launching_seconds": _launching_seconds(launched),
        "launched_seconds": _since(launched),
        "joined_seconds": _since(registered),
        "initialized_seconds": _since(initialized),
        "pod_moved_seconds": JSON.seconds(status.last_pod_event_time),
        "conditions": found,
    }


def _gpus(shape: MachineShape) -> tuple[str, int]:
    """GPUs that the instance has; before it is known those that were asked for."""
    asked = shape.spec.resources.requests if shape.spec.resources is not None else {}
    for told in (shape.status.capacity, asked):
        for name, count in pairs(told, str):
            if is_gpu_resource(name) and count > 0:
                return name, count
    return "", 0


def _launching_seconds(launched: Condition | None) -> float | None:
    """While the launch is under way the condition dates its beginning; afterwards nobody does."""
    return launched.changed_seconds if launched is not None and launched.status == "Unknown" else None


def _of_machine(shape: MachineShape) -> dict[str, Any]:
    status, meta = shape.status, shape.metadata
    marks = labels(meta.labels)
    found = _newest(status)
    infrastructure = condition(found, "InfrastructureReady")
    phase = status.phase or ""
    node = (status.node_ref or _NodeRef()).name
    kind, name = next(
        (
            (kind, value)
            for key, kind in (
                (_DEPLOYMENT_LABEL, "MachineDeployment"),
                (_POOL_LABEL, "MachinePool"),
                (_SET_LABEL, "MachineSet"),
            )
            if (value := label(marks, key))
        ),
        ("", ""),
    )
    owner = controller(meta)
    return {
        "pool_kind": kind,
        "pool_key": f"{WORDS[meta.namespace]}/{name}" if name else "",
        "set_name": owner.name
        if owner is not None and owner.kind == "MachineSet"
        else label(marks, _SET_LABEL),
        "node": WORDS[node],
        "provider_id": WORDS[shape.spec.provider_id or ""],
        "zone": WORDS[shape.spec.failure_domain or ""],
        "stage": _stage_of_phase(phase, node, _is_true(infrastructure)),
        "launching_seconds": _phase_seconds(status, "Provisioning"),
        "launched_seconds": _since(infrastructure) or _phase_seconds(status, "Provisioned"),
        "failure": _failure(status, phase),
        "conditions": found,
    }


def _phase_seconds(status: _MachineStatus, phase: str) -> float | None:
    """Since when it is in that phase; None in another, for the last one alone is dated (machine_types.go)."""
    return JSON.seconds(status.last_updated) if status.phase == phase and status.last_updated else None


def _newest(status: _MachineStatus) -> tuple[Condition, ...]:
    """v1beta2 conditions say more; a v1beta1 object may have both kinds."""
    old = conditions(status.conditions, JSON)
    new = conditions(status.v1beta2.conditions, JSON) if status.v1beta2 is not None else ()
    known = {item.type for item in new}
    return (*new, *(item for item in old if item.type not in known))


def _stage_of_phase(phase: str, node: str, has_infrastructure: bool) -> MachineStage:
    if phase == "Failed":
        return MachineStage.FAILED
    if node:
        return MachineStage.JOINED
    if phase in ("Provisioned", "Running") or has_infrastructure:
        return MachineStage.LAUNCHED
    return MachineStage.LAUNCHING if phase == "Provisioning" else MachineStage.ACCEPTED


def _failure(status: _MachineStatus, phase: str) -> str:
    words: Iterable[str] = (item for item in (status.failure_reason, status.failure_message) if item)
    said = MESSAGES[": ".join(words)]
    return said or ("Failed" if phase == "Failed" else "")


def _is_true(one: Condition | None) -> bool:
    return one is not None and one.status == "True"


def _since(one: Condition | None) -> float | None:
    return one.changed_seconds if one is not None and one.status == "True" else None
