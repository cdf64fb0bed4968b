"""Objects that own a number of machines: Cluster API's sets and Karpenter's NodePool, read by one shape.

Sources: cluster-api api/core types (spec.replicas, template metadata), karpenter pkg/apis/v1/nodepool.go
(spec.replicas makes a pool static), coreweave nodepool (targetNodes, minNodes, maxNodes).
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cockpit.k8s import labels as well_known
from cockpit.k8s.durations import go_seconds
from cockpit.kube.decode.amounts import base_units
from cockpit.kube.decode.common import annotations, conditions, identity, labels
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, PodCondition, WireShape, WireTaint
from cockpit.kube.resource import Resource
from cockpit.model.node import Taint
from cockpit.model.pool import Disruption, DisruptionBudget, PoolObject, PoolRequirement, ResourceLimit
from cockpit.sanitise import WORDS

MINIMUM = well_known.AUTOSCALER_MINIMUM
MAXIMUM = well_known.AUTOSCALER_MAXIMUM
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
LAST_APPLIED = well_known.LAST_APPLIED
MOST, LONGEST = 50, 60
"""Of what a list of an object has so much is kept, and of its short texts."""


class _Requirement(WireShape, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _TemplateSpec(WireShape, frozen=True, gc=False):
    requirements: tuple[_Requirement, ...] = ()
    taints: tuple[WireTaint, ...] = ()


class _Template(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _TemplateSpec = _TemplateSpec()


class _Budget(WireShape, frozen=True, gc=False):
    nodes: Any = "10%"  # Karpenter's own default
    reasons: tuple[str, ...] | None = None
    schedule: str | None = None
    duration: str | None = None


class _Disruption(WireShape, frozen=True, gc=False):
    consolidate_after: Any = ""
    consolidation_policy: str = ""
    budgets: tuple[_Budget, ...] | None = None


class _PoolSpec(WireShape, frozen=True, gc=False):
    replicas: int | None = None
    target_nodes: int | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    autoscaling: bool | None = None
    paused: bool | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    instance_type: str = ""
    template: _Template = _Template()
    limits: dict[str, Any] = msgspec.field(default_factory=dict)
    disruption: _Disruption | None = None


class _PoolStatus(WireShape, frozen=True, gc=False):
    replicas: int | None = None
    nodes: int | None = None
    current_nodes: int | None = None
    conditions: tuple[PodCondition, ...] = ()
    resources: Any = None


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
    for requirement in spec.template.spec.requirements:
        if requirement.key == INSTANCE_TYPE and requirement.operator == "In" and len(requirement.values) == 1:
            return requirement.values[0]
    return ""


def _limits(limits: dict[str, Any], used: Any) -> Iterator[ResourceLimit]:
    """All but that of nodes, which is the maximum."""
    known = used if isinstance(used, dict) else {}
    for key, amount in sorted(limits.items())[:MOST]:
        most = base_units(key, str(amount)) if key != "nodes" else None
        if most is not None:
            taken = base_units(key, str(known[key])) if key in known else None
            yield ResourceLimit(WORDS[key], most, taken)


def _disruption(found: _Disruption | None) -> Disruption | None:
    if found is None:
        return None
    return Disruption(
        policy=WORDS[found.consolidation_policy],
        after=WORDS[str(found.consolidate_after or "")[:LONGEST]],
        after_seconds=go_seconds(str(found.consolidate_after or "")),
        budgets=tuple(
            DisruptionBudget(
                nodes=WORDS[str(budget.nodes)[:LONGEST]],
                reasons=tuple(WORDS[each] for each in (budget.reasons or ())[:MOST]),
                schedule=WORDS[(budget.schedule or "")[:LONGEST]],
                duration_seconds=go_seconds(budget.duration or ""),
            )
            for budget in (found.budgets or ())[:MOST]
        ),
    )


def pool_record(resource: Resource) -> Callable[[PoolShape], PoolObject | None]:
    """A function from the shape to the record of one pool object of that resource.

    It gives None for a MachineSet that a MachineDeployment controls: its size is not its own.
    """

    def record(shape: PoolShape) -> PoolObject | None:
        meta, spec, status = shape.metadata, shape.spec, shape.status
        if resource.kind == "MachineSet" and any(item.controller for item in meta.owner_references):
            return None
        notes = meta.annotations
        template_labels = labels(spec.template.metadata.labels)
        return PoolObject(
            **identity(meta, JSON),
            api_version=WORDS[resource.api_version],
            kind=WORDS[resource.kind],
            resource_path=WORDS[resource.path(meta.namespace)],
            labels=labels(meta.labels),
            annotations=annotations(notes, lambda key: key != LAST_APPLIED),
            replicas=_first(spec.replicas, spec.target_nodes),
            status_replicas=_first(status.replicas, status.nodes, status.current_nodes),
            min_replicas=_first(_count(notes.get(MINIMUM, "")), spec.min_replicas, spec.min_nodes),
            max_replicas=_first(
                _count(notes.get(MAXIMUM, "")),
                spec.max_replicas,
                spec.max_nodes,
                _count(spec.limits.get("nodes", "")),
            ),
            template_labels=template_labels,
            template_taints=tuple(
                Taint(WORDS[taint.key], WORDS[taint.value], WORDS[taint.effect])
                for taint in spec.template.spec.taints[:MOST]
            ),
            requirements=tuple(
                PoolRequirement(
                    WORDS[requirement.key],
                    WORDS[requirement.operator],
                    tuple(WORDS[each] for each in requirement.values[:MOST]),
                )
                for requirement in spec.template.spec.requirements[:MOST]
            ),
            limits=tuple(_limits(spec.limits, status.resources)),
            disruption=_disruption(spec.disruption),
            instance_type=WORDS[_instance_type(spec, dict(template_labels))],
            conditions=conditions(status.conditions, JSON),
            is_paused=bool(spec.paused),
            is_autoscaled=bool(spec.autoscaling),
        )

    return record
