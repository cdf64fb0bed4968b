"""Samples of any exporter become `Gpu` records in one vocabulary. Pure.

A card is its UUID; a MIG instance `UUID/instance`; where one UUID shows up on several nodes (cloned images,
simulators) the node is added: `UUID@node`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent, Reading
from cockpit.model.throttle import BIT_OF
from cockpit.telemetry.labels import (
    NOBODY,
    UNTOLD,
    Holder,
    Places,
    holder_of,
    index_of,
    instance_of,
    model_of,
    node_of,
    profile_of,
    uuid_of,
)
from cockpit.telemetry.names import (
    MEANINGS,
    ONLY,
    RATIO_NAMES,
    SLOTS,
    TILED,
    Meaning,
    Quantity,
    Source,
    generation,
)
from cockpit.telemetry.sample import Sample, is_reading

_TRUST = {source: rank for rank, source in enumerate(Source)}

_DUTY, _ENGINE, _XID = SLOTS[Quantity.DUTY], SLOTS[Quantity.ENGINE], SLOTS[Quantity.XID]
_THROTTLE = SLOTS[Quantity.THROTTLE]
_MOST_BITS = float(1 << 16)
_SPECIAL = frozenset(
    {*RATIO_NAMES, *ONLY, *TILED, *(name for name, one in MEANINGS.items() if one.slot == _THROTTLE)}
)
"""Names that are more than a number times a factor; looked up once for each of 200,000 samples."""
_TEMPERATURE, _POWER, _SM_CLOCK = (
    SLOTS[Quantity.TEMPERATURE],
    SLOTS[Quantity.POWER],
    SLOTS[Quantity.SM_CLOCK],
)
_MEMORY_USED, _MEMORY_FREE = SLOTS[Quantity.MEMORY_USED], SLOTS[Quantity.MEMORY_FREE]
_MEMORY_RESERVED, _MEMORY_TOTAL = SLOTS[Quantity.MEMORY_RESERVED], SLOTS[Quantity.MEMORY_TOTAL]

Key = tuple[str, str, str]
"""Node, card UUID, MIG instance ("" for the whole card)."""


_Value = tuple[float, float, float]
"""Sample time, minus the rank of trust, and the value itself in base units: the largest is taken."""


class _Card:
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
        self.values: list[_Value | None] = [None] * len(SLOTS)
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


def ages(samples: Iterable[Sample], places: Places | None = None) -> dict[Key, float]:
    """Sample times by card: the answer of a `timestamp(...)` query, whose values are epoch seconds.

    A row without a card speaks of all cards of its node (`("node", "", "")`).
    """
    places = places or Places()
    found: dict[Key, float] = {}
    for one in samples:
        uuid = uuid_of(one.labels)
        if is_reading(one.value):
            key = (node_of(one.labels, places), uuid, instance_of(one.labels))
            found[key] = max(found.get(key, 0.0), one.value)
    return found


def gpus(
    samples: Iterable[Sample],
    places: Places | None = None,
    sampled_seconds: Mapping[Key, float] | None = None,
    trimmed: Iterable[Sample] = (),
) -> list[Gpu]:
    """One record a card or MIG instance, by node and index. `sampled_seconds` overrides the answer's time;
    `trimmed` are samples of the same cards with no more labels than tell cards apart.

    Marks are those that labels alone allow: GUESSED for a named pod (`attribute` makes it SURE), SHARED for
    several, UNALLOCATED where the exporter says nobody, NOT_COLLECTED where it maps no pods.
    """
    places = places or Places()
    found = _gather(samples, trimmed, places)
    _drop_parents(found)
    maps_pods = {node for (node, _, _), card in found.items() if card.told}
    nodes_of_uuid: dict[str, set[str]] = {}
    for node, uuid, _ in found:
        nodes_of_uuid.setdefault(uuid, set()).add(node)
    times = sampled_seconds or {}
    records = []
    for key, card in sorted(found.items(), key=lambda one: one[0]):
        node, uuid, instance = key
        name = uuid if len(nodes_of_uuid[uuid]) == 1 else f"{uuid}@{node}"
        at = times.get(key) or times.get((node, "", "")) or (card.sampled if card.sampled >= 0 else None)
        records.append(_record(f"{name}/{instance}" if instance else name, node, card, at, node in maps_pods))
    return _numbered(records)


def _signature(trust: int, labels: Mapping[str, str]) -> tuple[object, ...]:
    """Labels that tell two series of one exporter apart as far as this module looks; `UUID` second."""
    get = labels.get
    return (
        trust,
        get("UUID"),
        get("GPU_I_ID"),
        get("Hostname"),
        get("hostname"),
        get("exported_pod"),
        get("exported_namespace"),
        get("pod"),
        get("namespace"),
        get("instance"),
    )


class _Gathering:
    """Cards as their samples come in."""

    __slots__ = ("found", "percents", "places", "ratios")

    def __init__(self, places: Places) -> None:
        self.places = places
        self.found: dict[Key, _Card] = {}
        self.percents: set[tuple[str, str]] = set()
        self.ratios: list[tuple[Key, Sample, Meaning]] = []

    def entry(self, labels: Mapping[str, str]) -> tuple[Key, _Card] | None:
        """The card that these labels speak of; None where they speak of none."""
        uuid = uuid_of(labels)
        if not uuid:
            return None
        key = (node_of(labels, self.places), uuid, instance_of(labels))
        card = self.found.get(key)
        if card is None:
            card = self.found[key] = _Card()
        return key, card

    def take(self, entry: tuple[Key, _Card], one: Sample, meaning: Meaning) -> None:
        """A sample of this card."""
        key, card = entry
        at = one.sampled_seconds
        if at is not None and at > card.sampled:
            card.sampled = at
        if not is_reading(one.value):
            return
        if one.name not in _SPECIAL:
            _put(card, meaning, scaled(one.value, meaning.factor), at)
        elif meaning.slot == _THROTTLE:
            card.throttle |= _bits(one)
        elif one.name in RATIO_NAMES:
            self.ratios.append((key, one, meaning))
            if one.value > 1.05:
                self.percents.add((key[0], one.name))
        else:
            _put_special(card, one, meaning)

    def settle(self) -> None:
        """Ratios, once it is known which nodes mean percents by them."""
        for key, one, meaning in self.ratios:
            factor = 0.01 if (key[0], one.name) in self.percents else meaning.factor
            _put(self.found[key], meaning, scaled(one.value, factor), one.sampled_seconds)


def _short(labels: Mapping[str, str]) -> tuple[object, ...] | None:
    """Labels that tell cards apart where there is nothing else to tell; None where they do not suffice."""
    get = labels.get
    uuid, host = get("UUID") or get("uuid"), get("hostname") or get("Hostname") or get("node")
    return (uuid, host, get("GPU_I_ID") or get("mig_instance")) if uuid and host else None


def _gather(samples: Iterable[Sample], trimmed: Iterable[Sample], places: Places) -> dict[Key, _Card]:
    gathering = _Gathering(places)
    # a card has ten series with the same labels: they are looked into once
    known: dict[tuple[object, ...], tuple[Key, _Card]] = {}
    for one in samples:
        meaning = MEANINGS.get(one.name)
        if meaning is None:
            continue
        signature = _signature(meaning.trust, one.labels)
        entry = known.get(signature) if signature[1] else None
        if entry is None:
            entry = gathering.entry(one.labels)
            if entry is None:
                continue
            known[signature] = entry
            _note_labels(entry[1], one.labels, meaning.source)
        gathering.take(entry, one, meaning)
    by_short: dict[tuple[object, ...], tuple[Key, _Card]] = {}
    for one in trimmed:
        meaning = MEANINGS.get(one.name)
        if meaning is None:
            continue
        short = _short(one.labels)
        entry = by_short.get(short) if short is not None else None
        if entry is None:
            entry = gathering.entry(one.labels)
            if entry is None:
                continue
            if short is not None:
                by_short[short] = entry
        gathering.take(entry, one, meaning)
    gathering.settle()
    return gathering.found


def _bits(one: Sample) -> int:
    """NVML's bits: a series a reason (ours), or all of them in one number (DCGM's field)."""
    reason = one.labels.get("reason")
    if reason is not None:
        return BIT_OF.get(reason, 0) if one.value else 0
    return int(one.value) if 0 <= one.value < _MOST_BITS else 0


def _put_special(card: _Card, one: Sample, meaning: Meaning) -> None:
    """Names whose meaning hangs on a label: another sensor's series is passed over, tiles are summed."""
    label, wanted = ONLY.get(one.name, ("", frozenset()))
    if label and one.labels.get(label, "") not in wanted:
        return
    value = scaled(one.value, meaning.factor)
    tile = one.labels.get("sub_dev", "")
    if one.name in TILED and tile:
        tiles = card.tiles = card.tiles if card.tiles is not None else {}
        tiles[meaning.slot, tile] = value
        value = sum(of for (slot, _), of in tiles.items() if slot == meaning.slot)
    _put(card, meaning, value, one.sampled_seconds)


