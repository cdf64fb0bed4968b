"""A second reading of samples, as plainly as it can be written: the oracle of the cockpit's own (`gpus`).

A card is its UUID; a MIG instance `UUID/instance`; where one UUID shows up on several nodes (cloned images,
simulators) the node is added: `UUID@node`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.telemetry.cards.card_accumulator import (
    UNKNOWN_TIME,
    CardLabels,
    Value,
    holders_of,
    judged_number,
    mark_of,
    note_holder,
    note_labels,
    readings,
)
from cockpit.telemetry.cards.stamps import Key, Stamps
from cockpit.telemetry.cards.units import bits, percents_of, scaled
from cockpit.telemetry.labels import (
    NodeNames,
    instance_of,
    node_of,
    uuid_of,
)
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
    generation,
    is_foreign,
)
from cockpit.telemetry.sample import Sample, is_reading

_XID = SLOTS[GpuMetric.XID]
_THROTTLE = SLOTS[GpuMetric.THROTTLE]
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
"""Names that are more than a number times a factor; looked up once for each of 200,000 samples."""
_TEMPERATURE, _POWER, _SM_CLOCK = (
    SLOTS[GpuMetric.TEMPERATURE],
    SLOTS[GpuMetric.POWER],
    SLOTS[GpuMetric.SM_CLOCK],
)


def gpus(
    samples: Iterable[Sample],
    places: NodeNames | None = None,
    stamps: Stamps | None = None,
    trimmed: Iterable[Sample] = (),
    before: Mapping[str, Gpu] | None = None,
) -> list[Gpu]:
    """One record a card or MIG instance, by node and index. `stamps` tell when each series was sampled: the
    samples' own times are those of the query then; without it they count. `trimmed` are samples of the same
    cards with no more labels than tell cards apart. `before` are the cards of a whole reading, where memory
    in all and XIDs that are 0 were not asked for.

    Marks are those that labels alone allow: GUESSED for a named pod (`attribute` makes it SURE), SHARED for
    several, UNALLOCATED where the exporter says nobody, NOT_COLLECTED where it maps no pods.
    """
    found = _gather(samples, trimmed, places or NodeNames(), stamps)
    _drop_parents(found)
    maps_pods = {node for (node, _, _), card in found.items() if card.told}
    nodes_of_uuid: dict[str, set[str]] = {}
    for node, uuid, _ in found:
        nodes_of_uuid.setdefault(uuid, set()).add(node)
    records = []
    for (node, uuid, instance), card in sorted(found.items(), key=lambda one: one[0]):
        name = uuid if len(nodes_of_uuid[uuid]) == 1 else f"{uuid}@{node}"
        name = f"{name}/{instance}" if instance else name
        was = None if before is None else before.get(name)
        records.append(record(name, node, card, node in maps_pods, was))
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


class Heard(CardLabels):
    """A card so far. `values` has one reading a quantity, `more` those besides."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Value | None] = [None] * len(SLOTS)
        self.more: list[tuple[int, Value]] = []
        self.throttle: int | None = None
        self.tiles: dict[tuple[str, str], tuple[float, float]] = {}
        self.fallbacks: list[tuple[int, Meaning, float, float]] = []


def put(card: Heard, meaning: Meaning, value: float, at_seconds: float) -> None:
    """Keep a reading (base units) and when it was sampled."""
    new = (at_seconds, meaning.trust, value)
    old = card.values[meaning.slot]
    if old is None:
        card.values[meaning.slot] = new
    elif old != new:
        card.more.append((meaning.slot, new))


def record(uuid: str, node: str, card: Heard, maps_pods: bool, before: Gpu | None = None) -> Gpu:
    """The card's record; `maps_pods`: its node's exporter tells who holds cards; `before`: see `readings`."""
    holder, also = holders_of(card, maps_pods)
    is_mig = bool(card.profile) or "/" in uuid
    found = readings(card.values, card.more, card.sampled, is_mig=is_mig, before=before)
    return Gpu(
        uuid=uuid,
        node=node,
        index=-1 if card.index is None else card.index,
        model=card.model,
        mig_profile=card.profile,
        duty_ratio=found.duty,
        memory_used_bytes=found.used,
        memory_total_bytes=found.total,
        temperature_celsius=found.temperature,
        power_watts=found.power,
        sm_clock_hertz=found.clock,
        throttle=0
        if card.throttle is None and before is not None and before.throttle is not None
        else card.throttle,
        xid=found.xid,
        pod_namespace=holder.namespace,
        pod_name=holder.pod,
        container=holder.container,
        mark=mark_of(holder, also),
        sampled_seconds=card.sampled if card.sampled >= 0.0 else None,
        also=also,
        doubts=found.doubts,
        source=generation(card.source, card.lower_host) if card.source is not None else "",
    )


