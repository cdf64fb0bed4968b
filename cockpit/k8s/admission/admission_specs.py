"""Queues, flavors and what a workload asks for, read out of the trees of the API.

Both versions are read: `cohortName` and `cohort`. Source: kueue apis/kueue/v1beta1 and v1beta2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cockpit.k8s.admission.quota_tree import Amounts, FlavorResource, Quota
from cockpit.k8s.pod_requests import pod_requests
from cockpit.k8s.quantity import Quantity, base_units
from cockpit.k8s.selectors import selector_of
from cockpit.model.scheduling import Selector

Tree = dict[str, Any]
"""An object, or a part of one, as the API writes it: never changed in place."""

STRICT = "StrictFIFO"
TRY_NEXT = "TryNextFlavor"
_BINARY = ("memory", "ephemeral-storage")


def text_of(resource: str, amount: int) -> str:
    """The canonical quantity of base units, as messages write it: `16Gi`, `10k`, `1500m`, `8`."""
    if resource == "cpu":
        return str(Quantity(Decimal(amount).scaleb(-3)))
    is_binary = resource in _BINARY or resource.startswith("hugepages-")
    return str(Quantity(Decimal(amount), "binary" if is_binary else "decimal"))


@dataclass(frozen=True, slots=True)
class FlavorSpec:
    """A ResourceFlavor: labels its nodes carry, taints, and tolerations it adds to pods."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Tree, ...] = ()
    tolerations: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that take the same flavor, and the flavors in the order in which they are tried."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A ClusterQueue's wishes."""

    name: str
    cohort: str
    strategy: str
    groups: tuple[ResourceGroup, ...]
    quotas: Mapping[FlavorResource, Quota]
    selector: Selector
    within_queue: str = "Never"
    reclaim: str = "Never"
    borrow_policy: str = "Never"
    borrow_most_priority: int | None = None
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = TRY_NEXT
    preference: str = ""
    stop_policy: str = "None"

    def group_of(self, resource: str) -> ResourceGroup | None:
        """The group that covers a resource."""
        return next((group for group in self.groups if resource in group.resources), None)


@dataclass(frozen=True, slots=True)
class PodSetRequests:
    """What the pods of one kind ask for together, and where they may go."""

    name: str
    count: int
    requests: Mapping[str, int]
    pod_spec: Tree


@dataclass(frozen=True, slots=True)
class WorkloadInfo:
    """One workload that waits: `moment` (seconds) and `serial` say who came first among equals."""

    key: tuple[str, str]
    uid: str
    job_uid: str
    queue: str
    priority: int
    moment: float
    pod_sets: tuple[PodSetRequests, ...]
    serial: int = 0


@dataclass(frozen=True, slots=True)
class QuotaReservation:
    """One workload that has quota in a ClusterQueue."""

    key: tuple[str, str]
    uid: str
    queue: str
    priority: int
    moment: float
    usage: Mapping[FlavorResource, int]
    reserved_seconds: float
    is_admitted: bool
    is_evicted: bool


def quotas_of(groups: Iterable[Tree]) -> dict[FlavorResource, Quota]:
    """The quotas of `spec.resourceGroups`."""
    out: dict[FlavorResource, Quota] = {}
    for group in groups:
        for flavor in group.get("flavors") or ():
            for item in flavor.get("resources") or ():
                name = item["name"]
                limits = [item.get(field) for field in ("borrowingLimit", "lendingLimit")]
                borrow, lend = (None if text is None else base_units(name, text) for text in limits)
                out[(flavor["name"], name)] = Quota(
                    base_units(name, item.get("nominalQuota", 0)), borrow, lend
                )
    return out


def cohort_specs(trees: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, dict[FlavorResource, Quota]]]:
    """Parent and own quota of each Cohort, by name."""
    specs = ((tree["metadata"]["name"], tree.get("spec") or {}) for tree in trees)
    return {
        str(name): (
            str(spec.get("parentName") or spec.get("parent") or ""),
            quotas_of(spec.get("resourceGroups") or ()),
        )
        for name, spec in specs
    }


def queue_spec(tree: Tree) -> QueueSpec:
    """A ClusterQueue's tree as a record, with the defaults of the API."""
    spec = tree.get("spec") or {}
    groups = spec.get("resourceGroups") or []
    preemption = spec.get("preemption") or {}
    borrow = preemption.get("borrowWithinCohort") or {}
    fungibility = spec.get("flavorFungibility") or {}
    return QueueSpec(
        name=tree["metadata"]["name"],
        cohort=spec.get("cohortName") or spec.get("cohort") or "",
        strategy=spec.get("queueingStrategy") or "BestEffortFIFO",
        groups=tuple(
            ResourceGroup(
                frozenset(group.get("coveredResources") or ()),
                tuple(flavor["name"] for flavor in group.get("flavors") or ()),
            )
            for group in groups
        ),
        quotas=quotas_of(groups),
        selector=selector_of(spec.get("namespaceSelector")),
        within_queue=preemption.get("withinClusterQueue") or "Never",
        reclaim=preemption.get("reclaimWithinCohort") or "Never",
        borrow_policy=borrow.get("policy") or "Never",
        borrow_most_priority=borrow.get("maxPriorityThreshold"),
        when_can_borrow=fungibility.get("whenCanBorrow") or "MayStopSearch",
        when_can_preempt=fungibility.get("whenCanPreempt") or TRY_NEXT,
        preference=fungibility.get("preference") or "",
        stop_policy=spec.get("stopPolicy") or "None",
    )


def flavor_spec(tree: Tree) -> FlavorSpec:
    """A ResourceFlavor's tree as a record."""
    spec = tree.get("spec") or {}
    return FlavorSpec(
        tree["metadata"]["name"],
        spec.get("nodeLabels") or {},
        tuple(spec.get("nodeTaints") or ()),
        tuple(spec.get("tolerations") or ()),
    )


def pod_set_asks(workload: Tree) -> tuple[PodSetRequests, ...]:
    """What the pod sets of a Workload ask for in total; reclaimable pods are taken off."""
    given_back = {
        item.get("name"): item.get("count", 0)
        for item in (workload.get("status") or {}).get("reclaimablePods") or ()
    }
    out = []
    for part in (workload.get("spec") or {}).get("podSets") or ():
        name = part.get("name") or "main"
        count = max(0, int(part.get("count", 1)) - given_back.get(name, 0))
        spec = (part.get("template") or {}).get("spec") or {}
        requests = {key: amount * count for key, amount in pod_requests(spec).items()}
        out.append(PodSetRequests(name, count, requests, spec))
    return tuple(out)


def reserved_usage(workload: Tree) -> Amounts:
    """What a Workload with an admission uses, by flavor and resource."""
    admission = (workload.get("status") or {}).get("admission") or {}
    now = {part.name: part for part in pod_set_asks(workload)}
    usage: Amounts = {}
    for given in admission.get("podSetAssignments") or ():
        flavors: Mapping[str, str] = given.get("flavors") or {}
        count = given.get("count") or 0
        part = now.get(given.get("name") or "main")
        for resource, text in (given.get("resourceUsage") or {}).items():
            flavor = flavors.get(resource)
            if flavor is None:
                continue
            amount = base_units(resource, text)
            if part is not None and count and part.count < count:
                amount = amount // count * part.count
            usage[(flavor, resource)] = usage.get((flavor, resource), 0) + amount
    return usage