def scaled(value: float, factor: float) -> float:
    """The value in base units; 57 percent is 0.57, which a product with 0.01 is not."""
    return value / round(1.0 / factor) if factor < 1.0 else value * factor


def _note_labels(card: _Card, labels: Mapping[str, str], source: Source) -> None:
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


def _put(card: _Card, meaning: Meaning, value: float, at_seconds: float | None) -> None:
    """Keep the newest value; of equally new ones the more trusted exporter's, then the larger."""
    new = (at_seconds or 0.0, -meaning.trust, value)
    old = card.values[meaning.slot]
    if old is None or new > old:
        card.values[meaning.slot] = new


def _drop_parents(found: dict[Key, _Card]) -> None:
    """A card cut into MIG instances is not a device of its own; its heat and power are its instances'."""
    instances: dict[tuple[str, str], list[_Card]] = {}
    for (node, uuid, instance), card in found.items():
        if instance:
            instances.setdefault((node, uuid), []).append(card)
    for (node, uuid), cards in instances.items():
        parent = found.pop((node, uuid, ""), None)
        if parent is None:
            continue
        for card in cards:
            for slot in (_TEMPERATURE, _POWER, _SM_CLOCK, _XID):
                card.values[slot] = card.values[slot] or parent.values[slot]
            card.throttle |= parent.throttle


