"""Curves between two axes: what is drawn where, and that the room is kept."""

import math

import pytest
from cockpit_widgets.curve_chart import (
    LEAST_CELLS,
    LEAST_LINES,
    ChartCurve,
    Limit,
    Scale,
    curve_chart,
    nice_top,
    spark_line,
    stretched,
)
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Line
from hypothesis import given
from hypothesis import strategies as st

values = st.lists(st.none() | st.floats(-1e9, 1e9), max_size=200)
TIMES = ("-60m", "-30m", "now")


def whole(value: float) -> str:
    return f"{value:,.0f}"


def text(lines: list[Line]) -> list[str]:
    return ["".join(cell.text for cell in line) for line in lines]


@given(values, values, st.integers(0, 160), st.integers(0, 30), st.floats(-1e9, 1e9))
def test_a_chart_fills_its_room_or_is_none(
    one: list[float | None], two: list[float | None], width: int, height: int, level: float
) -> None:
    scale = Scale(-10.0, 1e6, whole, TIMES)
    curves = [ChartCurve("wanted", one), ChartCurve("allocated", two, "accent")]
    drawn = text(curve_chart(curves, width, height, scale, Limit("capacity", level)))
    if drawn:
        assert len(drawn) == height >= LEAST_LINES
        assert {*map(width_of, drawn)} == {width}
    else:
        assert height < LEAST_LINES or width < LEAST_CELLS + 30


def test_the_line_goes_from_bottom_to_top_without_a_hole_and_ends_at_its_name() -> None:
    drawn = text(
        curve_chart([ChartCurve("size", [0, 0, 0, 8, 8, 8])], 40, 6, Scale(0, 8, whole, ("-6h", "now")))
    )
    assert [line.partition("┤")[0].strip() for line in drawn if "┤" in line] == ["8", "4", "0"]
    area = [line[3:-5] for line in drawn[:-1]]
    assert all(any(cell != " " for cell in line) for line in area), "a steep line has no hole"
    assert area[0].strip() and area[0].startswith(" ") and area[-1].endswith(" ")
    assert drawn[0].rstrip().endswith("size")
    assert drawn[-1].split()[1] == "-6h" and drawn[-1].split()[-1] == "now"


def test_a_gap_is_no_line() -> None:
    half: list[float | None] = [4.0] * 30 + [None] * 30
    drawn = text(curve_chart([ChartCurve("a", half)], 60, 6, Scale(0, 8, whole, TIMES)))
    row = next(line for line in drawn if "⠒" in line or "⠤" in line or "⣀" in line or "⠉" in line)
    shown = row[3:-2]
    assert shown[: len(shown) // 2 - 1].strip() and not shown[len(shown) // 2 + 1 :].strip(" a")


def test_names_that_end_at_one_height_stand_below_each_other() -> None:
    curves = [ChartCurve("wanted", [4, 4], "accent"), ChartCurve("allocated", [4, 4])]
    drawn = text(curve_chart(curves, 60, 8, Scale(0, 8, whole, TIMES), Limit("capacity", 4)))
    ends = [line.split()[-1] for line in drawn if line.split()[-1].isalpha()]
    assert sorted(ends) == ["allocated", "capacity", "now", "wanted"]


def test_the_first_curve_is_in_front_where_two_cross() -> None:
    curves = [ChartCurve("a", [4, 4], "accent"), ChartCurve("b", [4, 4], "warn")]
    lines = curve_chart(curves, 60, 6, Scale(0, 8, whole, TIMES))
    tones = {cell.tone for line in lines for cell in line if any(ord(one) > 0x2800 for one in cell.text)}
    assert tones == {"accent"}


@pytest.mark.parametrize(
    ("value", "top"), [(204, 240), (3, 3), (1, 1), (0, 1), (0.07, 0.08), (99, 100), (2_640, 3_000)]
)
def test_a_top_that_is_easily_read(value: float, top: float) -> None:
    assert math.isclose(nice_top(value), top)


@given(values, st.integers(1, 120))
def test_stretched_values_are_as_many_as_columns_and_within_bounds(
    some: list[float | None], columns: int
) -> None:
    found = stretched(some, columns)
    known = [value for value in some if value is not None]
    assert len(found) == columns
    slack = 1e-6 * max((abs(value) for value in known), default=0.0)
    assert all(value is None or min(known) - slack <= value <= max(known) + slack for value in found)


def test_a_line_of_sparks_has_the_first_the_newest_and_the_least_value() -> None:
    curve = ChartCurve("loss", [2.31, 2.0, 1.5, 2.154])
    drawn = "".join(cell.text for cell in spark_line(curve, 50, lambda value: f"{value:.4g}"))
    assert width_of(drawn) == 50
    assert drawn.startswith("loss 2.31 █") and drawn.endswith(" 2.154, least 1.5")
    assert "".join(cell.text for cell in spark_line(ChartCurve("loss", []), 10, whole)).strip() == "loss ?"


def test_noise_far_from_the_lowest_step_is_no_drama() -> None:
    curve = ChartCurve("images/s", [10_702.0, 10_191.0, 10_500.0])
    drawn = "".join(cell.text for cell in spark_line(curve, 60, whole, 0.0))
    assert {*drawn} & {*"▁▂▃▄▅▆▇█"} <= {"▇", "█"}
