"""The queues table and the list of what waits in one queue."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from cockpit_widgets.types import Cell, Column, Tone

from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow, Workload
from cockpit.model.record import Kind, condition
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.source import StoreReader
from cockpit.views.view_state import Measure, ViewState

_NOT_DEVICES = ("cpu", "memory", "ephemeral-storage", "pods")


def is_device(resource: str) -> bool:
    """True for an extended resource that counts accelerators: its own domain, and a name that says so."""
    if resource in _NOT_DEVICES or "/" not in resource or resource.endswith("/monitoring"):
        return False
    return any(word in resource for word in ("gpu", "mig-", "gaudi", "accelerator", "directx"))


@dataclass(frozen=True)
class QueueRow:
    """A LocalQueue with its ClusterQueue, or a ClusterQueue that no LocalQueue points to."""

    local: LocalQueue | None
    cluster: ClusterQueue | None

    @property
    def key(self) -> str:
        """The uid of the queue that a person submits to."""
        record = self.local or self.cluster
        return record.uid if record else ""

    @property
    def name(self) -> str:
        record = self.local or self.cluster
        return record.key if record else ""

    @property
    def cluster_name(self) -> str:
        return self.local.cluster_queue if self.local else self.cluster.name if self.cluster else ""

    @cached_property
    def device_quotas(self) -> tuple[QuotaRow, ...]:
        """Quota rows of devices, one a flavor and resource."""
        return tuple(one for one in self.cluster.quotas if is_device(one.resource)) if self.cluster else ()

    @property
    def pending(self) -> int | None:
        record = self.local or self.cluster
        return record.pending if record else None

    @property
    def admitted(self) -> int | None:
        record = self.local or self.cluster
        return record.admitted if record else None

    @property
    def used(self) -> int | None:
        """Devices in use over all flavors; None where one flavor does not tell."""
        return _total(one.used for one in self.device_quotas)

    @property
    def nominal(self) -> int:
        return sum(one.nominal for one in self.device_quotas)

    @property
    def borrowed(self) -> int | None:
        return _total(one.borrowed for one in self.device_quotas)

    @property
    def state(self) -> str:
        """active, held, draining, or why it takes no job."""
        policies = [record.stop_policy for record in (self.local, self.cluster) if record]
        if "HoldAndDrain" in policies:
            return "draining"
        if "Hold" in policies:
            return "held"
        if self.cluster is None:
            return "no cluster queue"
        for record in (self.local, self.cluster):
            active = condition(record.conditions, "Active") if record else None
            if active is not None and active.status == "False":
                return active.reason or "not active"
        return "active"


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if any(one is None for one in known) else sum(one or 0 for one in known)


def rows(store: StoreReader) -> list[QueueRow]:
    """Every queue a person can submit to, then cluster queues that none of them points to."""
    clusters: dict[str, ClusterQueue] = {one.name: one for one in store.records(Kind.CLUSTER_QUEUE).values()}
    locals_: list[LocalQueue] = list(store.records(Kind.LOCAL_QUEUE).values())
    found = [QueueRow(one, clusters.get(one.cluster_queue)) for one in locals_]
    named = {one.cluster_queue for one in locals_}
    return found + [QueueRow(None, one) for name, one in clusters.items() if name not in named]


def quota_text(row: QueueRow) -> str:
    """`6/8`, with `+2` borrowed; more than one flavor is spelt out: `a100 4/8 · h100 8/8+2`."""
    if len(row.device_quotas) == 1:
        return _quota(row.device_quotas[0])
    return " · ".join(f"{one.flavor} {_quota(one)}" for one in row.device_quotas)


def _quota(one: QuotaRow) -> str:
    return fmt.of(one.used, one.nominal) + (f"+{one.borrowed}" if one.borrowed else "")


def _quota_cell(row: QueueRow, now_seconds: float) -> Cell:
    if row.cluster is None:
        return fmt.UNKNOWN
    if not row.device_quotas:
        return Cell("no GPUs", "dim")
    full = row.used is not None and row.used >= row.nominal
    return Cell(quota_text(row), "warn" if full else "")


_STATES: dict[str, tuple[str, Tone]] = {
    "active": ("●", "good"),
    "held": ("‖", "warn"),
    "draining": ("◂", "warn"),
}


def _state_cell(row: QueueRow, now_seconds: float) -> Cell:
    glyph, tone = _STATES.get(row.state, ("×", "bad"))
    return Cell(f"{glyph} {row.state}", tone)


def _pending_cell(row: QueueRow, now_seconds: float) -> Cell:
    if row.pending is None:
        return fmt.UNKNOWN
    return Cell(str(row.pending), "warn" if row.pending else "dim")


_FIELDS: tuple[Field[QueueRow], ...] = (
    Field(
        Column("name", "Queue", 18, grow=2, most=50), lambda r, _: Cell(r.name, "strong"), lambda r, _: r.name
    ),
    Field(Column("engine", "Engine", 7, priority=4), lambda r, _: Cell("Kueue", "dim"), lambda r, _: "Kueue"),
    Field(
        Column("cluster_queue", "Cluster queue", 14, priority=2, grow=1, most=36),
        lambda r, _: Cell(r.cluster_name),
        lambda r, _: r.cluster_name,
    ),
    Field(
        Column("cohort", "Cohort", 10, priority=5),
        lambda r, _: Cell(r.cluster.cohort if r.cluster else ""),
        lambda r, _: r.cluster.cohort if r.cluster else None,
    ),
    Field(Column("quota", "GPU quota", 12, grow=2, most=50), _quota_cell, lambda r, _: r.used, Measure.COUNT),
    Field(
        Column("borrowed", "Borrowed", 8, "right", priority=4),
        lambda r, _: fmt.count_cell(r.borrowed) if r.device_quotas else fmt.NOTHING,
        lambda r, _: r.borrowed,
        Measure.COUNT,
    ),
    Field(Column("pending", "Pending", 7, "right"), _pending_cell, lambda r, _: r.pending, Measure.COUNT),
    Field(
        Column("running", "Running", 7, "right"),
        lambda r, _: fmt.count_cell(r.admitted),
        lambda r, _: r.admitted,
        Measure.COUNT,
    ),
    Field(
        Column("strategy", "Strategy", 14, priority=5),
        lambda r, _: Cell(r.cluster.strategy if r.cluster else "", "dim"),
        lambda r, _: r.cluster.strategy if r.cluster else None,
    ),
    Field(
        Column("preemption", "Preemption", 20, priority=6, grow=1),
        lambda r, _: Cell(r.cluster.preemption if r.cluster else "", "dim"),
        lambda r, _: r.cluster.preemption if r.cluster else None,
    ),
    Field(Column("state", "State", 12), _state_cell, lambda r, _: r.state),
)

VIEW: View[QueueRow] = View(
    fields=_FIELDS,
    key=lambda row: row.key,
    name=lambda row: row.name,
    namespace=lambda row: row.local.namespace if row.local else "",
    haystack=lambda r: (
        f"{r.name} {r.cluster_name} {r.cluster.cohort if r.cluster else ''} {quota_text(r)} {r.state}"
    ),
)


def table(
    store: StoreReader, state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[QueueRow]:
    """Queues as rows keyed by uid."""
    return VIEW.table(rows(store), state, now_seconds, memory)


# ---- what waits in one queue


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A gang that waits in a queue; `position` 1 is next, None while it is held."""

    workload: Workload
    position: int | None
    why: str

    @property
    def devices(self) -> int:
        """Devices that the whole gang asks for."""
        return sum(
            amount for one in self.workload.pod_sets for name, amount in one.resources if is_device(name)
        )

    @property
    def owner_text(self) -> str:
        owner = self.workload.owner
        return f"{owner.kind} {owner.name}" if owner else self.workload.name


