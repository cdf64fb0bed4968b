"""Only the order of what a custom kind's schema refuses is put aside."""

from typing import Any

from tests.differential.go_maps import in_order

LOW = {
    "reason": "FieldValueInvalid",
    "message": "Invalid value: -1: too low, or so",
    "field": "spec.replicas",
}
ODD = {"reason": "FieldValueNotSupported", "message": 'Unsupported value: "odd"', "field": "spec.size"}


def refusal(*causes: dict[str, str], group: str = "ns.stories.test", more: str = "") -> dict[str, Any]:
    listed = ", ".join(f"{one['field']}: {one['message']}" for one in causes)
    return {
        "kind": "Status",
        "message": f'Widget.{group} "x" is invalid: [{listed}]{more}',
        "details": {"name": "x", "group": group, "causes": list(causes)},
    }


def test_the_order_of_a_custom_kind_s_causes_is_chance() -> None:
    assert in_order(refusal(ODD, LOW)) == in_order(refusal(LOW, ODD)) == refusal(LOW, ODD)


def test_a_cause_too_many_or_another_word_still_differs() -> None:
    assert in_order(refusal(LOW, ODD)) != in_order(refusal(LOW))
    assert in_order(refusal(LOW, ODD)) != in_order(refusal(LOW, {**ODD, "reason": "FieldValueInvalid"}))
    assert in_order(refusal(LOW, ODD)) != in_order(refusal(ODD, LOW, more="!"))


def test_causes_of_built_in_kinds_have_an_order() -> None:
    assert in_order(refusal(ODD, LOW, group="batch")) == refusal(ODD, LOW, group="batch")
    assert in_order({"kind": "Pod"}) == {"kind": "Pod"}
