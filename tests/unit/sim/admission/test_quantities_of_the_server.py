"""Quantities print as Go prints them, and lose nothing."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import Quantity, quantity
from cockpit.sim.server.quantity import amounts


def test_a_sum_takes_the_form_of_its_first_part_that_is_not_zero() -> None:
    assert str(Quantity() + quantity("1Gi")) == "1Gi"
    assert str(quantity("1Gi") + quantity("1G")) == "2073741824"
    assert str(quantity("1Gi") - quantity("1Gi") + quantity("1k")) == "1k"


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
