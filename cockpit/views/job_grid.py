"""Rank by device: each GPU of each member of a job as a row, and who lags behind."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from cockpit_widgets.types import Cell, Column

from cockpit.model import throttle
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.quantity import Absent, Reading
from cockpit.model.store_reader import StoreReader
from cockpit.views import cards, gpus, worker_use
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.order import Value
from cockpit.views.pods import rank_text
from cockpit.views.view_state import Measure, ViewState

LAGS_RATIO = 0.8
"""A device below this share of the median of its job lags (own choice)."""
FEWEST = 3
"""Of fewer devices none can be said to lag: there is no crowd to lag behind."""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A card of a member; `card` is None for a member that holds GPUs of which telemetry tells nothing."""

    pod: Pod
    card: Gpu | None
    lags: bool = False
    use: PodUse = field(default_factory=lambda: PodUse(uid=""))

    @property
    def key(self) -> str:
        return f"{self.pod.uid}/{self.card.uuid if self.card is not None else ''}"


def rows(members: Iterable[Pod], store: StoreReader) -> list[DeviceRow]:
    """Members in the order given, each with its cards by index."""
    found: list[tuple[Pod, Gpu | None]] = []
    for pod in members:
        if not pod.gpus_allocated:
            continue
        own: Sequence[Gpu | None] = store.gpus_of_pod(pod.namespace, pod.name) or (None,)
        found += [(pod, card) for card in own]
    usual = usual_duty([card for _, card in found if card is not None])
    uses = {pod.uid: worker_use.use_of(pod, store) for pod, _ in found}
    return [
        DeviceRow(pod, card, card is not None and lags(card.duty_ratio, usual), uses[pod.uid])
        for pod, card in found
    ]


def usual_duty(known: Sequence[Gpu]) -> float | None:
    """The median duty, None where there are too few numbers for one."""
    duties = cards.numbers(known, cards.duty)
    return median(duties) if len(duties) >= FEWEST else None


def lags(duty: Reading, usual: float | None) -> bool:
    """True for a duty far below what is usual in the job."""
    return usual is not None and not isinstance(duty, Absent) and duty < LAGS_RATIO * usual


def _number(row: DeviceRow, of: Callable[[Gpu], Reading]) -> Value:
    value = of(row.card) if row.card is not None else Absent.NOT_COLLECTED
    return None if isinstance(value, Absent) else value


def _cell(row: DeviceRow, draw: Callable[[Gpu], Cell]) -> Cell:
    return draw(row.card) if row.card is not None else fmt.absent_cell(Absent.NOT_COLLECTED)


def _duty(row: DeviceRow, now_seconds: float) -> Cell:
    if row.card is None:
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    cell = fmt.duty_cell(row.card.duty_ratio)
    return Cell(f"▼ {cell.text}", "warn") if row.lags else cell


def _plain(value: Reading) -> Value:
    return None if isinstance(value, Absent) else value


_SHORT = {worker_use.NETWORK: "network", worker_use.DATA: "data", worker_use.EITHER: "either"}


def _waits(row: DeviceRow, now_seconds: float) -> Cell:
    duty = row.card.duty_ratio if row.card is not None else Absent.NOT_COLLECTED
    return Cell(_SHORT.get(worker_use.waits_for(duty, row.pod, row.use), ""), "warn")


def _index(row: DeviceRow, now_seconds: float) -> Cell:
    return fmt.UNKNOWN if row.card is None else Cell(gpus.index_text(gpus.GpuRow(row.card)))


def _health(row: DeviceRow, now_seconds: float) -> Cell:
    if row.card is not None and (row.card.throttle or 0) & throttle.HARMFUL:
        return Cell("▲ throttled", "warn")
    return _cell(row, lambda card: cards.health_cell((card,)))