def _record(uuid: str, node: str, card: _Card, at: float | None, maps_pods: bool) -> Gpu:
    holder = _one_holder(card, maps_pods)
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
        temperature_celsius=_between(card, _TEMPERATURE, 0.1, 250.0),
        power_watts=_between(card, _POWER, 0.0, 100_000.0),
        sm_clock_hertz=_between(card, _SM_CLOCK, 0.0, 1e11),
        throttle=card.throttle,
        xid=int(xid[2]) if xid is not None and 0 <= xid[2] < 1e6 else None,
        pod_namespace=holder.namespace,
        pod_name=holder.pod,
        container=holder.container,
        mark=_mark(card, holder),
        sampled_seconds=at,
        source=generation(card.source, card.lower_host) if card.source is not None else "",
    )


def _one_holder(card: _Card, maps_pods: bool) -> Holder:
    if card.holders:
        return card.holders[min(card.holders)]
    return NOBODY if card.told or maps_pods else UNTOLD


def _mark(card: _Card, holder: Holder) -> Mark:
    if len(card.holders) > 1:
        return Mark.SHARED
    if holder.pod:
        return Mark.GUESSED
    return Mark.UNALLOCATED if holder.is_told else Mark.NOT_COLLECTED


def _duty(card: _Card, *, is_mig: bool) -> Reading:
    """Duty 0..1. On MIG only the engine counter means anything: GPU_UTIL is absent or a constant 0 there."""
    for slot in (_ENGINE,) if is_mig else (_DUTY, _ENGINE):
        found = card.values[slot]
        # a little over one is rounding; far over one is no share at all
        if found is not None and 0.0 <= found[2] <= 1.05:
            return min(1.0, found[2])
    return Absent.NOT_COLLECTED


def _between(card: _Card, slot: int, least: float, most: float) -> Reading:
    found = card.values[slot]
    return found[2] if found is not None and least <= found[2] <= most else Absent.NOT_COLLECTED


def _bytes(card: _Card, slot: int) -> Reading:
    return _between(card, slot, 0.0, 2.0**50)


def _total(card: _Card, used: Reading) -> Reading:
    """The stated capacity, else used + free + reserved (the default set of A and B states no total)."""
    told = _bytes(card, _MEMORY_TOTAL)
    if not isinstance(told, Absent) and told > 0:
        return told
    free = _bytes(card, _MEMORY_FREE)
    if isinstance(used, Absent) or isinstance(free, Absent):
        return Absent.NOT_COLLECTED
    reserved = _bytes(card, _MEMORY_RESERVED)
    return used + free + (0.0 if isinstance(reserved, Absent) else reserved)


def _numbered(records: list[Gpu]) -> list[Gpu]:
    """Cards whose labels tell no index get the next ones of their node, in the order of their UUIDs."""
    highest: dict[str, int] = {}
    for one in records:
        highest[one.node] = max(highest.get(one.node, -1), one.index)
    numbered: list[Gpu] = []
    for one in records:
        if one.index < 0:
            highest[one.node] += 1
            numbered.append(msgspec.structs.replace(one, index=highest[one.node]))
        else:
            numbered.append(one)
    return sorted(numbered, key=lambda one: (one.node, one.index, one.uuid))
