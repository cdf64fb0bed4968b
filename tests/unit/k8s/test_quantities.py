"""Quantities as people write them, and sums of them."""

import pytest

from cockpit.k8s.quantity import millicores, parse_quantity, whole


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
