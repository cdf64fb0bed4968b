"""The detail beside a list: the top of the page of what the cursor rests on, as toned lines."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.table_text import table_text
from cockpit_widgets.text import cut, width_of, wrap
from cockpit_widgets.types import Cell, Line, Pair, TableSource, tone_of

Part = Callable[[int, int], list[Line]]
"""Lines in a width (cells) and of at most a height; [] where there is nothing to say."""


class Detail(NamedTuple):
    """What the detail shows: name, state in a word or two, and parts in the order of their use."""

    title: str
    figure: str = ""
    parts: tuple[Part, ...] = ()

    def lines(self, width: int, height: int) -> list[Line]:
        """The parts, a blank line between two; what finds no room any more is left out."""
        out: list[Line] = []
        for part in self.parts:
            room = height - len(out) - bool(out)
            if room < 1:
                break
            if made := part(width, room)[:room]:
                out += [(), *made] if out else made
        return out


def pairs(found: Sequence[Pair]) -> Part:
    """Names and values."""
    return lambda width, _: pair_lines(found, width)


def text(lines: Sequence[str], indent: int = 0) -> Part:
    """Lines that bring their tone along, broken at blanks; all but the first piece are indented."""
    return lambda width, _: [
        (Cell(part, tone_of(line)),) for line in lines for part in wrap(line, width, indent)
    ]


def table(title: str, source: TableSource) -> Part:
    """The first rows of a table under a rule; nothing where it has none."""

    def lines(width: int, height: int) -> list[Line]:
        rows = table_text(source, width, height - 1)
        return rows and [rule(title, width), *rows]

    return lines


def rule(title: str, width: int) -> Line:
    """`─ title ─────────`."""
    words = cut(f"─ {title} ", width)
    return (Cell(words + "─" * (width - width_of(words)), "dim"),)


def row_pairs(source: TableSource, key: str) -> list[Pair]:
    """Every column of the row of that key as name and value, also those that the table has no room for."""
    at = source.index(key)
    cells = () if at is None else source.cells(at)
    return [
        Pair(column.title.lower() if column.title.istitle() else column.title, cell.text, cell.tone)
        for column, cell in zip(source.columns, cells, strict=False)
        if cell.text and column.title
    ]
