"""What the series of one card tell of it together: by their labels, and by readings that may differ. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.model.gpu import Doubt, DoubtKind, Gpu, Mark
from cockpit.model.quantity import Absent, Reading
from cockpit.telemetry.cards.plausible import contradict, is_too_much_used, judged
from cockpit.telemetry.labels import NOBODY, UNTOLD, PodOnCard, holder_of, index_of, model_of, profile_of
from cockpit.telemetry.names import MODEL_LABELS, SLOTS, ExporterFamily, GpuMetric
from cockpit.telemetry.staleness import OLD_SECONDS

SOURCES = tuple(ExporterFamily)
_TRUST = {source: rank for rank, source in enumerate(ExporterFamily)}

_DUTY, _ENGINE, _XID = SLOTS[GpuMetric.DUTY], SLOTS[GpuMetric.ENGINE], SLOTS[GpuMetric.XID]
_TEMPERATURE, _POWER, _SM_CLOCK = (
    SLOTS[GpuMetric.TEMPERATURE],
    SLOTS[GpuMetric.POWER],
    SLOTS[GpuMetric.SM_CLOCK],
)
_MEMORY_USED, _MEMORY_FREE = SLOTS[GpuMetric.MEMORY_USED], SLOTS[GpuMetric.MEMORY_FREE]
_MEMORY_RESERVED, _MEMORY_TOTAL = SLOTS[GpuMetric.MEMORY_RESERVED], SLOTS[GpuMetric.MEMORY_TOTAL]

_FIELDS = {
    _DUTY: "duty_ratio",
    _ENGINE: "duty_ratio",
    _MEMORY_USED: "memory_used_bytes",
    _MEMORY_FREE: "memory_total_bytes",
    _MEMORY_RESERVED: "memory_total_bytes",
    _MEMORY_TOTAL: "memory_total_bytes",
    _TEMPERATURE: "temperature_celsius",
    _POWER: "power_watts",
    _SM_CLOCK: "sm_clock_hertz",
    _XID: "xid",
}
"""The field of `Gpu` that a quantity goes into."""

_PARTS = (_MEMORY_FREE, _MEMORY_RESERVED)

UNKNOWN_TIME = -1.0

COMPARABLE_SECONDS = 60.0
"""Readings further apart in time than this differ because the card did something else meanwhile."""

Value = tuple[float, int, float]
"""Sample time (`UNKNOWN_TIME` where no source has one), rank of trust, and the value itself in base units."""


class CardLabels:
    """What the labels of a card's series tell of it. `told`: some exporter says who uses it, if anybody;
    `holders` are the pods by (namespace, name), each with the time of the label; `sampled` the time of the
    card's newest sample (epoch seconds, `UNKNOWN_TIME` where no source has one)."""

    __slots__ = ("holders", "index", "lower_host", "model", "profile", "sampled", "source", "told")

    def __init__(self) -> None:
        self.holders: dict[tuple[str, str], tuple[PodOnCard, float]] = {}
        self.told = False
        self.index: int | None = None
        self.model = ""
        self.profile = ""
        self.source: ExporterFamily | None = None
        self.lower_host = False
        self.sampled = UNKNOWN_TIME


def note_labels(
    card: CardLabels, labels: Mapping[str, str], source: ExporterFamily, at_seconds: float = UNKNOWN_TIME
) -> None:
    """Facts about a card in the labels of its series, without its identity."""
    if card.source is None or _TRUST[source] <= _TRUST[card.source]:
        card.source = source
        card.lower_host = "hostname" in labels
    if card.index is None:
        card.index = index_of(labels)
    card.model = card.model or model_of(labels, MODEL_LABELS.get(source, ""))
    card.profile = card.profile or profile_of(labels)
    note_holder(card, labels, at_seconds)


def note_holder(card: CardLabels, labels: Mapping[str, str], at_seconds: float) -> None:
    """Who holds the card as a series' labels tell, and as of when."""
    holder = holder_of(labels)
    card.told = card.told or holder.is_told
    if holder.pod:
        who = (holder.namespace, holder.pod)
        had = card.holders.get(who)
        card.holders[who] = (holder, at_seconds if had is None else max(had[1], at_seconds))


# ---- which of several readings counts


class Readings(NamedTuple):
    """The numbers of one card, and what was told of it and not taken."""

    duty: Reading
    used: Reading
    total: Reading
    temperature: Reading
    power: Reading
    clock: Reading
    xid: int | None
    doubts: tuple[Doubt, ...]


def readings(
    values: Sequence[Value | None],
    more: Iterable[tuple[int, Value]],
    newest_seconds: float,
    *,
    is_mig: bool,
    before: Gpu | None = None,
) -> Readings:
    """What to show of all that was told: plausible readings before others, of these the newest, of equally
    new ones the more trusted exporter's, then the larger. What is much older than the card's newest sample is
    stale.

    `before` is the card of a whole reading, where memory in all and XIDs that are 0 were not asked for.
    """
    told: list[list[Value]] = [[] if value is None else [value] for value in values]
    for slot, one in more:
        told[slot].append(one)
    best = [_best(slot, many) for slot, many in enumerate(told)]
    shown = [_shown(slot, one, newest_seconds) for slot, one in enumerate(best)]
    duty = shown[_ENGINE] if is_mig else _first_number(shown[_DUTY], shown[_ENGINE])
    # a constant 0 of the card's own counter means nothing on MIG; the engine's counts where duty does not
    unused = _DUTY if is_mig else _ENGINE
    silent = {unused} if is_mig or judged_number(_DUTY, best[_DUTY]) else set[int]()
    total = _total(shown) if before is None else before.memory_total_bytes
    if told[_MEMORY_TOTAL]:
        silent.update(_PARTS)
    doubts = {
        doubt
        for slot, many in enumerate(told)
        if many and slot in _FIELDS and slot not in silent
        for doubt in _doubts(slot, many, best[slot])
    }
    if before is not None:
        doubts.update(doubts_of_total(before))
    used = shown[_MEMORY_USED]
    if not isinstance(used, Absent) and not isinstance(total, Absent) and is_too_much_used(used, total):
        doubts.add(_implausible(_MEMORY_USED, best[_MEMORY_USED]))
        used = Absent.IMPLAUSIBLE
    xid = shown[_XID]
    code = None if isinstance(xid, Absent) else int(xid)
    if best[_XID] is None and before is not None and tells_xid(before):
        code = 0
    return Readings(
        duty if isinstance(duty, Absent) else min(1.0, duty),  # a little over one is rounding
        used,
        total,
        shown[_TEMPERATURE],
        shown[_POWER],
        shown[_SM_CLOCK],
        code,
        tuple(sorted(doubts)),
    )


