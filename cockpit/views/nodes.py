"""The nodes table: devices, what they do, and where the node stands."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from cockpit_widgets.types import Cell, Column

from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.drain_mark import mark_of, progress
from cockpit.pools.truth import is_use_known
from cockpit.triage.node_walk import stage_at
from cockpit.views import cards, physical
from cockpit.views import format as fmt
from cockpit.views.claims import may_have_gpus
from cockpit.views.lazy_table import Field, LazyTable, ListRows, Memory, View
from cockpit.views.node_cards import cards_of, is_dead
from cockpit.views.order import Value
from cockpit.views.states import DRAIN_STAGES, drain_cell, node_cell
from cockpit.views.view_state import Measure, ViewState


@dataclass(frozen=True)
class NodeRow:
    """A node with its cards and pods, looked up only when drawn or sorted by."""

    node: Node
    store: StoreReader
    now_seconds: float

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        return cards_of(self.node, self.store)

    @cached_property
    def allocated(self) -> int:
        """Devices taken by pods that are bound and not finished."""
        return self.store.requests_on(self.node.name).gpus

    @cached_property
    def allocated_text(self) -> str:
        """The same as a word; more may be allocated where not every pod is seen."""
        return str(self.allocated) if is_use_known(self.store) else "?"

    @cached_property
    def stage(self) -> str:
        return stage_at(self.node, self.store, self.now_seconds)

    @cached_property
    def state(self) -> Cell:
        """Its stage; of one in a drain how far that is."""
        mark = mark_of(self.node) if self.stage in DRAIN_STAGES else None
        return node_cell(self.stage) if mark is None else drain_cell(progress(self.node, mark, self.store))

    @cached_property
    def total(self) -> int | None:
        """Devices the node shows, else those promised; None when neither is known."""
        shown = self.node.gpu_capacity
        return self.node.gpus_expected if shown is None else shown

    @property
    def lost(self) -> int:
        """Devices that it should offer and does not; 0 where what it offers is not known."""
        if self.node.gpu_allocatable is None:
            return 0
        return max(0, (self.total or 0) - (0 if is_dead(self.node) else self.node.gpu_allocatable))

    @cached_property
    def duty(self) -> Reading:
        return cards.fold(physical.whole_cards(self.gpus), cards.duty, cards.mean)

    @cached_property
    def hottest(self) -> Reading:
        return cards.fold(self.gpus, cards.temperature, max)

    @cached_property
    def power(self) -> Reading:
        return cards.power_sum(self.gpus)

    @cached_property
    def memory_used(self) -> Reading:
        return cards.fold(self.gpus, cards.memory_used, sum)

    @cached_property
    def memory_total(self) -> Reading:
        return cards.fold(self.gpus, cards.memory_total, sum)


def _reading(value: Reading) -> Value:
    return None if isinstance(value, Absent) else value


def _allocated(row: NodeRow, now_seconds: float) -> Cell:
    node = row.node
    if not node.has_gpus and not row.allocated:
        return fmt.UNKNOWN if may_have_gpus(node, row.store) else Cell("none", "dim")
    if node.gpu_allocatable is None:
        return Cell(f"{row.allocated_text}/?", "warn")
    usable = 0 if is_dead(node) else node.gpu_allocatable
    return Cell(
        f"{row.allocated_text}/{usable}" + (f" -{row.lost}" if row.lost else ""), "warn" if row.lost else ""
    )


def _bars(row: NodeRow, now_seconds: float) -> Cell:
    if not row.node.has_gpus and not row.gpus:
        return fmt.NOTHING
    node = row.node
    if not physical.is_split(node, row.gpus) or node.gpu_allocatable is None:
        return Cell(cards.mini_bars(row.gpus, node.gpu_allocatable, row.total), "dim")
    promised = physical.cards_promised(node, row.gpus)
    usable = physical.usable_cards(node, promised)
    return Cell(cards.mini_bars(physical.whole_cards(row.gpus), usable, promised), "dim")


def _health(row: NodeRow, now_seconds: float) -> Cell:
    return cards.health_cell(row.gpus, row.lost) if row.node.has_gpus or row.gpus else fmt.NOTHING


def _only_gpu_nodes(row: NodeRow, cell: Cell) -> Cell:
    return cell if row.node.has_gpus or row.gpus else fmt.NOTHING


def _urgency(row: NodeRow) -> int:
    """Place in the own order: dead or with lost GPUs, not usable yet or any more, well, without GPUs."""
    node = row.node
    if node.gpu_capacity is None and node.gpus_expected:
        return 1
    if is_dead(node) or (node.gpu_capacity or 0) > (node.gpu_allocatable or 0):
        return 0
    if node.unschedulable or node.deleting_seconds is not None:
        return 1
    return 2 if node.has_gpus else 3


def _state(row: NodeRow, now_seconds: float) -> Cell:
    return row.state


_FIELDS: tuple[Field[NodeRow], ...] = (
    Field(
        Column("name", "Node", 20, grow=3, most=60),
        lambda r, _: Cell(r.node.name, "strong"),
        lambda r, _: r.node.name,
    ),
    Field(
        Column("pool", "Pool", 10, priority=2, grow=1, most=28),
        lambda r, _: Cell(r.node.pool) if r.node.pool else fmt.UNKNOWN,
        lambda r, _: r.node.pool,
    ),
    Field(
        Column("model", "GPU model", 14, priority=3, grow=1, most=30),
        lambda r, _: Cell(cards.short_model(r.node.gpu_model)),
        lambda r, _: cards.short_model(r.node.gpu_model),
    ),
    Field(Column("gpus", "Alloc", 7, "right"), _allocated, lambda r, _: r.allocated, Measure.COUNT),
    Field(Column("bars", "GPUs", 8, grow=1, most=16), _bars, lambda r, _: _reading(r.duty), Measure.RATIO),
    Field(
        Column("duty", "Duty", 6, "right", priority=2),
        lambda r, _: _only_gpu_nodes(r, fmt.duty_cell(r.duty, is_allocated=r.allocated > 0)),
        lambda r, _: _reading(r.duty),
        Measure.RATIO,
    ),
    Field(
        Column("temperature", "Max °C", 6, "right", priority=2),
        lambda r, _: _only_gpu_nodes(r, fmt.temperature_cell(r.hottest)),
        lambda r, _: _reading(r.hottest),
        Measure.COUNT,
    ),
    Field(
        Column("power", "Power", 7, "right", priority=3),
        lambda r, _: _only_gpu_nodes(r, fmt.power_cell(r.power)),
        lambda r, _: _reading(r.power),
        Measure.COUNT,
    ),
    Field(
        Column("memory", "GPU memory", 13, "right", priority=4),
        lambda r, _: _only_gpu_nodes(r, fmt.memory_cell(r.memory_used, r.memory_total)),
        lambda r, _: _reading(r.memory_used),
        Measure.BYTES,
    ),
    Field(Column("health", "Health", 8, priority=2), _health),
    Field(Column("state", "State", 15, grow=1, most=40), _state),
    Field(
        Column("age", "Age", 5, "right", priority=3),
        lambda r, now: fmt.age_cell(r.node.created_seconds, now),
        lambda r, now: None if r.node.created_seconds is None else now - r.node.created_seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("machine", "Machine", 14, priority=5, grow=4, most=24),
        lambda r, _: Cell(r.node.instance_type),
        lambda r, _: r.node.instance_type,
    ),
    Field(Column("zone", "Zone", 12, priority=6), lambda r, _: Cell(r.node.zone), lambda r, _: r.node.zone),
    Field(
        Column("kubelet", "Kubelet", 9, priority=7),
        lambda r, _: Cell(r.node.kubelet_version, "dim"),
        lambda r, _: r.node.kubelet_version,
    ),
)

_HIDDEN: tuple[Field[NodeRow], ...] = (
    Field(
        Column("total", "Total", 5),
        lambda r, _: fmt.count_cell(r.total),
        lambda r, _: r.total,
        Measure.COUNT,
    ),
    Field(
        Column("taint", "Taint", 12),
        lambda r, _: Cell(",".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in r.node.taints)),
    ),
    Field(
        Column("label", "Label", 12),
        lambda r, _: Cell(",".join(f"{name}={value}" for name, value in r.node.labels)),
    ),
)


def said(node: Node, store: StoreReader) -> str:
    """The state of a node in a drain in one line, "" for any other."""
    mark = mark_of(node)
    if mark is None:
        return ""
    begun = f" (begun {mark.begun})" if mark.begun else ""
    return f"{node.name} {progress(node, mark, store)}{begun}"


def _haystack(row: NodeRow) -> str:
    node = row.node
    return f"{node.name} {node.pool} {node.gpu_model} {node.instance_type} {node.zone} {row.state.text}"


VIEW: View[NodeRow] = View(
    fields=_FIELDS,
    hidden=_HIDDEN,
    key=lambda row: row.node.name,
    name=lambda row: row.node.name,
    rank=_urgency,
    haystack=_haystack,
)


def table(
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    nodes: Iterable[Node] | None = None,
) -> LazyTable[NodeRow]:
    """Nodes as rows keyed by name, those in trouble first, those without GPUs last; `nodes` narrows them (a
    pool's page)."""
    return listed(store, now_seconds, nodes).table(state, now_seconds, memory)


def listed(store: StoreReader, now_seconds: float, nodes: Iterable[Node] | None = None) -> ListRows[NodeRow]:
    """The same before filter and order."""
    found: Iterable[Node] = store.records(Kind.NODE).values() if nodes is None else nodes
    return ListRows(VIEW, (NodeRow(node, store, now_seconds) for node in found))
