"""The strict YAML of templates: what is refused, with the line, and what the scalars mean."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.jobs import yaml_document
from cockpit.jobs.yaml_document import parse


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: &x 1\nb: *x\n", "f.yaml:1: anchors and aliases"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: the key 'a' appears twice"),
        ("a:\n  <<: {b: 1}\n", "f.yaml:2: merge keys"),
        ("a: !!python/object:os.system x\n", "f.yaml:1: tags"),
        ("1: a\n", "f.yaml:1: keys are text, 1 is not"),
        ("true: a\n", "keys are text, true is not"),
        ("? [a]\n: b\n", "keys are text"),
        ("a: [\n", "f.yaml:2: not YAML"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("", "f.yaml:1: the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("a: \x07\n", "not YAML"),
        ("[" * 500, "nested deeper"),
        ("x" * 300_000, "too many"),
        ('a: "\\ud800"\n', "f.yaml:1: half of a surrogate pair"),
    ],
)
def test_refuses_with_file_and_line(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text, "f.yaml")
    assert sentence in caught.value.sentence
    assert "\n" not in caught.value.sentence


def test_scalars_mean_what_stands_there() -> None:
    tree = parse(
        "a: no\nb: on\nc: 1:30\nd: 010\ne: 1e3\nf: true\ng: ~\nh: 2026-01-02\ni: 1.5\nj: -7\nk:\n", "f"
    ).tree
    assert tree == {
        "a": "no", "b": "on", "c": "1:30", "d": "010", "e": "1e3", "f": True, "g": None,
        "h": "2026-01-02", "i": 1.5, "j": -7, "k": None,
    }  # fmt: skip


def test_lines_of_keys_and_items() -> None:
    document = parse("a:\n  - x\n  - b: 1\n", "f.yaml")
    assert document.where(("a", 1, "b")) == "f.yaml:3: a[1].b"
    assert document.where(("a", 1, "missing", "deeper")) == "f.yaml:3: a[1].missing.deeper"


_keys = st.text(min_size=1, max_size=6).filter(lambda key: key != "<<")
_trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_keys, _trees, min_size=1, max_size=4))
@settings(deadline=None, max_examples=60)
def test_reads_back_what_json_can_say(tree: dict[str, object]) -> None:
    assert parse(json.dumps(tree), "f").tree == tree


@given(st.text(max_size=80))
@settings(deadline=None, max_examples=150)
def test_any_text_is_a_document_or_one_sentence(text: str) -> None:
    try:
        parse(text, "f.yaml")
    except BadInput as error:
        assert error.sentence.startswith("f.yaml")
        assert "\n" not in error.sentence


def test_agrees_with_the_safe_loader_on_a_plain_file() -> None:
    text = "a: {b: [1, 2, three]}\nc: 'quoted: text'\nd: |\n  two\n  lines\n"
    assert parse(text, "f").tree == yaml.safe_load(text)


_yamls = st.lists(
    st.sampled_from([*"a:-#,[]{}|>'\"&*!?%~\n ", "  ", "\n  ", "\n- ", ": ", "1", "é", "\\ud800"])
)


def _outcome(text: str) -> object:
    try:
        document = parse(text, "f")
    except BadInput as error:
        return error.sentence
    # An empty value stands at the end of one line or at the beginning of the next: lines of keys alone.
    lines = {path: line for path, line in document.lines.items() if path and isinstance(path[-1], str)}
    return document.tree, lines


@given(_yamls.map("".join))
@settings(deadline=None, max_examples=300)
def test_libyaml_reads_what_the_parser_in_python_reads(text: str) -> None:
    """It takes a few documents more (`|#`), as kubectl does; none of them may be read otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_document, "_IN_C", None)
        in_python = _outcome(text)
    assert _outcome(text) == in_python or isinstance(in_python, str)
