"""The readings of a round in columns, one a quantity, a place a card; and the numbers that they make.
Pure."""

from collections.abc import Iterator, Sequence

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent, Reading
from cockpit.telemetry.cards.card_accumulator import (
    UNKNOWN_TIME,
    Readings,
    Value,
    doubts_of_total,
    readings,
    tells_xid,
)
from cockpit.telemetry.cards.family_times import FamilyTimes
from cockpit.telemetry.cards.plausible import BOUNDS, MOST_BYTES, is_too_much_used, judged
from cockpit.telemetry.cards.stamps import Key
from cockpit.telemetry.names import SLOTS, GpuMetric, Meaning

_XID = SLOTS[GpuMetric.XID]
_DUTY, _ENGINE = SLOTS[GpuMetric.DUTY], SLOTS[GpuMetric.ENGINE]
_USED, _FREE = SLOTS[GpuMetric.MEMORY_USED], SLOTS[GpuMetric.MEMORY_FREE]
_RESERVED, _TOTAL = SLOTS[GpuMetric.MEMORY_RESERVED], SLOTS[GpuMetric.MEMORY_TOTAL]
_TEMPERATURE, _POWER = SLOTS[GpuMetric.TEMPERATURE], SLOTS[GpuMetric.POWER]
_SM_CLOCK = SLOTS[GpuMetric.SM_CLOCK]
_INHERITED = (_TEMPERATURE, _POWER, _SM_CLOCK, _XID)
_NOT_THERE = Absent.NOT_COLLECTED
_COLUMNS = (_DUTY, _ENGINE, _USED, _TEMPERATURE, _POWER, _SM_CLOCK, _XID)


