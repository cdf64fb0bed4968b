"""Series: the newest samples in fixed memory; a gap is a gap."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.store.series import Series, SeriesShelf


def test_a_gap_is_none_and_never_zero() -> None:
    series = Series(4)
    for seconds, value in ((1.0, 0.5), (2.0, None), (3.0, 0.0)):
        series.add(seconds, value)
    assert series.values() == (0.5, None, 0.0)
    assert series.last_seconds == 3.0


def test_a_sample_that_is_not_newer_is_ignored() -> None:
    series = Series(4)
    series.add(5.0, 1.0)
    series.add(5.0, 2.0)
    series.add(4.0, 3.0)
    assert series.points() == ((5.0, 1.0),)


def test_an_empty_series_knows_no_time() -> None:
    assert Series(2).last_seconds is None
    assert Series(2).values() == ()
    with pytest.raises(ValueError, match="at least one sample"):
        Series(0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), max_size=50), st.integers(1, 9))
def test_the_newest_samples_stay_in_order(values: list[float | None], capacity: int) -> None:
    series = Series(capacity)
    for second, value in enumerate(values):
        series.add(float(second), value)
    assert series.values() == tuple(values[-capacity:])
    assert len(series) == min(len(values), capacity)


def test_the_shelf_lets_the_longest_unused_go() -> None:
    shelf = SeriesShelf(keys=2, capacity=3)
    shelf.add("a", 1.0, 1.0)
    shelf.add("b", 1.0, 2.0)
    shelf.series("a")
    shelf.add("c", 1.0, 3.0)
    assert "b" not in shelf and "a" in shelf and "c" in shelf
    assert len(shelf) == 2
    shelf.drop("a")
    assert "a" not in shelf
