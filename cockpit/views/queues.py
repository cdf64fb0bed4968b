"""The queues table and the list of what waits in one queue."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from cockpit_widgets.types import Cell, Column, Tone

from cockpit.gangs import registry
from cockpit.gangs.engine import Engine
from cockpit.gangs.queue_line import counted_queues, waiting
from cockpit.gangs.standing import QueueState, WaitingView
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.batch import Phase
from cockpit.model.gang import ClusterQueue, LocalQueue, QueueShare, QuotaRow, SchedulerQueue
from cockpit.model.listing import Complete, listing
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, ListRows, Memory, View
from cockpit.views.states import why_empty
from cockpit.views.view_state import Measure, ViewState


@dataclass(frozen=True)
class QueueRow:
    """A LocalQueue with its ClusterQueue, or a ClusterQueue that no LocalQueue points to."""

    local: LocalQueue | None
    cluster: ClusterQueue | None
    not_told: str = ""  # why ClusterQueues are not known, "" where they are

    @cached_property
    def engine(self) -> Engine:
        """The engine that has it."""
        record = self.local or self.cluster
        return registry.engine_of_queue(record) if record else registry.NONE

    @property
    def key(self) -> str:
        """The uid of the queue that a person submits to."""
        record = self.local or self.cluster
        return record.uid if record else ""

    @property
    def name(self) -> str:
        record = self.local or self.cluster
        if isinstance(record, SchedulerQueue):
            return registry.queue_name(record)
        return record.key if record else ""

    @property
    def cluster_name(self) -> str:
        if isinstance(self.cluster, SchedulerQueue):
            return ""
        return self.local.cluster_queue if self.local else self.cluster.name if self.cluster else ""

    @cached_property
    def device_quotas(self) -> tuple[QuotaRow, ...]:
        """Quota rows of devices, one a flavor and resource."""
        return (
            tuple(one for one in self.cluster.quotas if is_gpu_resource(one.resource)) if self.cluster else ()
        )

    @cached_property
    def device_shares(self) -> tuple[QueueShare, ...]:
        """What a scheduler's queue has of devices."""
        shares = self.cluster.shares if isinstance(self.cluster, SchedulerQueue) else ()
        return tuple(share for share in shares if is_gpu_resource(share.resource))

    @property
    def has_devices(self) -> bool:
        """Whether it has anything to do with devices."""
        return bool(self.device_quotas or self.device_shares)

    @property
    def pending(self) -> int | None:
        record = self.local or self.cluster
        return record.pending if record else None

    @property
    def admitted(self) -> int | None:
        record = self.local or self.cluster
        return record.admitted if record else None

    @property
    def used(self) -> float | None:
        """Devices in use over all flavors; None where one flavor does not tell."""
        return _total((*(one.used for one in self.device_quotas), *(one.used for one in self.device_shares)))

    @property
    def nominal(self) -> float | None:
        """Devices that it may count on, else the most that it may use; None where neither is stated."""
        if self.device_shares:
            return _total(one.bound for one in self.device_shares)
        return sum(one.nominal for one in self.device_quotas)

    @property
    def borrowed(self) -> float | None:
        """Devices beyond that."""
        if self.device_shares:
            return _total(one.over for one in self.device_shares)
        return _total(one.borrowed for one in self.device_quotas)

    @cached_property
    def standing(self) -> QueueState:
        """Whether it takes jobs, and why not; a LocalQueue is no better than the ClusterQueue behind it."""
        if self.local is None:
            return registry.queue_state(self.cluster) if self.cluster else QueueState("unknown", "")
        own = registry.queue_state(self.local)
        if own.state not in ("active", "inactive"):
            return own
        if not self.engine.queues.cluster:
            return own
        if self.cluster is None and self.not_told:
            # its own condition is what the engine made of the queue behind it
            return own._replace(why=own.why or f"quota unknown: {self.not_told}")
        if self.cluster is None:
            return QueueState("inactive", f"ClusterQueue {self.cluster_name} does not exist")
        behind = registry.queue_state(self.cluster)
        if behind.state != "active":
            return QueueState(behind.state, f"ClusterQueue {self.cluster.name}: {behind.why or behind.state}")
        return own

    @property
    def state(self) -> str:
        """active, stopped, inactive, ending or unknown."""
        return self.standing.state

    @property
    def namespace(self) -> str:
        """That of the queue that a person submits to, "" for one of the whole cluster."""
        return self.local.namespace if self.local else ""

    @property
    def is_closed(self) -> bool:
        """Whether it is known to take no jobs."""
        return self.state not in ("active", "open", "unknown")

    @property
    def why(self) -> str:
        """Why it takes no jobs, "" for an active queue."""
        return self.standing.why


