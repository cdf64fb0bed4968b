"""Values of templates that try to be more than a value: what is typed changes its own leaf, or is refused."""

import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.jobs.parameters import Parameter, read
from cockpit.jobs.render import render, sample_values
from cockpit.jobs.template import Template, load_library
from cockpit.jobs.yaml_document import parse
from cockpit.yaml_text import yaml_text
from tests.reliability.figures import Tell, whole
from tests.unit.templates.filled import GOOD

TEMPLATES = load_library().templates
EVERY_TYPE = sorted({one.type for template in TEMPLATES.values() for one in template.parameters})

HOSTILE = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "$(rm -rf /)",
            "`id`",
            "; id #",
            "a\nb: c",
            "{$param: name}",
            "!!python/object:os.system",
            "&a *a",
            "--help",
            "-oProxyCommand=id",
            "' || id '",
            '"; id; "',
            "../../etc",
            "/..",
            "\u202egnp",
            "\ud7ff\uffff",
            "=",
            ":",
            "a=b=c",
            "a=$(X)",
            "x:/y:/z",
            "[]",
            "null",
            "true",
            "1e9",
            "0x10",
            "٣",
            "name: x\nkind: Pod",
        ]
    ),
)


def difference(before: Any, after: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where two trees differ; a key that is on one side only stands for all below it."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            if key not in before or key not in after:
                yield (*path, key)
            else:
                yield from difference(before[key], after[key], (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from difference(*pair, (*path, index))
    elif before != after:
        yield path


MARK = {
    **GOOD,
    "dns-label": "zebra",
    "object-name": "zebra",
    "label-value": "zebra",
    "label-key": "zebra",
    "text": "zebra",
    "integer": "13",
    "quantity": "7777Mi",
}


_KEYED = (("limits",), ("nodeSelector",), ("labels",), ("annotations",))
"""Mappings whose keys are values of a field."""


def intended(template: Template, one: Parameter, base: Mapping[str, str]) -> set[tuple[Any, ...]]:
    """Where a harmless value of the field changes the manifest, list positions left out."""
    bare = render(template, base)
    marked = dict(base)
    marked[one.name] = next((each for each in one.choices if each != one.default), MARK.get(one.type, ""))
    if one.type == "integer" and one.minimum and int(one.minimum) > 13:
        marked[one.name] = str(int(one.minimum) + 1)
    if one.type == "switch":
        marked[one.name] = "false" if one.default == "true" else "true"
    found = {places(path) for path in difference(bare, render(template, marked))}
    # Where the value is a key, another value makes another key in the same mapping.
    keyed = {path[:-1] for path in found if path[-2:-1] in _KEYED}
    return found | keyed if one.type in ("resource-name", "resources", "labels", "annotations") else found


def places(path: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part for part in path if isinstance(part, str))


@cache
def plain(name: str) -> tuple[dict[str, str], Any]:
    """Sample values and what they render to, made once: 200 examples of each field begin with them."""
    base = sample_values(TEMPLATES[name])
    return base, render(TEMPLATES[name], base)


@cache
def leaves_of(name: str, field: str) -> set[tuple[Any, ...]]:
    """What `intended` finds for a field, made once."""
    template = TEMPLATES[name]
    (one,) = (one for one in template.parameters if one.name == field)
    return intended(template, one, plain(name)[0])


def astray(name: str, field: str, value: str) -> list[tuple[Any, ...]]:
    """Where the value changes what is not the field's; a refusal is one sentence about the field."""
    base, bare = plain(name)
    try:
        after = render(TEMPLATES[name], {**base, field: value})
    except BadInput as error:
        assert error.sentence.startswith(f"{field}: ")
        assert "\n" not in error.sentence
        return []
    allowed = leaves_of(name, field)
    return [
        path for path in difference(bare, after) if not any(places(path)[: len(it)] == it for it in allowed)
    ]


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@given(value=HOSTILE)
@settings(deadline=None, max_examples=200)
def test_a_hostile_value_changes_its_own_leaf_only(name: str, value: str) -> None:
    """Each text stands in each field of the template, one after the other."""
    for field in (one.name for one in TEMPLATES[name].parameters):
        assert astray(name, field, value) == [], (field, value)


PIECES: tuple[str, ...] = (
    "'",
    '"',
    "\n",
    "{{ x }}",
    "{% raw %}",
    "!!python/object:os.system",
    "&a ",
    "*a",
    "<<: ",
    "---\n",
    "}",
)
PIECES += (
    "{$param: name}",
    "a: b",
    "- ",
    "# ",
    "$(id)",
    "`id`",
    "; ",
    "|",
    ">",
    "\\",
    "\x00",
    "\u202e",
    "é",
    "7",
)


@pytest.mark.row(50, "values in fields", least=100_000, unit="cases")
@pytest.mark.row(50, "values that changed what is not their field's", most=0)
@pytest.mark.row(50, "values that make YAML read otherwise than it was written", most=0)
def test_pieces_of_yaml_and_of_templates_stay_in_their_leaf(figure: Tell) -> None:
    rng = random.Random(50)
    fields = [(name, it.name) for name, made in TEMPLATES.items() for it in made.parameters]
    cases = whole(100_000, 1_000)
    strayed = misread = 0
    for _ in range(cases):
        name, field = rng.choice(fields)
        value = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 6)))
        strayed += bool(astray(name, field, value))
        misread += parse(yaml_text({field: value}, 80), "f").tree != {field: value}
    figure("values in fields", cases)
    figure("values that changed what is not their field's", strayed)
    figure("values that make YAML read otherwise than it was written", misread)


@pytest.mark.parametrize("type_", EVERY_TYPE)
@given(value=HOSTILE)
@settings(deadline=None, max_examples=200)
def test_whatever_is_typed_is_read_or_refused_in_one_sentence(type_: str, value: str) -> None:
    one = Parameter(name="field", type=type_, default="")
    try:
        read(one, value)
    except BadInput as error:
        assert error.sentence.startswith("field: ")
        assert "\n" not in error.sentence