class _Gathering:
    """Cards as their samples come in."""

    __slots__ = ("found", "places", "ratios", "stamps")

    def __init__(self, places: NodeNames, stamps: Stamps | None) -> None:
        self.places = places
        self.stamps = stamps
        self.found: dict[Key, Heard] = {}
        self.ratios: list[tuple[Key, Sample, Meaning, float]] = []

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

    def at(self, key: Key, one: Sample, meaning: Meaning) -> float:
        """When the sample was taken (epoch seconds), UNKNOWN_TIME where nobody tells."""
        stamps = self.stamps
        at = one.sampled_seconds if stamps is None else stamps.of(key, one.labels, meaning.trust)
        return UNKNOWN_TIME if at is None else at

    def take(self, entry: tuple[Key, Heard], one: Sample, meaning: Meaning, at: float) -> None:
        """A sample of this card, taken at `at`."""
        key, card = entry
        card.sampled = max(card.sampled, at)
        if not is_reading(one.value):
            return
        if one.name not in _SPECIAL:
            put(card, meaning, scaled(one.value, meaning.factor), at)
        elif meaning.slot == _THROTTLE:
            card.throttle = (card.throttle or 0) | bits(one.value, one.labels)
        elif one.name in RATIO_NAMES:
            self.ratios.append((key, one, meaning, at))
        else:
            _put_special(card, one, meaning, at)

    def settle(self) -> None:
        """Ratios, once it is known which nodes mean percents by them; sums of tiles."""
        percents = percents_of((key[0], one.name, one.value) for key, one, _, _ in self.ratios)
        for key, one, meaning, at in self.ratios:
            factor = 0.01 if (key[0], one.name) in percents else meaning.factor
            put(self.found[key], meaning, scaled(one.value, factor), at)
        for card in self.found.values():
            for name in {name for name, _ in card.tiles}:
                tiles = [told for (of, _), told in card.tiles.items() if of == name]
                parts = len(tiles) if TILED[name][1] == "mean" else 1
                put(
                    card, MEANINGS[name], sum(value for value, _ in tiles) / parts, max(at for _, at in tiles)
                )
            for _, meaning, value, at in sorted(card.fallbacks, key=lambda one: one[0]):
                had = card.values[meaning.slot]
                if had is None or not judged_number(meaning.slot, had):
                    put(card, meaning, value, at)


def _short(labels: Mapping[str, str]) -> tuple[object, ...] | None:
    """Labels that tell cards apart where there is nothing else to tell; None where they do not suffice."""
    get = labels.get
    uuid, host = get("UUID") or get("uuid"), get("hostname") or get("Hostname") or get("node")
    if not uuid or not host:
        return None
    # where host labels name no nodes, cloned cards differ in what the scrape adds
    scrape = (get("instance"), get("namespace"), get("pod"))
    return (uuid, host, get("GPU_I_ID") or get("mig_instance"), *scrape)


def _gather(
    samples: Iterable[Sample], trimmed: Iterable[Sample], places: NodeNames, stamps: Stamps | None
) -> dict[Key, Heard]:
    gathering = _Gathering(places, stamps)
    # a card has ten series with the same labels: they are looked into once
    known: dict[tuple[object, ...], tuple[Key, Heard]] = {}
    for one in samples:
        meaning = MEANINGS.get(one.name)
        if meaning is None or is_foreign(one.name, meaning, one.labels):
            continue
        signature = signature_of(meaning.trust, one.labels)
        entry = known.get(signature) if signature[1] else None
        is_new = entry is None
        if entry is None:
            entry = gathering.entry(one.labels)
            if entry is None:
                continue
            known[signature] = entry
        at = gathering.at(entry[0], one, meaning)
        if is_new:
            note_labels(entry[1], one.labels, meaning.source, at)
        elif entry[1].holders:
            note_holder(entry[1], one.labels, at)
        gathering.take(entry, one, meaning, at)
    by_short: dict[tuple[object, ...], tuple[Key, Heard]] = {}
    for one in trimmed:
        meaning = MEANINGS.get(one.name)
        if meaning is None or is_foreign(one.name, meaning, one.labels):
            continue
        short = _short(one.labels)
        entry = by_short.get(short) if short is not None else None
        if entry is None:
            entry = gathering.entry(one.labels)
            if entry is None:
                continue
            if short is not None:
                by_short[short] = entry
        gathering.take(entry, one, meaning, gathering.at(entry[0], one, meaning))
    gathering.settle()
    return gathering.found


def _put_special(card: Heard, one: Sample, meaning: Meaning, at: float) -> None:
    """Names whose meaning hangs on a label: another sensor's series is passed over, tiles are summed."""
    if one.name in ABSENT_AS_0 and one.value == 0:
        return
    for label, wanted in ONLY.get(one.name, {}).items():
        if one.labels.get(label, "") not in wanted:
            return
    value = scaled(one.value, meaning.factor)
    if one.name in FALLBACKS:
        card.fallbacks.append((FALLBACKS[one.name], meaning, value, at))
        return
    tile = one.labels.get(TILED[one.name][0], "") if one.name in TILED else ""
    if tile:
        tiles = card.tiles
        had = tiles.get((one.name, tile))
        if had is None or (at, value) > (had[1], had[0]):
            tiles[one.name, tile] = (value, at)
        return
    put(card, meaning, value, at)


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
                if card.values[slot] is None:
                    card.values[slot] = parent.values[slot]
                    card.more += [one for one in parent.more if one[0] == slot]
            if parent.throttle is not None:
                card.throttle = (card.throttle or 0) | parent.throttle


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
