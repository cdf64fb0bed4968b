"""The catalogue of causes as data: a row for each way in which a GPU job or pod waits or is broken.

A module for each gate that a job passes. Components' wordings move between releases, so they are data:
tolerant patterns, tried in order.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cockpit.catalogue import creation, placement, progress, queue, start
from cockpit.catalogue.cause import Cause
from cockpit.catalogue.rests_on import RESTS_ON, ListOf
from cockpit.catalogue.row import CatalogueRow, Gate, TextPlace, Wording
from cockpit.model.finding import Finding, Permanence

__all__ = [
    "BY_CAUSE",
    "ROWS",
    "CatalogueRow",
    "Cause",
    "Gate",
    "ListOf",
    "Permanence",
    "TextPlace",
    "Understood",
    "Wording",
    "gate_of",
    "is_story",
    "lasts",
    "lists_behind",
    "permanence_of",
    "understand",
    "yields",
]

ROWS: tuple[CatalogueRow, ...] = (
    *creation.ROWS,
    *queue.ROWS,
    *placement.ROWS,
    *start.ROWS,
    *progress.ROWS,
)

BY_CAUSE: Mapping[str, CatalogueRow] = {row.cause: row for row in ROWS}


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
    found = RESTS_ON.get(cause)
    return RESTS_ON.get(gate_of(cause) or "", ()) if found is None else found


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
