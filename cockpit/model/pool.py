"""Pools of machines, and the machines that are on their way into them."""

import enum
import hashlib
import re
from typing import Final, NamedTuple

import msgspec

from cockpit.model.node import Taint
from cockpit.model.reach import Reach
from cockpit.model.record import Condition, Labels, Record

_NOT_SAFE: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_SLUG: Final = 24


class ResourceLimit(NamedTuple):
    """Of one resource at most so much in the whole pool: millicores of cpu, bytes of memory, else a count;
    `used` None is not told."""

    resource: str
    most: int
    used: int | None = None


class DisruptionBudget(NamedTuple):
    """At most `nodes` (a number, or a share like `10%`) may go at once: for these reasons, () for any; while
    the schedule is in force, "" always."""

    nodes: str
    reasons: tuple[str, ...] = ()
    schedule: str = ""
    duration_seconds: float | None = None


class Disruption(NamedTuple):
    """When an owner takes nodes away on its own. "" is not told."""

    policy: str = ""
    after: str = ""  # a duration, or Never
    budgets: tuple[DisruptionBudget, ...] = ()
    after_seconds: float | None = None  # the duration; None: Never, or not understood


class PoolRequirement(NamedTuple):
    """What labels its machines will have, of those that its owner may choose from."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class PoolObject(Record, frozen=True, gc=False, kw_only=True):
    """An object that owns a number of machines, as its API tells it.

    `resource_path` is the collection's path below the host, e.g.
    `/apis/x.example/v1/namespaces/ns/pools`. `read_seconds` is when it was read (epoch) where it is not
    watched, None for one that is.
    """

    api_version: str
    kind: str
    resource_path: str
    labels: Labels = ()
    annotations: Labels = ()
    replicas: int | None = None  # spec.replicas
    status_replicas: int | None = None
    min_replicas: int | None = None  # where the owner or an autoscaler states it
    max_replicas: int | None = None
    template_labels: Labels = ()  # labels that its nodes will carry
    template_taints: tuple[Taint, ...] = ()
    requirements: tuple[PoolRequirement, ...] = ()
    limits: tuple[ResourceLimit, ...] = ()
    disruption: Disruption | None = None
    instance_type: str = ""
    conditions: tuple[Condition, ...] = ()
    is_paused: bool = False  # spec.paused: its controller acts on no change
    is_autoscaled: bool = False  # the object itself says that an autoscaler sets its size
    read_seconds: float | None = None
    reach: Reach | None = None  # of a pool outside the cluster: how it is read and changed
    zone_count: int = 1  # zones to which its owner gives the same number of machines each


class MachineStage(enum.Enum):
    """How far a machine has come, as its owner's object tells it."""

    ACCEPTED = "accepted"  # the object exists
    LAUNCHING = "launching"  # the cloud was asked for an instance
    LAUNCHED = "launched"  # the instance exists
    JOINED = "joined"  # its node exists
    INITIALIZED = "initialized"  # its node is Ready with everything that was asked for
    FAILED = "failed"  # its owner has given it up


class Machine(Record, frozen=True, gc=False, kw_only=True):
    """One machine as its owner tells it, with a node or on the way to one.

    It is of the pool object with kind `pool_kind` and key `pool_key`, "" for one that is of none. Stamps are
    epoch seconds of the owner's own conditions, None where it does not date them.
    """

    api_version: str
    kind: str
    resource_path: str
    pool_kind: str = ""
    pool_key: str = ""
    set_name: str = ""  # of the object between the pool and the machine, in the same namespace
    node: str = ""
    provider_id: str = ""
    instance_type: str = ""
    zone: str = ""
    gpu_resource: str = ""  # that the machine is made with, or was asked for with; "" not told
    gpus: int = 0
    stage: MachineStage = MachineStage.ACCEPTED
    launching_seconds: float | None = None
    launched_seconds: float | None = None
    joined_seconds: float | None = None
    initialized_seconds: float | None = None
    pod_moved_seconds: float | None = None  # when its owner last saw a pod come to its node or leave it
    failure: str = ""  # the owner's own words, "" where it has not failed
    annotations: Labels = ()  # those that hold it, or that mark it to go
    conditions: tuple[Condition, ...] = ()


class StandingDemand(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An object of ours that asks for capacity. `is_part`: it only serves another (a PodTemplate)."""

    kind: str
    namespace: str
    name: str
    uid: str
    path: str
    nodes: int | None = None  # that it is to bring
    by: str = ""  # who asked, as it was noted
    made_seconds: float | None = None
    until_seconds: float | None = None  # when it expires, None if never or unknown
    state: str = ""  # as its owner reports it, "" if it does not
    is_part: bool = False

    @property
    def target(self) -> str:
        """What a person calls it."""
        return (
            f"{self.kind.lower()} {self.namespace}/{self.name}"
            if self.namespace
            else f"{self.kind.lower()} {self.name}"
        )


class StandingRead(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What of ours asks for capacity, and what could not be looked for."""

    found: tuple[StandingDemand, ...] = ()
    trouble: str = ""


class SizeAsked(NamedTuple):
    """When a size was asked for (epoch seconds), and by whom: user@host, "" where that is not known."""

    at_seconds: float
    by: str = ""


class MachineKind(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How many nodes of a pool are of one type and model, and how many of these the cloud may reclaim."""

    machine: str = ""  # "" unknown, like the model
    gpu_model: str = ""
    nodes: int = 0
    spot: int = 0


class Pool(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One row: a named group of nodes and, where known, the object that may resize it."""

    name: str  # as a person calls it: longer where others of that name are seen
    owner_group: str = ""  # the API group of the object that owns the size
    owner_kind: str = ""  # of that object, "" when none is seen
    owner_key: str = ""
    owner_uid: str = ""
    why_not: str = ""  # why it can't be resized from here, "" when it can
    machine: str = ""  # "" where its nodes are of several types: `kinds` counts them
    gpu_model: str = ""  # likewise
    kinds: tuple[MachineKind, ...] = ()  # of its nodes, the most first
    nodes_now: int = 0
    nodes_ready: int = 0
    nodes_joining: int = 0
    target: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    # as pods ask for them: MIG instances and replicas count each, and a lost card that a pod still holds
    gpus_total: int = 0
    gpus_allocated: int = 0
    cards: int = 0  # physical cards behind them
    nodes_unadvertised: int = 0  # Ready, and the GPUs that they have are not offered yet
    unadvertised_since: tuple[float, ...] = ()  # since when each of these is Ready, as far as that is dated
    idle_nodes: int = 0
    gpus_idle: int = 0  # offered by nodes that are ready, and taken by no pod
    nodes_spot: int = 0  # that the cloud may reclaim at any time
    is_use_known: bool = True  # False where not every pod is seen: then more may be allocated and fewer idle
    node_names: tuple[str, ...] = ()
    grows_by_demand: bool = False  # its number cannot be set, and it can be asked for more

    @property
    def key(self) -> str:
        """What it is known by to history and to other cockpits: the owner's kind, group and name, independent
        of other pools, so that a recreated owner has the same key."""
        if not self.owner_kind:
            return self.name
        group = f".{self.owner_group}" if self.owner_group else ""
        return f"{self.owner_kind}{group}/{self.owner_key}"

    @property
    def mark(self) -> str:
        """The same as the end of an object's name: allowed there (at most 33 characters), its alone."""
        slug = _NOT_SAFE.sub("-", self.key.rpartition("/")[2].lower())[:_LONGEST_SLUG].strip("-") or "pool"
        return f"{slug}-{hashlib.sha256(self.key.encode()).hexdigest()[:8]}"
