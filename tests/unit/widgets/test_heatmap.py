"""The heatmap: one cell per GPU while it fits, folded and saying so when it does not."""

from typing import Any

import pytest
from cockpit_widgets.heat_layout import plan_fold, plan_heat
from cockpit_widgets.heatmap import Heatmap
from cockpit_widgets.types import HeatBlock, HeatGroup
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.strip import Strip

from tests.unit.widgets.builders import HOSTILE, SIZES, Host, assert_sound, heat, lines_of, texts_of

GROUPS = st.lists(
    st.builds(
        HeatGroup,
        name=st.text("abc日-", min_size=1, max_size=20),
        blocks=st.lists(
            st.builds(
                HeatBlock,
                key=st.uuids().map(str),
                levels=st.lists(st.integers(-4, 8), max_size=20).map(tuple),
            ),
            max_size=12,
        ).map(tuple),
    ),
    max_size=6,
)


class Hearing(Host):
    def on_heatmap_block_highlighted(self, event: Heatmap.BlockHighlighted) -> None:
        self.hear(("highlighted", event.key))

    def on_heatmap_block_activated(self, event: Heatmap.BlockActivated) -> None:
        self.hear(("activated", event.key))

    def on_heatmap_fold_changed(self, event: Heatmap.FoldChanged) -> None:
        self.hear(("fold", event.fold, event.caption))


