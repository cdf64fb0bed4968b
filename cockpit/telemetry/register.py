"""Series of a large fleet that were met before, by their bytes: each leads to its card and to what its labels
tell. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.model.gpu import Mark
from cockpit.telemetry.heard import Heard, mark_of, note_labels, one_holder
from cockpit.telemetry.labels import Places, instance_of, node_of, uuid_of
from cockpit.telemetry.names import Meaning, generation
from cockpit.telemetry.normalise import Key, signature_of


class Unusual(Exception):
    """Something in these rows only `normalise.gpus` knows: tiles, cloned UUIDs, cards without a number."""


class Unlabelled(Unusual):
    """A card of which no series came with all its labels: nothing tells its index, or who holds it."""


class Fixed(NamedTuple):
    """What labels alone tell of a card."""

    number: int
    model: str
    profile: str
    namespace: str
    pod: str
    container: str
    mark: Mark
    source: str


class Told:
    """What the labels of one card's series tell, as fields of its record."""

    __slots__ = ("_fixed", "heard")

    def __init__(self, heard: Heard) -> None:
        self.heard = heard
        self._fixed: dict[bool, Fixed] = {}

    def fixed(self, maps_pods: bool) -> Fixed:
        """The fields; `maps_pods`: the node's exporter tells who holds cards. Raises Unusual."""
        found = self._fixed.get(maps_pods)
        if found is None:
            heard = self.heard
            if heard.index is None or heard.source is None:
                raise Unusual
            who = one_holder(heard, maps_pods)
            found = self._fixed[maps_pods] = Fixed(
                heard.index,
                heard.model,
                heard.profile,
                who.namespace,
                who.pod,
                who.container,
                mark_of(heard, who),
                generation(heard.source, heard.lower_host),
            )
        return found


class Note:
    """One series with all its labels: its card, and what it tells by itself."""

    __slots__ = ("labels", "meaning", "number", "told")

    def __init__(self, number: int, labels: Mapping[str, str], meaning: Meaning) -> None:
        self.number = number
        self.labels = labels
        self.meaning = meaning
        heard = Heard()
        note_labels(heard, labels, meaning.source)
        self.told = Told(heard)


class Register:
    """Series that were met, by their bytes, under one snapshot of the cluster's names."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.keys: list[Key] = []
        self.names: list[str] = []
        self.numbers: dict[bytes, int] = {}  # labels without the name -> place in `keys`, -1 for no card
        self.notes: dict[bytes, Note | None] = {}
        self.stamps: dict[bytes, Key] = {}
        self.instances: dict[int, list[int]] = {}  # a cut card -> its instances
        self._by_key: dict[Key, int] = {}
        self._node_of_uuid: dict[str, str] = {}
        self._merged: dict[tuple[Note, ...], Told] = {}

    def number_of(self, labels: Mapping[str, str]) -> int:
        """The number of the card that labels speak of, -1 where they speak of none. Raises Unusual."""
        uuid = uuid_of(labels)
        if not uuid:
            return -1
        key = (node_of(labels, self.places), uuid, instance_of(labels))
        number = self._by_key.get(key)
        return self._enter(key) if number is None else number

    def _enter(self, key: Key) -> int:
        node, uuid, instance = key
        if self._node_of_uuid.setdefault(uuid, node) != node:
            raise Unusual  # a clone: its name depends on who else is there
        number = self._by_key[key] = len(self.keys)
        self.keys.append(key)
        self.names.append(f"{uuid}/{instance}" if instance else uuid)
        if instance:
            parent = self._by_key.get((node, uuid, ""))
            if parent is None:
                parent = self._enter((node, uuid, ""))
            self.instances.setdefault(parent, []).append(number)
        return number

    def merged(self, notes: Sequence[Note]) -> Told:
        """What several series tell of one card together, in their order."""
        asked = tuple(notes)
        found = self._merged.get(asked)
        if found is None:
            heard, known = Heard(), set[tuple[object, ...]]()
            for note in asked:
                signature = signature_of(note.meaning.trust, note.labels)
                if signature[1] and signature in known:
                    continue
                known.add(signature)
                note_labels(heard, note.labels, note.meaning.source)
            found = self._merged[asked] = Told(heard)
        return found

    def is_outgrown(self, rows: int) -> bool:
        """True when it remembers more series than a round of so many rows can need: pods come and go."""
        return len(self.numbers) + len(self.notes) + len(self._merged) > rows + 1_000
