"""Help entries in columns. Pure."""

from collections.abc import Mapping, Sequence

from cockpit_widgets.glyphs import BARRED_GLYPH
from cockpit_widgets.text import cut, fit, width_of, wrap
from cockpit_widgets.types import Cell, HelpEntry, Line, Tone

DANGER_GLYPH = "▲"

_COLUMN_GAP = 3
_LEAST_COLUMN = 36


Block = list[Line]
"""Lines that stay together in a column."""


def _title_lines(title: str, width: int) -> Block:
    return [(Cell(fit(title, width), "accent"),)] if title else []


def _entry_lines(entry: HelpEntry, keys: int, width: int) -> Block:
    text = f"{entry.text} ({entry.barred})" if entry.barred else entry.text
    tone: Tone = "dim" if entry.barred else "warn" if entry.dangerous else "strong"
    lines: Block = []
    for number, part in enumerate(wrap(text, max(1, width - keys - 2))):
        shown = fit("" if number else cut(_marked(entry), keys), keys)
        words = fit(part, max(0, width - keys - 2))
        lines.append((Cell(shown, tone), Cell("  " + words, "dim" if entry.barred else "")))
    return lines


def _marked(entry: HelpEntry) -> str:
    mark = BARRED_GLYPH if entry.barred else DANGER_GLYPH if entry.dangerous else ""
    return f"{entry.keys} {mark}" if mark else entry.keys


def help_lines(entries: Sequence[HelpEntry], width: int, height: int = 0) -> list[Line]:
    """All entries in as many columns as fit, groups in their first order, columns evenly filled.

    Groups stay whole, unless that takes more than `height` lines: then they go on in the next column, their
    title above them again.
    """
    groups: dict[str, list[HelpEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    if not groups:
        return [(Cell(cut("No keys here.", width), "dim"),)]
    columns = max(1, (width + _COLUMN_GAP) // (_LEAST_COLUMN + _COLUMN_GAP))
    found = _side_by_side(groups, min(columns, len(groups)), width)
    if height and len(found) > height:
        split = _side_by_side(groups, columns, width, is_split=True)
        found = min(found, split, key=len)
    return found


def _side_by_side(
    groups: Mapping[str, Sequence[HelpEntry]], columns: int, width: int, *, is_split: bool = False
) -> list[Line]:
    """The groups in that many columns, each whole unless they may be split."""
    room = (width - _COLUMN_GAP * (columns - 1)) // columns
    marked = (width_of(_marked(entry)) for group in groups.values() for entry in group)
    keys = min(max(marked), max(4, room // 2))
    blocks = [
        (_title_lines(title, room), [_entry_lines(entry, keys, room) for entry in group])
        for title, group in groups.items()
    ]
    if not is_split:
        blocks = [([], [[*title, *(line for item in items for line in item)]]) for title, items in blocks]
    filled = _pour(blocks, columns, room)
    blank: Line = (Cell(" " * room),)
    lines: list[Line] = []
    for row in range(max(len(column) for column in filled)):
        line: list[Cell] = []
        for column in filled:
            if line:
                line.append(Cell(" " * _COLUMN_GAP))
            line.extend(column[row] if row < len(column) else blank)
        lines.append(tuple(line))
    return lines


def _pour(groups: Sequence[tuple[Block, Sequence[Block]]], columns: int, width: int) -> list[Block]:
    """Groups, each a title and its items, into at most `columns` columns as low as can be: a blank line
    between two, an item whole, the title again where a column begins inside a group."""
    low = max(len(title) + len(item) for title, items in groups for item in items)
    most = sum(len(title) + 1 + sum(len(item) for item in items) for title, items in groups)
    for height in range(low, most + 1):
        out: list[Block] = [[]]
        for title, items in groups:
            for number, item in enumerate(items):
                before = [] if number else [*([(Cell(" " * width),)] if out[-1] else []), *title]
                if out[-1] and len(out[-1]) + len(before) + len(item) > height:
                    out.append([])
                    before = title
                out[-1] += [*before, *item]
        if len(out) <= columns:
            return out
    return [
        [line for title, items in groups for line in (*title, *(part for item in items for part in item))]
    ]
