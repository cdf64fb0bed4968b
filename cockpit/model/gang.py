"""Queues and gangs as the engines tell them. Kueue's words where nobody has better ones."""

import msgspec

from cockpit.model.record import Condition, OwnerRef, Record


class PodSet(msgspec.Struct, frozen=True, gc=False):
    """One homogeneous part of a gang; resources are totals of the set in base units (cpu in millicores)."""

    name: str
    count: int
    resources: tuple[tuple[str, int], ...] = ()
    flavor: str = ""  # of the GPU resource once admitted


class Workload(Record, frozen=True, gc=False, kw_only=True):
    """A Kueue Workload: the admission unit of one job (kueue apis/kueue/v1beta2/workload_types.go)."""

    owner: OwnerRef | None = None
    queue: str = ""  # LocalQueue name
    cluster_queue: str = ""  # once quota is reserved
    is_active: bool = True  # spec.active: false holds it
    priority: int = 0
    priority_class: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    conditions: tuple[Condition, ...] = ()
    requeue_count: int = 0
    requeue_at_seconds: float | None = None


class QuotaRow(msgspec.Struct, frozen=True, gc=False):
    """Quota of one resource in one flavor, in base units (cpu in millicores). None: not stated."""

    flavor: str
    resource: str
    nominal: int
    used: int | None = None
    borrowed: int | None = None
    borrowing_limit: int | None = None
    reserved: int | None = None


class ClusterQueue(Record, frozen=True, gc=False, kw_only=True):
    cohort: str = ""
    strategy: str = ""  # BestEffortFIFO, StrictFIFO
    stop_policy: str = ""  # None, Hold, HoldAndDrain
    preemption: str = ""  # withinClusterQueue / reclaimWithinCohort in words
    quotas: tuple[QuotaRow, ...] = ()
    pending: int | None = None
    reserving: int | None = None
    admitted: int | None = None
    conditions: tuple[Condition, ...] = ()


class LocalQueue(Record, frozen=True, gc=False, kw_only=True):
    cluster_queue: str = ""
    stop_policy: str = ""
    pending: int | None = None
    reserving: int | None = None
    admitted: int | None = None
    conditions: tuple[Condition, ...] = ()


class PodGroup(Record, frozen=True, gc=False, kw_only=True):
    """The group object of a placement engine: scheduler-plugins, Volcano, kube-scheduler's own, or KAI.

    `phase` as the engine writes it ("" for those that write conditions only); `running` may be stale: after
    its pods were deleted a group of scheduler-plugins still counts them.
    """

    engine: str  # the engine's NAME in cockpit.gangs
    api_version: str = ""
    owner: OwnerRef | None = None
    min_member: int | None = None
    phase: str = ""
    queue: str = ""
    priority_class: str = ""
    running: int | None = None
    is_ours: bool = False  # made by the cockpit beside a job: nobody owns it, so it goes with the job
    conditions: tuple[Condition, ...] = ()


class QueuePlace(Record, frozen=True, gc=False, kw_only=True):
    """A place in line as the engine itself told it; uid, name and namespace are those of the Workload."""

    position: int  # 1 is next