class Watched(Heatmap):
    """Keeps the lines that are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn_lines: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.drawn_lines.append(y)
        return super().render_line(y)


@settings(deadline=None, max_examples=150)
@given(GROUPS, st.integers(4, 120))
def test_every_cell_of_every_block_stands_somewhere_once(groups: list[HeatGroup], width: int) -> None:
    plan = plan_fold(groups, width, "gpu")
    seen: list[tuple[int, int, int]] = []
    for line in plan.lines:
        taken: set[int] = set()
        for spot in line.spots:
            cells = set(range(spot.x, spot.x + spot.stop - spot.start))
            assert not cells & taken
            taken |= cells
            seen += [(spot.group, spot.block, cell) for cell in range(spot.start, spot.stop)]
    wanted = [
        (g, b, cell)
        for g, group in enumerate(groups)
        for b, block in enumerate(group.blocks)
        for cell in range(max(1, len(block.levels)))
    ]
    assert sorted(seen) == sorted(wanted)


@settings(deadline=None, max_examples=150)
@given(GROUPS, st.integers(12, 120), st.integers(1, 30))
def test_the_finest_fold_that_fits_is_taken(groups: list[HeatGroup], width: int, height: int) -> None:
    plan = plan_heat(groups, width, height)
    heights = {fold: len(plan_fold(groups, width, fold).lines) for fold in ("gpu", "node", "group")}
    wanted = next((fold for fold in ("gpu", "node") if heights[fold] <= height), "group")
    assert plan.fold == wanted
    for line in plan.lines:
        assert all(spot.x + spot.stop - spot.start <= width for spot in line.spots)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("blocks", [3, 60, 700, 2500])
async def test_every_line_is_exactly_as_wide_as_the_map(size: tuple[int, int], blocks: int) -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=size) as pilot:
        heatmap.set_groups(heat(blocks, groups=3), "duty")
        await pilot.pause()
        assert_sound(heatmap)


async def test_a_fleet_that_fits_shows_one_cell_per_gpu() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(80, 24)) as pilot:
        levels = (-1, -2, -3, -4, 0, 1, 5, 8)
        heatmap.set_groups([HeatGroup("h100", (HeatBlock("a", levels), HeatBlock("b", (8,) * 8)))], "duty")
        await pilot.pause()
        shown = texts_of(heatmap)
        assert shown[0] == "h100 ·×?~_▁▅█ ████████"
        assert shown[1] == "one cell per GPU, a block per node   duty"
        assert not any(shown[2:])
        assert heatmap.fold == "gpu"


async def test_a_legend_that_is_too_long_takes_another_line_where_there_is_room() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(40, 4)) as pilot:
        heatmap.set_groups(heat(2), "· free  × lost   shade: share of time in use")
        await pilot.pause()
        said = ["one cell per GPU, a block per node", "· free  × lost   shade: share of time i…"]
        assert texts_of(heatmap)[1:3] == said, "two lines are all that the map can spare"
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert texts_of(heatmap)[1:4] == [said[0], "· free  × lost", "shade: share of time in use"]
        assert (heatmap.needed_lines(40, 12), heatmap.needed_lines(40, 4)) == (4, 4)
        heatmap.set_groups(heat(2), "duty")
        await pilot.pause()
        assert texts_of(heatmap)[1:4] == [said[0], "duty", ""]
        assert_sound(heatmap)


async def test_a_fleet_that_does_not_fit_folds_and_says_so() -> None:
    heatmap = Heatmap()
    app = Hearing(heatmap)
    async with app.run_test(size=(80, 8)) as pilot:
        await pilot.pause()
        ok, bad = HeatBlock("ok", (5,) * 8), HeatBlock("bad", (8, -2) + (-1,) * 6)
        heatmap.set_groups([HeatGroup("h100", (ok,) * 70 + (bad,) + (ok,) * 60)])
        await pilot.pause()
        assert heatmap.fold == "node"
        assert "".join(texts_of(heatmap)).count("×") == 1
        assert texts_of(heatmap)[2] == "one cell per node, worst GPU wins"
        heatmap.set_groups([HeatGroup(f"pool-{n}", (ok, bad)) for n in range(12)])
        await pilot.pause()
        assert str(heatmap.fold) == "group"
        assert texts_of(heatmap)[0].count("×") == 6
        assert texts_of(heatmap)[2] == "one cell per pool, worst GPU wins"
        assert [said[1] for said in app.heard if said[0] == "fold"] == ["node", "group"]
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert str(heatmap.fold) == "gpu"


async def test_a_big_fleet_of_2500_nodes_of_8_folds_by_the_room_it_has() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(200, 60)) as pilot:
        heatmap.set_groups(heat(250, groups=10))
        await pilot.pause()
        assert heatmap.fold == "node"
        assert sum(line.count("▄") for line in texts_of(heatmap)) == 2500
        await pilot.press("z")
        await pilot.pause()
        assert str(heatmap.fold) == "gpu"
        assert_sound(heatmap)
        assert heatmap.max_scroll_y > 0
        assert texts_of(heatmap)[-1] == "one cell per GPU, a block per node"
        await pilot.press("end")
        await pilot.pause()
        assert heatmap.cursor_key == "g9-n249"
        assert heatmap.scroll_offset.y == heatmap.max_scroll_y
        await pilot.press("z")
        await pilot.pause()
        assert heatmap.fold == "node"
        assert heatmap.cursor_key == "g9-n249"


async def test_arrow_keys_walk_over_blocks_and_enter_opens() -> None:
    heatmap = Heatmap()
    app = Hearing(heatmap)
    async with app.run_test(size=(40, 24)) as pilot:
        heatmap.set_groups(heat(5, groups=2))
        heatmap.focus()
        await pilot.pause()
        # 32 cells hold three blocks of eight and two spaces beside the names
        for key, wanted in [
            ("right", "g0-n1"),
            ("down", "g0-n4"),
            ("down", "g1-n1"),
            ("left", "g1-n0"),
            ("left", "g0-n4"),
            ("up", "g0-n1"),
            ("end", "g1-n4"),
            ("right", "g1-n4"),
            ("down", "g1-n4"),
            ("home", "g0-n0"),
            ("up", "g0-n0"),
        ]:
            await pilot.press(key)
            assert heatmap.cursor_key == wanted, key
        await pilot.press("enter")
        await pilot.pause()
        assert app.heard[-1] == ("activated", "g0-n0")
        assert app.heard[1] == ("highlighted", "g0-n1")


async def test_a_click_on_a_block_moves_and_a_double_click_opens() -> None:
    heatmap = Heatmap()
    app = Hearing(heatmap)
    async with app.run_test(size=(80, 24)) as pilot:
        heatmap.set_groups(heat(4))
        await pilot.pause()
        await pilot.click(heatmap, offset=(7 + 9 * 2 + 3, 0))
        assert heatmap.cursor_key == "g0-n2"
        await pilot.click(heatmap, offset=(8, 0), times=2)
        await pilot.pause()
        assert app.heard[-1] == ("activated", "g0-n0")


async def test_folded_to_groups_the_worst_block_is_the_one_that_opens() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(80, 24)) as pilot:
        heatmap.set_groups(
            [HeatGroup("h100", (HeatBlock("ok", (8,)), HeatBlock("lost", (-2,)), HeatBlock("x", (-3,))))]
        )
        heatmap.set_fold("group")
        await pilot.pause()
        assert heatmap.cursor_key == "lost"


async def test_only_lines_that_changed_are_drawn_again() -> None:
    heatmap = Watched()
    async with Host(heatmap).run_test(size=(80, 24)) as pilot:
        groups = heat(5, groups=4)
        heatmap.set_groups(groups, "duty")
        await pilot.pause()
        heatmap.drawn_lines.clear()
        heatmap.set_groups(heat(5, groups=4), "duty")
        await pilot.pause()
        assert heatmap.drawn_lines == []
        changed = HeatGroup("pool-2", (*groups[2].blocks[:4], HeatBlock("g2-n4", (4,) * 7 + (-2,))))
        heatmap.set_groups((*groups[:2], changed, groups[3]), "duty")
        await pilot.pause()
        assert sorted(set(heatmap.drawn_lines)) == [2]
        assert texts_of(heatmap)[2].endswith("×")


async def test_the_cursor_stays_on_its_block_when_blocks_come_and_go() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(80, 24)) as pilot:
        heatmap.set_groups(heat(5))
        await pilot.press("right", "right")
        assert heatmap.cursor_key == "g0-n2"
        more = HeatGroup("new", (HeatBlock("new", (1,)),))
        heatmap.set_groups([more, *heat(5)])
        assert heatmap.cursor_key == "g0-n2"
        heatmap.set_groups([])
        await pilot.pause()
        assert heatmap.cursor_key is None
        assert not any(line.strip() for line in texts_of(heatmap)), "glyphs that are not there need no legend"
        await pilot.press("right", "down", "enter", "end")
        assert_sound(heatmap)


async def test_names_cannot_break_a_line() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(80, 30)) as pilot:
        groups = [HeatGroup(text, (HeatBlock(f"{n}", (n % 9,) * 8),)) for n, text in enumerate(HOSTILE)]
        heatmap.set_groups(groups, "\x1b[0mduty\n")
        await pilot.pause()
        assert_sound(heatmap)


async def test_the_cursor_and_the_alarm_ramp_show() -> None:
    heatmap = Heatmap()
    async with Host(heatmap).run_test(size=(80, 24)) as pilot:
        heatmap.set_groups(heat(2, level=8))
        heatmap.focus()
        await pilot.pause()

        def styles() -> list[Any]:
            return [segment.style for segment in lines_of(heatmap)[0] if "█" in segment.text]

        under, beside = styles()
        assert under != beside
        heatmap.set_groups(heat(2, level=8), ramp="alarm")
        await pilot.pause()
        assert styles()[1] != beside
