"""Lint rules of a template document: what a form warns of while it is filled in, as data.

```yaml
lint:
  - {warn: "no claim keeps what TensorBoard reads", given: [tensorboard], missing: [data, checkpoint]}
  - {warn: "cards older than the toolkit", given: [gpu-model], matches: {gpu-model: 'K80'}}
  - {warn: "more are needed than are made", larger: [min-workers, workers]}
  - reads: command
    pattern: '(?P<ranks>[0-9]+) (?P<each>[0-9]+)$'
    expect: {ranks: {$product: [workers, gpus]}, each: {$param: gpus}}
```

A `warn` rule speaks when all of `given` are filled in, all of `missing` are empty, every pattern of
`matches` is found in its parameter's text, and the first number of `larger` is larger than the second. A
`reads` rule looks for its pattern in the text of a parameter and compares each named group with a number; a
group that was not found is not compared.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cockpit.jobs.marker_check import check_markers
from cockpit.jobs.parameters import Parameter, Value
from cockpit.jobs.placeholders import fill, is_given
from cockpit.jobs.yaml_document import Document, Path

_WARN: Final = ("warn", "given", "missing", "matches", "larger")
_READS: Final = ("reads", "pattern", "expect")


class LintRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. `warn` and what makes it speak, or `reads`, `pattern` and the numbers that are expected."""

    warn: str = ""
    given: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    matches: tuple[tuple[str, str], ...] = ()
    larger: tuple[str, ...] = ()
    reads: str = ""
    pattern: str = ""
    expect: tuple[tuple[str, Any], ...] = ()


def read_rules(document: Document, value: Any, parameters: Mapping[str, Parameter]) -> tuple[LintRule, ...]:
    """The rules of a document's `lint` section. Raises BadInput naming file, line and field."""
    if not isinstance(value, list):
        raise document.fault(("lint",), "this must be a list")
    return tuple(_rule(document, one, ("lint", at), parameters) for at, one in enumerate(value))


def _rule(document: Document, one: Any, path: Path, parameters: Mapping[str, Parameter]) -> LintRule:
    if not isinstance(one, dict) or ("warn" in one) == ("reads" in one):
        raise document.fault(path, "give either `warn` or `reads`")
    known = _WARN if "warn" in one else _READS
    for key in one:
        if key not in known:
            raise document.fault((*path, key), f"unknown field; known fields: {', '.join(known)}")
    if "warn" in one:
        return _warn_rule(document, one, path, parameters)
    reads = _name(document, one["reads"], (*path, "reads"), parameters)
    groups = _pattern(document, one.get("pattern"), (*path, "pattern"))
    expect = one.get("expect")
    if not isinstance(expect, dict) or not expect:
        raise document.fault((*path, "expect"), "this must map named groups to numbers")
    for group, marker in expect.items():
        if group not in groups:
            raise document.fault((*path, "expect", group), "the pattern has no group of this name")
        if not isinstance(marker, dict) or set(marker) not in ({"$product"}, {"$param"}):
            raise document.fault((*path, "expect", group), "this must be a $product or an integer $param")
        check_markers(document, {"$text": marker}, (*path, "expect", group), parameters)
        if "$param" in marker and parameters[marker["$param"]].type != "integer":
            raise document.fault((*path, "expect", group), "only an integer can be compared")
    return LintRule(reads=reads, pattern=one["pattern"], expect=tuple(expect.items()))


def _warn_rule(
    document: Document, one: dict[str, Any], path: Path, parameters: Mapping[str, Parameter]
) -> LintRule:
    if not isinstance(one["warn"], str) or not one["warn"]:
        raise document.fault((*path, "warn"), "this must be a sentence")
    lists: dict[str, tuple[str, ...]] = {}
    for key in ("given", "missing", "larger"):
        listed = one.get(key, [])
        if not isinstance(listed, list):
            raise document.fault((*path, key), "this must be a list of parameters")
        lists[key] = tuple(
            _name(document, each, (*path, key, at), parameters) for at, each in enumerate(listed)
        )
    if len(lists["larger"]) not in (0, 2):
        raise document.fault((*path, "larger"), "name two parameters: the larger one first")
    matches = one.get("matches", {})
    if not isinstance(matches, dict):
        raise document.fault((*path, "matches"), "this must map parameters to patterns")
    for name, pattern in matches.items():
        _name(document, name, (*path, "matches", name), parameters)
        _pattern(document, pattern, (*path, "matches", name))
    if not (any(lists.values()) or matches):
        raise document.fault(
            path, "give `given`, `missing`, `matches` or `larger`: without one it always warns"
        )
    return LintRule(
        warn=one["warn"],
        matches=tuple(matches.items()),
        given=lists["given"],
        missing=lists["missing"],
        larger=lists["larger"],
    )


def _name(document: Document, name: Any, path: Path, parameters: Mapping[str, Parameter]) -> str:
    if not isinstance(name, str) or name not in parameters:
        raise document.fault(path, f"no parameter {name!r}; parameters: {', '.join(parameters) or 'none'}")
    return name


def _pattern(document: Document, pattern: Any, path: Path) -> Mapping[str, int]:
    try:
        return re.compile(pattern).groupindex
    except (re.error, TypeError) as error:
        raise document.fault(path, f"not a regular expression: {error}") from None


def remarks(
    rules: tuple[LintRule, ...], values: Mapping[str, Value], texts: Mapping[str, str]
) -> tuple[str, ...]:
    """What the rules say of checked values; `texts` is what stands in the fields, defaults filled in."""
    found: list[str] = []
    for rule in rules:
        if rule.reads:
            found.extend(_disagreements(rule, values, texts))
        elif _speaks(rule, values, texts):
            found.append(rule.warn)
    return tuple(dict.fromkeys(found))


def _speaks(rule: LintRule, values: Mapping[str, Value], texts: Mapping[str, str]) -> bool:
    return (
        all(is_given(item, values) for item in rule.given)
        and not any(is_given(item, values) for item in rule.missing)
        and all(re.search(pattern, texts.get(name, "")) for name, pattern in rule.matches)
        and (not rule.larger or _is_larger(*(values.get(item) for item in rule.larger)))
    )


def _is_larger(first: Value | None, second: Value | None) -> bool:
    """False where one of them is no number, or not given."""
    return isinstance(first, int) and isinstance(second, int) and first > second


def _disagreements(rule: LintRule, values: Mapping[str, Value], texts: Mapping[str, str]) -> list[str]:
    said: list[str] = []
    found = re.search(rule.pattern, texts.get(rule.reads, ""))
    for group, marker in rule.expect if found is not None else ():
        told, wanted = found[group] if found is not None else None, fill(marker, values)
        if told is None or not told.isdecimal() or not isinstance(wanted, int) or int(told) == wanted:
            continue
        said.append(f"{rule.reads} says {told} {group}, but {_formula(marker)} is {wanted}")
    return said


def _formula(marker: dict[str, Any]) -> str:
    if "$param" in marker:
        return str(marker["$param"])
    return " x ".join(str(item) for item in marker["$product"])
