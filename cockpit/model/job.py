"""Training jobs: what the API object says, and the one row that any kind of job becomes."""

from typing import NamedTuple

import msgspec

from cockpit.model.gpu_share import GpuShare
from cockpit.model.record import Condition, Labels, OwnerRef, Record
from cockpit.model.scheduling import Traits

GANG = "Gang"
"""Kind of the row of several bare pods that name one group: such a job has no object."""
RECLAIM_AT = "gpu-cockpit/reclaim-at"
RECLAIM_DUE = "gpu-cockpit/reclaim-due"
RECLAIM_BY = "gpu-cockpit/reclaim-by"
"""On a job that idles: when it was marked, from when on it may be reclaimed, and who marked it."""
RECLAIM_WINDOW = ("10m", "3h")
"""How long a job has to be idle, from and to: less takes a pause for the end, more is not remembered."""
RECLAIM_GRACE = ("0", "30d")
"""How long its owner is warned, from and to."""


class ReclaimMark(NamedTuple):
    """A job that idled is marked: from when on it may be reclaimed (epoch seconds), and who marked it
    (user@host, "" where the mark does not tell)."""

    due_seconds: float
    by: str = ""


class ReplicaSpec(msgspec.Struct, frozen=True, gc=False):
    """One role of a job: how many pods of which shape. `gpus_each` are devices a pod.

    `replicas` None: the object does not tell how many there will be.
    """

    role: str  # launcher, worker, main, ...
    replicas: int | None
    gpus_each: int = 0
    gpu_resource: str = ""
    cpu_millicores_each: int = 0
    memory_bytes_each: int = 0
    image: str = ""
    command: str = ""
    gpu_share: GpuShare | None = None  # that each of its pods asks for by annotation
    traits: Traits | None = None  # what else places its pods; None: not decoded
    has_device_claims: bool = False  # asks for devices by ResourceClaims, too: how many is not told here

    @property
    def asks_for_gpus(self) -> bool:
        """True for a role that asks for GPUs or a share of one, or may do so by claims."""
        return bool(self.gpus_each or self.gpu_share or self.has_device_claims)


class JobPart(NamedTuple):
    """A part of a job that is made of jobs: how many jobs it is to have, how many are ready or have
    succeeded, whether it has any, and what it comes after (True: that only has to be ready)."""

    name: str
    wanted: int
    ready: int = 0
    succeeded: int = 0
    is_made: bool = False
    after: tuple[tuple[str, bool], ...] = ()


class ReportedProgress(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How far a job is as its own program told its controller; None where it told nothing. `metrics` are
    pairs of name and value in the program's own words and units."""

    done_ratio: float | None = None  # 0 to 1
    remaining_seconds: float | None = None
    metrics: tuple[tuple[str, float], ...] = ()
    at_seconds: float | None = None


class JobObject(Record, frozen=True, gc=False, kw_only=True):
    """A job as its own API object tells it (MPIJob, batch Job, PyTorchJob ...), decoded but not judged.

    `conditions` may hold stale texts (a finished MPIJob keeps Running's): the state of a job is computed
    in `cockpit.jobs`, never echoed.
    """

    api_version: str
    kind: str
    labels: Labels = ()  # those that name a queue, priority, user or pool
    owner: OwnerRef | None = None
    conditions: tuple[Condition, ...] = ()
    replicas: tuple[ReplicaSpec, ...] = ()
    is_suspended: bool = False  # spec.suspend or spec.runPolicy.suspend
    completions: int | None = None  # pods that have to end well; None: as many as there are
    phase: str = ""  # as its controller writes it; "" where it wrote none, or the kind has none
    has_status: bool = True  # False: its controller has written no status at all
    parts: tuple[JobPart, ...] = ()  # of a JobSet
    schedule: str = ""  # of a CronJob, as it is written
    time_zone: str = ""  # whose clock it goes by; "": that of its controller, in most clusters UTC
    made_name: str = ""  # of what its controller made of it, as its status says: the RayCluster of a RayJob
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    started_seconds: float | None = None
    finished_seconds: float | None = None
    reclaim: ReclaimMark | None = None
    reported: ReportedProgress | None = None

    @property
    def asks_for_gpus(self) -> bool:
        """True where its pods ask for GPUs; False where there are to be none of those that would."""
        return any(role.asks_for_gpus and role.replicas != 0 for role in self.replicas)


class OwnerObject(Record, frozen=True, gc=False, kw_only=True):
    """Metadata of any other controller (ReplicaSet, PyTorchJob, RayCluster, Notebook ...)."""

    api_version: str
    kind: str
    labels: Labels = ()
    owner: OwnerRef | None = None
    reclaim: ReclaimMark | None = None
    is_missing: bool = False  # the API server answered 404 or 403: the chain ends here


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One row: a training job of any kind, computed from its object, its pods and its gang.

    `state` is one of the words in `JobState`; why it is so is asked of `cockpit.triage`. `wanted`, `ready`
    count pods that ask for GPUs (workers), or all pods when none asks: `wanted` those that should run now,
    without those that are `done`. `gpus_allocated` are devices bound now, `gpus_wanted` what they all take.
    `has_unknown_gpus` says that ResourceClaims of its pods are not known, so that more GPUs may be allocated.
    """

    key: str  # kind.group/namespace/name
    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    resource_version: str = ""
    engine: str = ""  # Kueue, Coscheduling, none ...
    queue: str = ""
    position: int | None = None  # place in the queue, 1 is next
    is_position_estimate: bool = False  # computed here, not told by the engine
    state: str = ""
    ready: int = 0
    wanted: int | None = None
    done: int = 0  # members that have ended well, those whose pods are gone as well
    left: int | None = None  # members that have yet to end well
    gpus_allocated: int = 0
    gpus_wanted: int | None = None
    gpu_share: GpuShare | None = (
        None  # that its members request together by annotation, in addition to whole GPUs
    )
    has_unknown_gpus: bool = False
    created_seconds: float | None = None
    started_seconds: float | None = None
    finished_seconds: float | None = None
    reclaim: ReclaimMark | None = None
    reported: ReportedProgress | None = None
    owner: str = ""  # person, where a label tells
    team: str = ""  # where a label tells
    workload_uid: str = ""
    pod_uids: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def is_suspended(self) -> bool:
        """True where the key that suspends and resumes would resume it."""
        return self.state == JobState.SUSPENDED


class JobState:
    """Words for the state column, plain and few."""

    SCHEDULED = "scheduled"  # waits for its time
    QUEUED = "queued"  # waits for its queue or gang engine
    PENDING = "pending"  # pods exist, not all bound
    STARTING = "starting"  # bound, not all running
    RUNNING = "running"
    DEGRADED = "degraded"  # was running, members are missing or failed
    SUSPENDED = "suspended"
    FINISHING = "ending"  # being deleted
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"

    ENDED = ("succeeded", "failed")
    WAITING = ("scheduled", "queued", "pending", "starting", "suspended")