def _total(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if any(one is None for one in known) else sum(one or 0 for one in known)


def rows(store: StoreReader) -> list[QueueRow]:
    """Every queue a person can submit to, then cluster queues that none of them points to."""
    return [row for one in registry.engines() for row in _rows(one, store)]


def _rows(engine: Engine, store: StoreReader) -> list[QueueRow]:
    queues = engine.queues
    locals_: list[LocalQueue] = list(store.records(queues.local).values()) if queues.local else []
    if not queues.cluster:
        return [QueueRow(one, None) for one in locals_]
    clusters: dict[str, ClusterQueue] = {one.name: one for one in counted_queues(engine, store)}
    status = store.status(queues.cluster)
    known = listing(store, queues.cluster)
    if status is None or status.phase is Phase.ABSENT:
        not_told = why_empty("cluster queues", status)
    else:
        not_told = "" if isinstance(known, Complete) else status.message or known.words
    found = [QueueRow(one, clusters.get(one.cluster_queue), not_told) for one in locals_]
    named = {one.cluster_queue for one in locals_}
    return found + [QueueRow(None, one) for name, one in clusters.items() if name not in named]


def quota_text(row: QueueRow) -> str:
    """`6/8`, with `+2` borrowed; more than one flavor is spelt out: `a100 4/8 · h100 8/8+2`."""
    if row.device_shares:
        return " · ".join(_share(one, with_name=len(row.device_shares) > 1) for one in row.device_shares)
    if len(row.device_quotas) == 1:
        return _quota(row.device_quotas[0])
    return " · ".join(f"{one.flavor} {_quota(one)}" for one in row.device_quotas)


def quota_total(row: QueueRow) -> str:
    """`6/8` over all flavors and devices."""
    used = fmt.UNKNOWN.text if row.used is None else f"{row.used:g}"
    return f"{used}, no limit" if row.nominal is None else f"{used}/{row.nominal:g}"


def _quota(one: QuotaRow) -> str:
    return fmt.of(one.used, one.nominal) + (f"+{one.borrowed}" if one.borrowed else "")


def _share(one: QueueShare, *, with_name: bool) -> str:
    """`6/8`, with `+2` beyond what is deserved; `6, no limit` where nothing is stated."""
    used = fmt.UNKNOWN.text if one.used is None else f"{one.used:g}"
    text = f"{used}, no limit" if one.bound is None else f"{used}/{one.bound:g}"
    more = f"+{one.over:g}" if one.over else ""
    return f"{one.resource} {text}{more}" if with_name else f"{text}{more}"


def _quota_cell(row: QueueRow, now_seconds: float) -> Cell:
    if row.cluster is None:
        return fmt.UNKNOWN
    if not row.has_devices:
        return Cell("no GPUs", "dim")
    full = row.used is not None and row.nominal is not None and row.used >= row.nominal
    return Cell(quota_text(row), "warn" if full else "")


_STATES: dict[str, tuple[str, Tone]] = {
    "active": ("●", "good"),
    "open": ("●", "good"),
    "closing": ("◂", "warn"),
    "closed": ("‖", "warn"),
    "stopped": ("‖", "warn"),
    "ending": ("◂", "warn"),
    "unknown": ("?", "dim"),
}


def state_cell(row: QueueRow, now_seconds: float = 0.0) -> Cell:
    """Glyph, word and tone of where it stands."""
    glyph, tone = _STATES.get(row.state, ("×", "bad"))
    return Cell(f"{glyph} {row.state}", tone)


def _pending_cell(row: QueueRow, now_seconds: float) -> Cell:
    if row.pending is None:
        return fmt.UNKNOWN
    return Cell(str(row.pending), "warn" if row.pending else "dim")


def _borrowed_cell(row: QueueRow) -> Cell:
    if not row.has_devices:
        return fmt.NOTHING
    return fmt.UNKNOWN if row.borrowed is None else Cell(f"{row.borrowed:g}")


_FIELDS: tuple[Field[QueueRow], ...] = (
    Field(
        Column("name", "Queue", 18, grow=2, most=50), lambda r, _: Cell(r.name, "strong"), lambda r, _: r.name
    ),
    Field(
        Column("engine", "Engine", 7, priority=4),
        lambda r, _: Cell(r.engine.name, "dim"),
        lambda r, _: r.engine.name,
    ),
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
        lambda r, _: _borrowed_cell(r),
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
        Column("strategy", "Strategy", 14, priority=5, grow=1, most=24),
        lambda r, _: Cell(r.cluster.strategy if r.cluster else "", "dim"),
        lambda r, _: r.cluster.strategy if r.cluster else None,
    ),
    Field(
        Column("preemption", "Preemption", 28, priority=6, grow=1, most=60),
        lambda r, _: Cell(r.cluster.preemption if r.cluster else "", "dim"),
        lambda r, _: r.cluster.preemption if r.cluster else None,
    ),
    Field(Column("state", "State", 10), state_cell, lambda r, _: r.state),
    Field(
        Column("why", "Why", 16, priority=3, grow=3, most=70, folds=True),
        lambda r, _: Cell(r.why, "warn"),
        lambda r, _: r.why,
    ),
)

