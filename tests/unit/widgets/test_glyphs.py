"""Numbers as glyphs: exact widths, gaps that are not zeros, the worst of many."""

import math

from cockpit_widgets.glyphs import (
    HEAT_GLYPHS,
    bar,
    braille,
    bucketed,
    heat_glyph,
    meter_text,
    spark,
    worst_level,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

VALUES = st.lists(st.none() | st.floats(-1e6, 1e6) | st.just(math.nan) | st.just(math.inf), max_size=60)
BOUND = st.none() | st.floats(-1e6, 1e6)


@settings(deadline=None, max_examples=200)
@given(VALUES, st.integers(0, 50), BOUND, BOUND)
def test_sparklines_are_exactly_as_wide_as_asked(
    values: list[float | None], width: int, lo: float | None, hi: float | None
) -> None:
    assert cell_len(spark(values, width, lo, hi)) == width
    assert cell_len(braille(values, width, lo, hi)) == width


@settings(deadline=None, max_examples=200)
@given(st.floats(0, 1e7) | st.none(), st.floats(0, 1e7) | st.none(), st.integers(0, 60))
def test_meters_are_exactly_as_wide_as_asked(used: float | None, total: float | None, width: int) -> None:
    assert cell_len(meter_text(used, total, width)) == width


def test_a_gap_is_a_space_and_a_zero_is_the_lowest_shade() -> None:
    assert spark([0, None, 100], 3, 0, 100) == "▁ █"
    assert spark([None, None], 4, 0, 1) == "    "
    assert spark([50], 3, 0, 100) == "  ▅"
    assert spark([-5, 500], 2, 0, 100) == "▁█"


def test_many_values_become_means_and_unknown_ones_do_not_pull_them_down() -> None:
    assert bucketed([0, 10, 20, 40], 2) == [5, 30]
    assert bucketed([None, 10, None, None], 2) == [10, None]
    assert bucketed([1, math.nan], 2) == [1, None]


def test_flat_lines_stand_where_their_value_is() -> None:
    assert spark([0, 0, 0], 3) == "▁▁▁"
    assert spark([5, 5], 2, 0, 10) == "▅▅"


def test_braille_shows_two_values_in_a_cell() -> None:
    assert braille([0, 3], 1, 0, 3) == "⣸"
    assert braille([None, None], 1, 0, 3) == "⠀"
    assert braille([0, 0], 1, 0, 3) == "⣀"


def test_a_bar_never_says_all_or_nothing_falsely() -> None:
    assert bar(0, 4) == "────"
    assert bar(0.001, 4) == "╸───"
    assert bar(0.5, 4) == "━━──"
    assert bar(0.999, 4) == "━━━╸"
    assert bar(1, 4) == "━━━━"
    assert bar(7, 4) == "━━━━"
    assert bar(None, 4) == "┄┄┄┄"


def test_meter_text_by_example() -> None:
    assert meter_text(22, 40, 10) == "━━── 22/40"
    assert meter_text(None, 40, 9) == "┄┄┄┄ ?/40"
    assert meter_text(0, 0, 8) == "──── 0/0"
    assert meter_text(22, 40, 6) == " 22/40"
    assert meter_text(1234, 40000, 6) == "1,234…"
    assert meter_text(2.5, 4, 9) == "━╸─ 2.5/4"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-4, 8), min_size=1, max_size=16))
def test_the_worst_of_many_in_its_stated_order(levels: list[int]) -> None:
    order = [-2, -3, -4, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1]
    assert worst_level(levels) == min(levels, key=order.index)


def test_nothing_at_all_reads_as_not_collected() -> None:
    assert worst_level(()) == -3


def test_every_level_has_a_glyph_of_its_own() -> None:
    assert len(set(HEAT_GLYPHS.values())) == len(HEAT_GLYPHS) == 14
    assert all(cell_len(glyph) == 1 for glyph in HEAT_GLYPHS.values())
    assert [heat_glyph(level) for level in (-1, -2, -3, -4, 0, 1, 8, 99, -9)] == list("·×?~_▁██?")