_FIELDS: tuple[Field[DeviceRow], ...] = (
    Field(
        Column("rank", "Rank", 10),
        lambda r, _: Cell(rank_text(r.pod) or "member", "strong"),
        lambda r, _: rank_text(r.pod),
    ),
    Field(Column("gpu", "GPU", 4, "right"), _index, lambda r, _: None if r.card is None else r.card.index),
    Field(
        Column("node", "Node", 14, grow=2, most=40), lambda r, _: Cell(r.pod.node), lambda r, _: r.pod.node
    ),
    Field(
        Column("bar", "", 1, priority=2, sortable=False),
        lambda r, _: Cell(fmt.bar(r.card.duty_ratio if r.card is not None else Absent.NOT_COLLECTED), "dim"),
    ),
    Field(Column("duty", "Duty", 6, "right"), _duty, lambda r, _: _number(r, cards.duty), Measure.RATIO),
    Field(
        Column("memory", "Memory", 12, "right"),
        lambda r, _: _cell(r, lambda one: fmt.memory_cell(one.memory_used_bytes, one.memory_total_bytes)),
        lambda r, _: _number(r, cards.memory_used),
        Measure.BYTES,
    ),
    Field(
        Column("temperature", "Temp", 6, "right", priority=2),
        lambda r, _: _cell(r, lambda one: fmt.temperature_cell(one.temperature_celsius)),
        lambda r, _: _number(r, cards.temperature),
        Measure.COUNT,
    ),
    Field(
        Column("power", "Power", 6, "right", priority=2),
        lambda r, _: _cell(r, lambda one: fmt.power_cell(one.power_watts)),
        lambda r, _: _number(r, cards.power),
        Measure.COUNT,
    ),
    Field(
        Column("clock", "SM clock", 8, "right", priority=3),
        lambda r, _: _cell(r, lambda one: fmt.clock_cell(one.sm_clock_hertz)),
        lambda r, _: _number(r, lambda one: one.sm_clock_hertz),
        Measure.COUNT,
    ),
    Field(
        Column("cpu", "CPU", 9, "right", priority=4),
        lambda r, _: worker_use.cpu_cell(r.pod, r.use),
        lambda r, _: _plain(r.use.cpu_cores),
        Measure.COUNT,
    ),
    Field(
        Column("received", "Net in", 8, "right", priority=4),
        lambda r, _: worker_use.rate_cell(r.use.receive_bytes_per_second),
        lambda r, _: _plain(r.use.receive_bytes_per_second),
        Measure.BYTES,
    ),
    Field(
        Column("sent", "Net out", 8, "right", priority=4),
        lambda r, _: worker_use.rate_cell(r.use.transmit_bytes_per_second),
        lambda r, _: _plain(r.use.transmit_bytes_per_second),
        Measure.BYTES,
    ),
    Field(Column("waits", "Waits for", 9, priority=4), _waits, lambda r, _: _waits(r, 0.0).text),
    Field(Column("health", "Health", 11, priority=3), _health),
    Field(
        Column("mark", "How sure", 8),
        lambda r, _: cards.mark_cell(r.card.mark if r.card is not None else Mark.NOT_COLLECTED),
        lambda r, _: r.card.mark.value if r.card is not None else None,
    ),
    Field(
        Column("model", "Model", 14, priority=5, grow=1, most=30),
        lambda r, _: Cell(cards.short_model(r.card.model) if r.card is not None else "", "dim"),
        lambda r, _: r.card.model if r.card is not None else None,
    ),
)

VIEW: View[DeviceRow] = View(
    fields=_FIELDS,
    key=lambda row: row.key,
    haystack=lambda r: f"{rank_text(r.pod)} {r.pod.name} {r.pod.node} {r.card.mark.value if r.card else ''}",
    token=lambda row: row,
)


def table(
    members: Iterable[Pod],
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
) -> LazyTable[DeviceRow]:
    """A row for each GPU of each member; keyed by pod uid and card uuid."""
    return VIEW.table(rows(members, store), state, now_seconds, memory)


def pod_uid(key: str) -> str:
    """The member that a row belongs to."""
    return key.split("/", 1)[0]