VIEW: View[QueueRow] = View(
    fields=_FIELDS,
    key=lambda row: row.key,
    name=lambda row: row.name,
    namespace=lambda row: row.namespace,
    rank=lambda row: 0 if row.is_closed else 1 if row.pending else 2,
    haystack=lambda r: (
        f"{r.name} {r.cluster_name} {r.cluster.cohort if r.cluster else ''} {quota_text(r)} {r.state}"
    ),
)


def table(
    store: StoreReader, state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[QueueRow]:
    """Queues as rows keyed by uid: those that take no jobs first, then those where jobs wait."""
    return listed(store).table(state, now_seconds, memory)


def listed(store: StoreReader) -> ListRows[QueueRow]:
    """The same before filter and order."""
    return ListRows(VIEW, rows(store))


# ---- what waits in one queue


def waiting_rows(store: StoreReader, queue: QueueRow) -> tuple[WaitingView, ...]:
    """What waits in the queue's cluster queue, in order: those ahead from other namespaces are seen too."""
    record = queue.cluster or queue.local
    return waiting(store, record) if record is not None else ()


def _position(row: WaitingView, now_seconds: float) -> Cell:
    if not row.position:
        return fmt.UNKNOWN
    # what the engine told is sure, what was worked out here is not
    return Cell(f"~{row.position}", "dim") if row.is_estimate else Cell(f"#{row.position}")


def _number(value: int | None) -> Cell:
    return fmt.UNKNOWN if value is None else Cell(str(value))


_WAITING: tuple[Field[WaitingView], ...] = (
    Field(Column("position", "Pos", 4, "right"), _position, lambda r, _: r.position or None, Measure.COUNT),
    Field(Column("gang", "Job", 20, grow=2, most=60), lambda r, _: Cell(r.job, "strong"), lambda r, _: r.job),
    Field(
        Column("gpus", "GPUs", 5, "right"), lambda r, _: _number(r.gpus), lambda r, _: r.gpus, Measure.COUNT
    ),
    Field(
        Column("priority", "Prio", 6, "right", priority=3),
        lambda r, _: _number(r.priority),
        lambda r, _: r.priority,
        Measure.COUNT,
    ),
    Field(
        Column("age", "Age", 5, "right", priority=2),
        lambda r, now: fmt.age_cell(r.created_seconds, now),
        lambda r, now: None if r.created_seconds is None else now - r.created_seconds,
        Measure.SECONDS,
    ),
    Field(Column("why", "Why", 30, grow=5, folds=True), lambda r, _: Cell(r.reason), lambda r, _: r.reason),
)

WAITING_VIEW: View[WaitingView] = View(
    fields=_WAITING, key=lambda row: row.workload_uid, haystack=lambda row: f"{row.job} {row.reason}"
)


def _waiting_view(starts: Mapping[str, str]) -> View[WaitingView]:
    """With what would start each, by its uid."""
    known: Field[WaitingView] = Field(
        Column("starts", "Would start", 24, priority=3, grow=5, folds=True),
        lambda row, _: Cell(starts.get(row.workload_uid, ""), "dim"),
        lambda row, _: starts.get(row.workload_uid, ""),
    )
    return replace(WAITING_VIEW, fields=(*_WAITING, known))


def waiting_table(
    store: StoreReader,
    queue: QueueRow,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    starts: Mapping[str, str] | None = None,
) -> LazyTable[WaitingView]:
    """What waits in a queue, next first, keyed by the Workload's uid; an estimated place reads `~3`. With
    `starts`, by that uid, there is a column of what would start it."""
    view = WAITING_VIEW if starts is None else _waiting_view(starts)
    return view.table(waiting_rows(store, queue), state, now_seconds, memory)
