"""The table as a person uses it: keys, mouse, marks, sort, folding, placeholder."""

from typing import Any

import pytest
from cockpit_widgets.columns import place_columns
from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.row_lines import RowLines
from cockpit_widgets.types import Column
from textual.pilot import Pilot

from tests.reliability.figures import Tell
from tests.unit.widgets.builders import (
    COLUMNS,
    HOSTILE,
    SIZES,
    Host,
    Rows,
    actions_of,
    assert_sound,
    lines_of,
    rows,
    texts_of,
)


class Hearing(Host):
    """Keeps what the table says."""

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        self.hear(("highlighted", event.key))

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        self.hear(("activated", event.key))

    def on_resource_table_marks_changed(self, event: ResourceTable.MarksChanged) -> None:
        self.hear(("marks", event.keys))

    def on_resource_table_sort_requested(self, event: ResourceTable.SortRequested) -> None:
        self.hear(("sort", event.column_id))


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_every_line_is_exactly_as_wide_as_the_table(size: tuple[int, int]) -> None:
    table = ResourceTable(rows(500))
    async with Host(table).run_test(size=size) as pilot:
        await pilot.pause()
        assert_sound(table)
        header = texts_of(table)[0]
        assert all(column.title in header for column in table.shown_columns)
        assert texts_of(table)[1].startswith("▌ job-0")
        table.action_last()
        await pilot.pause()
        assert_sound(table)
        assert texts_of(table)[-1].startswith("▌ job-499")
        assert texts_of(table)[0] == header


async def test_a_row_stands_under_its_titles() -> None:
    table = ResourceTable(rows(3))
    async with Host(table).run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        header, first = lines_of(table)[0].text, lines_of(table)[1].text
        assert header.index("State") == first.index("v0")
        assert header.index("GPUs") + len("GPUs") == first.index("8") + 1


async def test_columns_leave_by_priority_when_it_gets_narrow() -> None:
    table = ResourceTable(rows(3))
    async with Host(table).run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        assert [column.id for column in table.shown_columns] == [
            "name",
            "state",
            "gpus",
            "why",
            "age",
            "owner",
        ]
        await pilot.resize_terminal(62, 24)
        await pilot.pause()
        assert [column.id for column in table.shown_columns] == ["name", "state", "gpus", "why"]
        await pilot.resize_terminal(45, 24)
        await pilot.pause()
        assert [column.id for column in table.shown_columns] == ["name", "state", "gpus"]
        assert_sound(table)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9, 14, 21, 33])
async def test_even_absurd_widths_break_nothing(width: int) -> None:
    table = ResourceTable(rows(30))
    async with Host(table).run_test(size=(width, 6)) as pilot:
        await pilot.pause()
        assert_sound(table)


@pytest.mark.row(42, "actions made of what stands in data", most=0)
@pytest.mark.parametrize("size", SIZES)
async def test_hostile_text_cannot_break_a_line(size: tuple[int, int], figure: Tell) -> None:
    source = Rows((f"k{number}", 0, (text,) * 6) for number, text in enumerate(HOSTILE))
    table = ResourceTable(source, placeholder="\x1b[2Jnothing\nhere")
    async with Host(table).run_test(size=size) as pilot:
        await pilot.pause()
        assert_sound(table)
        figure("actions made of what stands in data", actions_of(table))
        assert any("[bold red]markup[/]"[:17] in line for line in texts_of(table))
        table.set_source(Rows([]))
        await pilot.pause()
        assert_sound(table)


async def test_rows_with_too_few_cells_are_blank_there() -> None:
    table = ResourceTable(Rows([("a", 0, ("only name",)), ("b", 0, ())]))
    async with Host(table).run_test() as pilot:
        await pilot.pause()
        assert_sound(table)
        assert texts_of(table)[1] == "▌ only name"


async def test_fifty_thousand_rows_cost_one_screenful() -> None:
    source = rows(50_000)
    table = ResourceTable(source)
    async with Host(table).run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        assert set(source.cells_calls) <= set(range(60))
        assert len(source.cells_calls) <= 60
        source.cells_calls.clear()
        await press(pilot, "end")
        assert table.cursor_key == "job-49999"
        assert min(source.cells_calls) >= 50_000 - 60
        assert len(source.cells_calls) <= 60


async def test_moving_the_cursor_by_keys() -> None:
    table = ResourceTable(rows(100))
    app = Hearing(table)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for keys, wanted in [
            (("down",), 1),
            (("j", "j"), 3),
            (("k",), 2),
            (("up", "up", "up", "up"), 0),
            (("pagedown",), 22),
            (("pagedown", "pageup"), 22),
            (("end",), 99),
            (("down",), 99),
            (("home",), 0),
            (("g",), 0),
        ]:
            await press(pilot, *keys)
            assert table.cursor_index == wanted, keys
            assert table.cursor_key == f"job-{wanted}"
            assert sum(line.text.startswith("▌") for line in lines_of(table)) == 1
        assert app.heard[0] == ("highlighted", "job-1")


async def test_enter_activates_and_space_marks_and_moves_on() -> None:
    table = ResourceTable(rows(5))
    app = Hearing(table)
    async with app.run_test() as pilot:
        await press(pilot, "enter", "space", "space", "up", "space")
        assert ("activated", "job-0") in app.heard
        assert table.marked == {"job-0"}
        assert [said for said in app.heard if said[0] == "marks"] == [
            ("marks", {"job-0"}),
            ("marks", {"job-0", "job-1"}),
            ("marks", {"job-0"}),
        ]
        assert lines_of(table)[1].text.startswith("● job-0")
        table.move_to("job-0")
        await pilot.pause()
        assert lines_of(table)[1].text.startswith("◉ job-0")
        table.clear_marks()
        await pilot.pause()
        assert lines_of(table)[1].text.startswith("▌ job-0")


