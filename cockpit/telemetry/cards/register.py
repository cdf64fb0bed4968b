"""Series that were met before, by their bytes: each leads to its card and to what its labels tell. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.model.gpu import Mark
from cockpit.telemetry.cards.card_accumulator import CardLabels, holders_of, mark_of, note_labels
from cockpit.telemetry.cards.stamps import Key
from cockpit.telemetry.cards.units import parts_of
from cockpit.telemetry.labels import NodeNames, holder_of, instance_of, node_of, uuid_of
from cockpit.telemetry.names import TILED, GpuMetric, Meaning, generation, is_meant


class TooFewLabels(Exception):
    """These rows do not suffice: more of them, or all their labels, have to be asked for."""


class Doubled(TooFewLabels):
    """Two scrapes of one card: which is fresher only all labels of all series tell."""


class Unlabelled(TooFewLabels):
    """A card of which no series came with all its labels: nothing tells its index, or who uses it."""


class LabelFields(NamedTuple):
    """What labels alone tell of a card. `number` is -1 where none tells."""

    number: int
    model: str
    profile: str
    namespace: str
    pod: str
    container: str
    also: tuple[str, ...]
    mark: Mark
    source: str


class CardFacts:
    """What the labels of one card's series tell, as fields of its record."""

    __slots__ = ("_fields", "labels")

    def __init__(self, labels: CardLabels) -> None:
        self.labels = labels
        self._fields: dict[bool, LabelFields] = {}

    def fields(self, maps_pods: bool) -> LabelFields:
        """The fields; `maps_pods`: the node's exporter tells who uses its cards."""
        found = self._fields.get(maps_pods)
        if found is None:
            labels = self.labels
            who, also = holders_of(labels, maps_pods)
            found = self._fields[maps_pods] = LabelFields(
                -1 if labels.index is None else labels.index,
                labels.model,
                labels.profile,
                who.namespace,
                who.pod,
                who.container,
                also,
                mark_of(who, also),
                "" if labels.source is None else generation(labels.source, labels.lower_host),
            )
        return found


class MetricSeries:
    """One series with all its labels: its card, and what it tells by itself."""

    __slots__ = ("bit", "facts", "is_special", "labels", "meaning", "number", "parts")

    def __init__(
        self, number: int, labels: Mapping[str, str], meaning: Meaning, *, is_special: bool = False
    ) -> None:
        """`is_special`: its value alone does not tell the quantity."""
        self.number = number
        self.is_special = is_special
        self.labels = labels
        self.meaning = meaning
        self.bit = 1 << meaning.trust
        self.parts = parts_of(meaning.factor)
        alone = CardLabels()
        note_labels(alone, labels, meaning.source)
        self.facts = CardFacts(alone)


_TELLING = (
    *("GPU_I_ID", "mig_instance", "Hostname", "hostname", "node", "instance"),
    *("exported_pod", "exported_namespace", "exported_container", "pod", "namespace", "container"),
    *("kube_pod", "pod_name"),
)


def signature_of(trust: int, labels: Mapping[str, str]) -> tuple[object, ...]:
    """Labels that tell two series of one exporter apart as far as cards, nodes and pods go. The second is ""
    where the card is named in another way, so that two signatures say nothing."""
    get = labels.get
    return (trust, get("UUID") or get("uuid", ""), *map(get, _TELLING))


def is_doubled(series: Iterable[MetricSeries]) -> bool:
    """True where two series of one card are of one name and holder: a shared card has a series for each of
    its pods, a card that is scraped twice several for one."""
    seen: set[tuple[object, ...]] = set()
    for of in series:
        name = of.labels.get("__name__", "")
        if of.meaning.quantity is GpuMetric.HOLDER or name in TILED or not is_meant(name, of.labels):
            continue
        one = (of.number, name, *holder_of(of.labels))
        if one in seen:
            return True
        seen.add(one)
    return False


class Register:
    """Series that were met, by their bytes, under one snapshot of the cluster's names."""

    def __init__(self, places: NodeNames) -> None:
        self.places = places
        self.keys: list[Key] = []
        self.names: list[str] = []  # what the card is called where no other node has a clone of it
        self.clones: set[str] = set()  # UUIDs of cards that were met on several nodes
        self.numbers: dict[bytes, int] = {}  # labels without the name -> place in `keys`, -1 for no card
        self.series: dict[bytes, MetricSeries | None] = {}
        self.stamps: dict[bytes, tuple[Key, int] | None] = {}  # rows of sample times -> card or node, family
        self.instances: dict[int, list[int]] = {}  # a cut card -> its instances
        self._by_key: dict[Key, int] = {}
        self._node_of_uuid: dict[str, str] = {}
        self._merged: dict[tuple[MetricSeries, ...], CardFacts] = {}

    def number_of(self, labels: Mapping[str, str]) -> int:
        """The number of the card that labels speak of, -1 where they speak of none."""
        uuid = uuid_of(labels)
        if not uuid:
            return -1
        key = (node_of(labels, self.places), uuid, instance_of(labels))
        number = self._by_key.get(key)
        return self._enter(key) if number is None else number

    def _enter(self, key: Key) -> int:
        node, uuid, instance = key
        if self._node_of_uuid.setdefault(uuid, node) != node:
            self.clones.add(uuid)
        number = self._by_key[key] = len(self.keys)
        self.keys.append(key)
        self.names.append(f"{uuid}/{instance}" if instance else uuid)
        if instance:
            parent = self._by_key.get((node, uuid, ""))
            if parent is None:
                parent = self._enter((node, uuid, ""))
            self.instances.setdefault(parent, []).append(number)
        return number

    def merged(self, series: Sequence[MetricSeries]) -> CardFacts:
        """What several series tell of one card together, in their order. Raises Doubled where two of one name
        differ in nothing that tells who uses the card: then they are two scrapes of it."""
        asked = tuple(series)
        found = self._merged.get(asked)
        if found is None:
            if is_doubled(asked):
                raise Doubled
            labels, known = CardLabels(), set[tuple[object, ...]]()
            for item in asked:
                signature = signature_of(item.meaning.trust, item.labels)
                if signature[1] and signature in known:
                    continue
                known.add(signature)
                note_labels(labels, item.labels, item.meaning.source)
            found = self._merged[asked] = CardFacts(labels)
        return found

    def is_outgrown(self, rows: int) -> bool:
        """True when it remembers more series than a round of this many rows can need: pods come and go."""
        return len(self.numbers) + len(self.series) + len(self._merged) > rows + 1_000


def together(series: Iterable[tuple[MetricSeries, float]], newest_seconds: float) -> CardFacts:
    """What several series tell of one card, each with the time of its newest sample: a pod that was named
    long before the card's newest sample does not use it any more."""
    labels = CardLabels()
    labels.sampled = newest_seconds
    for one, at_seconds in series:
        note_labels(labels, one.labels, one.meaning.source, at_seconds)
    return CardFacts(labels)
