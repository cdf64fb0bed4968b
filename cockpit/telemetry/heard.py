"""What was heard of one card, put together from its series, and the record that it makes. Pure."""

from collections.abc import Mapping

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent, Reading
from cockpit.telemetry.labels import NOBODY, UNTOLD, Holder, holder_of, index_of, model_of, profile_of
from cockpit.telemetry.names import SLOTS, Meaning, Quantity, Source, generation

_TRUST = {source: rank for rank, source in enumerate(Source)}

_DUTY, _ENGINE, _XID = SLOTS[Quantity.DUTY], SLOTS[Quantity.ENGINE], SLOTS[Quantity.XID]
_TEMPERATURE, _POWER, _SM_CLOCK = (
    SLOTS[Quantity.TEMPERATURE],
    SLOTS[Quantity.POWER],
    SLOTS[Quantity.SM_CLOCK],
)
_MEMORY_USED, _MEMORY_FREE = SLOTS[Quantity.MEMORY_USED], SLOTS[Quantity.MEMORY_FREE]
_MEMORY_RESERVED, _MEMORY_TOTAL = SLOTS[Quantity.MEMORY_RESERVED], SLOTS[Quantity.MEMORY_TOTAL]

CELSIUS, WATTS, HERTZ = (0.1, 250.0), (0.0, 100_000.0), (0.0, 1e11)
MOST_BYTES, MOST_XID = 2.0**50, 1e6
MOST_DUTY = 1.05
"""What lies outside is no reading of a card."""

Value = tuple[float, float, float]
"""Sample time, minus the rank of trust, and the value itself in base units: the largest is taken."""


class Heard:
    """What was heard of one card so far."""

    __slots__ = (
        "holders",
        "index",
        "labels",
        "lower_host",
        "model",
        "profile",
        "sampled",
        "source",
        "throttle",
        "tiles",
        "told",
        "values",
    )

    def __init__(self) -> None:
        self.values: list[Value | None] = [None] * len(SLOTS)
        self.holders: dict[tuple[str, str], Holder] = {}
        self.told = False
        self.index: int | None = None
        self.model = ""
        self.profile = ""
        self.source: Source | None = None
        self.throttle = 0
        self.tiles: dict[tuple[int, str], float] | None = None
        self.lower_host = False
        self.sampled = -1.0


def note_labels(card: Heard, labels: Mapping[str, str], source: Source) -> None:
    """What a series' labels tell of its card besides which it is."""
    if card.source is None or _TRUST[source] <= _TRUST[card.source]:
        card.source = source
        card.lower_host = "hostname" in labels
    if card.index is None:
        card.index = index_of(labels)
    card.model = card.model or model_of(labels)
    card.profile = card.profile or profile_of(labels)
    holder = holder_of(labels)
    card.told = card.told or holder.is_told
    if holder.pod:
        card.holders[(holder.namespace, holder.pod)] = holder


def put(card: Heard, meaning: Meaning, value: float, at_seconds: float | None) -> None:
    """Keep the newest value; of equally new ones the more trusted exporter's, then the larger."""
    new = (at_seconds or 0.0, -meaning.trust, value)
    old = card.values[meaning.slot]
    if old is None or new > old:
        card.values[meaning.slot] = new


def record(uuid: str, node: str, card: Heard, at: float | None, maps_pods: bool) -> Gpu:
    """The card's record, sampled at `at`; `maps_pods`: its node's exporter tells who holds cards."""
    holder = one_holder(card, maps_pods)
    used = _bytes(card, _MEMORY_USED)
    xid = card.values[_XID]
    return Gpu(
        uuid=uuid,
        node=node,
        index=-1 if card.index is None else card.index,
        model=card.model,
        mig_profile=card.profile,
        duty_ratio=_duty(card, is_mig=bool(card.profile) or "/" in uuid),
        memory_used_bytes=used,
        memory_total_bytes=_total(card, used),
        temperature_celsius=_between(card, _TEMPERATURE, *CELSIUS),
        power_watts=_between(card, _POWER, *WATTS),
        sm_clock_hertz=_between(card, _SM_CLOCK, *HERTZ),
        throttle=card.throttle,
        xid=int(xid[2]) if xid is not None and 0 <= xid[2] < MOST_XID else None,
        pod_namespace=holder.namespace,
        pod_name=holder.pod,
        container=holder.container,
        mark=mark_of(card, holder),
        sampled_seconds=at,
        source=generation(card.source, card.lower_host) if card.source is not None else "",
    )


def one_holder(card: Heard, maps_pods: bool) -> Holder:
    if card.holders:
        return card.holders[min(card.holders)]
    return NOBODY if card.told or maps_pods else UNTOLD


def mark_of(card: Heard, holder: Holder) -> Mark:
    if len(card.holders) > 1:
        return Mark.SHARED
    if holder.pod:
        return Mark.GUESSED
    return Mark.UNALLOCATED if holder.is_told else Mark.NOT_COLLECTED


def _duty(card: Heard, *, is_mig: bool) -> Reading:
    """Duty 0..1. On MIG only the engine counter means anything: GPU_UTIL is absent or a constant 0 there."""
    for slot in (_ENGINE,) if is_mig else (_DUTY, _ENGINE):
        found = card.values[slot]
        # a little over one is rounding; far over one is no share at all
        if found is not None and 0.0 <= found[2] <= MOST_DUTY:
            return min(1.0, found[2])
    return Absent.NOT_COLLECTED


def _between(card: Heard, slot: int, least: float, most: float) -> Reading:
    found = card.values[slot]
    return found[2] if found is not None and least <= found[2] <= most else Absent.NOT_COLLECTED


def _bytes(card: Heard, slot: int) -> Reading:
    return _between(card, slot, 0.0, MOST_BYTES)


def _total(card: Heard, used: Reading) -> Reading:
    """The stated capacity, else used + free + reserved (the default set of A and B states no total)."""
    told = _bytes(card, _MEMORY_TOTAL)
    if not isinstance(told, Absent) and told > 0:
        return told
    free = _bytes(card, _MEMORY_FREE)
    if isinstance(used, Absent) or isinstance(free, Absent):
        return Absent.NOT_COLLECTED
    reserved = _bytes(card, _MEMORY_RESERVED)
    return used + free + (0.0 if isinstance(reserved, Absent) else reserved)