class Columns:
    """Of each card the first reading of a quantity (base units), the rank of trust of who told it, and
    further readings. A reading has the time of its family on its card, but where another is told."""

    def __init__(self, keys: Sequence[Key], times: FamilyTimes) -> None:
        self._keys = keys
        self._times = times
        self.values: list[list[float | None]] = [[] for _ in SLOTS]
        self.ranks: list[list[int]] = [[] for _ in SLOTS]
        self.throttle: dict[int, int] = {}
        self.latest: dict[int, float] = {}
        """Cards with a reading that has its own sample time, and the newest of these times."""
        self._own_times: dict[tuple[int, int], float] = {}  # card, slot
        self._more: dict[int, list[tuple[int, int, float, float | None]]] = {}  # slot, trust, value, own time

    def grow(self, more: int) -> None:
        """Allocate space for more cards."""
        for values, ranks in zip(self.values, self.ranks, strict=True):
            values.extend([None] * more)
            ranks.extend([0] * more)

    def keep(self, number: int, meaning: Meaning, value: float, own_time: float | None = None) -> None:
        """Keep a value (base units) of the exporter's family."""
        slot = meaning.slot
        had = self.values[slot][number]
        if had is None:
            self.values[slot][number], self.ranks[slot][number] = value, meaning.trust
            if own_time is not None:
                self._own_times[number, slot] = own_time
            return
        old = (had, self.ranks[slot][number], self._own_times.get((number, slot)))
        if old != (value, meaning.trust, own_time):
            self._more.setdefault(number, []).append((slot, meaning.trust, value, own_time))

    def fall_back(self, number: int, meaning: Meaning, value: float, own_time: float | None = None) -> None:
        """Keep a value of second choice: only where nothing better was told that can be."""
        had = self.values[meaning.slot][number]
        if had is None or isinstance(judged(meaning.slot, had), Absent):
            self.keep(number, meaning, value, own_time)

    def inherit(self, instance: int, parent: int) -> None:
        """A card with MIG instances is no device itself; temperature and power are its instances'."""
        keys = self._keys
        for slot in _INHERITED:
            value = self.values[slot][parent]
            if self.values[slot][instance] is not None or value is None:
                continue
            rank = self.ranks[slot][parent]
            self.values[slot][instance], self.ranks[slot][instance] = value, rank
            at = self._at(parent, slot)
            if at != self._times.at(keys[instance], rank):
                self._own_times[instance, slot] = at
                self.latest.setdefault(instance, UNKNOWN_TIME)
            more = [
                (of, trust, told, self._times.at(keys[parent], trust) if own is None else own)
                for of, trust, told, own in self._more.get(parent, ())
                if of == slot
            ]
            if more:
                self._more.setdefault(instance, []).extend(more)
        if parent in self.throttle:
            self.throttle[instance] = self.throttle.get(instance, 0) | self.throttle[parent]

    def plain(
        self, number: int, columns: Sequence[Sequence[Reading]], *, is_mig: bool, before: Gpu | None
    ) -> Readings:
        """The numbers of a card of which everything was told once and can be: nearly all."""
        duty, engine, used, *others, code = (column[number] for column in columns)
        if duty is _NOT_THERE or is_mig:
            duty = engine
        if not isinstance(duty, Absent) and duty > 1.0:
            duty = 1.0  # a little over one is rounding
        xid = None if isinstance(code, Absent) else int(code)
        temperature, watts, clock = others
        if before is None:
            return Readings(duty, used, self._total(number, used), temperature, watts, clock, xid, ())
        if xid is None and tells_xid(before):
            xid = 0
        doubts = before.doubts and doubts_of_total(before)
        return Readings(duty, used, before.memory_total_bytes, temperature, watts, clock, xid, doubts)

    def odd(self) -> set[int]:
        """Cards of which something was told twice or cannot be: `card_accumulator.readings` judges these."""
        odd = set(self._more)
        for slot, bounds in BOUNDS.items():
            least, most = bounds.least, bounds.most
            odd.update(
                number
                for number, one in enumerate(self.values[slot])
                if one is not None and not least <= one <= most
            )
        used, free, totals = self.values[_USED], self.values[_FREE], self.values[_TOTAL]
        for number, one in enumerate(used):
            total = totals[number]
            if one is not None and (
                is_too_much_used(one, total) if total else one + (free[number] or 0.0) > MOST_BYTES / 2
            ):
                odd.add(number)
        return odd

    def is_overfull(self, number: int, was: Gpu) -> bool:
        """True where more memory is used than the card had when memory in all was asked for."""
        used, total = self.values[_USED][number], was.memory_total_bytes
        return used is not None and not isinstance(total, Absent) and is_too_much_used(used, total)

    def judged(self, number: int, at: float, *, is_mig: bool, before: Gpu | None) -> Readings:
        key = self._keys[number]
        values: list[Value | None] = []
        for slot, (of, ranks) in enumerate(zip(self.values, self.ranks, strict=True)):
            one = of[number]
            values.append(None if one is None else (self._at(number, slot), ranks[number], one))
        more = [
            (slot, (self._times.at(key, trust) if own is None else own, trust, value))
            for slot, trust, value, own in self._more.get(number, ())
        ]
        return readings(values, more, at, is_mig=is_mig, before=before)

    def _at(self, number: int, slot: int) -> float:
        """When the value of a card's column was sampled."""
        own = self._own_times.get((number, slot))
        return self._times.at(self._keys[number], self.ranks[slot][number]) if own is None else own

    def columns(self) -> Iterator[list[Reading]]:
        """Duty, engine, memory used, temperature, power, clock and XID by number."""
        for slot in _COLUMNS:
            yield [_NOT_THERE if value is None else value for value in self.values[slot]]

    def _total(self, number: int, used: Reading) -> Reading:
        """As `card_accumulator` has it: stated, else used, free and reserved together."""
        told, free = self.values[_TOTAL][number], self.values[_FREE][number]
        if told:
            return told
        if isinstance(used, Absent) or free is None:
            return _NOT_THERE
        return used + free + (self.values[_RESERVED][number] or 0.0)
