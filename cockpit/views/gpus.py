"""GPUs as rows: what telemetry says of each, and *not collected* where nothing does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from cockpit_widgets.types import Cell, Column

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.truth import is_use_known
from cockpit.views import cards, doubts, physical
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.node_cards import cards_of, is_dead
from cockpit.views.order import Value
from cockpit.views.view_state import Measure, ViewState


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One device. `is_lost` is one that the node promised and does not offer (any more); `detail` is there
    for the devices of a node whose page is open, and so is `trend`: its duty lately, the oldest first."""

    card: Gpu
    is_lost: bool = False
    detail: GpuDetail | None = None
    trend: tuple[float | None, ...] = ()


def index_text(row: GpuRow) -> str:
    """The card's index on its node, with the instance where it is cut: `3`, `0/2`."""
    _, _, instance = row.card.uuid.partition("/")
    return f"{row.card.index}/{instance}" if row.card.mig_profile and instance else str(row.card.index)


def rows_of(node: Node, store: StoreReader) -> list[GpuRow]:
    """The devices of one node by index: those with telemetry, those without, those lost.

    The index of a device without telemetry is unknown; it gets the lowest that is not taken.
    """
    known = cards_of(node, store)
    found = [GpuRow(card, is_lost=is_dead(node) and not card.pod_name) for card in known]
    replicas = max(1, node.gpu_replicas)
    taken = {card.index for card in known}
    offered = 0 if is_dead(node) else (node.gpu_allocatable or 0) // replicas
    promised = max((node.gpu_capacity or 0) // replicas, node.gpus_expected or 0)
    if any(card.mig_profile for card in known):
        promised = offered = len(known)  # slices are devices: the label counts cards
    open_places = [place for place in range(promised + len(known)) if place not in taken]
    claimable = _claimable(node, store)
    for place in open_places[: max(0, promised - len(known))]:
        card = next(claimable, None)
        if card is not None:
            found.append(GpuRow(msgspec.structs.replace(card, index=place)))
            continue
        card = Gpu(uuid=f"{node.name}/{place}", node=node.name, index=place, model=node.gpu_model)
        found.append(GpuRow(card, is_lost=len(found) >= offered))
    return sorted(found, key=lambda row: (row.card.index, row.card.uuid))


def _claimable(node: Node, store: StoreReader) -> Iterator[Gpu]:
    """Cards without telemetry that the API server knows by their slices (DRA), with who has them by claim."""
    known = {physical.card_key(card) for card in store.gpus_on(node.name)}
    is_told = is_use_known(store)
    by_others = store.requests_on(node.name).gpus > sum(pod.gpus_claimed for pod in store.pods_on(node.name))
    for device, pods in store.devices_on(node.name):
        if device.is_part or not device.is_usable or device.uuid in known:
            continue
        known.add(device.uuid)
        namespace, name = pods[0] if pods else ("", "")
        free = Mark.UNALLOCATED if is_told and not by_others else Mark.NOT_COLLECTED
        yield Gpu(
            uuid=device.uuid or f"{node.name}/{device.name}",
            node=node.name,
            index=-1,
            model=device.model or node.gpu_model,
            memory_total_bytes=Absent.NOT_COLLECTED if device.memory_bytes is None else device.memory_bytes,
            pod_namespace=namespace,
            pod_name=name,
            also=tuple("/".join(pod) for pod in pods[1:]),
            mark=(Mark.SHARED if len(pods) > 1 else Mark.SURE) if pods else free,
            source="claims",
        )


def rows(store: StoreReader) -> list[GpuRow]:
    """Every device of the cluster, and cards that telemetry knows on nodes that the cluster does not."""
    nodes: Sequence[Node] = tuple(store.records(Kind.NODE).values())
    names = {node.name for node in nodes}
    found = [row for node in nodes if node.has_gpus for row in rows_of(node, store)]
    gpu_nodes = {node.name for node in nodes if node.has_gpus}
    found += [
        GpuRow(card)
        for card in store.records(Kind.GPU).values()
        if card.node not in names or card.node not in gpu_nodes
    ]
    return found


def _reading(value: Reading) -> Value:
    return None if isinstance(value, Absent) else value


def _duty(row: GpuRow) -> Cell:
    return fmt.duty_cell(row.card.duty_ratio, is_allocated=cards.is_allocated(row.card))


def _lost_or(row: GpuRow, cell: Cell) -> Cell:
    return Cell("×", "bad") if row.is_lost else cell


def _holder_text(row: GpuRow) -> str:
    card = row.card
    return f"{card.pod_namespace}/{card.pod_name}" if card.pod_name else ""


def _holder(row: GpuRow, now_seconds: float) -> Cell:
    if row.is_lost:
        return Cell("lost: not advertised by the node", "bad")
    if row.card.pod_name:
        return Cell(_holder_text(row), "strong")
    if row.card.mark is Mark.UNALLOCATED:
        return Cell("free", "dim")
    return fmt.absent_cell(Absent.NOT_COLLECTED)


def _sampled(row: GpuRow, now_seconds: float) -> Cell:
    if row.card.sampled_seconds is None:
        # numbers of unknown age differ from no numbers
        return fmt.UNKNOWN if row.card.source else fmt.absent_cell(Absent.NOT_COLLECTED)
    tone = fmt.absent_cell(Absent.STALE).tone if row.card.duty_ratio is Absent.STALE else "dim"
    return Cell(fmt.sample_age(now_seconds - row.card.sampled_seconds), tone)


_NODE: Field[GpuRow] = Field(
    Column("node", "Node", 14, grow=1, most=40),
    lambda r, _: Cell(r.card.node, "strong"),
    lambda r, _: r.card.node,
)

FIELDS: tuple[Field[GpuRow], ...] = (
    Field(
        Column("gpu", "GPU", 4, "right"),
        lambda r, _: Cell(index_text(r)),
        lambda r, _: float(r.card.index),
        Measure.COUNT,
    ),
    Field(
        Column("model", "Model", 14, priority=4, grow=1, most=30),
        lambda r, _: Cell(
            cards.short_model(r.card.model) + (f" {r.card.mig_profile}" if r.card.mig_profile else "")
        ),
        lambda r, _: cards.short_model(r.card.model),
    ),
    Field(
        Column("duty", "Duty", 6, "right"),
        lambda r, _: _lost_or(r, doubts.marked(r.card, "duty_ratio", _duty(r))),
        lambda r, _: _reading(r.card.duty_ratio),
        Measure.RATIO,
    ),
    Field(
        Column("memory", "Memory", 12, "right"),
        lambda r, _: _lost_or(r, fmt.memory_cell(r.card.memory_used_bytes, r.card.memory_total_bytes)),
        lambda r, _: _reading(r.card.memory_used_bytes),
        Measure.BYTES,
    ),
    Field(
        Column("temperature", "Temp", 6, "right", priority=2),
        lambda r, _: _lost_or(r, fmt.temperature_cell(r.card.temperature_celsius)),
        lambda r, _: _reading(r.card.temperature_celsius),
        Measure.COUNT,
    ),
    Field(
        Column("power", "Power", 6, "right", priority=2),
        lambda r, _: _lost_or(r, fmt.power_cell(r.card.power_watts)),
        lambda r, _: _reading(r.card.power_watts),
        Measure.COUNT,
    ),
    Field(
        Column("clock", "SM clock", 8, "right", priority=4),
        lambda r, _: _lost_or(r, fmt.clock_cell(r.card.sm_clock_hertz)),
        lambda r, _: _reading(r.card.sm_clock_hertz),
        Measure.COUNT,
    ),
    Field(
        Column("xid", "Last Xid", 8, priority=3),
        lambda r, _: _lost_or(r, cards.xid_cell(r.card.xid)),
        lambda r, _: None if r.card.xid is None else float(r.card.xid),
        Measure.COUNT,
    ),
    Field(
        Column("holder", "Allocated to", 22, grow=6, most=60, wish=44, keeps_end=True),
        _holder,
        lambda r, _: _holder_text(r),
    ),
    Field(
        Column("mark", "How sure", 8),
        lambda r, _: fmt.NOTHING if r.is_lost else cards.mark_cell(r.card.mark),
        lambda r, _: r.card.mark.value,
    ),
    Field(
        Column("sampled", "Sampled", 7, "right", priority=2),
        lambda r, now: fmt.NOTHING if r.is_lost else _sampled(r, now),
        lambda r, now: None if r.card.sampled_seconds is None else now - r.card.sampled_seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("doubts", "Doubtful", 14, priority=6, grow=1, most=44),
        lambda r, _: Cell(doubts.short(r.card), "warn"),
        lambda r, _: doubts.short(r.card),
    ),
    Field(
        Column("source", "Source", 7, priority=5),
        lambda r, _: Cell(r.card.source, "dim"),
        lambda r, _: r.card.source,
    ),
    Field(
        Column("uuid", "UUID", 14, priority=6, grow=1, most=44),
        lambda r, _: Cell(r.card.uuid if r.card.source else "", "dim"),
        lambda r, _: r.card.uuid if r.card.source else None,
    ),
)


def haystack(row: GpuRow) -> str:
    card = row.card
    return f"{card.node} {card.model} {card.mig_profile} {_holder_text(row)} {card.mark.value} {card.uuid}"


VIEW: View[GpuRow] = View(
    fields=(_NODE, *FIELDS),
    key=lambda row: row.card.uuid,
    name=lambda row: f"{row.card.node}/{row.card.index}",
    namespace=lambda row: row.card.pod_namespace,
    haystack=haystack,
    token=lambda row: row.card,
)


def table(
    store: StoreReader, state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[GpuRow]:
    """Every GPU of the cluster as a row keyed by uuid (`node/index` where telemetry has none)."""
    return VIEW.table(rows(store), state, now_seconds, memory)