def is_waiting(workload: Workload) -> bool:
    """True for a gang that has neither its quota nor ended."""
    reserved = condition(workload.conditions, "QuotaReserved")
    finished = condition(workload.conditions, "Finished")
    if finished is not None and finished.status == "True":
        return False
    return reserved is None or reserved.status != "True"


def _rank(workload: Workload) -> tuple[int, float, str]:
    # Kueue orders by priority, then by time in the queue (pkg/cache/queue: queueOrderingFunc)
    return (-workload.priority, workload.created_seconds or 0.0, workload.name)


def _why(workload: Workload) -> str:
    if not workload.is_active:
        return "held: spec.active is false"
    reserved = condition(workload.conditions, "QuotaReserved")
    return reserved.message if reserved is not None else ""


def waiting_rows(store: StoreReader, queue: QueueRow) -> list[WaitingRow]:
    """What waits in the queue's cluster queue, in order: those ahead from other namespaces are seen too."""
    if queue.cluster is None and queue.local is not None:
        names = {(queue.local.namespace, queue.local.name)}
    else:
        locals_: Iterable[LocalQueue] = store.records(Kind.LOCAL_QUEUE).values()
        names = {(one.namespace, one.name) for one in locals_ if one.cluster_queue == queue.cluster_name}
    found = [
        one
        for one in store.records(Kind.WORKLOAD).values()
        if (one.namespace, one.queue) in names and is_waiting(one)
    ]
    waiting: list[WaitingRow] = []
    place = 0
    for one in sorted(found, key=_rank):
        place += one.is_active
        waiting.append(WaitingRow(one, place if one.is_active else None, _why(one)))
    return waiting


_WAITING: tuple[Field[WaitingRow], ...] = (
    Field(
        Column("position", "Pos", 4, "right"),
        lambda r, _: Cell("held", "dim") if r.position is None else Cell(f"#{r.position}"),
        lambda r, _: r.position,
        Measure.COUNT,
    ),
    Field(
        Column("gang", "Gang", 20, grow=2, most=60),
        lambda r, _: Cell(f"{r.workload.namespace}/{r.owner_text}", "strong"),
        lambda r, _: f"{r.workload.namespace}/{r.owner_text}",
    ),
    Field(
        Column("gpus", "GPUs", 5, "right"),
        lambda r, _: Cell(str(r.devices)),
        lambda r, _: r.devices,
        Measure.COUNT,
    ),
    Field(
        Column("priority", "Prio", 6, "right", priority=3),
        lambda r, _: Cell(str(r.workload.priority)),
        lambda r, _: r.workload.priority,
        Measure.COUNT,
    ),
    Field(
        Column("age", "Age", 5, "right", priority=2),
        lambda r, now: fmt.age_cell(r.workload.created_seconds, now),
        lambda r, now: None if r.workload.created_seconds is None else now - r.workload.created_seconds,
        Measure.SECONDS,
    ),
    Field(Column("why", "Why", 30, grow=5), lambda r, _: Cell(r.why), lambda r, _: r.why),
)

WAITING_VIEW: View[WaitingRow] = View(
    fields=_WAITING,
    key=lambda row: row.workload.uid,
    namespace=None,
    haystack=lambda r: f"{r.workload.namespace}/{r.owner_text} {r.why}",
    token=lambda row: row.workload,
)


def waiting_table(
    store: StoreReader, queue: QueueRow, state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[WaitingRow]:
    """What waits in a queue, next first, keyed by the Workload's uid."""
    return WAITING_VIEW.table(waiting_rows(store, queue), state, now_seconds, memory)
