"""Selectors as the API server reads them."""

import hypothesis.strategies as st
from hypothesis import given

from cockpit.kube.resource import PODS, Resource
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.selectors import label_selector, object_selector, selector

KINDS = built_in()


def kind(resource: Resource) -> ServedKind:
    found = KINDS.of(resource)
    assert found is not None
    return found


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
