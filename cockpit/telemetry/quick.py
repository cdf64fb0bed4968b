"""Joining the series of a large fleet to its cards by their own bytes. Pure.

Of 100,000 series nearly all were there a round ago, letter for letter. So a series' labels are taken apart
once; after that its bytes lead straight to its card. Answers are read into rows whose labels stay bytes.
What comes out is what `normalise.gpus` makes of the same rows (a property test holds them side by side);
where a fleet has something that only that one knows, `Unusual` says so.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent, Reading
from cockpit.telemetry.heard import (
    CELSIUS,
    HERTZ,
    MOST_BYTES,
    MOST_DUTY,
    MOST_XID,
    WATTS,
)
from cockpit.telemetry.labels import instance_of, is_placed, node_of, uuid_of
from cockpit.telemetry.names import (
    MEANINGS,
    ONLY,
    RATIO_NAMES,
    SLOTS,
    TILED,
    Meaning,
    Quantity,
)
from cockpit.telemetry.normalise import Key, bits, scaled
from cockpit.telemetry.register import Note, Register, Told, Unlabelled, Unusual
from cockpit.telemetry.rows import Row
from cockpit.telemetry.sample import Sample, is_reading

_NAME = b'"__name__":"'
_NO_MARK = b"\0"
_LABELS = msgspec.json.Decoder(dict[str, str])
_SENSORS = frozenset({*ONLY, *TILED})
_XID, _THROTTLE, _HOLDER = SLOTS[Quantity.XID], SLOTS[Quantity.THROTTLE], SLOTS[Quantity.HOLDER]
_DUTY, _ENGINE = SLOTS[Quantity.DUTY], SLOTS[Quantity.ENGINE]
_USED, _FREE = SLOTS[Quantity.MEMORY_USED], SLOTS[Quantity.MEMORY_FREE]
_RESERVED, _TOTAL = SLOTS[Quantity.MEMORY_RESERVED], SLOTS[Quantity.MEMORY_TOTAL]
_TEMPERATURE, _POWER = SLOTS[Quantity.TEMPERATURE], SLOTS[Quantity.POWER]
_SM_CLOCK = SLOTS[Quantity.SM_CLOCK]
_INHERITED = (_TEMPERATURE, _POWER, _SM_CLOCK, _XID)
_NOT_THERE = Absent.NOT_COLLECTED
_BOUNDS = (
    (_DUTY, 0.0, MOST_DUTY),
    (_ENGINE, 0.0, MOST_DUTY),
    (_USED, 0.0, MOST_BYTES),
    (_TEMPERATURE, *CELSIUS),
    (_POWER, *WATTS),
    (_SM_CLOCK, *HERTZ),
    (_XID, 0.0, MOST_XID),
)


class _Lane:
    """One name of a quantity: where its values go, and what makes base units of them."""

    __slots__ = ("factor", "is_special", "meaning", "name", "parts", "ranks", "trust", "values")

    def __init__(self, name: str, meaning: Meaning, values: list[float | None], ranks: list[int]) -> None:
        self.name, self.meaning = name, meaning
        self.values, self.ranks = values, ranks
        self.trust, self.factor = meaning.trust, meaning.factor
        self.parts = round(1.0 / meaning.factor) if meaning.factor < 1.0 else 0  # as `normalise.scaled`
        self.is_special = meaning.slot == _THROTTLE or name in RATIO_NAMES


class Unknown(Exception):
    """A card that a whole reading did not tell of as it is now: its time is over."""


class Round:
    """The rows of one round, sorted to cards. Raises Unusual where `normalise.gpus` has to be asked."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._values: list[list[float | None]] = [[] for _ in SLOTS]
        self._ranks: list[list[int]] = [[] for _ in SLOTS]
        self._present = bytearray()
        self._notes: list[Note | list[Note] | None] = []
        self._throttle: dict[int, int] = {}
        self._percents: set[tuple[str, str]] = set()
        self._ratios: list[tuple[int, _Lane, float]] = []
        self._newest: float | None = None
        self.rows = 0
        self._grow()

    def _grow(self) -> None:
        more = len(self._register.keys) - len(self._present)
        self._present.extend(bytes(more))
        self._notes.extend([None] * more)
        for values, ranks in zip(self._values, self._ranks, strict=True):
            values.extend([None] * more)
            ranks.extend([0] * more)

    def take_labelled(self, rows: Sequence[Row]) -> None:
        """Rows with all their labels: they tell whose card it is, and a quantity besides."""
        known, notes = self._register.notes, self._notes
        self._count(rows)
        for row in rows:
            series = bytes(row.metric)
            note = known.get(series)
            if note is None:
                if series in known:
                    continue
                note = known[series] = self._noted(series)
                if note is None:
                    continue
            number = note.number
            self._present[number] = 1
            had = notes[number]
            if had is None:
                notes[number] = note
            elif isinstance(had, list):
                had.append(note)
            else:
                notes[number] = [had, note]
            value = float(row.value[1])
            if note.meaning.slot != _HOLDER and is_reading(value):
                self._keep(number, note.meaning, scaled(value, note.meaning.factor))

    def _noted(self, series: bytes) -> Note | None:
        labels = _LABELS.decode(series)
        name = labels.get("__name__", "")
        meaning = MEANINGS.get(name)
        if meaning is None:
            return None
        if name in _SENSORS or name in RATIO_NAMES:
            raise Unusual
        number = self._number(labels)
        return Note(number, labels, meaning) if number >= 0 else None

    def _keep(self, number: int, meaning: Meaning, value: float) -> None:
        """Keep the most trusted exporter's value (base units), of equally trusted ones the larger."""
        values, ranks = self._values[meaning.slot], self._ranks[meaning.slot]
        had = values[number]
        if had is None or (-meaning.trust, value) > (-ranks[number], had):
            values[number], ranks[number] = value, meaning.trust

    def take(self, rows: Sequence[Row]) -> None:
        """Rows with no more labels than tell cards apart."""
        self._count(rows)
        numbers, present = self._register.numbers, self._present
        mark = _NO_MARK
        lane: _Lane | None = None
        for row in rows:
            head, is_same, tail = bytes(row.metric).partition(mark)
            if not is_same:  # another name than the row before
                mark, lane = self._lane(row)
                head, _, tail = bytes(row.metric).partition(mark)
            if lane is None:
                continue
            number = numbers.get(head + tail)
            if number is None:
                number = numbers[head + tail] = self._number(_labels(row))
            if number < 0:
                continue
            present[number] = 1
            value = float(row.value[1])
            if not is_reading(value):
                continue
            if lane.is_special:
                self._take_special(number, lane, row, value)
                continue
            value = value / lane.parts if lane.parts else value * lane.factor
            had = lane.values[number]
            if had is None or (-lane.trust, value) > (-lane.ranks[number], had):
                lane.values[number], lane.ranks[number] = value, lane.trust

    def _lane(self, row: Row) -> "tuple[bytes, _Lane | None]":
        name = _labels(row).get("__name__", "")
        if name in _SENSORS:
            raise Unusual
        meaning = MEANINGS.get(name)
        mark = _NAME + name.encode() + b'"'
        if meaning is None:
            return mark, None
        return mark, _Lane(name, meaning, self._values[meaning.slot], self._ranks[meaning.slot])

    def _number(self, labels: Mapping[str, str]) -> int:
        number = self._register.number_of(labels)
        if number >= len(self._present):
            self._grow()
        return number

    def _take_special(self, number: int, lane: "_Lane", row: Row, value: float) -> None:
        if lane.meaning.slot == _THROTTLE:  # few: only what holds clocks down comes
            told = bits(Sample(lane.name, _labels(row), value, None))
            self._throttle[number] = self._throttle.get(number, 0) | told
            return
        self._ratios.append((number, lane, value))
        if value > MOST_DUTY:
            self._percents.add((self._register.keys[number][0], lane.name))

    def _count(self, rows: Sequence[Row]) -> None:
        self.rows += len(rows)
        if rows:
            at = rows[0].value[0]
            self._newest = at if self._newest is None else max(self._newest, at)

    # ---- what comes of it

    def cards(self, times: Sequence[Row], before: Mapping[str, Gpu] | None = None) -> list[Gpu]:
        """The records, by node and index; `times` as `promql.sample_times` asks for them.

        `before` are the cards of a whole reading, where memory in all and XIDs that are 0 were not asked
        for. Raises Unknown where a card is not among them or has lost its duty.
        """
        self._settle()
        tolds = self._tolds()
        keys, names = self._register.keys, self._register.names
        maps_pods = {keys[number][0] for number, told in tolds if told.heard.told}
        sampled = self._sampled(times)
        columns = self._columns()
        duties, engines, used, temperatures, watts, clocks, xids = columns
        found: list[Gpu] = []
        for number, told in tolds:
            node, _, instance = key = keys[number]
            fixed = told.fixed(node in maps_pods)
            duty = duties[number]
            if duty is _NOT_THERE or instance or fixed.profile:
                duty = engines[number]
            if not isinstance(duty, Absent) and duty > 1.0:
                duty = 1.0  # a little over one is rounding
            name = names[number]
            xid = _code(xids[number])
            if before is None:
                total = self._total(number, used[number])
            else:
                was = before.get(name)
                if was is None or (duty is _NOT_THERE and not isinstance(was.duty_ratio, Absent)):
                    raise Unknown
                total = was.memory_total_bytes
                xid = 0 if xid is None and was.xid is not None else xid
            found.append(
                Gpu(
                    uuid=name,
                    node=node,
                    index=fixed.number,
                    model=fixed.model,
                    mig_profile=fixed.profile,
                    duty_ratio=duty,
                    memory_used_bytes=used[number],
                    memory_total_bytes=total,
                    temperature_celsius=temperatures[number],
                    power_watts=watts[number],
                    sm_clock_hertz=clocks[number],
                    throttle=self._throttle.get(number, 0),
                    xid=xid,
                    pod_namespace=fixed.namespace,
                    pod_name=fixed.pod,
                    container=fixed.container,
                    mark=fixed.mark,
                    sampled_seconds=sampled.get(key) or self._stamp(key, sampled),
                    source=fixed.source,
                )
            )
        found.sort(key=_place)
        return found

    def _settle(self) -> None:
        """Ratios, once it is known which nodes mean percents; then heat and power of cut cards."""
        for number, lane, value in self._ratios:
            node = self._register.keys[number][0]
            factor = 0.01 if (node, lane.name) in self._percents else lane.factor
            self._keep(number, lane.meaning, scaled(value, factor))
        for parent, instances in self._register.instances.items():
            shown = [one for one in instances if self._present[one]]
            if not shown or not self._present[parent]:
                continue
            self._present[parent] = 0
            for one in shown:
                for slot in _INHERITED:
                    if self._values[slot][one] is None:
                        self._values[slot][one] = self._values[slot][parent]
                held = self._throttle.get(one, 0) | self._throttle.get(parent, 0)
                if held:
                    self._throttle[one] = held

    def _tolds(self) -> list[tuple[int, Told]]:
        """The cards of this round with what their labels tell."""
        found: list[tuple[int, Told]] = []
        for number, note in enumerate(self._notes):
            if not self._present[number]:
                continue
            if note is None:
                raise Unlabelled
            found.append((number, self._register.merged(note) if isinstance(note, list) else note.told))
        return found

    def is_placed(self) -> bool:
        """True where host labels name the node of every card of this round."""
        places = self._register.places
        for note in self._notes:
            for one in note if isinstance(note, list) else (note,):
                if one is not None and not is_placed(one.labels, places):
                    return False
        return True

    def _columns(self) -> Iterator[list[Reading]]:
        """Duty, engine, memory used, temperature, power, clock and XID by number, in their bounds."""
        for slot, least, most in _BOUNDS:
            yield [
                one if one is not None and least <= one <= most else _NOT_THERE for one in self._values[slot]
            ]

    def _stamp(self, key: Key, sampled: Mapping[Key, float]) -> float | None:
        """Of the whole card, or of all cards of its node; else the moment that was asked for."""
        node, uuid, _ = key
        return sampled.get((node, uuid, "")) or sampled.get((node, "", "")) or self._newest

    def _total(self, number: int, used: Reading) -> Reading:
        """As `heard` has it: stated, else used, free and reserved together."""
        told, free = self._values[_TOTAL][number], self._values[_FREE][number]
        if told is not None and 0.0 < told <= MOST_BYTES:
            return told
        if isinstance(used, Absent) or free is None or not 0.0 <= free <= MOST_BYTES:
            return _NOT_THERE
        reserved = self._values[_RESERVED][number]
        return used + free + (reserved if reserved is not None and 0.0 <= reserved <= MOST_BYTES else 0.0)

    def _sampled(self, rows: Sequence[Row]) -> dict[Key, float]:
        """Sample times by card or by node, as `normalise.ages` finds them."""
        known, places = self._register.stamps, self._register.places
        found: dict[Key, float] = {}
        for row in rows:
            series, value = bytes(row.metric), float(row.value[1])
            key = known.get(series)
            if key is None:
                labels = _labels(row)
                key = known[series] = (node_of(labels, places), uuid_of(labels), instance_of(labels))
            if is_reading(value) and value > found.get(key, 0.0):
                found[key] = value
        return found


def _code(xid: Reading) -> int | None:
    return None if isinstance(xid, Absent) or xid >= MOST_XID else int(xid)


def _labels(row: Row) -> dict[str, str]:
    return _LABELS.decode(row.metric)


def _place(card: Gpu) -> tuple[str, int, str]:
    return (card.node, card.index, card.uuid)
