"""Objects that own a number of machines: Cluster API's sets and Karpenter's NodePool, read by one shape.

Sources: cluster-api api/core types (spec.replicas, template metadata), karpenter pkg/apis/v1/nodepool.go
(spec.replicas makes a pool static), coreweave nodepool (targetNodes, minNodes, maxNodes).
"""

from collections.abc import Callable
from typing import Any

import msgspec

from cockpit.clean import WORDS
from cockpit.k8s import labels as well_known
from cockpit.kube.decode.common import conditions, identity, labels
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, PodCondition, WireShape
from cockpit.kube.resource import Resource
from cockpit.model.pool import PoolObject

MINIMUM = well_known.AUTOSCALER_MINIMUM
MAXIMUM = well_known.AUTOSCALER_MAXIMUM
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
LAST_APPLIED = well_known.LAST_APPLIED


class _Requirement(WireShape, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _TemplateSpec(WireShape, frozen=True, gc=False):
    requirements: tuple[_Requirement, ...] = ()


class _Template(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _TemplateSpec = _TemplateSpec()


class _PoolSpec(WireShape, frozen=True, gc=False):
    replicas: int | None = None
    target_nodes: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    autoscaling: bool | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    instance_type: str = ""
    template: _Template = _Template()
    limits: dict[str, Any] = msgspec.field(default_factory=dict)


class _PoolStatus(WireShape, frozen=True, gc=False):
    replicas: int | None = None
    nodes: int | None = None
    current_nodes: int | None = None
    ready_replicas: int | None = None
    conditions: tuple[PodCondition, ...] = ()


class PoolShape(WireShape, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: _PoolSpec = _PoolSpec()
    status: _PoolStatus = _PoolStatus()


def _count(text: Any) -> int | None:
    word = str(text)
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _instance_type(spec: _PoolSpec, template_labels: dict[str, str]) -> str:
    """The machine type: stated, on the node template, or required by name with one value."""
    if spec.instance_type:
        return spec.instance_type
    if template_labels.get(INSTANCE_TYPE):
        return template_labels[INSTANCE_TYPE]
    for one in spec.template.spec.requirements:
        if one.key == INSTANCE_TYPE and one.operator == "In" and len(one.values) == 1:
            return one.values[0]
    return ""


def pool_record(resource: Resource) -> Callable[[PoolShape], PoolObject | None]:
    """A function from the shape to the record of one pool object of that resource.

    It gives None for a MachineSet that a MachineDeployment controls: its size is not its own.
    """

    def record(shape: PoolShape) -> PoolObject | None:
        meta, spec, status = shape.metadata, shape.spec, shape.status
        if resource.kind == "MachineSet" and any(one.controller for one in meta.owner_references):
            return None
        notes = meta.annotations
        template_labels = labels(spec.template.metadata.labels)
        return PoolObject(
            **identity(meta, JSON),
            api_version=WORDS[resource.api_version],
            kind=WORDS[resource.kind],
            resource_path=WORDS[resource.path(meta.namespace)],
            labels=labels(meta.labels),
            annotations=labels(notes, lambda key: key != LAST_APPLIED),
            replicas=_first(spec.replicas, spec.target_nodes),
            status_replicas=_first(status.replicas, status.nodes, status.current_nodes),
            ready_replicas=status.ready_replicas,
            min_replicas=_first(_count(notes.get(MINIMUM, "")), spec.min_replicas, spec.min_nodes),
            max_replicas=_first(
                _count(notes.get(MAXIMUM, "")),
                spec.max_replicas,
                spec.max_nodes,
                _count(spec.limits.get("nodes", "")),
            ),
            template_labels=template_labels,
            instance_type=WORDS[_instance_type(spec, dict(template_labels))],
            conditions=conditions(status.conditions, JSON),
            is_autoscaled=bool(spec.autoscaling),
        )

    return record
