"""Where the columns of a table stand. Pure: columns and a width in, places out.

A line is `gutter, column, gap, column, ..., margin`. The sort arrow stands in the gap beside its title, so
that sorting never moves a column and never costs a title a character.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cockpit_widgets.text import width_of
from cockpit_widgets.types import Column

GUTTER_CELLS = 2
"""At the left: the mark or the cursor's bar, then a space."""
_MODEST_PRIORITY = 4
"""Columns from this priority number on leave their room to a wish."""
GAP_CELLS = 2
MARGIN_CELLS = 1


@dataclass(frozen=True, slots=True)
class ColumnSpan:
    """Column number `index` of the source stands at cell `x`, `width` cells wide."""

    index: int
    x: int
    width: int


def least_width(column: Column) -> int:
    """Cells a column needs when it is shown: its least width, and never less than its whole title."""
    return max(column.width, width_of(column.title), 1)


def _needed(widths: Sequence[int]) -> int:
    return GUTTER_CELLS + sum(widths) + GAP_CELLS * max(0, len(widths) - 1) + MARGIN_CELLS


def _chosen(columns: Sequence[Column], width: int) -> list[tuple[int, int]]:
    """Pairs of column number and width that fit `width` cells; the first column stays in any case."""
    kept = [(index, least_width(column)) for index, column in enumerate(columns)]
    while len(kept) > 1 and _needed([cells for _, cells in kept]) > width:
        optional = [pair for pair in kept if columns[pair[0]].priority > 1]
        if not optional:
            break
        kept.remove(max(optional, key=lambda pair: (columns[pair[0]].priority, pair[0])))
    while len(kept) > 1 and _needed([max(cells, columns[index].wish) for index, cells in kept]) > width:
        least = max(kept, key=lambda pair: (columns[pair[0]].priority, pair[0]))
        if columns[least[0]].priority < _MODEST_PRIORITY:
            break
        kept.remove(least)
    over = _needed([cells for _, cells in kept]) - width
    if over > 0:
        kept = _squeezed(columns, kept, over)
    while len(kept) > 1 and _needed([cells for _, cells in kept]) > width:
        kept.pop()
    return kept


def _squeezed(columns: Sequence[Column], kept: list[tuple[int, int]], over: int) -> list[tuple[int, int]]:
    """Take `over` cells from the columns that are wider than their title, the widest first."""
    widths = dict(kept)
    floors = {index: max(1, width_of(columns[index].title)) for index in widths}
    while over > 0:
        slack = {index: cells for index, cells in widths.items() if cells > floors[index]}
        if not slack:
            break
        widest = max(slack, key=lambda index: (slack[index], index))
        widths[widest] -= 1
        over -= 1
    return list(widths.items())


def _grown(columns: Sequence[Column], kept: list[tuple[int, int]], spare: int) -> dict[int, int]:
    """Widths after `spare` cells went to wishes, then to the growing columns in proportion, none beyond
    its `most`."""
    widths = dict(kept)
    for index, cells in kept:
        wish = min(columns[index].wish, columns[index].most or columns[index].wish)
        given = max(0, min(spare, wish - cells))
        widths[index] += given
        spare -= given
    growing = [index for index, _ in kept if columns[index].grow > 0]
    while spare > 0 and growing:
        total = sum(columns[index].grow for index in growing)
        before = spare
        for index in growing:
            share = max(1, before * columns[index].grow // total)
            most = columns[index].most
            room = share if not most else min(share, max(0, most - widths[index]))
            given = min(room, spare)
            widths[index] += given
            spare -= given
        growing = [i for i in growing if not columns[i].most or widths[i] < columns[i].most]
        if spare == before:
            break
    return widths


def place_columns(columns: Sequence[Column], width: int) -> tuple[ColumnSpan, ...]:
    """The columns that are shown in a table of `width` cells, from left to right.

    When not all fit, the highest `priority` number vanishes first, the rightmost of equals; columns of
    priority 4 and more also vanish for the sake of a `wish`. When even the columns of priority 1 do not
    fit, they shrink down to their titles; only when the titles themselves do not fit do columns leave from
    the right, so that no title is ever shown in part.
    """
    if not columns:
        return ()
    kept = _chosen(columns, width)
    spare = width - _needed([cells for _, cells in kept])
    widths = _grown(columns, kept, spare) if spare > 0 else dict(kept)
    places: list[ColumnSpan] = []
    x = GUTTER_CELLS
    for index, cells in widths.items():
        places.append(ColumnSpan(index, x, cells))
        x += cells + GAP_CELLS
    return tuple(places)
