"""Samples of any exporter become `Gpu` records in one vocabulary. Pure.

A card is its UUID; a MIG instance `UUID/instance`; where one UUID shows up on several nodes (cloned images,
simulators) the node is added: `UUID@node`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.throttle import BIT_OF
from cockpit.telemetry.heard import Heard, note_labels, put, record
from cockpit.telemetry.labels import (
    Places,
    instance_of,
    node_of,
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
        # a cut card is stamped once for all its instances
        told = times.get(key) or times.get((node, uuid, "")) or times.get((node, "", ""))
        at = told or (card.sampled if card.sampled >= 0 else None)
        records.append(record(f"{name}/{instance}" if instance else name, node, card, at, node in maps_pods))
    return _numbered(records)


def signature_of(trust: int, labels: Mapping[str, str]) -> tuple[object, ...]:
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
        self.found: dict[Key, Heard] = {}
        self.percents: set[tuple[str, str]] = set()
        self.ratios: list[tuple[Key, Sample, Meaning]] = []

    def entry(self, labels: Mapping[str, str]) -> tuple[Key, Heard] | None:
        """The card that these labels speak of; None where they speak of none."""
        uuid = uuid_of(labels)
        if not uuid:
            return None
        key = (node_of(labels, self.places), uuid, instance_of(labels))
        card = self.found.get(key)
        if card is None:
            card = self.found[key] = Heard()
        return key, card

    def take(self, entry: tuple[Key, Heard], one: Sample, meaning: Meaning) -> None:
        """A sample of this card."""
        key, card = entry
        at = one.sampled_seconds
        if at is not None and at > card.sampled:
            card.sampled = at
        if not is_reading(one.value):
            return
        if one.name not in _SPECIAL:
            put(card, meaning, scaled(one.value, meaning.factor), at)
        elif meaning.slot == _THROTTLE:
            card.throttle |= bits(one)
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
            put(self.found[key], meaning, scaled(one.value, factor), one.sampled_seconds)


def _short(labels: Mapping[str, str]) -> tuple[object, ...] | None:
    """Labels that tell cards apart where there is nothing else to tell; None where they do not suffice."""
    get = labels.get
    uuid, host = get("UUID") or get("uuid"), get("hostname") or get("Hostname") or get("node")
    if not uuid or not host:
        return None
    # where host labels name no nodes, cloned cards differ in what the scrape adds
    scrape = (get("instance"), get("namespace"), get("pod"))
    return (uuid, host, get("GPU_I_ID") or get("mig_instance"), *scrape)


def _gather(samples: Iterable[Sample], trimmed: Iterable[Sample], places: Places) -> dict[Key, Heard]:
    gathering = _Gathering(places)
    # a card has ten series with the same labels: they are looked into once
    known: dict[tuple[object, ...], tuple[Key, Heard]] = {}
    for one in samples:
        meaning = MEANINGS.get(one.name)
        if meaning is None:
            continue
        signature = signature_of(meaning.trust, one.labels)
        entry = known.get(signature) if signature[1] else None
        if entry is None:
            entry = gathering.entry(one.labels)
            if entry is None:
                continue
            known[signature] = entry
            note_labels(entry[1], one.labels, meaning.source)
        gathering.take(entry, one, meaning)
    by_short: dict[tuple[object, ...], tuple[Key, Heard]] = {}
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


def bits(one: Sample) -> int:
    """NVML's bits: a series a reason (ours), or all of them in one number (DCGM's field)."""
    reason = one.labels.get("reason")
    if reason is not None:
        return BIT_OF.get(reason, 0) if one.value else 0
    return int(one.value) if 0 <= one.value < _MOST_BITS else 0


def _put_special(card: Heard, one: Sample, meaning: Meaning) -> None:
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
    put(card, meaning, value, one.sampled_seconds)


def scaled(value: float, factor: float) -> float:
    """The value in base units; 57 percent is 0.57, which a product with 0.01 is not."""
    return value / round(1.0 / factor) if factor < 1.0 else value * factor


def _drop_parents(found: dict[Key, Heard]) -> None:
    """A card cut into MIG instances is not a device of its own; its heat and power are its instances'."""
    instances: dict[tuple[str, str], list[Heard]] = {}
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
