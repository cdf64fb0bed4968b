"""Selectors as the API server reads them."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from cockpit.kube.resource import JOBS, NODES, PODS, Resource
from cockpit.sim.port import PortError
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.selectors import label_selector, object_selector, selector

KINDS = built_in()


def kind(resource: Resource) -> ServedKind:
    found = KINDS.of(resource)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "labels", "is_match"),
    [
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a!=b", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a in (b, c)", {"a": "c"}, True),
        ("a notin (b,c)", {}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a>3", {"a": "4"}, True),
        ("a<3", {"a": "x"}, False),
        ("a=", {"a": ""}, True),
        ("a in (b),!c,d", {"a": "b", "d": ""}, True),
        ("example.com/a=b", {"example.com/a": "b"}, True),
    ],
)
def test_what_a_label_selector_selects(text: str, labels: dict[str, str], is_match: bool) -> None:
    test = label_selector(text)
    assert test is not None
    assert test(labels) is is_match


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a in b", "found 'b' expected: '('"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b,", "expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a>x", "the value must be an integer"),
    ],
)
def test_what_is_no_label_selector_is_told(text: str, said: str) -> None:
    with pytest.raises(PortError) as caught:
        label_selector(text)
    assert caught.value.status == 400
    assert said in caught.value.message


WORD = st.text("abcxyz", min_size=1, max_size=3)


@given(st.dictionaries(WORD, WORD, max_size=4), st.dictionaries(WORD, WORD, min_size=1, max_size=3))
def test_equality_of_texts_and_of_objects_is_inclusion(
    labels: dict[str, str], wanted: dict[str, str]
) -> None:
    is_included = wanted.items() <= labels.items()
    by_text = label_selector(",".join(f"{key}={value}" for key, value in wanted.items()))
    assert by_text is not None
    assert by_text(labels) is is_included
    assert object_selector({"matchLabels": wanted})(labels) is is_included
    by_expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()]
    assert object_selector({"matchExpressions": by_expressions})(labels) is is_included
    opposite = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in wanted.items()]
    is_disjoint = not (wanted.items() & labels.items())
    assert object_selector({"matchExpressions": opposite})(labels) is is_disjoint


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not object_selector(None)({})
    assert object_selector({})({"a": "b"})
    assert selector(kind(PODS), "", "") is None


def test_fields_by_kind() -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running"},
    }
    both = selector(kind(PODS), "", "spec.nodeName=n,status.phase!=Pending,spec.hostNetwork=false")
    assert both is not None
    assert both(pod)
    node = selector(kind(NODES), "", "spec.unschedulable=true")
    assert node is not None
    assert not node({"metadata": {"name": "n"}, "spec": {}})
    assert node({"metadata": {"name": "n"}, "spec": {"unschedulable": True}})
    escaped = selector(kind(CONFIG_MAPS), "", r"metadata.name=a\,b")
    assert escaped is not None
    assert escaped({"metadata": {"name": "a,b"}})


@pytest.mark.parametrize(
    ("resource", "text", "said"),
    [
        (PODS, "spec.x=y", "field label not supported: spec.x"),
        (JOBS, "spec.x=y", 'field label "spec.x" not supported for Job'),
        (
            CONFIG_MAPS,
            "data.a=b",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (PODS, "x", "invalid selector: 'x'; can't understand 'x'"),
    ],
)
def test_a_field_that_cannot_be_selected_by_is_told(resource: Resource, text: str, said: str) -> None:
    with pytest.raises(PortError) as caught:
        selector(kind(resource), "", text)
    assert (caught.value.status, caught.value.message) == (400, said)
