"""Which words of an object a template's own commands are: its word lists, read backwards.

A template fits a container where its fixed words stand in the object's `command` and `args`, in their places;
what is left is what a person filled in. The template with the most fixed words is the one that made it.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from cockpit.jobs.parameters import Parameter
from cockpit.jobs.placeholders import marker_of
from cockpit.jobs.template import Template

_END: Final = "\0"  # behind each word
_WORD: Final = f"[^{_END}]*{_END}"
_MOST_WORDS: Final = 2000
_BOTH: Final = ("command", "args")


class CommandWords(NamedTuple):
    """The words `begin` to `end` of a list are what was filled in for a parameter of type command."""

    parameter: Parameter
    words: list[Any]  # the object's own list
    begin: int
    end: int


class Numbered(NamedTuple):
    """A value of the object that a template computes: `marker` is how."""

    holder: Any  # the object's own list or mapping
    key: Any
    marker: Mapping[str, Any]


class Match(NamedTuple):
    """What a template says of an object. `fixed` counts the words that are the template's own.

    `names` leads from the template's parameters to those that stand in the object's tree already.
    """

    commands: tuple[CommandWords, ...]
    numbers: tuple[Numbered, ...]
    names: Mapping[str, str]
    fixed: int


def best_match(templates: Iterable[Template], tree: Mapping[str, Any]) -> Match | None:
    """What the template says that fits the object best; None where none fits.

    Some values of the tree may be `$param` markers already.
    """
    kind = (tree.get("apiVersion"), tree.get("kind"))
    found = [
        _match(template, tree) for template in templates if (template.api_version, template.kind) == kind
    ]
    return max((item for item in found if item is not None), key=lambda one: one.fixed, default=None)


def _match(template: Template, tree: Mapping[str, Any]) -> Match | None:
    commands: list[CommandWords] = []
    numbers: list[Numbered] = []
    names: dict[str, str] = {}
    fixed = 0
    for pattern, value in _pairs(template.manifest, tree):
        for key, marker, found in _scalars(pattern, value):
            inner = found.get("$text", found) if isinstance(found, dict) else None
            wanted = marker.get("$text", marker)
            if isinstance(inner, dict) and "$param" in inner and "$param" in wanted:
                names[str(wanted["$param"])] = str(inner["$param"])
            elif not isinstance(found, dict | list):
                numbers.append(Numbered(value, key, marker))
        read = _words(template, pattern, value)
        if read is not None:
            commands += read.commands
            numbers += read.numbers
            fixed += read.fixed
    return Match(tuple(commands), tuple(numbers), names, fixed) if commands else None


def _pairs(pattern: Any, value: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Mappings of the template with the object's at the same place; items of lists go by their name."""
    if isinstance(pattern, dict) and marker_of(pattern) == "$when":
        for branch in ("$then", "$else"):
            yield from _pairs(pattern.get(branch), value)
    elif isinstance(pattern, dict) and isinstance(value, dict):
        if marker_of(pattern) or marker_of(value):
            return
        yield pattern, value
        for key, one in pattern.items():
            if key in value:
                yield from _pairs(one, value[key])
    elif isinstance(pattern, list) and isinstance(value, list):
        named = {str(item.get("name")): item for item in value if isinstance(item, dict)}
        for one in pattern:
            inner = one.get("$then", one) if isinstance(one, dict) else None
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                yield from _pairs(inner, named.get(inner["name"]))


