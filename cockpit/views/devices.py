"""The devices of one node with all that is known of them: the first record of each, and the second."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
from cockpit_widgets.glyphs import spark
from cockpit_widgets.types import Cell, Column, Tone

from cockpit.model import throttle
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.xid import xid_sentence
from cockpit.views import cards, doubts, gpus, physical
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.view_state import Measure, ViewState

NEAR_CELSIUS = 5.0
"""A card so near to the temperature at which it slows down is told as hot."""


TrendOf = Callable[[str], tuple[float | None, ...]]
"""Duty of a card lately by its uuid, the oldest first; empty if it was not followed."""


def no_trend(uuid: str) -> tuple[float | None, ...]:
    return ()


def detail_of(card: Gpu, store: StoreReader) -> GpuDetail | None:
    """The second record of a card; an instance has what its card tells, where it tells nothing itself."""
    own = store.get(Kind.GPU_DETAIL, card.uuid)
    parent = store.get(Kind.GPU_DETAIL, physical.card_key(card)) if "/" in card.uuid else None
    if own is None or parent is None:
        return own if own is not None else parent
    missing = {
        name: getattr(parent, name)
        for name in own.__struct_fields__
        if getattr(own, name) is None or isinstance(getattr(own, name), Absent)
    }
    merged: GpuDetail = msgspec.structs.replace(own, **missing)
    return merged


def _value(row: gpus.GpuRow, name: str) -> Reading:
    if row.detail is None:
        return Absent.NOT_COLLECTED
    found: Reading = getattr(row.detail, name)
    return found


def _temperature(row: gpus.GpuRow, now_seconds: float) -> Cell:
    now, limit = row.card.temperature_celsius, _value(row, "slowdown_celsius")
    cell = fmt.temperature_cell(now)
    if isinstance(now, Absent) or isinstance(limit, Absent):
        return cell
    tone: Tone = "bad" if now >= limit else "warn" if now >= limit - NEAR_CELSIUS else ""
    return Cell(f"{now:.0f}/{limit:.0f}°C", tone)


def _power(row: gpus.GpuRow, now_seconds: float) -> Cell:
    cap = _value(row, "power_cap_watts")
    cell = fmt.power_cell(row.card.power_watts)
    if isinstance(cap, Absent) or isinstance(row.card.power_watts, Absent):
        return cell
    return Cell(f"{row.card.power_watts:.0f}/{cap:.0f}W", cell.tone)


def _clock(row: gpus.GpuRow, now_seconds: float) -> Cell:
    most = _value(row, "sm_clock_max_hertz")
    now = row.card.sm_clock_hertz
    if isinstance(most, Absent) or isinstance(now, Absent):
        return fmt.clock_cell(now)
    return Cell(f"{now / 1e6:.0f}/{most / 1e6:.0f}MHz")


def bits_of(row: gpus.GpuRow) -> int | None:
    """What throttles the clocks (NVML's bits), None if unknown."""
    if row.detail is not None and row.detail.throttle is not None:
        return row.detail.throttle
    return row.card.throttle


_WORDS = {0x1: "idle", 0x2: "set", 0x4: "cap", 0x8: "hw", 0x10: "sync"} | {
    0x20: "hot",
    0x40: "hot",
    0x80: "brake",
}


def _throttle(row: gpus.GpuRow, now_seconds: float) -> Cell:
    bits = bits_of(row)
    if bits is None:
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    words = dict.fromkeys(word for bit, word in _WORDS.items() if bits & bit)
    if bits & throttle.HARMFUL:
        return Cell(" ".join(word for word in words if word not in ("idle", "cap", "set")), "bad")
    return Cell(" ".join(words) or "none", "dim" if not bits & throttle.POWER_CAP else "")


def _ecc(row: gpus.GpuRow, now_seconds: float) -> Cell:
    return ecc_cell(row.detail)


def ecc_cell(detail: GpuDetail | None) -> Cell:
    """What is known of the memory's health; `ok` only where errors are counted."""
    if detail is None:
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    if trouble := _memory_trouble(detail):
        words, tone = trouble
        return Cell(f"{_GLYPHS[tone]} {words}", tone)
    double, failed, rows = detail.ecc_double, detail.remap_failed, detail.remapped_rows
    known = [item for item in (double, failed, rows) if not isinstance(item, Absent)]
    if not known:
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    # uncounted errors are not zero errors
    return Cell("ok", "good") if not isinstance(double, Absent) else Cell("no remaps", "dim")


_GLYPHS: dict[Tone, str] = {"bad": "×", "warn": "▲"}


def _memory_trouble(detail: GpuDetail) -> tuple[str, Tone] | None:
    """What is wrong with the memory and how bad that is, None where nothing is known to be."""
    double, rows = detail.ecc_double, detail.remapped_rows
    if _is_more(detail.remap_failed):
        return "remap failed", "bad"
    if _is_more(double):
        return f"{_number(double):.0f} double-bit", "bad"
    if _is_more(detail.remap_pending):
        return "remap pending", "warn"
    if _is_more(rows):
        return f"{_number(rows):.0f} remapped", "warn"
    return None


def _number(value: Reading) -> float:
    return 0.0 if isinstance(value, Absent) else value


def _is_more(value: Reading) -> bool:
    return _number(value) > 0


def _ratio(name: str) -> Field[gpus.GpuRow]:
    title = {"tensor_ratio": "Tensor", "dram_ratio": "DRAM"}[name]

    def cell(row: gpus.GpuRow, now_seconds: float) -> Cell:
        value = _value(row, name)
        return fmt.absent_cell(value) if isinstance(value, Absent) else Cell(fmt.percent(value))

    return Field(
        Column(name.removesuffix("_ratio"), title, 6, "right", priority=4),
        cell,
        lambda row, _: _sortable(_value(row, name)),
        Measure.RATIO,
    )


def _sortable(value: Reading) -> float | None:
    return None if isinstance(value, Absent) else value


def _memory_celsius(row: gpus.GpuRow, now_seconds: float) -> Cell:
    return fmt.temperature_cell(_value(row, "memory_temperature_celsius"))


def _links(row: gpus.GpuRow, now_seconds: float) -> Cell:
    errors, up, every = (_value(row, name) for name in ("nvlink_errors", "nvlinks_up", "nvlinks"))
    if isinstance(errors, Absent) and isinstance(every, Absent):
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    if _is_more(errors):
        return Cell(f"{_number(errors):.0f} errors", "warn")
    if isinstance(every, Absent):
        return Cell("no errors", "good")
    return Cell(f"{_number(up):.0f}/{_number(every):.0f} up", "good" if up == every else "bad")


def _energy(row: gpus.GpuRow, now_seconds: float) -> Cell:
    joules = _value(row, "energy_joules")
    return fmt.absent_cell(joules) if isinstance(joules, Absent) else Cell(f"{joules / 3.6e6:,.1f}kWh", "dim")


def _lost(field: Field[gpus.GpuRow]) -> Field[gpus.GpuRow]:
    """A lost device has no numbers."""
    draw = field.cell
    return Field(
        field.column,
        lambda row, now: Cell("×", "bad") if row.is_lost else draw(row, now),
        field.value,
        field.measure,
    )


_TREND: Field[gpus.GpuRow] = Field(
    Column("trend", "Lately", 10, priority=4, sortable=False),
    lambda row, _: Cell(spark(row.trend, 10, 0.0, 1.0) if row.trend else "", "info"),
)
_MORE: tuple[Field[gpus.GpuRow], ...] = (
    Field(
        Column("throttle", "Throttle", 8, priority=3), _throttle, lambda row, _: bits_of(row), Measure.COUNT
    ),
    Field(Column("ecc", "Memory errors", 14, priority=3), _ecc),
    _ratio("tensor_ratio"),
    _ratio("dram_ratio"),
)
_LAST: tuple[Field[gpus.GpuRow], ...] = (
    Field(Column("hbm", "Mem °C", 6, "right", priority=5), _memory_celsius),
    Field(Column("nvlink", "NVLink", 9, priority=5), _links),
    Field(Column("energy", "Energy", 9, "right", priority=6), _energy),
)


def _fields() -> tuple[Field[gpus.GpuRow], ...]:
    named = {field.column.id: field for field in gpus.FIELDS}
    cells = {"temperature": _temperature, "power": _power, "clock": _clock}
    widths = {"temperature": 8, "power": 9, "clock": 12}
    found: list[Field[gpus.GpuRow]] = []
    for name, field in named.items():
        draw = cells.get(name)
        if draw is not None:
            column = replace(field.column, width=widths[name])
            found.append(_lost(Field(column, draw, field.value, field.measure)))
        else:
            found.append(field)
        if name == "duty":
            found.append(_lost(_TREND))
        if name == "clock":
            found += [_lost(item) for item in _MORE]
        if name == "uuid":
            found += [_lost(item) for item in _LAST]
    return tuple(found)


_PROFILE: Field[gpus.GpuRow] = Field(
    Column("profile", "Profile", 8),
    lambda row, _: Cell(row.card.mig_profile),
    lambda row, _: row.card.mig_profile,
)


def _urgency(row: gpus.GpuRow) -> int:
    """Place in the own order: lost or broken, doubtful, well; by index within."""
    tone = cards.health_cell((row.card,)).tone
    return 0 if row.is_lost or tone == "bad" else 1 if tone == "warn" else 2


VIEW: View[gpus.GpuRow] = View(
    fields=_fields(),
    key=lambda row: row.card.uuid,
    rank=_urgency,
    haystack=gpus.haystack,
    token=lambda row: (row.card, row.detail, row.trend),
)


MIG_VIEW: View[gpus.GpuRow] = replace(VIEW, fields=(VIEW.fields[0], _PROFILE, *VIEW.fields[1:]))
"""The same where a card is cut: which instance of which size comes first of all."""


def rows(node: Node, store: StoreReader, trend_of: TrendOf = no_trend) -> list[gpus.GpuRow]:
    """The devices of a node by index, each with its second record and how it went lately, where known."""
    return [
        gpus.GpuRow(row.card, row.is_lost, detail_of(row.card, store), trend_of(row.card.uuid))
        for row in gpus.rows_of(node, store)
    ]


def table(
    devices: Sequence[gpus.GpuRow], state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[gpus.GpuRow]:
    """The devices of one node, without the node's column; instances with their profile."""
    view = MIG_VIEW if any(row.card.mig_profile for row in devices) else VIEW
    return view.table(devices, state, now_seconds, memory)


def sentence(row: gpus.GpuRow) -> str:
    """What is to be said of one device beyond its numbers: errors with meaning and advice, what holds its
    clocks down, who is on it; "" where there is nothing to say."""
    words: list[str] = []
    card, detail = row.card, row.detail
    if row.is_lost:
        words.append("no longer advertised by the node")
    if card.xid:
        words.append(xid_sentence(card.xid))
    bits = bits_of(row) or 0
    if bits & ~throttle.IDLE:
        words.append(f"throttled: {throttle.sentence(bits & ~throttle.IDLE)}")
    if detail is not None:
        if trouble := _memory_trouble(detail):
            words.append(f"memory: {trouble[0]}")
        if detail.recovery not in (None, "", "none"):
            words.append(f"the driver advises: {str(detail.recovery).replace('_', ' ')}")
        if detail.processes:
            named = (
                _process(process.name, process.pid, process.memory_bytes) for process in detail.processes
            )
            words.append(f"processes: {', '.join(named)}")
    words += doubts.sentences(card)
    if card.mark is Mark.SHARED:
        words.append("usage cannot be attributed: the GPU is shared")
    return f"GPU {gpus.index_text(row)}: {' · '.join(words)}" if words else ""


def _process(name: str, pid: int, memory_bytes: float | None) -> str:
    return f"{name or 'process'} {pid}" + (f" {fmt.byte_size(memory_bytes)}" if memory_bytes else "")
