"""What stands on a screen, read back from the drawn strips: never from the code that laid them out."""

import re
from dataclasses import dataclass
from typing import Any

from cockpit_widgets import KeyFooter, ResourceTable, StatusLine
from cockpit_widgets.row_lines import part_of
from cockpit_widgets.text import plain
from cockpit_widgets.types import Cell
from rich.cells import cell_len, get_character_cell_size
from textual.app import App
from textual.widget import Widget

ELLIPSIS = "…"
ARROWS = "▲▼"


def lines(app: App[Any]) -> list[str]:
    """The lines of the screen as drawn, dialogs over what lies behind them."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def text(app: App[Any]) -> str:
    """The whole screen, lines apart."""
    return "\n".join(lines(app))


def flat(app: App[Any]) -> str:
    """The whole screen on one line, without the bars between columns: a sentence may be broken."""
    return " ".join(text(app).replace("│", " ").split())


def cells(line: str) -> list[str]:
    """One entry for each terminal cell: the second of a wide character is empty, marks join their base."""
    found: list[str] = []
    for char in line:
        size = get_character_cell_size(char)
        if size == 0 and found:
            found[-1] += char
        else:
            found += [char] + [""] * (size - 1)
    return found


@dataclass(frozen=True)
class Title:
    """A column title as drawn: where it starts and where it ends, in cells of the table's own lines."""

    title: str
    start: int
    stop: int


def table_lines(app: App[Any], table: ResourceTable) -> list[str]:
    """The drawn lines of a table, cut out of the screen."""
    region = table.content_region
    return ["".join(cells(line)[region.x : region.right]) for line in lines(app)[region.y : region.bottom]]


def titles(header: str, wanted: list[str]) -> list[Title]:
    """Each wanted title as a whole word of the header line, in order. Fails where one is cut or missing."""
    line = "".join(" " if char in ARROWS else char for char in header)
    found: list[Title] = []
    at = 0
    for title in wanted:
        if not title:
            found.append(Title("", -1, -1))
            continue
        match = re.compile(rf"(?<=\s){re.escape(title)}(?=\s|$)").search(line, at)
        assert match is not None, f"title {title!r} is not shown whole in {header!r}"
        found.append(Title(title, match.start(), match.end()))
        at = match.end()
    return found


def columns_fault(app: App[Any], table: ResourceTable) -> str:
    """What is wrong with the columns of a table; "" when each cell stands under its title."""
    drawn = table_lines(app, table)
    columns = table.shown_columns
    heads = titles(drawn[0], [column.title for column in columns])
    numbers = [table.source.columns.index(column) for column in columns]
    for y, line in enumerate(drawn[1:], 1):
        at = table._line_at(y)
        if at is None:
            break
        made = table.source.cells(at.row)
        if at.is_folded:
            made = part_of(table.source.columns, table._layout(), made, at.part)
        for column, head, number in zip(columns, heads, numbers, strict=True):
            if head.start < 0:
                continue
            cell = made[number]._replace(text=plain(made[number].text))
            fault = cell_fault(cells(line), head, cell, column.align)
            if fault:
                return f"{column.title}: {fault}\n{drawn[0]}\n{line}"
    return ""


def cell_fault(line: list[str], head: Title, cell: Cell, align: str) -> str:
    """What is wrong with one cell under its title; "" when nothing is."""
    if align == "left":
        rest = "".join(line[head.start :])
        if not cell.text:
            return "" if rest[:1].strip() == "" else "something stands where nothing should"
        if line[head.start - 1] != " " and head.start > 0:
            return "no blank before the cell"
        return "" if _begins(rest, cell.text) else f"{cell.text!r} does not start at its title"
    before = "".join(line[: head.stop])
    if not cell.text:
        return "" if before[-1:] == " " else "something stands where nothing should"
    if before.endswith(cell.text):
        return ""
    whole = before.rsplit("  ", 1)[-1]
    is_cut = whole.endswith(ELLIPSIS) and cell.text.startswith(whole.strip()[:-1])
    return "" if is_cut else f"{cell.text!r} does not end at its title"


def _begins(rest: str, wanted: str) -> bool:
    """Whether `rest` begins with the text whole, or with a part of it and an ellipsis, maybe also its end."""
    if rest.startswith(wanted):
        return rest[len(wanted) : len(wanted) + 1].strip() == ""
    head = rest.split(ELLIPSIS, 1)
    if len(head) != 2 or not head[0] or not wanted.startswith(head[0].rstrip()):
        return False
    return wanted.endswith(head[1].split("  ", 1)[0].rstrip())


def shown_tables(app: App[Any]) -> list[ResourceTable]:
    """Tables that take room on the screen that is on top."""
    return [one for one in app.screen.query(ResourceTable) if is_shown(one)]


def is_shown(widget: Widget) -> bool:
    """Whether the widget takes any cells."""
    return widget.display and widget.region.area > 0


def footer(app: App[Any]) -> list[str]:
    """The entries of the footer, as drawn."""
    line = app.screen.query_one("#footer", KeyFooter)
    return [part for part in re.split(r"\s{2,}", lines(app)[line.region.y].strip()) if part]


def header_pieces(app: App[Any]) -> list[str]:
    """The pieces of the status line, as drawn."""
    line = app.screen.query_one("#header", StatusLine)
    drawn = lines(app)[line.region.y].strip()
    return [piece for side in re.split(r"\s{2,}", drawn) for piece in side.split(" · ")]


def size_fault(app: App[Any]) -> str:
    """What is wrong with the number and the width of the lines; "" when they fill the screen exactly."""
    drawn = lines(app)
    if len(drawn) != app.size.height:
        return f"{len(drawn)} lines on a screen of {app.size.height}"
    wide = [line for line in drawn if cell_len(line) != app.size.width]
    return f"a line is not {app.size.width} cells wide: {wide[0]!r}" if wide else ""
