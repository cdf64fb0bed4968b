"""Swapping the rows under the cursor: what stays, what moves, and how little is painted again."""

from typing import Any

from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.table_lines import StripCache
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual.strip import Strip

from tests.unit.widgets.builders import Host, Rows, keyed, lines_of, row, rows, texts_of


class Watched(ResourceTable):
    """Counts the lines that are drawn and the layouts that are asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.drawn_lines: list[int] = []
        self.layouts = 0

    def render_line(self, y: int) -> Strip:
        self.drawn_lines.append(y)
        return super().render_line(y)

    def refresh(self, *regions: Any, layout: bool = False, **kwargs: Any) -> Any:
        self.layouts = getattr(self, "layouts", 0) + layout
        return super().refresh(*regions, layout=layout, **kwargs)


async def test_the_cursor_follows_its_key_and_the_view_follows_the_cursor() -> None:
    table = ResourceTable(rows(200))
    async with Host(table).run_test(size=(80, 24)) as pilot:
        table.move_to("job-100")
        await pilot.pause()
        at = next(y for y, line in enumerate(texts_of(table)) if line.startswith("▌"))
        table.set_source(keyed([f"new-{n}" for n in range(30)] + [f"job-{n}" for n in range(200)]))
        await pilot.pause()
        assert table.cursor_key == "job-100"
        assert table.cursor_index == 130
        assert texts_of(table)[at].startswith("▌ job-100")


async def test_the_cursor_stays_where_it_is_when_its_key_is_gone() -> None:
    table = ResourceTable(keyed(["a", "b", "c", "d"]))
    async with Host(table).run_test() as pilot:
        table.move_to("c")
        table.set_source(keyed(["a", "b", "d"]))
        assert (table.cursor_index, table.cursor_key) == (2, "d")
        table.set_source(keyed(["a"]))
        assert (table.cursor_index, table.cursor_key) == (0, "a")
        table.set_source(keyed([]))
        assert (table.cursor_index, table.cursor_key) == (0, None)
        table.set_source(keyed(["x", "y"]))
        await pilot.pause()
        assert (table.cursor_index, table.cursor_key) == (0, "x")


async def test_a_view_at_the_top_stays_at_the_top() -> None:
    table = ResourceTable(rows(200))
    async with Host(table).run_test(size=(80, 24)) as pilot:
        table.move_to("job-2")
        table.set_source(keyed(["new-0", "new-1"] + [f"job-{n}" for n in range(200)]))
        await pilot.pause()
        assert table.scroll_offset.y == 0
        assert texts_of(table)[5].startswith("▌ job-2")


async def test_a_view_scrolled_past_a_shorter_end_comes_back() -> None:
    table = ResourceTable(rows(500))
    async with Host(table).run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        for count in (400, 40, 10, 1):
            table.set_source(rows(count))
            await pilot.pause()
            shown = [line for line in texts_of(table)[1:] if line]
            assert len(shown) == min(count, 23)
            assert any(line.startswith("▌") for line in shown)


async def test_marks_stay_with_their_keys_and_leave_with_them() -> None:
    table = ResourceTable(keyed(["a", "b", "c"]))
    async with Host(table).run_test() as pilot:
        await pilot.press("space", "space")
        table.set_source(keyed(["c", "b", "a"]))
        assert table.marked == {"a", "b"}
        await pilot.pause()
        assert [line[:3] for line in texts_of(table)[1:4]] == ["▌ c", "● b", "● a"]
        table.set_source(keyed(["b", "c"]))
        assert table.marked == {"b"}
        table.set_source(keyed(["a", "b", "c"]))
        assert table.marked == {"b"}


async def test_only_lines_that_changed_are_drawn_again() -> None:
    keys = [f"k{n}" for n in range(1000)]
    table = Watched(keyed(keys))
    async with Host(table).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        table.drawn_lines.clear()
        table.set_source(keyed(keys))
        await pilot.pause()
        assert table.drawn_lines == []
        table.set_source(keyed(keys, {"k4": 1, "k7": 1, "k900": 1}))
        await pilot.pause()
        assert sorted(set(table.drawn_lines)) == [5, 8]
        assert "v1" in texts_of(table)[5]


async def test_moving_the_cursor_draws_two_lines() -> None:
    table = Watched(rows(1000))
    async with Host(table).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        table.drawn_lines.clear()
        await pilot.press("down")
        await pilot.pause()
        assert sorted(set(table.drawn_lines)) == [1, 2]


async def test_a_new_number_of_rows_lays_nothing_out_while_the_scroll_bar_stays() -> None:
    table = Watched(rows(1000))
    async with Host(table).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        table.layouts = 0
        for count in (1001, 1100, 900):
            table.set_source(rows(count))
            await pilot.pause()
        assert table.layouts == 0
        assert table.vertical_scrollbar.window_virtual_size == 901
        await pilot.press("end")
        await pilot.pause()
        assert texts_of(table)[-1].startswith("▌ job-899")


async def test_new_columns_are_laid_out() -> None:
    table = ResourceTable(rows(5))
    async with Host(table).run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        fewer = Rows((row(f"job-{n}") for n in range(5)), rows(0).columns[:2])
        table.set_source(fewer)
        await pilot.pause()
        assert texts_of(table)[0].split() == ["Name", "State"]


async def test_a_row_is_drawn_anew_only_when_its_version_moves() -> None:
    first = rows(10)
    table = ResourceTable(first)
    async with Host(table).run_test() as pilot:
        await pilot.pause()
        second = rows(10)
        table.set_source(second)
        table.refresh()
        await pilot.pause()
        lines_of(table)
        assert second.cells_calls == []
        third = rows(10, version=1)
        table.set_source(third)
        await pilot.pause()
        assert sorted(set(third.cells_calls)) == list(range(10))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=20, max_size=80))
def test_the_strip_cache_is_bounded_and_never_wrong(steps: list[tuple[int, int]]) -> None:
    cache = StripCache(8)
    layout = object()
    truth: dict[int, int] = {}
    for key, version in steps:
        found = cache.get(key, version, layout)
        if found is not None:
            assert truth[key] == version
            assert found.text == f"{key} {version}"
        else:
            cache.put(key, version, layout, Strip([Segment(f"{key} {version}")]))
            truth[key] = version
        assert len(cache) <= 8
    for key, version in steps:
        assert cache.get(key, version, object()) is None


KEYS = st.lists(st.sampled_from([f"k{n}" for n in range(40)]), unique=True, max_size=40)


@settings(deadline=None, max_examples=40)
@given(st.lists(KEYS, min_size=1, max_size=5), st.integers(0, 39))
def test_whatever_is_swapped_cursor_and_marks_name_rows_that_exist(
    swaps: list[list[str]], start: int
) -> None:
    table = ResourceTable(keyed([f"k{n}" for n in range(40)]))
    table.move_to(f"k{start}")
    for keys in swaps:
        before = table.cursor_key
        table.set_source(keyed(keys))
        if keys:
            assert table.cursor_key == keys[table.cursor_index]
            assert before not in keys or table.cursor_key == before
        else:
            assert table.cursor_key is None
