"""YAML for people is read back as it was, and is the same with libyaml and without."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.yaml_text import yaml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)
LEAVES = st.none() | st.booleans() | st.integers() | TEXTS
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


def by_python(tree: Any, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        return yaml_text(tree, width)


@settings(max_examples=200)
@given(TREES)
def test_it_is_read_back(tree: Any) -> None:
    assert yaml.safe_load(yaml_text(tree, 1000)) == tree


@pytest.mark.parametrize(
    "word",
    [
        "plain",
        "",
        "null",
        "yes",
        "1e3",
        "0x1",
        "1:30",
        "x: y",
        "- a",
        "#c",
        "'q' \"r\"",
        "a  b",
        "tail ",
        " lead",
        "x\ny\n",
        "a\n\n b\n",
        "f\u00fcr \u6f22",
        "\U0001f680 x",
        "\u2028",
        "long " * 60,
        "C:\\Users",
    ],
)
def test_it_is_the_same_without_libyaml(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {word or "k": word, "list": [word, {"m": word}], "none": None, "number": 1.5}
    assert yaml_text(tree, 100) == by_python(tree, 100, monkeypatch)


def test_letters_stay_letters() -> None:
    assert yaml_text({"name": "\U0001f680 f\u00fcr"}, 100) == "name: \U0001f680 f\u00fcr\n"
