"""What is put aside of a refusal is what a type is called, never where it is or what else is said."""

import pytest

from tests.differential.go_phrases import without_go


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        (
            "json: cannot unmarshal number into Go struct field "
            "Container.spec.containers.name of type string",
            "spec.containers[0].name: expected string, got number",
        ),
        (
            "json: cannot unmarshal bool into Go struct field "
            "HTTPGetAction.spec.livenessProbe.ProbeHandler.httpGet.path of type string",
            "spec.livenessProbe.httpGet.path: expected string, got bool",
        ),
        (
            '"" is invalid: patch: Invalid value: "map[spec:map[replicas:x]]": unrecognized type: int32',
            '"" is invalid: patch: Invalid value: "{"spec":{"replicas":"x"}}": '
            "spec.replicas: expected int32, got string",
        ),
        (
            ".spec.replicas: expected numeric (int or float), got string",
            ".spec.replicas: expected number, got string",
        ),
        (
            ".data.a: expected string, got &value.valueUnstructured{Value:1}",
            ".data.a: expected string, got number",
        ),
        ("unknown patch type: shake in map: map[$patch:shake name:a]", "unknown patch type: shake"),
        (
            "map: map[image:x] does not contain declared merge key: name",
            "an item does not contain declared merge key: name",
        ),
    ],
)
def test_both_say_the_same(real: str, ours: str) -> None:
    assert without_go(real) == without_go(ours)
    assert "WRONG TYPE" in without_go(real) or "patch type" in real or "merge key" in real


def test_another_field_is_another_refusal() -> None:
    one = "json: cannot unmarshal string into Go struct field JobSpec.spec.parallelism of type int32"
    assert without_go(one) != without_go("spec.completions: expected int32, got string")
    assert without_go(".spec.a: expected map, got &{1}") != without_go(".spec.b: expected map, got number")


def test_other_refusals_stay_as_they_are() -> None:
    said = 'Job.batch "x" is invalid: spec.parallelism: Invalid value: -1: must be greater than or equal to 0'
    assert without_go(said) == said
