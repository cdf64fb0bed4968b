"""Natural order, stable sorts, the unknown last."""

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.views.order import RankOrder, Value, natural, natural_uncached, sort_rows


def test_natural_order_compares_digits_as_numbers() -> None:
    names = ["gpu-10", "gpu-2", "GPU-1", "gpu-02", "a", "gpu-2-b", "gpu-2-a10", "gpu-2-a9"]
    assert sorted(names, key=natural) == [
        "a",
        "GPU-1",
        "gpu-2",
        "gpu-02",
        "gpu-2-a9",
        "gpu-2-a10",
        "gpu-2-b",
        "gpu-10",
    ]


@given(st.text(max_size=12) | st.from_regex(r"[a-zA-Z\u0660İ-]{0,6}[0-9]{0,6}", fullmatch=True))
def test_every_run_of_digits_is_led_by_its_length(text: str) -> None:
    parts = re.split("([0-9]+)", text.casefold())
    numbers = [one.lstrip("0") or "0" for one in parts[1::2]]
    parts[1::2] = [f"{len(one):03d}{one}" for one in numbers]
    assert natural_uncached(text) == natural(text) == "".join(parts)


def test_unknown_last_in_either_direction() -> None:
    rows: list[Value] = [None, 3, "", 1, math.nan, 2]
    up = sort_rows(rows, lambda row: row)
    down = sort_rows(rows, lambda row: row, descending=True)
    assert up[:3] == [1, 2, 3]
    assert down[:3] == [3, 2, 1]
    assert [str(one) for one in up[3:]] == [str(one) for one in down[3:]] == ["None", "", "nan"]


def test_equal_values_keep_their_order_in_either_direction() -> None:
    rows = [(1, "a"), (2, "b"), (1, "c"), (2, "d")]
    assert [name for _, name in sort_rows(rows, lambda row: row[0])] == ["a", "c", "b", "d"]
    assert [name for _, name in sort_rows(rows, lambda row: row[0], descending=True)] == ["b", "d", "a", "c"]


values = st.none() | st.integers(-(10**6), 10**6) | st.floats() | st.text(max_size=5)


@settings(deadline=None, max_examples=200)
@given(st.lists(values, max_size=30), st.booleans())
def test_sorting_keeps_every_row_and_puts_the_unknown_last(rows: list[Value], descending: bool) -> None:
    numbered = list(enumerate(rows))
    done = sort_rows(numbered, lambda row: row[1], descending=descending)
    assert sorted(done, key=lambda row: row[0]) == numbered
    unknown = [
        value is None or value == "" or (isinstance(value, float) and math.isnan(value)) for _, value in done
    ]
    assert unknown == sorted(unknown)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_numbers_in_names_count(one: int, other: int) -> None:
    assert (natural(f"n{one}x") < natural(f"n{other}x")) == (one < other)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12), min_size=1, max_size=6)
)
def test_ranks_are_followed_and_rows_of_one_rank_stay_as_they_come(
    rounds: list[list[tuple[int, int]]],
) -> None:
    order: RankOrder[tuple[int, int]] = RankOrder()
    for rows in rounds:
        before = list(rows)
        expected = sorted(rows, key=lambda row: row[0])
        assert order.sorted(rows, lambda row: row[0]) == expected
        assert order.sorted(rows, lambda row: row[0]) == expected
        assert rows == before
