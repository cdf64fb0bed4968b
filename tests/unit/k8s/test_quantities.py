"""Quantities as people write them, and sums of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import Quantity, millicores, parse_quantity, quantity, whole


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", 0.5), ("16Gi", 17179869184.0), ("1e3", 1000.0), ("2k", 2000.0), ("-1", -1.0), ("100n", 1e-7)],
)
def test_a_number_is_read(text: str, number: float) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize(
    "text", ["", "Gi", "m", ".", "-", "1e3Ki", "１", "1_0", "inf", "nan", "1 Gi", "1" * 500]
)
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid quantity"):
        parse_quantity(text)


def test_nothing_is_lost_before_it_is_rounded_up() -> None:
    assert whole("2.00000000000000001") == 3
    assert whole("9007199254740993") == 9007199254740993
    assert millicores("9007199254740.993") == 9007199254740993


def test_a_sum_takes_the_form_of_its_first_part_that_is_not_zero() -> None:
    assert str(Quantity() + quantity("1Gi")) == "1Gi"
    assert str(quantity("1Gi") + quantity("1G")) == "2073741824"


@given(st.from_regex(r"[0-9]{1,40}(\.[0-9]{0,20})?(Ki|Ei|m|E|e[0-9]{1,4}|)", fullmatch=True))
def test_no_text_is_too_much(text: str) -> None:
    try:
        one = quantity(text)
    except ValueError as error:
        assert "e" in text and "smaller number" in str(error)
    else:
        assert one.amount >= 0
