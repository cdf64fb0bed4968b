"""What `cockpit get` and `cockpit top` print for programs, a document for each kind of row."""

from typing import Any, ClassVar, Final, Literal

import msgspec

from cockpit.commands.document import ClusterDocument, OutputDocument, Telemetry, new_document
from cockpit.commands.triage_document import FindingItem
from cockpit.model.event import Event
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.gpu import Gpu
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.quantity import Reading
from cockpit.views.duty import Duty


class NodeItem(Node, frozen=True, gc=False, kw_only=True):
    """A node, with what was computed from its pods and cards; `gpus_allocated` null is unknown."""

    stage: str
    gpus_allocated: int | None
    duty: Duty
    gpus: tuple[Gpu, ...]


class GpuItem(Gpu, frozen=True, gc=False, kw_only=True):
    """A card. `is_lost`: promised, and nothing can be put on it."""

    is_lost: bool


class PodItem(Pod, frozen=True, gc=False, kw_only=True):
    """A pod; `gpus` null is unknown."""

    gpus: int | None  # type: ignore[assignment]


class JobItem(Job, frozen=True, gc=False, kw_only=True):
    """A job, and why it waits or is broken, "" where neither; `gpus_allocated` null is unknown."""

    why: str
    gpus_allocated: int | None  # type: ignore[assignment]
    duty: Duty


class QueueItem(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of an engine, and the quota behind it where the engine has such."""

    name: str
    engine: str
    state: str
    why: str
    local_queue: LocalQueue | None
    cluster_queue: ClusterQueue | None


class DemandItem(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that wait for a node of the pool; `only_here`: those that no other pool could take."""

    only_here_gpus: int
    only_here_pods: int
    shared_gpus: int
    shared_pods: int


class PoolItem(Pool, frozen=True, gc=False, kw_only=True):
    """A pool. `hourly_cost` is null where no price is configured for its machine."""

    duty: Duty
    demand: DemandItem | None
    hourly_cost: float | None
    currency: str


class WatchEvent(ClusterDocument, kw_only=True):
    """A line of `cockpit get KIND --watch -o json`: one row that is new, changed or gone. What a filter no
    longer matches is DELETED. `item` is an item of the document of that kind, as last seen when DELETED."""

    kind: Literal["nodes", "gpus", "pods", "jobs", "queues", "pools", "events"]
    event: Literal["ADDED", "MODIFIED", "DELETED"]
    item: dict[str, Any]


class FleetItem(msgspec.Struct, kw_only=True):
    """Physical cards: `gpus` is the sum of busy, idle_allocated, allocated_unknown, free, unseen and lost."""

    nodes: int
    gpu_nodes: int
    nodes_in_trouble: int
    gpus: int
    busy: int
    idle_allocated: int
    allocated_unknown: int
    free: int
    unseen: int
    lost: int
    joining: int
    shares: int
    shares_allocated: int
    duty: Reading
    watts: float | None
    memory_used_bytes: float | None
    memory_total_bytes: float | None
    sampled_seconds: float | None
    implausible: int
    contradicted: int


class OverviewPool(Pool, frozen=True, gc=False, kw_only=True):
    """A pool and its duty."""

    duty: Duty


class OverviewQueue(msgspec.Struct, kw_only=True):
    """Jobs of a queue; null is unknown."""

    name: str
    engine: str
    cluster_queue: str
    pending: int | None
    admitted: int | None


class OverviewDocument(ClusterDocument, kw_only=True):
    """`cockpit get overview`. `jobs` counts them by state, `streams` has the kinds that are not live, by what
    became of them. Null is unknown."""

    kind: Literal["overview"]
    telemetry: Telemetry
    fleet: FleetItem | None
    jobs: dict[str, int] | None
    needs_a_human: list[FindingItem]
    idle_not_known: str | None
    pools: list[OverviewPool] | None
    queues: list[OverviewQueue]
    streams: dict[str, str]


class OverviewsDocument(OutputDocument, kw_only=True):
    """`cockpit get overview --contexts`; `unanswered` says why clusters did not answer."""

    rows: ClassVar[str] = "clusters"

    kind: Literal["overview"]
    contexts: list[str]
    at_seconds: float
    unanswered: dict[str, str]
    clusters: list[OverviewDocument]


class TopFleet(msgspec.Struct, kw_only=True):
    """Sums over all cards, in base units."""

    gpus: int
    busy: int
    idle_allocated: int
    allocated_unknown: int
    free: int
    unseen: int
    lost: int
    joining: int
    shares: int
    shares_allocated: int
    implausible: int
    contradicted: int
    duty_ratio: Reading
    power_watts: float | None
    memory_used_bytes: float | None
    memory_total_bytes: float | None


class _TopDocument(ClusterDocument, kw_only=True):
    telemetry: Telemetry
    fleet: TopFleet | None


def _list(kind: str, item: type, *, has_telemetry: bool = True) -> type[OutputDocument]:
    telemetry = [("telemetry", Telemetry)] if has_telemetry else []
    fields = [("kind", Literal[kind]), *telemetry, ("items", list[item])]  # type: ignore[valid-type]
    return new_document(f"{kind.capitalize()}Document", f"`cockpit get {kind}`.", fields)


def _top(kind: str, item: type) -> type[OutputDocument]:
    fields = [("kind", Literal[kind]), ("items", list[item])]  # type: ignore[valid-type]
    return new_document(f"Top{kind.capitalize()}sDocument", f"`cockpit top {kind}`.", fields, _TopDocument)


OF_KIND: Final[dict[str, type[OutputDocument]]] = {
    "nodes": _list("nodes", NodeItem),
    "gpus": _list("gpus", GpuItem),
    "pods": _list("pods", PodItem, has_telemetry=False),
    "jobs": _list("jobs", JobItem),
    "queues": _list("queues", QueueItem, has_telemetry=False),
    "pools": _list("pools", PoolItem),
    "events": _list("events", Event, has_telemetry=False),
    "overview": OverviewDocument,
    "node": _top("node", NodeItem),
    "job": _top("job", JobItem),
    "gpu": _top("gpu", GpuItem),
}
"""By the word of the command line."""
