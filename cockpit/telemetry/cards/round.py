"""The cards of one round, from the series of any exporter. Pure.

A card is its UUID; a MIG instance `UUID/instance`; where one UUID shows up on several nodes (cloned images,
simulators) the node is added: `UUID@node`.

Of 100,000 series of a large fleet nearly all were there a round ago, letter for letter. So a series' labels
are taken apart once; after that its bytes lead straight to its card, and its value into the column of its
quantity. What is told once and can be, as of nearly all cards, is taken from there as it is
(`Columns.plain`); the others are judged reading by reading (`Columns.judged`). A test holds the outcome
against a plain reading of the same samples (tests/unit/telemetry/oracle.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent, is_number
from cockpit.telemetry.cards.card_accumulator import UNKNOWN_TIME
from cockpit.telemetry.cards.columns import Columns
from cockpit.telemetry.cards.family_times import FamilyTimes
from cockpit.telemetry.cards.register import (
    CardFacts,
    Doubled,
    MetricSeries,
    Register,
    TooFewLabels,
    Unlabelled,
    signature_of,
    together,
)
from cockpit.telemetry.cards.stamps import Stamps
from cockpit.telemetry.cards.units import bits, parts_of, percents_of, scaled
from cockpit.telemetry.labels import NodeNames, is_placed
from cockpit.telemetry.names import (
    ABSENT_AS_0,
    FALLBACKS,
    MEANINGS,
    ONLY,
    RATIO_NAMES,
    SLOTS,
    TILED,
    GpuMetric,
    Meaning,
    is_foreign,
    is_meant,
)
from cockpit.telemetry.rows import Row, labels_of
from cockpit.telemetry.sample import Sample, is_reading

_PLACE, _INDEX, _RANK = attrgetter("node", "index", "uuid"), attrgetter("index"), itemgetter(0)
_NAME = b'"__name__":"'
_NO_MARK = b"\0"
_THROTTLE, _HOLDER = SLOTS[GpuMetric.THROTTLE], SLOTS[GpuMetric.HOLDER]
_SPECIAL = frozenset(
    {
        *RATIO_NAMES,
        *ONLY,
        *ABSENT_AS_0,
        *TILED,
        *FALLBACKS,
        *(name for name, one in MEANINGS.items() if one.slot == _THROTTLE),
    }
)
"""Names that are more than a number times a factor."""


def gpus(
    samples: Iterable[Sample], places: NodeNames | None = None, stamps: Stamps | None = None
) -> list[Gpu]:
    """One record a card or MIG instance, by node and index, of samples with all their labels. `stamps` tell
    when each series was sampled: the samples' own times are those of the query then; without it they count.

    Marks are those that labels alone allow: GUESSED for a named pod (`attribute` makes it SURE), SHARED for
    several, UNALLOCATED where the exporter names no pod, NOT_COLLECTED where it maps no pods.
    """
    found = Round(Register(places or NodeNames()))
    found.take_samples(samples, stamps)
    return found.cards()


class _Lane:
    """One name of a quantity: where its values go, and what makes base units of them."""

    __slots__ = ("bit", "factor", "is_special", "meaning", "name", "parts", "ranks", "trust", "values")

    def __init__(self, name: str, meaning: Meaning, values: list[float | None], ranks: list[int]) -> None:
        self.name, self.meaning = name, meaning
        self.values, self.ranks = values, ranks
        self.trust, self.factor = meaning.trust, meaning.factor
        self.bit = 1 << meaning.trust
        self.parts = parts_of(meaning.factor)
        self.is_special = name in _SPECIAL


class UnknownCard(TooFewLabels):
    """A card that a whole reading did not tell of as it is now: its time is over."""


class Round:
    """The series of one round, sorted to cards: by `take_labelled` and `take` for a large fleet, by
    `take_samples` for all else."""

    def __init__(self, register: Register, times: Sequence[Row] = ()) -> None:
        """`times` are sample times by card or by node, as `promql.sample_times` asks for them."""
        self._register = register
        self._times = FamilyTimes(register, times)
        self._readings = Columns(register.keys, self._times)
        self._present: list[int] = []  # of each card the families that told of it, a bit each
        self._series: list[MetricSeries | list[MetricSeries] | None] = []
        self._series_times: dict[MetricSeries, float] = {}
        self._ratios: list[tuple[int, str, Meaning, float, float | None]] = []
        self._tiles: dict[int, dict[tuple[str, str], tuple[float, float]]] = {}
        self._fallbacks: list[tuple[int, int, Meaning, float, float | None]] = []
        self.rows = 0
        self._grow()

    def _grow(self) -> None:
        more = len(self._register.keys) - len(self._present)
        self._present.extend([0] * more)
        self._series.extend([None] * more)
        self._readings.grow(more)

    def take_labelled(self, rows: Sequence[Row]) -> None:
        """Rows with all their labels: the pod of a card, and a quantity. Raises Doubled."""
        known, met = self._register.series, self._series
        present, columns, ranks = self._present, self._readings.values, self._readings.ranks
        self.rows += len(rows)
        for row in rows:
            raw = bytes(row.metric)
            series = known.get(raw)
            if series is None:
                if raw in known:
                    continue
                series = known[raw] = self._met(raw)
                if series is None:
                    continue
            number, meaning = series.number, series.meaning
            present[number] |= series.bit
            if met[number] is None:
                met[number] = series
            else:
                self._add(number, series)
            value, slot = float(row.value[1]), meaning.slot
            if slot == _HOLDER or not is_reading(value):
                continue
            if series.is_special:
                self._take_special(number, series.labels["__name__"], series.labels, meaning, value)
                continue
            value = value / series.parts if series.parts else value * meaning.factor
            was = columns[slot][number]
            if was is None:
                columns[slot][number], ranks[slot][number] = value, meaning.trust
                continue
            if was != value and ranks[slot][number] == meaning.trust:
                raise Doubled  # of a card that several pods share all series have its one value
            self._readings.keep(number, meaning, value)

    def _met(self, raw: bytes) -> MetricSeries | None:
        """A series that is new; None where it is nothing to us, or cannot be read."""
        labels = _labels(raw)
        meaning = MEANINGS.get(labels.get("__name__", ""))
        if meaning is None or is_foreign(labels["__name__"], meaning, labels):
            return None
        number = self._number(labels)
        if number < 0:
            return None
        return MetricSeries(number, labels, meaning, is_special=labels["__name__"] in _SPECIAL)

    def _add(self, number: int, series: MetricSeries) -> None:
        had = self._series[number]
        if had is None:
            self._series[number] = series
        elif isinstance(had, list):
            had.append(series)
        else:
            self._series[number] = [had, series]

    def take(self, rows: Sequence[Row]) -> None:
        """Rows with no more labels than tell cards apart."""
        self.rows += len(rows)
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
                number = numbers[head + tail] = self._number(_labels(row.metric))
            if number < 0 or (lane.is_special and is_foreign(lane.name, lane.meaning, _labels(row.metric))):
                continue
            present[number] |= lane.bit
            value = float(row.value[1])
            if not is_reading(value):
                continue
            if lane.is_special:
                self._take_special(number, lane.name, _labels(row.metric), lane.meaning, value)
                continue
            value = value / lane.parts if lane.parts else value * lane.factor
            if lane.values[number] is None:
                lane.values[number], lane.ranks[number] = value, lane.trust
            else:
                self._readings.keep(number, lane.meaning, value)

    def _lane(self, row: Row) -> "tuple[bytes, _Lane | None]":
        name = _labels(row.metric).get("__name__", "")
        meaning = MEANINGS.get(name)
        mark = _NAME + name.encode() + b'"' if name else _NO_MARK
        if meaning is None:
            return mark, None
        return mark, _Lane(
            name, meaning, self._readings.values[meaning.slot], self._readings.ranks[meaning.slot]
        )

    def _number(self, labels: Mapping[str, str]) -> int:
        number = self._register.number_of(labels)
        if len(self._register.keys) > len(self._present):
            self._grow()
        return number

    def take_samples(self, samples: Iterable[Sample], stamps: Stamps | None = None) -> None:
        """Samples with all their labels. `stamps` tell when each was taken; without it they do so
        themselves."""
        met: dict[tuple[object, ...], MetricSeries] = {}  # a card has ten series with the same labels
        keys, present = self._register.keys, self._present
        for sample in samples:
            self.rows += 1
            meaning = MEANINGS.get(sample.name)
            if meaning is None or is_foreign(sample.name, meaning, sample.labels):
                continue
            labels, trust = sample.labels, meaning.trust
            signature = signature_of(trust, labels)
            series = met.get(signature) if signature[1] else None
            if series is None:
                number = self._number(labels)
                if number < 0:
                    continue
                series = met[signature] = MetricSeries(number, labels, meaning)
                self._add(number, series)
            number = series.number
            told = sample.sampled_seconds if stamps is None else stamps.of(keys[number], labels, trust)
            at = UNKNOWN_TIME if told is None else told
            self._series_times[series] = max(at, self._series_times.get(series, UNKNOWN_TIME))
            own: float | None = None
            if at != self._times.tell(keys[number], trust, at):
                own = at
                self._readings.latest[number] = max(at, self._readings.latest.get(number, UNKNOWN_TIME))
            present[number] |= 1 << trust
            if meaning.slot == _HOLDER or not is_reading(sample.value):
                continue
            if sample.name in _SPECIAL:
                self._take_special(number, sample.name, labels, meaning, sample.value, own_time=own)
            else:
                self._readings.keep(number, meaning, scaled(sample.value, meaning.factor), own)

    def _take_special(
        self,
        number: int,
        name: str,
        labels: Mapping[str, str],
        meaning: Meaning,
        value: float,
        *,
        own_time: float | None = None,
    ) -> None:
        """A value whose meaning hangs on a label or on its neighbours: few but in fleets of AMD's and
        Intel's."""
        if meaning.slot == _THROTTLE:  # in a large fleet only what throttles clocks comes
            self._readings.throttle[number] = self._readings.throttle.get(number, 0) | bits(value, labels)
        elif name in RATIO_NAMES:
            self._ratios.append((number, name, meaning, value, own_time))
        elif name in ABSENT_AS_0 and not value:
            return
        elif is_meant(name, labels):
            value, tile = (
                scaled(value, meaning.factor),
                labels.get(TILED[name][0], "") if name in TILED else "",
            )
            if name in FALLBACKS:
                self._fallbacks.append((FALLBACKS[name], number, meaning, value, own_time))
                return
            if not tile:
                self._readings.keep(number, meaning, value, own_time)
                return
            key = self._register.keys[number]
            at = self._times.at(key, meaning.trust) if own_time is None else own_time
            tiles = self._tiles.setdefault(number, {})
            had = tiles.get((name, tile))
            if had is None or (at, value) > (had[1], had[0]):
                tiles[name, tile] = (value, at)

    # ---- what comes of it

    def cards(self, before: Mapping[str, Gpu] | None = None) -> list[Gpu]:
        """The records, by node and index.

        `before` are the cards of a whole reading, where memory in all and XIDs that are 0 were not asked
        for. Raises Unknown where a card is not among them or has lost its duty, Doubled and Unlabelled where
        not all series came with all their labels.
        """
        self._settle()
        shown = list(self._shown())
        keys = self._register.keys
        maps_pods = {keys[number][0] for number, facts, _, _ in shown if facts.labels.told}
        names = self._names(number for number, _, _, _ in shown)
        odd, columns = self._readings.odd(), tuple(self._readings.columns())
        found: list[Gpu] = []
        for number, facts, at, is_uneven in shown:
            node, _, instance = keys[number]
            fixed = facts.fields(node in maps_pods)
            name = names[number]
            was = None if before is None else before.get(name)
            if before is not None and was is None:
                raise UnknownCard
            is_mig = bool(instance or fixed.profile)
            if is_uneven or number in odd or (was is not None and self._readings.is_overfull(number, was)):
                numbers = self._readings.judged(number, at, is_mig=is_mig, before=was)
            else:
                numbers = self._readings.plain(number, columns, is_mig=is_mig, before=was)
            if was is not None and isinstance(numbers.duty, Absent) and is_number(was.duty_ratio):
                raise UnknownCard
            found.append(
                Gpu(
                    uuid=name,
                    node=node,
                    index=fixed.number,
                    model=fixed.model,
                    mig_profile=fixed.profile,
                    duty_ratio=numbers.duty,
                    memory_used_bytes=numbers.used,
                    memory_total_bytes=numbers.total,
                    temperature_celsius=numbers.temperature,
                    power_watts=numbers.power,
                    sm_clock_hertz=numbers.clock,
                    throttle=self._readings.throttle.get(
                        number, 0 if was is not None and was.throttle is not None else None
                    ),
                    xid=numbers.xid,
                    pod_namespace=fixed.namespace,
                    pod_name=fixed.pod,
                    container=fixed.container,
                    mark=fixed.mark,
                    sampled_seconds=None if at < 0.0 else at,
                    also=fixed.also,
                    doubts=numbers.doubts,
                    source=fixed.source,
                )
            )
        return _numbered(found)

    def _shown(self) -> Iterator[tuple[int, CardFacts, float, bool]]:
        """The cards of this round with what their labels tell, the time of the newest sample, and whether
        others are so old, or of so many times, that each has to be judged. Raises Doubled and Unlabelled."""
        keys, times, latest = self._register.keys, self._times, self._readings.latest
        for number, series in enumerate(self._series):
            families = self._present[number]
            if not families:
                continue
            if series is None:
                raise Unlabelled
            is_uneven = False
            if not families & (families - 1):  # nearly all: one exporter
                at = times.at(keys[number], families.bit_length() - 1)
            else:
                at, is_uneven = times.newest(keys[number], families)
            if latest and number in latest:
                at, is_uneven = max(at, latest[number]), True
            if not isinstance(series, list):
                facts = series.facts
            elif is_uneven or self._series_times:
                facts = together(((item, self._time_of(item)) for item in series), at)
            else:
                facts = self._register.merged(series)
            yield number, facts, at, is_uneven

    def _time_of(self, series: MetricSeries) -> float:
        own = self._series_times.get(series)
        return (
            self._times.at(self._register.keys[series.number], series.meaning.trust) if own is None else own
        )

    def _names(self, shown: Iterable[int]) -> Sequence[str]:
        """What cards are called: clones, which share one UUID with a card of another node, by their node,
        too."""
        register = self._register
        if not register.clones:
            return register.names
        nodes: dict[str, set[str]] = {}
        for number in shown:
            node, uuid, _ = register.keys[number]
            nodes.setdefault(uuid, set()).add(node)
        names = list(register.names)
        for number, (node, uuid, instance) in enumerate(register.keys):
            if len(nodes.get(uuid, ())) > 1:
                names[number] = f"{uuid}@{node}/{instance}" if instance else f"{uuid}@{node}"
        return names

    def _settle(self) -> None:
        """Ratios, once it is known which nodes mean percents; cards from their parts; readings of second
        choice; then heat and power of cut cards."""
        keys = self._register.keys
        percents = percents_of((keys[number][0], name, value) for number, name, _, value, _ in self._ratios)
        for number, name, meaning, value, own in self._ratios:
            factor = 0.01 if (keys[number][0], name) in percents else meaning.factor
            self._readings.keep(number, meaning, scaled(value, factor), own)
        for number, tiles in self._tiles.items():
            for name in {name for name, _ in tiles}:
                told, meaning = [one for (of, _), one in tiles.items() if of == name], MEANINGS[name]
                at = max(at for _, at in told)
                usual = self._times.at(keys[number], meaning.trust)
                value = sum(value for value, _ in told) / (len(told) if TILED[name][1] == "mean" else 1)
                self._readings.keep(number, meaning, value, None if at == usual else at)
        for _, number, meaning, value, own in sorted(self._fallbacks, key=_RANK):
            self._readings.fall_back(number, meaning, value, own)
        for parent, instances in self._register.instances.items():
            shown = [instance for instance in instances if self._present[instance]]
            if shown and self._present[parent]:
                self._present[parent] = 0
                for item in shown:
                    self._readings.inherit(item, parent)

    def is_placed(self) -> bool:
        """True where host labels name the node of every card of this round."""
        places = self._register.places
        for series in self._series:
            for item in series if isinstance(series, list) else (series,):
                if item is not None and not is_placed(item.labels, places):
                    return False
        return True


def _labels(raw: bytes | msgspec.Raw) -> dict[str, str]:
    """Labels of a series; none where they cannot be read."""
    try:
        return labels_of(raw)
    except ValueError:
        return {}


def _numbered(cards: list[Gpu]) -> list[Gpu]:
    """By node and index. Cards whose labels tell no index get the next ones of their node, in the order of
    their UUIDs."""
    if min(map(_INDEX, cards), default=0) < 0:
        highest: dict[str, int] = {}
        for card in cards:
            highest[card.node] = max(highest.get(card.node, -1), card.index)
        numbered: list[Gpu] = []
        for item in sorted(cards, key=lambda one: (one.node, one.uuid)):
            if item.index < 0:
                highest[item.node] += 1
                numbered.append(msgspec.structs.replace(item, index=highest[item.node]))
            else:
                numbered.append(item)
        cards = numbered
    return sorted(cards, key=_PLACE)