def _scalars(
    pattern: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """(key, marker, the object's value) of each field that the template fills with one parameter's value."""
    for key, one in pattern.items():
        if key == "$keyed":
            for inner in one.values():
                for other in value.keys() - pattern.keys():
                    if isinstance(inner, dict) and isinstance(value[other], dict):
                        yield other, inner, value[other]
        elif isinstance(one, dict) and marker_of(one) in ("$param", "$text", "$product") and key in value:
            yield key, one, value[key]


class _Read(NamedTuple):
    commands: list[CommandWords]
    numbers: list[Numbered]
    fixed: int


def _words(template: Template, pattern: Mapping[str, Any], value: Mapping[str, Any]) -> _Read | None:
    """The word lists of one container (or what else has a command); None where its fixed words differ."""
    own = [key for key, one in pattern.items() if _has_command(template, one)]
    if not own:
        return None
    read = _Read([], [], 0)
    for key in dict.fromkeys((*own, *_BOTH)):
        words = value.get(key, [])
        if not isinstance(words, list) or len(words) > _MOST_WORDS:
            return None
        if not all(isinstance(word, str) and _END not in word for word in words):
            return None
        captured: list[tuple[str, Mapping[str, Any]]] = []
        listed = pattern.get(key, [])
        expression = _expression(template, listed if isinstance(listed, list) else [listed], captured)
        text = "".join(word + _END for word in words)
        found = re.fullmatch(expression, text, re.DOTALL)
        if found is None:
            return None
        free = 0
        for at, (what, marker) in enumerate(captured):
            if found[f"g{at}"] is None:
                continue
            begin, end = (text[:edge].count(_END) for edge in found.span(f"g{at}"))
            free += end - begin
            if what == "command" and begin < end:
                parameter = template.parameter(str(marker.get("$splice") or marker.get("$param")))
                if parameter is not None:
                    read.commands.append(CommandWords(parameter, words, begin, end))
            elif what == "number":
                read.numbers.append(Numbered(words, begin, marker))
        read = read._replace(fixed=read.fixed + len(words) - free)
    return read


def _has_command(template: Template, pattern: Any) -> bool:
    """True where a command is filled in: a `$splice` in the list, or a `$param` for all of it."""
    if isinstance(pattern, list):
        return any(_has_command(template, item) for item in pattern)
    if not isinstance(pattern, dict):
        return False
    match marker_of(pattern):
        case "$splice":
            return True
        case "$param":
            return _is_command(template, pattern)
        case "$when":
            return any(_has_command(template, pattern.get(item)) for item in ("$then", "$else"))
    return False


def _is_command(template: Template, marker: Mapping[str, Any]) -> bool:
    parameter = template.parameter(str(marker["$param"]))
    return parameter is not None and parameter.type == "command"


def _expression(template: Template, listed: Any, captured: list[tuple[str, Mapping[str, Any]]]) -> str:
    """A regular expression for a list of words; what it captures as g0, g1 ... is told in `captured`."""
    made = []
    for item in listed if isinstance(listed, list) else [listed]:
        if not isinstance(item, dict):
            made.append("" if item is None else re.escape(f"{item}{_END}"))
            continue
        marker = marker_of(item)
        if marker == "$when":
            branches = [_expression(template, item.get(key), captured) for key in ("$then", "$else")]
            made.append(f"(?:{branches[0]}|{branches[1]})")
            continue
        captured.append(("other", item))
        group = f"?P<g{len(captured) - 1}>"
        if marker == "$splice" or (marker == "$param" and _is_command(template, item)):
            captured[-1] = ("command", item)
            made.append(f"({group}(?:{_WORD})+)")
        elif marker == "$names":
            before = re.escape(f"{item['$before']}{_END}") if "$before" in item else ""
            made.append(f"({group}(?:{before}{_WORD})*)")
        else:
            captured[-1] = ("number" if marker in ("$text", "$product") else "other", item)
            made.append(f"({group}{_WORD})?")
    return "".join(made)


def recomputed(
    marker: Mapping[str, Any], names: Mapping[str, str], values: Mapping[str, str], text: str
) -> Any | None:
    """The marker that computes `text` from parameters that are offered; None where it cannot.

    `names` leads from the template's parameters to those offered, `values` are their values as text. Factors
    of a product that are not offered stay the number that they were.
    """
    inner = marker.get("$text", marker)
    wanted = inner.get("$product") if "$product" in inner else [inner.get("$param")]
    offered = [names[item] for item in wanted if isinstance(item, str) and item in names]
    if not offered or not all(values.get(item, "").isdigit() for item in offered) or not text.isdigit():
        return None
    known, number = math.prod(int(values[item]) for item in offered), int(text)
    if not known or number % known or str(number) != text:
        return None
    rest = number // known
    if rest != 1 and len(offered) == len(wanted):
        return None
    if len(offered) == 1 and rest == 1:
        return {"$param": offered[0]}
    return {"$product": [*([rest] if rest != 1 else []), *offered]}
