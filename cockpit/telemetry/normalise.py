"""Samples of any exporter become `Gpu` records in one vocabulary. Pure.

A card is its UUID; a MIG instance `UUID/instance`; where one UUID shows up on several nodes (cloned images,
simulators) the node is added: `UUID@node`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent, Reading
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
from cockpit.telemetry.names import MEANINGS, RATIO_NAMES, Quantity, Source, generation
from cockpit.telemetry.sample import Sample, is_reading

_TRUST = {source: rank for rank, source in enumerate(Source)}

Key = tuple[str, str, str]
"""Node, card UUID, MIG instance ("" for the whole card)."""


class _Value(NamedTuple):
    value: float
    at_seconds: float
    rank: int


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
        "told",
        "values",
    )

    def __init__(self) -> None:
        self.values: dict[Quantity, _Value] = {}
        self.holders: dict[tuple[str, str], Holder] = {}
        self.told = False
        self.index: int | None = None
        self.model = ""
        self.profile = ""
        self.source = Source.ARENA
        self.lower_host = False
        self.sampled: float | None = None


def ages(samples: Iterable[Sample], places: Places | None = None) -> dict[Key, float]:
    """Sample times by card: the answer of a `timestamp(...)` query, whose values are epoch seconds."""
    places = places or Places()
    found: dict[Key, float] = {}
    for one in samples:
        uuid = uuid_of(one.labels)
        if uuid and is_reading(one.value):
            key = (node_of(one.labels, places), uuid, instance_of(one.labels))
            found[key] = max(found.get(key, 0.0), one.value)
    return found


def gpus(
    samples: Iterable[Sample],
    places: Places | None = None,
    sampled_seconds: Mapping[Key, float] | None = None,
) -> list[Gpu]:
    """One record a card or MIG instance, by node and index. `sampled_seconds` overrides the answer's time.

    Marks are those that labels alone allow: GUESSED for a named pod (`attribute` makes it SURE), SHARED for
    several, UNALLOCATED where the exporter says nobody, NOT_COLLECTED where it maps no pods.
    """
    places = places or Places()
    found = _gather(samples, places)
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
        at = times.get(key, card.sampled)
        records.append(_record(f"{name}/{instance}" if instance else name, node, card, at, node in maps_pods))
    return _numbered(records)


def _gather(samples: Iterable[Sample], places: Places) -> dict[Key, _Card]:
    found: dict[Key, _Card] = {}
    percents: set[tuple[str, str]] = set()
    ratios: list[tuple[Key, Sample]] = []
    for one in samples:
        meaning = MEANINGS.get(one.name)
        if meaning is None:
            continue
        uuid = uuid_of(one.labels)
        if not uuid:
            continue
        node = node_of(one.labels, places)
        key = (node, uuid, instance_of(one.labels))
        card = found.get(key)
        if card is None:
            card = found[key] = _Card()
        _note_labels(card, one, meaning.source)
        if not is_reading(one.value):
            continue
        if one.name in RATIO_NAMES:
            ratios.append((key, one))
            if one.value > 1.05:
                percents.add((node, one.name))
            continue
        _put(card, meaning.quantity, one.value * meaning.factor, one, meaning.source)
    for key, one in ratios:
        meaning = MEANINGS[one.name]
        factor = 0.01 if (key[0], one.name) in percents else meaning.factor
        _put(found[key], meaning.quantity, one.value * factor, one, meaning.source)
    return found


def _note_labels(card: _Card, one: Sample, source: Source) -> None:
    if _TRUST[source] <= _TRUST[card.source]:
        card.source = source
        card.lower_host = "hostname" in one.labels
    if card.index is None:
        card.index = index_of(one.labels)
    card.model = card.model or model_of(one.labels)
    card.profile = card.profile or profile_of(one.labels)
    if one.sampled_seconds is not None:
        card.sampled = max(card.sampled or 0.0, one.sampled_seconds)
    holder = holder_of(one.labels)
    card.told = card.told or holder.is_told
    if holder.pod:
        card.holders[(holder.namespace, holder.pod)] = holder


def _put(card: _Card, quantity: Quantity, value: float, one: Sample, source: Source) -> None:
    """Keep the newest value; of equally new ones the more trusted exporter's, then the larger."""
    new = _Value(value, one.sampled_seconds or 0.0, -_TRUST[source])
    old = card.values.get(quantity)
    if old is None or (new.at_seconds, new.rank, new.value) > (old.at_seconds, old.rank, old.value):
        card.values[quantity] = new


def _drop_parents(found: dict[Key, _Card]) -> None:
    """A card cut into MIG instances is not a device of its own; its heat and power are its instances'."""
    for node, uuid in {(node, uuid) for node, uuid, instance in found if instance}:
        parent = found.pop((node, uuid, ""), None)
        if parent is None:
            continue
        for (of_node, of_uuid, _), card in found.items():
            if (of_node, of_uuid) == (node, uuid):
                for quantity in (Quantity.TEMPERATURE, Quantity.POWER, Quantity.SM_CLOCK, Quantity.XID):
                    if quantity in parent.values:
                        card.values.setdefault(quantity, parent.values[quantity])


def _record(uuid: str, node: str, card: _Card, at: float | None, maps_pods: bool) -> Gpu:
    holder = _one_holder(card, maps_pods)
    used = _bytes(card, Quantity.MEMORY_USED)
    xid = card.values.get(Quantity.XID)
    return Gpu(
        uuid=uuid,
        node=node,
        index=-1 if card.index is None else card.index,
        model=card.model,
        mig_profile=card.profile,
        duty_ratio=_duty(card, is_mig=bool(card.profile) or "/" in uuid),
        memory_used_bytes=used,
        memory_total_bytes=_total(card, used),
        temperature_celsius=_between(card, Quantity.TEMPERATURE, 0.1, 250.0),
        power_watts=_between(card, Quantity.POWER, 0.0, 100_000.0),
        sm_clock_hertz=_between(card, Quantity.SM_CLOCK, 0.0, 1e11),
        xid=int(xid.value) if xid is not None and 0 <= xid.value < 1e6 else None,
        pod_namespace=holder.namespace,
        pod_name=holder.pod,
        container=holder.container,
        mark=_mark(card, holder),
        sampled_seconds=at,
        source=generation(card.source, card.lower_host),
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
    order = (Quantity.ENGINE,) if is_mig else (Quantity.DUTY, Quantity.ENGINE)
    for quantity in order:
        found = card.values.get(quantity)
        # a little over one is rounding; far over one is no share at all
        if found is not None and 0.0 <= found.value <= 1.05:
            return min(1.0, found.value)
    return Absent.NOT_COLLECTED


def _between(card: _Card, quantity: Quantity, least: float, most: float) -> Reading:
    found = card.values.get(quantity)
    return found.value if found is not None and least <= found.value <= most else Absent.NOT_COLLECTED


def _bytes(card: _Card, quantity: Quantity) -> Reading:
    return _between(card, quantity, 0.0, 2.0**50)


def _total(card: _Card, used: Reading) -> Reading:
    """The stated capacity, else used + free + reserved (the default set of A and B states no total)."""
    told = _bytes(card, Quantity.MEMORY_TOTAL)
    if not isinstance(told, Absent) and told > 0:
        return told
    free = _bytes(card, Quantity.MEMORY_FREE)
    if isinstance(used, Absent) or isinstance(free, Absent):
        return Absent.NOT_COLLECTED
    reserved = _bytes(card, Quantity.MEMORY_RESERVED)
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
