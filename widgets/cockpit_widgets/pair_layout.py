"""Names and values in aligned columns, values broken where they are long. Pure."""

from collections.abc import Sequence
from itertools import groupby

from cockpit_widgets.text import fit, width_of, wrap
from cockpit_widgets.types import Cell, Line, Pair

_GAP_CELLS = 2
_WIDE_CELLS = 100
"""From which width on short pairs stand side by side."""


def pair_lines(pairs: Sequence[Pair], width: int) -> list[Line]:
    """Lines in `width` cells; a name stands on the first line of its value and takes at most a third.

    Where it is wide, neighbours whose values fit into half of it stand in two columns, read downwards.
    """
    half = (width - _GAP_CELLS) // 2
    names = min(max((width_of(pair.name) for pair in pairs), default=0), max(8, width // 3))
    room = half - names - _GAP_CELLS
    out: list[Line] = []
    for is_short, run in groupby(pairs, lambda pair: width >= _WIDE_CELLS and width_of(pair.value) <= room):
        block = list(run)
        if not is_short:
            out += [line for pair in block for line in _lines(pair, names, width)]
            continue
        left = block[: (len(block) + 1) // 2]
        right = block[len(left) :]
        for number, pair in enumerate(left):
            (line,) = _lines(pair, names, half)
            if number < len(right):
                blank = Cell(" " * (half - sum(width_of(cell.text) for cell in line) + _GAP_CELLS))
                line = (*line, blank, *_lines(right[number], names, half)[0])
            out.append(line)
    return out


def _lines(pair: Pair, names: int, width: int) -> list[Line]:
    room = max(1, width - names - _GAP_CELLS)
    return [
        (Cell(fit("" if number else pair.name, names) + " " * _GAP_CELLS, "dim"), Cell(part, pair.tone))
        for number, part in enumerate(wrap(pair.value, room))
    ]