async def test_an_empty_table_says_why_and_answers_no_key() -> None:
    table = ResourceTable(placeholder="No job asks for GPUs in team-a.")
    app = Hearing(table)
    async with app.run_test() as pilot:
        await press(pilot, "enter", "space", "down", "end", "pagedown")
        assert app.heard == []
        assert table.cursor_key is None
        assert texts_of(table)[2] == "  No job asks for GPUs in team-a."
        table.set_placeholder("Listing jobs, 400 so far.")
        await pilot.pause()
        assert texts_of(table)[2] == "  Listing jobs, 400 so far."
        table.set_source(rows(2))
        await pilot.pause()
        assert app.heard == [("highlighted", "job-0")]
        assert "Listing" not in "".join(texts_of(table))


async def test_a_click_moves_and_a_double_click_opens() -> None:
    table = ResourceTable(rows(100))
    app = Hearing(table)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click(table, offset=(10, 4))
        assert table.cursor_key == "job-3"
        await pilot.click(table, offset=(10, 6), times=2)
        await pilot.pause()
        assert ("activated", "job-5") in app.heard


async def test_a_click_on_a_title_asks_for_that_sort() -> None:
    table = ResourceTable(rows(10))
    app = Hearing(table)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        for place in place_columns(COLUMNS, table.scrollable_content_region.width):
            await pilot.click(table, offset=(place.x, 0))
        await pilot.pause()
        # the owner column cannot be sorted by
        assert app.heard == [("sort", column.id) for column in COLUMNS[:-1]]


async def test_sort_keys_walk_over_the_sortable_columns_that_are_shown() -> None:
    table = ResourceTable(rows(10))
    app = Hearing(table)
    async with app.run_test(size=(120, 24)) as pilot:
        await press(pilot, "greater_than_sign")
        table.set_sort("state", False)
        await press(pilot, "greater_than_sign", "less_than_sign", "circumflex_accent")
        assert app.heard == [("sort", "name"), ("sort", "gpus"), ("sort", "name"), ("sort", "state")]


@pytest.mark.parametrize(("column", "shown"), [("state", "State▼"), ("gpus", "▼GPUs"), ("name", "Name▼")])
async def test_the_sort_arrow_moves_no_title(column: str, shown: str) -> None:
    table = ResourceTable(rows(10))
    async with Host(table).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        before = texts_of(table)[0]
        table.set_sort(column, descending=True)
        await pilot.pause()
        after = texts_of(table)[0]
        assert shown in after
        assert after.replace("▼", " ").rstrip() == before
        table.set_sort(column, descending=False)
        assert "▲" in texts_of(table)[0]


async def test_a_table_without_header_starts_with_its_first_row() -> None:
    table = ResourceTable(rows(50), header=False)
    async with Host(table).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert texts_of(table)[0].startswith("▌ job-0")
        await press(pilot, "end")
        assert texts_of(table)[-1].startswith("▌ job-49")
        assert_sound(table)


async def test_the_look_of_the_cursor_tells_whether_keys_go_there() -> None:
    first, second = ResourceTable(rows(3)), ResourceTable(rows(3))
    css = "ResourceTable { height: 10; }"
    async with Host(first, second, css=css).run_test() as pilot:
        first.focus()
        await pilot.pause()
        focused, blurred = lines_of(first)[1], lines_of(second)[1]
        assert focused.text == blurred.text
        assert [s.style for s in focused] != [s.style for s in blurred]
        second.focus()
        await pilot.pause()
        assert [s.style for s in lines_of(second)[1]] == [s.style for s in focused]


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark", "nord"])
async def test_a_new_theme_is_taken_up_at_once(theme: str) -> None:
    table = ResourceTable(rows(3))
    app = Host(table)
    async with app.run_test() as pilot:
        await pilot.pause()
        before = [segment.style for segment in lines_of(table)[2]]
        app.theme = theme
        await pilot.pause()
        assert [segment.style for segment in lines_of(table)[2]] != before
        if theme.startswith("ansi"):
            cursor = lines_of(table)[1]
            assert any(segment.style is not None and segment.style.reverse for segment in cursor)


async def test_a_table_as_high_as_its_rows_gives_lines_to_folded_sentences_and_to_why_it_is_empty() -> None:
    folding = (Column("name", "Name", 10), Column("why", "Why", 16, grow=1, folds=True))
    short, long = "no room", "gang waits for 16 GPUs on 2 nodes of pool h100"
    table = ResourceTable(Rows([], folding), placeholder=long)
    table.styles.height = "auto"
    app = Host(table)
    async with app.run_test(size=(30, 20)) as pilot:

        async def shown(*rows: str) -> list[str]:
            table.set_source(Rows([(row, row, (row[:4], row)) for row in rows], folding))
            await pilot.pause()
            await pilot.pause()
            return [line.rstrip() for line in texts_of(table)]

        empty = await shown()
        assert " ".join(" ".join(empty[1:]).split()) == long
        assert len(await shown(short, short + "s")) == 3
        whole = await shown(short, long)
        assert long in " ".join(line[12:].strip() for line in whole)
        assert len(await shown(short, short + "s")) == 3


async def test_a_key_asks_for_the_folding_of_all_lines_a_few_times_and_not_for_each_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, asked = ResourceTable(rows(500)), 0
    folding = RowLines.of

    def counted(self: RowLines, *given: Any) -> Any:
        nonlocal asked
        asked += 1
        return folding(self, *given)

    async with Host(table).run_test(size=(160, 60)) as pilot:
        await pilot.pause()
        monkeypatch.setattr(RowLines, "of", counted)
        await press(pilot, "down")
        assert table.cursor_index == 1
        assert 0 < asked <= 12, "59 lines are drawn"
