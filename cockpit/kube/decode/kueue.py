"""Kueue's Workload, LocalQueue and ClusterQueue, v1beta2 and v1beta1 (source: kueue apis/kueue)."""

from typing import Any
from zlib import crc32

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.kube.decode.amounts import base_units, pod_charge
from cockpit.kube.decode.common import LABEL_CHARACTERS, conditions, controller, identity
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import (
    NO_RESOURCES,
    Container,
    ObjectMeta,
    PodCondition,
    Quantities,
    ResourceRequirements,
    WireShape,
)
from cockpit.mask import MESSAGES
from cockpit.model.gang import AdmissionCheck, ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload
from cockpit.sanitise import WORDS, clean

_GATED_BY = "kueue.x-k8s.io/admission-gated-by"
_REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


class _TopologyRequest(WireShape, frozen=True, gc=False):
    required: str = ""
    preferred: str = ""


class _GangPodSpec(WireShape, frozen=True, gc=False):
    """What pods are charged for, and what else decides where they may go."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Quantities = msgspec.field(default_factory=dict)
    resources: ResourceRequirements = NO_RESOURCES
    runtime_class_name: str = ""
    # Only compared, never looked into.
    node_selector: Any = None
    affinity: Any = None
    tolerations: Any = None
    topology_spread_constraints: Any = None
    resource_claims: Any = None


class _GangTemplate(WireShape, frozen=True, gc=False):
    spec: _GangPodSpec = _GangPodSpec()


class _PodSet(WireShape, frozen=True, gc=False):
    name: str = "main"
    count: int = 1
    min_count: int | None = None
    template: _GangTemplate = _GangTemplate()
    topology_request: _TopologyRequest | None = None


class _PriorityClassRef(WireShape, frozen=True, gc=False):
    name: str = ""


class _WorkloadSpec(WireShape, frozen=True, gc=False):
    pod_sets: tuple[_PodSet, ...] = ()
    queue_name: str = ""
    priority_class_ref: _PriorityClassRef = _PriorityClassRef()
    priority_class_name: str = ""  # v1beta1
    priority: int = 0
    active: bool = True


class _Assignment(WireShape, frozen=True, gc=False):
    name: str = ""
    flavors: dict[str, str] = msgspec.field(default_factory=dict)
    resource_usage: Quantities = msgspec.field(default_factory=dict)
    count: int | None = None


class _Admission(WireShape, frozen=True, gc=False):
    cluster_queue: str = ""
    pod_set_assignments: tuple[_Assignment, ...] = ()


class _RequeueState(WireShape, frozen=True, gc=False):
    count: int = 0
    requeue_at: str | None = None


class _Request(WireShape, frozen=True, gc=False):
    name: str = ""
    resources: Quantities = msgspec.field(default_factory=dict)


class _Check(WireShape, frozen=True, gc=False):
    name: str = ""
    state: str = ""
    message: str = ""
    last_transition_time: str | None = None


class _ReclaimablePod(WireShape, frozen=True, gc=False):
    name: str = ""
    count: int = 0


class _UnhealthyNode(WireShape, frozen=True, gc=False):
    name: str = ""


class _WorkloadStatus(WireShape, frozen=True, gc=False):
    conditions: tuple[PodCondition, ...] = ()
    admission: _Admission = _Admission()
    requeue_state: _RequeueState = _RequeueState()
    resource_requests: tuple[_Request, ...] = ()
    admission_checks: tuple[_Check, ...] = ()
    unhealthy_nodes: tuple[_UnhealthyNode, ...] = ()
    reclaimable_pods: tuple[_ReclaimablePod, ...] = ()


class WorkloadShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _WorkloadSpec = _WorkloadSpec()
    status: _WorkloadStatus = _WorkloadStatus()


def _amounts(raw: Quantities) -> dict[str, int]:
    out: dict[str, int] = {}
    for name, text in raw.items():
        value = base_units(name, str(text))
        if value is not None:
            out[WORDS[name]] = value
    return out


def _from_template(part: _PodSet) -> dict[str, int]:
    cpu, memory, gpus, gpu_resource = pod_charge(part.template.spec, str)
    each = {"cpu": cpu, "memory": memory, gpu_resource: gpus}
    return {name: value * part.count for name, value in each.items() if value}


def _pod_sets(shape: WorkloadShape) -> tuple[PodSet, ...]:
    """Totals as admitted where quota is reserved, else as Kueue asks for them, else from the templates."""
    admitted = {item.name: item for item in shape.status.admission.pod_set_assignments}
    asked = {request.name: request.resources for request in shape.status.resource_requests}
    ended = {pod.name: pod.count for pod in shape.status.reclaimable_pods}
    out = []
    for part in shape.spec.pod_sets:
        given = admitted.get(part.name)
        flavor = ""
        if given is not None:
            flavors = given.flavors
            flavor = next((flavors[name] for name in flavors if is_gpu_resource(name)), "")
        if given is not None and given.resource_usage:
            resources = _amounts(given.resource_usage)
        elif part.name in asked:
            resources = _amounts(asked[part.name])
        else:
            resources = _from_template(part)
        count = part.count if given is None or given.count is None else given.count
        out.append(
            PodSet(
                WORDS[part.name],
                count,
                tuple(sorted(resources.items())),
                WORDS[flavor],
                asked=part.count if part.count != count else 0,
                least=part.min_count,
                topology=WORDS[_topology(part.topology_request)],
                selector=clean(_selector(part.template.spec.node_selector), LABEL_CHARACTERS),
                flavors=() if given is None else _flavors(given.flavors),
                ended=ended.get(part.name, 0),
            )
        )
    return tuple(out)


def _flavors(given: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((WORDS[resource], WORDS[flavor]) for resource, flavor in given.items()))


def _selector(asked: Any) -> str:
    if not isinstance(asked, dict):
        return ""
    return ",".join(f"{key}={value}" for key, value in sorted(asked.items()) if isinstance(value, str))


def _topology(asked: _TopologyRequest | None) -> str:
    if asked is None:
        return ""
    if asked.required:
        return f"required {asked.required}"
    return f"preferred {asked.preferred}" if asked.preferred else ""


def _shape(parts: tuple[_PodSet, ...]) -> int:
    """A number that workloads share whose pods ask for the same: Kueue looks at one of these.

    Source: kueue pkg/workload/workload.go computeSchedulingHash.
    """
    mark = 0
    for part in parts:
        spec = part.template.spec
        asked = (
            part.name,
            part.count,
            part.min_count,
            part.topology_request,
            [item.resources for item in (*spec.containers, *spec.init_containers)],
            spec.overhead,
            spec.resources,
            spec.runtime_class_name,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.resource_claims,
        )
        mark = crc32(msgspec.json.encode(asked, order="deterministic"), mark)
    return mark


def workload_record(shape: WorkloadShape) -> Workload:
    """The record of one Workload."""
    spec, status = shape.spec, shape.status
    return Workload(
        **identity(shape.metadata, JSON),
        owner=controller(shape.metadata),
        queue=WORDS[spec.queue_name],
        cluster_queue=WORDS[status.admission.cluster_queue],
        is_active=spec.active,
        priority=spec.priority,
        priority_class=WORDS[spec.priority_class_ref.name or spec.priority_class_name],
        pod_sets=_pod_sets(shape),
        conditions=conditions(status.conditions, JSON),
        requeue_count=status.requeue_state.count,
        requeue_at_seconds=JSON.seconds(status.requeue_state.requeue_at),
        checks=tuple(
            AdmissionCheck(
                WORDS[check.name],
                WORDS[check.state],
                MESSAGES[check.message],
                JSON.seconds(check.last_transition_time),
            )
            for check in status.admission_checks
        ),
        gated_by=WORDS[shape.metadata.annotations.get(_GATED_BY, "")],
        replaces=WORDS[shape.metadata.annotations.get(_REPLACES, "")],
        unhealthy_nodes=tuple(WORDS[node.name] for node in status.unhealthy_nodes),
        shape=_shape(spec.pod_sets),
    )


class _ResourceQuota(WireShape, frozen=True, gc=False):
    name: str = ""
    nominal_quota: str | int | float = 0
    borrowing_limit: str | int | float | None = None
    lending_limit: str | int | float | None = None


class _FlavorQuotas(WireShape, frozen=True, gc=False):
    name: str = ""
    resources: tuple[_ResourceQuota, ...] = ()


class _ResourceGroup(WireShape, frozen=True, gc=False):
    flavors: tuple[_FlavorQuotas, ...] = ()


class _Preemption(WireShape, frozen=True, gc=False):
    within_cluster_queue: str = ""
    reclaim_within_cohort: str = ""


class _ClusterQueueSpec(WireShape, frozen=True, gc=False):
    resource_groups: tuple[_ResourceGroup, ...] = ()
    cohort_name: str = ""
    cohort: str = ""  # v1beta1
    queueing_strategy: str = ""
    stop_policy: str = ""
    preemption: _Preemption = _Preemption()


class _ResourceUsage(WireShape, frozen=True, gc=False):
    name: str = ""
    total: str | int | float = 0
    borrowed: str | int | float | None = None


class _FlavorUsage(WireShape, frozen=True, gc=False):
    name: str = ""
    resources: tuple[_ResourceUsage, ...] = ()


class _QueueStatus(WireShape, frozen=True, gc=False):
    flavors_usage: tuple[_FlavorUsage, ...] = ()
    flavors_reservation: tuple[_FlavorUsage, ...] = ()
    pending_workloads: int | None = None
    admitted_workloads: int | None = None
    conditions: tuple[PodCondition, ...] = ()


class ClusterQueueShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ClusterQueueSpec = _ClusterQueueSpec()
    status: _QueueStatus = _QueueStatus()


def _usage(raw: tuple[_FlavorUsage, ...]) -> dict[tuple[str, str], _ResourceUsage]:
    return {(flavor.name, resource.name): resource for flavor in raw for resource in flavor.resources}


def _units(resource: str, text: str | int | float | None) -> int | None:
    return None if text is None else base_units(resource, str(text))


def _quotas(shape: ClusterQueueShape) -> tuple[QuotaRow, ...]:
    used, reserved = _usage(shape.status.flavors_usage), _usage(shape.status.flavors_reservation)
    out = []
    for group in shape.spec.resource_groups:
        for flavor in group.flavors:
            for resource in flavor.resources:
                usage, hold = (
                    used.get((flavor.name, resource.name)),
                    reserved.get((flavor.name, resource.name)),
                )
                out.append(
                    QuotaRow(
                        flavor=WORDS[flavor.name],
                        resource=WORDS[resource.name],
                        nominal=_units(resource.name, resource.nominal_quota) or 0,
                        used=None if usage is None else _units(resource.name, usage.total),
                        borrowed=None if usage is None else _units(resource.name, usage.borrowed),
                        borrowing_limit=_units(resource.name, resource.borrowing_limit),
                        lending_limit=_units(resource.name, resource.lending_limit),
                        reserved=None if hold is None else _units(resource.name, hold.total),
                    )
                )
    return tuple(out)


def _preemption(raw: _Preemption) -> str:
    parts = []
    if raw.within_cluster_queue not in ("", "Never"):
        parts.append(f"within the queue: {raw.within_cluster_queue}")
    if raw.reclaim_within_cohort not in ("", "Never"):
        parts.append(f"reclaim in cohort: {raw.reclaim_within_cohort}")
    return WORDS[", ".join(parts) or "never"]


def cluster_queue_record(shape: ClusterQueueShape) -> ClusterQueue:
    """The record of one ClusterQueue: quotas in base units beside what is used and reserved."""
    spec, status = shape.spec, shape.status
    return ClusterQueue(
        **identity(shape.metadata, JSON),
        cohort=WORDS[spec.cohort_name or spec.cohort],
        strategy=WORDS[spec.queueing_strategy],
        stop_policy=WORDS[spec.stop_policy],
        preemption=_preemption(spec.preemption),
        reclaims=WORDS[spec.preemption.reclaim_within_cohort],
        quotas=_quotas(shape),
        pending=status.pending_workloads,
        admitted=status.admitted_workloads,
        conditions=conditions(status.conditions, JSON),
    )


class _LocalQueueSpec(WireShape, frozen=True, gc=False):
    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueueShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _LocalQueueSpec = _LocalQueueSpec()
    status: _QueueStatus = _QueueStatus()


def local_queue_record(shape: LocalQueueShape) -> LocalQueue:
    """The record of one LocalQueue."""
    status = shape.status
    return LocalQueue(
        **identity(shape.metadata, JSON),
        cluster_queue=WORDS[shape.spec.cluster_queue],
        stop_policy=WORDS[shape.spec.stop_policy],
        pending=status.pending_workloads,
        admitted=status.admitted_workloads,
        conditions=conditions(status.conditions, JSON),
    )
