"""The catalogue of causes as data: a row for each way in which a GPU job or pod waits or is broken.

A file for each gate that a job passes (`placement.toml`), of the columns of `row.CatalogueRow`. Components'
wordings move between releases, so they are data: tolerant patterns, tried in order.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import (
    CatalogueRow,
    Gate,
    Lift,
    ListOf,
    Mender,
    RootFact,
    RootPlace,
    TextPlace,
    Trait,
    Unwatched,
    Wording,
)
from cockpit.model.finding import Finding, Permanence

__all__ = [
    "BY_CAUSE",
    "ROWS",
    "CatalogueRow",
    "Cause",
    "Gate",
    "Lift",
    "ListOf",
    "Mender",
    "Permanence",
    "TextPlace",
    "Trait",
    "Understood",
    "Unwatched",
    "gate_of",
    "is_a",
    "is_story",
    "lasts",
    "lift_of",
    "lists_behind",
    "permanence_of",
    "understand",
    "yields",
]

_PLACES: Final = {**{place.name.lower(): place for place in TextPlace}, "consequence": TextPlace.POD}
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "mender": Mender,
    "permanence": lambda name: Permanence[name.upper()],
    "lifted_by": Lift,
    "unwatched": Unwatched,
    "yields_to": lambda names: tuple(Gate[one] if one.isupper() else Cause(one) for one in names),
    "roots": lambda facts: tuple(RootFact(*one[:2], *map(RootPlace, one[2:])) for one in facts),
    "rests_on": lambda lists: tuple(ListOf(kind.removeprefix("all "), "all " in kind) for kind in lists),
    "traits": lambda names: frozenset(map(Trait, names)),
}
"""How a column of a file is read, where it is not as it stands there."""


def _rows() -> Iterator[CatalogueRow]:
    """Raises KeyError, TypeError, ValueError where a file has a cause or column that there is not."""
    for gate in Gate:
        text = Path(__file__).with_name(f"{gate.name.lower()}.toml").read_text(encoding="utf-8")
        tables: dict[str, Any] = tomllib.loads(text)
        usual = {name: value for name, value in tables.items() if not isinstance(value, dict)}
        for name, columns in tables.items():
            if name not in usual:
                yield _row(Cause(name), gate, {**usual, **columns})


def _row(cause: Cause, gate: Gate, columns: Mapping[str, Any]) -> CatalogueRow:
    wordings = tuple(
        Wording(place, texts[0], texts[1], many=texts[-1], is_consequence=name == "consequence")
        for name, some in columns.items()
        if (place := _PLACES.get(name)) is not None
        for texts in some
    )
    read = {name: _READ[name](one) if name in _READ else one for name, one in columns.items()}
    others = {name: one for name, one in read.items() if name not in _PLACES}
    return CatalogueRow(cause=cause, gate=gate, wordings=wordings, **others)


ROWS: Final = tuple(_rows())
BY_CAUSE: Final[Mapping[str, CatalogueRow]] = {row.cause: row for row in ROWS}


class Understood(NamedTuple):
    """What a text means: the cause, the wording that fits, and the names that it holds ("" for a part left
    out)."""

    cause: Cause
    wording: Wording
    names: Mapping[str, str]


_BY_PLACE: Mapping[TextPlace, tuple[tuple[Cause, Wording], ...]] = {
    place: tuple((row.cause, one) for row in ROWS for one in row.wordings if one.place is place)
    for place in TextPlace
}


def understand(place: TextPlace, text: str) -> Understood | None:
    """The first wording of that place that fits the text, None where none does."""
    for cause, wording in _BY_PLACE[place]:
        found = wording.pattern.search(text)
        if found is not None:
            names = {name: (value or "").strip() for name, value in found.groupdict().items()}
            return Understood(cause, wording, names)
    return None


def gate_of(cause: str) -> Gate | None:
    """Where a cause holds a job; None for what the catalogue does not know."""
    row = BY_CAUSE.get(cause)
    return None if row is None else row.gate


def lists_behind(cause: str) -> tuple[ListOf, ...]:
    """The lists on which a conclusion about the cause rests."""
    row = BY_CAUSE.get(cause)
    return () if row is None else row.rests_on


def lift_of(cause: str) -> Lift:
    """How the cause goes away; what the catalogue does not know is its component's."""
    row = BY_CAUSE.get(cause)
    return Lift.COMPONENT if row is None else row.lifted_by


def is_a(cause: str, trait: Trait) -> bool:
    """Whether the cause has what these causes share."""
    row = BY_CAUSE.get(cause)
    return row is not None and trait in row.traits


def permanence_of(cause: str) -> Permanence:
    """Whether a cause passes by itself; what is not understood may."""
    row = BY_CAUSE.get(cause)
    return Permanence.PASSES if row is None else row.permanence


def lasts(found: Finding) -> Permanence:
    """Whether what was found passes by itself: as it says, else as its cause does."""
    return permanence_of(found.cause) if found.permanence is None else found.permanence


def is_story(cause: str) -> bool:
    """Whether it is what several objects do to each other."""
    row = BY_CAUSE.get(cause)
    return row is not None and row.is_story


def yields(general: str, special: str) -> bool:
    """Whether one cause says less than another that holds as well."""
    to, back = (BY_CAUSE[cause].yields_to if cause in BY_CAUSE else () for cause in (general, special))
    return special in to or (gate_of(special) in to and general not in back and gate_of(general) not in back)