def doubts_of_total(card: Gpu) -> tuple[Doubt, ...]:
    """What is doubtful about memory in all, which is not asked for in every round."""
    return tuple(item for item in card.doubts if item.quantity == "memory_total_bytes")


def tells_xid(card: Gpu) -> bool:
    """True where a source collects the card's XIDs, plausible or not: a missing code is then 0."""
    return card.xid is not None or any(item.quantity == "xid" for item in card.doubts)


def _best(slot: int, told: Sequence[Value]) -> Value | None:
    """The reading to show. Of XIDs one that is not 0: an exporter that missed an error undoes nothing."""
    if len(told) < 2:
        return told[0] if told else None
    return max(
        told,
        key=lambda one: (
            slot == _XID and one[2] != 0.0,
            judged_number(slot, one),
            one[0],
            -one[1],
            one[2],
        ),
    )


def judged_number(slot: int, value: Value | None) -> bool:
    """True for a plausible number."""
    return value is not None and not isinstance(judged(slot, value[2]), Absent)


def _shown(slot: int, best: Value | None, newest_seconds: float) -> Reading:
    if best is None:
        return Absent.NOT_COLLECTED
    reading = judged(slot, best[2])
    is_old = best[0] >= 0.0 and newest_seconds - best[0] > OLD_SECONDS
    return Absent.STALE if is_old and slot != _XID and not isinstance(reading, Absent) else reading


def _first_number(one: Reading, other: Reading) -> Reading:
    """The first that is a number, else the reason that tells more than *not collected*."""
    if not isinstance(one, Absent) or other is Absent.NOT_COLLECTED:
        return one
    return one if isinstance(other, Absent) and one is not Absent.NOT_COLLECTED else other


def _total(shown: Sequence[Reading]) -> Reading:
    """The stated capacity, else used + free + reserved (the default set of A and B states no total)."""
    stated = shown[_MEMORY_TOTAL]
    if stated is not Absent.NOT_COLLECTED:
        return stated
    used, free, reserved = shown[_MEMORY_USED], shown[_MEMORY_FREE], shown[_MEMORY_RESERVED]
    for part in (used, free):
        if isinstance(part, Absent):
            return part
    if reserved is Absent.IMPLAUSIBLE:
        return reserved
    assert not isinstance(used, Absent) and not isinstance(free, Absent)
    return judged(_MEMORY_TOTAL, used + free + (0.0 if isinstance(reserved, Absent) else reserved))


def _doubts(slot: int, told: Sequence[Value], best: Value | None) -> Iterable[Doubt]:
    for item in told:
        reading = judged(slot, item[2])
        if reading is Absent.IMPLAUSIBLE:
            yield _implausible(slot, item)
        elif (
            best is not None
            and item is not best
            and slot not in _PARTS
            and not isinstance(reading, Absent)
            and _is_comparable(item[0], best[0])
            and (slot != _XID or item[2] != 0.0)
            and contradict(slot, item[2], best[2])
        ):
            yield Doubt(_FIELDS[slot], DoubtKind.CONTRADICTED, item[2], str(SOURCES[item[1]].value))


def _implausible(slot: int, value: Value | None) -> Doubt:
    assert value is not None
    return Doubt(_FIELDS[slot], DoubtKind.IMPLAUSIBLE, value[2], str(SOURCES[value[1]].value))


def _is_comparable(one_seconds: float, other_seconds: float) -> bool:
    if one_seconds < 0.0 or other_seconds < 0.0:
        return one_seconds < 0.0 and other_seconds < 0.0
    return abs(one_seconds - other_seconds) <= COMPARABLE_SECONDS


# ---- who uses it


def holders_of(card: CardLabels, maps_pods: bool) -> tuple[PodOnCard, tuple[str, ...]]:
    """The pod to name, and further ones (namespace/name). Labels of series that ended long before the card's
    newest sample tell who held it then."""
    fresh = {
        who: holder
        for who, (holder, at) in card.holders.items()
        if at < 0.0 or card.sampled - at <= OLD_SECONDS
    }
    if not fresh:
        return (NOBODY if card.told or maps_pods else UNTOLD), ()
    first, *rest = sorted(fresh)
    return fresh[first], tuple(f"{namespace}/{pod}" for namespace, pod in rest)


def mark_of(holder: PodOnCard, also: Sequence[str]) -> Mark:
    """What labels alone allow to say of the holder."""
    if also:
        return Mark.SHARED
    if holder.pod:
        return Mark.GUESSED
    return Mark.UNALLOCATED if holder.is_told else Mark.NOT_COLLECTED
