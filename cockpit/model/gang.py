"""Queues and gangs as the engines tell them."""

import msgspec

from cockpit.model.record import Condition, OwnerRef, Record, condition


class PodSet(msgspec.Struct, frozen=True, gc=False):
    """One homogeneous part of a gang; resources are totals of the set in base units (cpu in millicores).

    `count` pods were admitted or are asked for; `asked` for at first (0: as many), `least` is what it can do
    with (None: all). `topology` is what it asks for: "required LEVEL", "preferred LEVEL", "" nothing.
    """

    name: str
    count: int
    resources: tuple[tuple[str, int], ...] = ()
    flavor: str = ""  # of the GPU resource once admitted
    asked: int = 0
    least: int | None = None
    topology: str = ""
    selector: str = ""  # its node selector as "key=value,key=value"
    flavors: tuple[tuple[str, str], ...] = ()  # (resource, flavor) of all its quota, once admitted
    ended: int = 0  # pods of `count` that ended well: their quota is free again


class AdmissionCheck(msgspec.Struct, frozen=True, gc=False):
    """What one admission check says of a workload. `state`: Pending, Ready, Retry, Rejected."""

    name: str
    state: str
    message: str = ""
    changed_seconds: float | None = None


class Workload(Record, frozen=True, gc=False, kw_only=True):
    """What stands for one job where an engine admits jobs whole."""

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
    checks: tuple[AdmissionCheck, ...] = ()
    gated_by: str = ""  # who holds it by the annotation kueue.x-k8s.io/admission-gated-by
    replaces: str = ""  # "namespace/name" of the slice of the same job that runs until this one is admitted
    unhealthy_nodes: tuple[str, ...] = ()  # whose pods it is to place again
    shape: int = 0  # alike for workloads whose pods ask for the same; 0: not known

    @property
    def job_key(self) -> str:
        """ "namespace/name" of the job that it stands for, else its own."""
        return f"{self.namespace}/{self.owner.name}" if self.owner is not None else self.key

    @property
    def is_finished(self) -> bool:
        """True once its job has ended."""
        told = condition(self.conditions, "Finished")
        return told is not None and told.status == "True"


class QuotaRow(msgspec.Struct, frozen=True, gc=False):
    """Quota of one resource in one flavor, in base units (cpu in millicores). None: not stated."""

    flavor: str
    resource: str
    nominal: int
    used: int | None = None
    borrowed: int | None = None
    borrowing_limit: int | None = None
    reserved: int | None = None
    lending_limit: int | None = None


class ClusterQueue(Record, frozen=True, gc=False, kw_only=True):
    cohort: str = ""
    strategy: str = ""  # BestEffortFIFO, StrictFIFO
    stop_policy: str = ""  # None, Hold, HoldAndDrain
    preemption: str = ""  # withinClusterQueue / reclaimWithinCohort in words
    reclaims: str = ""  # reclaimWithinCohort: Never, LowerPriority, Any; "" is Never
    quotas: tuple[QuotaRow, ...] = ()
    pending: int | None = None
    admitted: int | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def is_stopped(self) -> bool:
        """True where it was stopped, for new jobs or for all."""
        return self.stop_policy not in ("", "None")


class QueueShare(msgspec.Struct, frozen=True, gc=False):
    """What a scheduler's queue has of one resource, in base units (cpu in millicores, GPUs may be parts).

    `deserved` is what others may not keep from it, None: not stated; `limit` is the most that it may use,
    None: no limit; `used` None: not told.
    """

    resource: str
    deserved: float | None = None
    limit: float | None = None
    used: float | None = None
    guaranteed: float | None = None

    @property
    def bound(self) -> float | None:
        """What is deserved, else the limit; None where neither is stated."""
        return self.limit if self.deserved is None else self.deserved

    @property
    def over(self) -> float | None:
        """How much more than it deserves it uses, None unknown."""
        if self.deserved is None or self.used is None:
            return 0.0 if self.deserved is None else None
        return max(0.0, self.used - self.deserved)


class SchedulerQueue(ClusterQueue, frozen=True, gc=False, kw_only=True):
    """A queue of an engine with its own scheduler: of the cluster, jobs are submitted to it by name.

    `cohort` is its parent. `pending` and `admitted` are counted from its groups of pods (None: not known).
    `phase` is its state as the engine writes it, "" for engines that write none.
    """

    engine: str  # the engine's name
    phase: str = ""
    weight: float | None = None
    priority: int | None = None
    shares: tuple[QueueShare, ...] = ()


class LocalQueue(Record, frozen=True, gc=False, kw_only=True):
    cluster_queue: str = ""
    stop_policy: str = ""
    pending: int | None = None
    admitted: int | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def is_stopped(self) -> bool:
        """True where it was stopped, for new jobs or for all."""
        return self.stop_policy not in ("", "None")


class PodGroup(Record, frozen=True, gc=False, kw_only=True):
    """The group object of an engine that places pods.

    `phase` as the engine writes it ("" for those that write conditions only); `running` may be stale: some
    engines still count pods that were deleted.
    """

    engine: str  # the engine's name
    api_version: str = ""
    owner: OwnerRef | None = None
    min_member: int | None = None
    phase: str = ""
    queue: str = ""
    priority_class: str = ""
    running: int | None = None
    is_ours: bool = False  # created by the cockpit for a job, without an owner: deleted with the job
    conditions: tuple[Condition, ...] = ()


class QueuePlace(Record, frozen=True, gc=False, kw_only=True):
    """A place in line as the engine itself told it; uid, name and namespace are those of the Workload."""

    position: int  # 1 is next
