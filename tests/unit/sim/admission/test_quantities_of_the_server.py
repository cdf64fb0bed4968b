"""Quantities print as Go prints them, and lose nothing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import Quantity, canonical, quantity
from cockpit.sim.server.quantity import amounts


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1e3", "1e3"),
        ("100Ki", "100Ki"),
        ("1023", "1023"),
        ("0Gi", "0"),
        (8, "8"),
        ("1.5Ki", "1536"),
        ("0.1Ki", "102400m"),
        ("1.1Ki", "1126400m"),
        ("-1Gi", "-1Gi"),
        ("0.0000000001", "1n"),
    ],
)
def test_the_canonical_form(given: str | int, printed: str) -> None:
    assert str(quantity(given)) == printed


@pytest.mark.parametrize("text", ["", "1 Gi", "1gi", "1Ki5", "0x1"])
def test_what_is_no_quantity_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid quantity"):
        quantity(text)


@given(st.integers(-(10**12), 10**12), st.sampled_from(["decimal", "binary", "exponent"]), st.integers(0, 9))
def test_printing_and_reading_keep_the_amount(number: int, form: str, places: int) -> None:
    one = Quantity(Decimal(number).scaleb(-places), form)
    assert quantity(str(one)).amount == one.amount
    if form != "binary":  # a binary amount without a binary suffix is read as a decimal one, in Go as well
        assert str(quantity(str(one))) == str(one)


def test_a_sum_takes_the_form_of_its_first_part_that_is_not_zero() -> None:
    assert str(Quantity() + quantity("1Gi")) == "1Gi"
    assert str(quantity("1Gi") + quantity("1G")) == "2073741824"
    assert str(quantity("1Gi") - quantity("1Gi") + quantity("1k")) == "1k"


@given(
    st.integers(0, 10**7),
    st.integers(0, 4),
    st.sampled_from(["", "m", "u", "n", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E2"]),
)
def test_sums_and_stored_texts_print_alike(number: int, places: int, suffix: str) -> None:
    """What a quota sums up and what the schema writes are told in one way, but for texts that are kept."""
    text = f"{Decimal(number).scaleb(-places):f}{suffix}"
    assert canonical(text) in (text, str(quantity(text)))
    assert str(quantity(canonical(text))) == str(quantity(text))


def test_resource_lists_are_rounded_up_to_thousandths() -> None:
    told = {name: str(one) for name, one in amounts({"memory": "1.0001Mi", "cpu": "1u", "gpu": "x"}).items()}
    assert told == {"memory": "1048680858m", "cpu": "1m"}


@given(st.from_regex(r"[0-9]{1,40}(\.[0-9]{0,20})?(Ki|Ei|m|E|e[0-9]{1,4}|)", fullmatch=True))
def test_no_text_is_too_much(text: str) -> None:
    try:
        one = quantity(text)
    except ValueError as error:
        assert "e" in text and "smaller number" in str(error)
    else:
        assert one.amount >= 0
        assert set(amounts({"a": text, "b": None})) == {"a"}
