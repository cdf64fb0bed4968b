"""The catalogue of causes as data: a row for each way in which a GPU job or pod waits or is broken.

Levels, walked top down: A no pods, B queue or gang, C not scheduled, D on a node and not running, E runs and
trains not. Components' wordings move between releases, so they are data: tolerant patterns, tried in order.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cockpit.catalogue import level_a, level_b, level_c, level_d, level_e
from cockpit.catalogue.row import CatalogueRow, TextPlace, Wording

__all__ = ["BY_ID", "ROWS", "CatalogueRow", "TextPlace", "Understood", "Wording", "understand"]

ROWS: tuple[CatalogueRow, ...] = (
    *level_a.ROWS,
    *level_b.ROWS,
    *level_c.ROWS,
    *level_d.ROWS,
    *level_e.ROWS,
)

BY_ID: Mapping[str, CatalogueRow] = {one.id: one for one in ROWS}


class Understood(NamedTuple):
    """What a text means: the cause, the wording that fits, and the names that it holds ("" for a part left
    out)."""

    cause: str
    wording: Wording
    names: Mapping[str, str]


_BY_PLACE: Mapping[TextPlace, tuple[tuple[str, Wording], ...]] = {
    place: tuple((row.id, one) for row in ROWS for one in row.wordings if one.place is place)
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
