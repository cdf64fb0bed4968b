"""A grid of cells: each stands somewhere once, the cursor reaches it, and only changed rows are drawn."""

from cockpit_widgets import CellGrid
from cockpit_widgets.cell_grid import BLOCK, per_row, plan_cells
from cockpit_widgets.types import GridCell
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.strip import Strip

from tests.unit.widgets.builders import HOSTILE, SIZES, Host, assert_sound, texts_of

SHAPES = st.lists(st.integers(1, 300), min_size=1, max_size=4)


@given(SHAPES, st.integers(1, 250), st.integers(1, 60), st.integers(0, 8))
def test_every_cell_stands_somewhere_once_and_within_the_width(
    sizes: list[int], width: int, height: int, labels: int
) -> None:
    plan = plan_cells(sizes, width, height, labels)
    seen = [index for first, stop in plan.rows for index in range(first, stop)]
    assert seen == list(range(sum(sizes)))
    begins = {sum(sizes[:number]) for number in range(len(sizes))}
    assert begins <= {first for first, _ in plan.rows}, "each group begins a row"
    for index in seen:
        row, column = plan.place(index)
        x = plan.x_of(column)
        assert plan.at(row, x) == index
        assert plan.at(row, x + plan.cell_width - 1) == index
        assert x + plan.cell_width <= max(width, labels + plan.cell_width)


@given(SHAPES, st.integers(20, 250), st.integers(1, 60), st.data())
def test_up_undoes_down_where_rows_are_alike_and_no_step_leaves_the_grid(
    sizes: list[int], width: int, height: int, data: st.DataObject
) -> None:
    plan = plan_cells(sizes, width, height, 5)
    index = data.draw(st.integers(0, sum(sizes) - 1))
    down = plan.beside(index, 1)
    assert 0 <= down < sum(sizes)
    row, column = plan.place(index)
    if row + 1 == len(plan.rows):
        assert down == index
    elif plan.place(down)[1] == column:
        assert plan.beside(down, -1) == index


@given(st.integers(1, 400), st.sampled_from([1, 2]))
def test_rows_hold_powers_of_two_where_a_block_fits(width: int, cell_width: int) -> None:
    most = per_row(width, cell_width)
    if width >= BLOCK * cell_width:
        assert most % BLOCK == 0 and (most // BLOCK) & (most // BLOCK - 1) == 0
    else:
        assert most == max(1, width // cell_width)


def test_cells_are_two_wide_where_there_is_room() -> None:
    assert plan_cells([1, 512], 195, 20, 5).cell_width == 2
    assert plan_cells([1, 512], 76, 20, 5).rows[1:3] == ((1, 33), (33, 65))
    narrow = plan_cells([1, 512], 76, 10, 5)
    assert (narrow.cell_width, narrow.rows[1:3]) == (1, ((1, 65), (65, 129)))


def cells(count: int, level: int = 7) -> list[GridCell]:
    return [GridCell(f"k{number}", str(number), level=level) for number in range(count)]


class Watched(CellGrid):
    """Keeps the lines that are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn_lines: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.drawn_lines.append(y)
        return super().render_line(y)


class Hearing(Host):
    def on_cell_grid_highlighted(self, event: CellGrid.Highlighted) -> None:
        self.hear(("highlighted", event.key))

    def on_cell_grid_activated(self, event: CellGrid.Activated) -> None:
        self.hear(("activated", event.key))


async def test_rows_are_labelled_and_the_caption_stands_below() -> None:
    grid = CellGrid()
    async with Host(grid).run_test(size=(80, 24)) as pilot:
        lead = GridCell("l", "lead", "●", tone="good")
        odd = GridCell("odd", "3", "▼", tone="warn")
        grid.set_cells([[lead], [*cells(3), odd, *cells(80)[4:]]], "shade: duty")
        await pilot.pause()
        seen = [line.rstrip() for line in texts_of(grid)]
        assert seen[0] == "lead ●●"
        assert seen[1].startswith("0    ▇▇▇▇▇▇▼▼▇▇▇▇▇▇▇▇ ▇▇")
        assert [line.split()[0] for line in seen[1:4]] == ["0", "32", "64"]
        assert seen[4] == "shade: duty"


async def test_the_cursor_walks_follows_its_cell_and_opens_it() -> None:
    grid = CellGrid()
    app = Hearing(grid)
    async with app.run_test(size=(40, 10)) as pilot:
        grid.set_cells([cells(100)])
        grid.focus()
        await pilot.press("down", "right", "right", "left", "enter")
        assert grid.cursor_key == f"k{per_row(40 - 4, 1) + 1}" or grid.plan.cell_width == 2
        key = grid.cursor_key
        assert ("activated", key) in app.heard
        grid.set_cells([[GridCell("new", "0", "●"), *cells(100)]])
        await pilot.pause()
        assert grid.cursor_key == key
        await pilot.press("end")
        assert grid.cursor_key == "k99"
        await pilot.press("right", "down", "down")
        assert grid.cursor_key == "k99"
        await pilot.press("home", "left", "up")
        assert grid.cursor_key == "new"
        grid.set_cells([cells(2)])
        await pilot.pause()
        assert grid.cursor_key == "k0"
        grid.set_cells([])
        await pilot.press("left", "down", "enter")
        assert grid.cursor_key is None


async def test_the_cursor_is_seen_on_a_full_block_and_scrolls_into_view() -> None:
    grid = CellGrid()
    async with Host(grid).run_test(size=(30, 6)) as pilot:
        grid.set_cells([cells(400, level=8)])
        grid.focus()
        await pilot.press("end")
        await pilot.pause()
        row, _ = grid.plan.place(399)
        top = grid.scroll_offset.y
        assert top <= row < top + 5
        line = texts_of(grid)[row - top]
        assert line.rstrip().split()[-1].endswith("█") and "█ " in line, "the cursor is a hole of its ground"


async def test_a_click_finds_the_cell() -> None:
    grid = CellGrid()
    async with Host(grid).run_test(size=(80, 24)) as pilot:
        grid.set_cells([cells(64)])
        await pilot.pause()
        row, column = grid.plan.place(40)
        await pilot.click(grid, offset=(grid.plan.x_of(column), row))
        assert grid.cursor_key == "k40"


async def test_only_rows_that_look_different_are_drawn_again() -> None:
    grid = Watched()
    async with Host(grid).run_test(size=(80, 24)) as pilot:
        grid.set_cells([cells(256)], "c")
        await pilot.pause()
        grid.drawn_lines.clear()
        grid.set_cells([cells(256)], "c")
        await pilot.pause()
        assert grid.drawn_lines == []
        changed = cells(256)
        changed[70] = changed[70]._replace(level=2)
        grid.set_cells([changed], "c")
        await pilot.pause()
        assert set(grid.drawn_lines) == {grid.plan.place(70)[0]}


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(SIZES), st.integers(0, 600))
def test_it_is_sound_at_any_size(size: tuple[int, int], count: int) -> None:
    import asyncio

    async def draw() -> None:
        grid = CellGrid()
        async with Host(grid).run_test(size=size) as pilot:
            names = [GridCell(str(at), HOSTILE[at % len(HOSTILE)], level=at % 13 - 4) for at in range(count)]
            grid.set_cells([names], "caption")
            await pilot.pause()
            assert_sound(grid, grid.line_width)

    asyncio.run(draw())
