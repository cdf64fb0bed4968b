"""Names and values in two aligned columns, values broken where they are long. Pure."""

from collections.abc import Sequence

from cockpit_widgets.text import fit, width_of, wrap
from cockpit_widgets.types import Cell, Line, Pair

_GAP_CELLS = 2


def pair_lines(pairs: Sequence[Pair], width: int) -> list[Line]:
    """Lines in `width` cells; a name stands on the first line of its value and takes at most a third."""
    names = min(max((width_of(pair.name) for pair in pairs), default=0), max(8, width // 3))
    room = max(1, width - names - _GAP_CELLS)
    return [
        (Cell(fit("" if number else pair.name, names) + " " * _GAP_CELLS, "dim"), Cell(part, pair.tone))
        for pair in pairs
        for number, part in enumerate(wrap(pair.value, room))
    ]
