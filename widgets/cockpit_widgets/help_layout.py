"""Help entries in columns. Pure."""

from collections.abc import Sequence

from cockpit_widgets.glyphs import BARRED_GLYPH
from cockpit_widgets.text import cut, fit, width_of, wrap
from cockpit_widgets.types import Cell, HelpEntry, Line, Tone

DANGER_GLYPH = "▲"

_COLUMN_GAP = 3
_LEAST_COLUMN = 36


def _group_lines(title: str, entries: Sequence[HelpEntry], keys: int, width: int) -> list[Line]:
    lines: list[Line] = []
    if title:
        lines.append((Cell(fit(title, width), "accent"),))
    for entry in entries:
        text = f"{entry.text} ({entry.barred})" if entry.barred else entry.text
        tone: Tone = "dim" if entry.barred else "warn" if entry.dangerous else "strong"
        for number, part in enumerate(wrap(text, max(1, width - keys - 2))):
            shown = fit("" if number else cut(_marked(entry), keys), keys)
            told = fit(part, max(0, width - keys - 2))
            lines.append((Cell(shown, tone), Cell("  " + told, "dim" if entry.barred else "")))
    return lines


def _marked(entry: HelpEntry) -> str:
    mark = BARRED_GLYPH if entry.barred else DANGER_GLYPH if entry.dangerous else ""
    return f"{entry.keys} {mark}" if mark else entry.keys


def help_lines(entries: Sequence[HelpEntry], width: int) -> list[Line]:
    """All entries in as many columns as fit, groups whole and in their first order, columns evenly filled."""
    groups: dict[str, list[HelpEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    if not groups:
        return [(Cell(cut("No keys here.", width), "dim"),)]
    columns = max(1, min(len(groups), (width + _COLUMN_GAP) // (_LEAST_COLUMN + _COLUMN_GAP)))
    room = (width - _COLUMN_GAP * (columns - 1)) // columns
    keys = min(max(width_of(_marked(entry)) for entry in entries), max(4, room // 2))
    blocks = [_group_lines(title, group, keys, room) for title, group in groups.items()]
    filled = _pour(blocks, columns)
    blank: Line = (Cell(" " * room),)
    height = max(len(column) for column in filled)
    lines: list[Line] = []
    for row in range(height):
        line: list[Cell] = []
        for column in filled:
            if line:
                line.append(Cell(" " * _COLUMN_GAP))
            line.extend(column[row] if row < len(column) else blank)
        lines.append(tuple(line))
    return lines


def _pour(blocks: Sequence[Sequence[Line]], columns: int) -> list[list[Line]]:
    """Blocks in order into at most `columns` columns, a blank line between two, as low as can be."""
    most = sum(len(block) + 1 for block in blocks)
    for height in range(max(len(block) for block in blocks), most + 1):
        out: list[list[Line]] = [[]]
        for block in blocks:
            if out[-1] and len(out[-1]) + 1 + len(block) > height:
                out.append([])
            if out[-1]:
                out[-1].append((Cell(" " * sum(width_of(cell.text) for cell in block[0])),))
            out[-1].extend(block)
        if len(out) <= columns:
            return out
    return [[line for block in blocks for line in block]]
