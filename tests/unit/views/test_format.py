"""Short words for numbers: what is unknown is never zero."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.quantity import Absent
from cockpit.views import format as fmt


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (41, "41s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (69.9, "1m00s"),
        (70, "1m10s"),
        (119, "1m50s"),
        (120, "2m00s"),
        (599.9, "9m50s"),
        (600, "10m"),
        (41 * 60, "41m"),
        (7_199, "119m"),
        (7_200, "2h0m"),
        (5 * 3600 + 12 * 60, "5h12m"),
        (10 * 3600, "10h"),
        (172_799, "47h"),
        (172_800, "2d0h"),
        (3 * 86400 + 4 * 3600, "3d4h"),
        (120 * 86400, "120d"),
        (3 * 365 * 86400, "3y"),
        (math.nan, "?"),
    ],
)
def test_age(seconds: float, text: str) -> None:
    assert fmt.age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3.0, "live"),
        (9.9, "live"),
        (10.0, "10s"),
        (59.9, "50s"),
        (60.0, "1m00s"),
        (7_200.0, "2h0m"),
        (math.inf, "?"),
    ],
)
def test_the_age_of_a_sample_does_not_tick(seconds: float, text: str) -> None:
    assert fmt.sample_age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3.0, "0s"),
        (59.9, "59s"),
        (60.0, "1m00s"),
        (125.0, "2m05s"),
        (3_600.0, "1h00m00s"),
        (35_999.0, "9h59m59s"),
        (36_000.0, "10h"),
        (float("inf"), "?"),
    ],
)
def test_a_span_tells_seconds_where_an_age_does_not(seconds: float, text: str) -> None:
    assert fmt.span(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (512, "512B"),
        (1_000, "1Ki"),
        (1_024, "1Ki"),
        (1_536, "1.5Ki"),
        (80 * 2**30, "80Gi"),
        (37.2 * 2**30, "37Gi"),
        (640 * 2**30, "640Gi"),
        (1.5 * 2**40, "1.5Ti"),
        (999.9 * 2**30, "1Ti"),
        (-2_048, "-2Ki"),
    ],
)
def test_byte_size(size: float, text: str) -> None:
    assert fmt.byte_size(size) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0, "0%"), (0.001, "<1%"), (0.005, "<1%"), (0.006, "1%"), (0.714, "71%"), (0.999, "99%"), (1, "100%")],
)
def test_percent(ratio: float, text: str) -> None:
    assert fmt.percent(ratio) == text


@pytest.mark.parametrize(
    ("power", "text"), [(0, "0W"), (412.4, "412W"), (9_999, "9999W"), (12_400, "12.4kW"), (2.5e7, "25.0MW")]
)
def test_watts(power: float, text: str) -> None:
    assert fmt.watts(power) == text


def test_other_words() -> None:
    assert fmt.count(2_496) == "2,496"
    assert fmt.count(None) == "?"
    assert fmt.of(6, 8) == "6/8"
    assert fmt.of(None, 8) == "?/8"
    assert fmt.cores(500) == "0.5"
    assert fmt.cores(8_000) == "8"
    assert fmt.quantity("cpu", 1_500) == "1.5"
    assert fmt.quantity("memory", 2**34) == "16Gi"
    assert fmt.quantity("nvidia.com/gpu", 2_496) == "2,496"
    assert fmt.celsius(64.4) == "64°C"
    assert fmt.hertz(1.41e9) == "1410MHz"
    assert fmt.since(None, 5.0) == "?"
    assert fmt.since(2.0, 5.0) == "3s"


@pytest.mark.parametrize("reason", list(Absent))
def test_absent_numbers_are_words_with_a_tone(reason: Absent) -> None:
    made = [
        fmt.duty_cell(reason),
        fmt.memory_cell(reason),
        fmt.temperature_cell(reason),
        fmt.power_cell(reason),
        fmt.clock_cell(reason),
    ]
    for cell in made:
        words = {"not collected": "n/c", "implausible": "impl."}
        assert cell.text == words.get(reason.value, reason.value)
        assert cell.tone in ("dim", "warn")


def test_tones() -> None:
    assert fmt.duty_cell(0.0).tone == "warn"
    assert fmt.duty_cell(0.0, is_allocated=False).tone == "dim"
    assert fmt.duty_cell(0.7).tone == "good"
    assert [fmt.temperature_cell(one).tone for one in (74.9, 75.0, 85.0, 85.1)] == ["", "warn", "warn", "bad"]


def test_bar() -> None:
    assert "".join(fmt.bar(one / 8) for one in range(9)) == "▁▁▂▃▄▅▆▇█"
    assert fmt.bar(Absent.NOT_COLLECTED) == "?"
    assert fmt.bar(Absent.STALE) == "~"


anything = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e18, max_value=1e18)


@settings(deadline=None, max_examples=200)
@given(anything)
def test_every_word_is_short_and_printable(value: float) -> None:
    assert len(fmt.age(min(value, 9_999 * 31_536_000))) <= 5
    assert len(fmt.byte_size(value)) <= 7
    for text in (
        fmt.age(value),
        fmt.byte_size(value),
        fmt.watts(value),
        fmt.percent(value),
        fmt.hertz(value),
    ):
        assert text.isprintable() and text


@settings(deadline=None, max_examples=200)
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_never_has_a_lower_level(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert fmt.level(low) <= fmt.level(high) <= 8
    assert (fmt.level(low) == 0) == (low == 0)


def test_an_age_in_a_table_ticks_in_steps_of_ten_seconds_from_ten_to_a_minute() -> None:
    ages = {fmt.age_cell(0.0, float(seconds)).text for seconds in range(60)}
    assert ages == {*(f"{seconds}s" for seconds in range(10)), "10s", "20s", "30s", "40s", "50s"}
    assert fmt.age_cell(0.0, 61.0).text == fmt.age(61.0)
    assert fmt.age_cell(10.0, 0.0).text == "0s", "a clock that is behind"
