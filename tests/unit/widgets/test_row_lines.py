"""Sentences that go on below their row, where a table has lines to spare."""

import pytest
from cockpit_widgets import ResourceTable
from cockpit_widgets.columns import place_columns
from cockpit_widgets.row_lines import RowLines, part_of
from cockpit_widgets.types import Cell, Column
from textual.app import App, ComposeResult

COLUMNS = (Column("name", "Name", 4), Column("why", "Why", 10, folds=True))
WIDTH = 20
LONG = "one two three four five"


class Rows:
    """Names and sentences; `made` counts how often cells were asked for."""

    columns = COLUMNS

    def __init__(self, *sentences: str) -> None:
        self.sentences = sentences
        self.made = 0

    def __len__(self) -> int:
        return len(self.sentences)

    def key(self, index: int) -> str:
        return str(index)

    def index(self, key: str) -> int | None:
        return int(key) if int(key) < len(self) else None

    def cells(self, index: int) -> tuple[Cell, ...]:
        self.made += 1
        return (Cell(f"r{index}"), Cell(self.sentences[index], "warn"))

    def version(self, index: int) -> object:
        return self.sentences[index]


def lines(rows: Rows, room: int, known: RowLines | None = None) -> list[tuple[int, int]]:
    places = place_columns(COLUMNS, WIDTH)
    return [(line.row, line.part) for line in (known or RowLines()).of(rows, places, room)]


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (8, [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]),
        (6, [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0)]),
        (4, []),
        (2, []),
    ],
    ids=["room for all", "room for the first", "not for a whole one", "rows that scroll"],
)
def test_rows_are_folded_whole_while_there_is_room(room: int, found: list[tuple[int, int]]) -> None:
    assert lines(Rows("short", LONG, LONG), room) == found


def test_only_changed_rows_are_measured_again() -> None:
    known = RowLines()
    lines(Rows("short", LONG), 8, known)
    rows = Rows("short", LONG + " six")
    assert lines(rows, 8, known)[-1] == (1, 2) and rows.made == 1
    lines(rows, 8, known)
    assert rows.made == 1


def test_the_parts_hold_the_whole_sentence_and_the_other_cells_once() -> None:
    rows, places = Rows(LONG), place_columns(COLUMNS, WIDTH)
    parts = [part_of(COLUMNS, places, rows.cells(0), part) for part in range(3)]
    assert [cells[0].text for cells in parts] == ["r0", "", ""]
    assert " ".join(cells[1].text for cells in parts) == LONG
    assert {cells[1].tone for cells in parts} == {"warn"}


class Page(App[None]):
    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.rows = rows

    def compose(self) -> ComposeResult:
        yield ResourceTable(self.rows, id="table")


def drawn(app: App[None]) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).strip() for strip in strips]


async def test_a_table_folds_while_there_is_room_and_each_line_of_a_row_is_clicked_as_the_row() -> None:
    app = Page(Rows("short", LONG, "end"))
    async with app.run_test(size=(WIDTH + 1, 8)) as pilot:
        table = app.query_one(ResourceTable)
        table.focus()
        await pilot.pause()
        assert [line.split()[-1] for line in drawn(app)[1:6]] == ["short", "two", "four", "five", "end"]
        await pilot.click(ResourceTable, offset=(8, 4))
        assert table.cursor_key == "1" and not table.is_cut("why")
        await pilot.press("down")
        assert table.cursor_key == "2" and table.visible_keys == ("0", "1", "2")
        table.set_source(Rows("short", LONG, *("more" for _ in range(9))))
        await pilot.pause()
        assert "one two t…" in drawn(app)[2] or "…" in drawn(app)[2]
        assert table.move_to("1") and table.is_cut("why")
