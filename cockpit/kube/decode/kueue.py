"""Kueue's Workload, LocalQueue and ClusterQueue, v1beta2 and v1beta1 (source: kueue apis/kueue)."""

import msgspec

from cockpit.kube.decode.amounts import base_units, is_gpu, pod_charge
from cockpit.kube.decode.clean import WORDS
from cockpit.kube.decode.common import conditions, controller, identity
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, PodCondition, PodTemplateSpec, Quantities, Shape
from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload


class _PodSet(Shape, frozen=True, gc=False):
    name: str = "main"
    count: int = 1
    template: PodTemplateSpec = PodTemplateSpec()


class _PriorityClassRef(Shape, frozen=True, gc=False):
    name: str = ""


class _WorkloadSpec(Shape, frozen=True, gc=False):
    pod_sets: tuple[_PodSet, ...] = ()
    queue_name: str = ""
    priority_class_ref: _PriorityClassRef = _PriorityClassRef()
    priority_class_name: str = ""  # v1beta1
    priority: int = 0
    active: bool = True


class _Assignment(Shape, frozen=True, gc=False):
    name: str = ""
    flavors: dict[str, str] = msgspec.field(default_factory=dict)
    resource_usage: Quantities = msgspec.field(default_factory=dict)
    count: int | None = None


class _Admission(Shape, frozen=True, gc=False):
    cluster_queue: str = ""
    pod_set_assignments: tuple[_Assignment, ...] = ()


class _RequeueState(Shape, frozen=True, gc=False):
    count: int = 0
    requeue_at: str | None = None


class _Request(Shape, frozen=True, gc=False):
    name: str = ""
    resources: Quantities = msgspec.field(default_factory=dict)


class _WorkloadStatus(Shape, frozen=True, gc=False):
    conditions: tuple[PodCondition, ...] = ()
    admission: _Admission = _Admission()
    requeue_state: _RequeueState = _RequeueState()
    resource_requests: tuple[_Request, ...] = ()


class WorkloadShape(Shape, frozen=True, gc=False):
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
    admitted = {one.name: one for one in shape.status.admission.pod_set_assignments}
    asked = {one.name: one.resources for one in shape.status.resource_requests}
    out = []
    for part in shape.spec.pod_sets:
        given = admitted.get(part.name)
        flavor = ""
        if given is not None:
            flavors = given.flavors
            flavor = next((flavors[name] for name in flavors if is_gpu(name)), "")
        if given is not None and given.resource_usage:
            resources = _amounts(given.resource_usage)
        elif part.name in asked:
            resources = _amounts(asked[part.name])
        else:
            resources = _from_template(part)
        count = part.count if given is None or given.count is None else given.count
        out.append(PodSet(WORDS[part.name], count, tuple(sorted(resources.items())), WORDS[flavor]))
    return tuple(out)


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
    )


class _ResourceQuota(Shape, frozen=True, gc=False):
    name: str = ""
    nominal_quota: str | int | float = 0
    borrowing_limit: str | int | float | None = None


class _FlavorQuotas(Shape, frozen=True, gc=False):
    name: str = ""
    resources: tuple[_ResourceQuota, ...] = ()


class _ResourceGroup(Shape, frozen=True, gc=False):
    flavors: tuple[_FlavorQuotas, ...] = ()


class _Preemption(Shape, frozen=True, gc=False):
    within_cluster_queue: str = ""
    reclaim_within_cohort: str = ""


class _ClusterQueueSpec(Shape, frozen=True, gc=False):
    resource_groups: tuple[_ResourceGroup, ...] = ()
    cohort_name: str = ""
    cohort: str = ""  # v1beta1
    queueing_strategy: str = ""
    stop_policy: str = ""
    preemption: _Preemption = _Preemption()


class _ResourceUsage(Shape, frozen=True, gc=False):
    name: str = ""
    total: str | int | float = 0
    borrowed: str | int | float | None = None


class _FlavorUsage(Shape, frozen=True, gc=False):
    name: str = ""
    resources: tuple[_ResourceUsage, ...] = ()


class _QueueStatus(Shape, frozen=True, gc=False):
    flavors_usage: tuple[_FlavorUsage, ...] = ()
    flavors_reservation: tuple[_FlavorUsage, ...] = ()
    pending_workloads: int | None = None
    reserving_workloads: int | None = None
    admitted_workloads: int | None = None
    conditions: tuple[PodCondition, ...] = ()


class ClusterQueueShape(Shape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ClusterQueueSpec = _ClusterQueueSpec()
    status: _QueueStatus = _QueueStatus()


def _usage(raw: tuple[_FlavorUsage, ...]) -> dict[tuple[str, str], _ResourceUsage]:
    return {(flavor.name, one.name): one for flavor in raw for one in flavor.resources}


def _units(resource: str, text: str | int | float | None) -> int | None:
    return None if text is None else base_units(resource, str(text))


def _quotas(shape: ClusterQueueShape) -> tuple[QuotaRow, ...]:
    used, reserved = _usage(shape.status.flavors_usage), _usage(shape.status.flavors_reservation)
    out = []
    for group in shape.spec.resource_groups:
        for flavor in group.flavors:
            for one in flavor.resources:
                usage, hold = used.get((flavor.name, one.name)), reserved.get((flavor.name, one.name))
                out.append(
                    QuotaRow(
                        flavor=WORDS[flavor.name],
                        resource=WORDS[one.name],
                        nominal=_units(one.name, one.nominal_quota) or 0,
                        used=None if usage is None else _units(one.name, usage.total),
                        borrowed=None if usage is None else _units(one.name, usage.borrowed),
                        borrowing_limit=_units(one.name, one.borrowing_limit),
                        reserved=None if hold is None else _units(one.name, hold.total),
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
        quotas=_quotas(shape),
        pending=status.pending_workloads,
        reserving=status.reserving_workloads,
        admitted=status.admitted_workloads,
        conditions=conditions(status.conditions, JSON),
    )


class _LocalQueueSpec(Shape, frozen=True, gc=False):
    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueueShape(Shape, frozen=True, gc=False):
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
        reserving=status.reserving_workloads,
        admitted=status.admitted_workloads,
        conditions=conditions(status.conditions, JSON),
    )
