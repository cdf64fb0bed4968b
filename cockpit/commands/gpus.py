"""Every GPU as a row: what telemetry says of it, and *not collected* where nothing does."""

from collections.abc import Iterable

from cockpit_widgets.types import Cell, Column

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.views import cards
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, View
from cockpit.views.order import Value
from cockpit.views.source import StoreReader
from cockpit.views.view_state import Measure, ViewState


def gpu_rows(store: StoreReader) -> list[Gpu]:
    """Cards that telemetry knows, and one without readings for each device that only its node tells of."""
    found: list[Gpu] = list(store.records(Kind.GPU).values())
    nodes: list[Node] = list(store.records(Kind.NODE).values())
    for node in nodes:
        known = {card.index for card in store.gpus_on(node.name)}
        shown = (node.gpu_capacity or 0) // max(1, node.gpu_replicas)
        found.extend(
            Gpu(
                uuid=f"{node.name}/{index}",
                node=node.name,
                index=index,
                model=node.gpu_model,
                mark=Mark.NOT_COLLECTED,
            )
            for index in range(shown)
            if not known and index not in known
        )
    return found


def _reading(value: object) -> Value:
    return float(value) if isinstance(value, int | float) else None


def _holder(card: Gpu, now_seconds: float) -> Cell:
    if not card.pod_name:
        return Cell("", "")
    return Cell(f"{card.pod_namespace}/{card.pod_name}")


_FIELDS: tuple[Field[Gpu], ...] = (
    Field(Column("node", "Node", 14), lambda r, _: Cell(r.node, "strong"), lambda r, _: r.node),
    Field(
        Column("gpu", "GPU", 3, "right"),
        lambda r, _: Cell(str(r.index)),
        lambda r, _: float(r.index),
        Measure.COUNT,
    ),
    Field(Column("model", "Model", 10), lambda r, _: Cell(r.model)),
    Field(
        Column("duty", "Duty", 6, "right"),
        lambda r, _: fmt.duty_cell(r.duty_ratio, is_held=cards.is_held(r)),
        lambda r, _: _reading(r.duty_ratio),
        Measure.RATIO,
    ),
    Field(
        Column("memory", "Memory", 10, "right"),
        lambda r, _: fmt.memory_cell(r.memory_used_bytes, r.memory_total_bytes),
        lambda r, _: _reading(r.memory_used_bytes),
        Measure.BYTES,
    ),
    Field(
        Column("temperature", "Temp", 5, "right"),
        lambda r, _: fmt.temperature_cell(r.temperature_celsius),
        lambda r, _: _reading(r.temperature_celsius),
        Measure.COUNT,
    ),
    Field(
        Column("power", "Power", 6, "right"),
        lambda r, _: fmt.power_cell(r.power_watts),
        lambda r, _: _reading(r.power_watts),
        Measure.COUNT,
    ),
    Field(Column("xid", "Xid", 4, "right"), lambda r, _: cards.xid_cell(r.xid)),
    Field(Column("pod", "Pod", 20), _holder),
    Field(Column("sure", "Sure", 8), lambda r, _: cards.mark_cell(r.mark)),
    Field(
        Column("age", "Sampled", 7, "right"),
        lambda r, now: fmt.age_cell(r.sampled_seconds, now),
        lambda r, now: None if r.sampled_seconds is None else now - r.sampled_seconds,
        Measure.SECONDS,
    ),
    Field(Column("uuid", "UUID", 12), lambda r, _: Cell(r.uuid if r.sampled_seconds is not None else "")),
)
_VIEW: View[Gpu] = View(
    fields=_FIELDS,
    key=lambda card: card.uuid,
    namespace=lambda card: card.pod_namespace,
    name=lambda card: f"{card.node}/{card.index}",
)


def gpu_table(gpus: Iterable[Gpu], state: ViewState, now_seconds: float) -> LazyTable[Gpu]:
    """GPUs as rows keyed by uuid, by node and index."""
    return _VIEW.table(gpus, state, now_seconds)
