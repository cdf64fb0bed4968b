"""The markers of a template's manifest: mappings of one key that starts with `$`.

| marker | becomes |
| --- | --- |
| `{$param: name}` | the value, in its own type; the entry that holds it vanishes when it was left empty |
| `{$product: [a, b, 2]}` | the product of integer parameters and whole numbers |
| `{$text: MARKER}` | the number of a `$product` or an integer `$param` as text, for an argument |
| `{$given: name}` | true when the parameter was filled in, else false |
| `{$splice: name}` | inside a list: the words of a command, one item each |

There is nothing else: no conditions, no loops, no text substitution. Values are set into the parsed tree.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from cockpit.jobs.parameters import Parameter, Value
from cockpit.jobs.yaml_document import Document, Path

MARKERS: Final = ("$param", "$product", "$text", "$given", "$splice")


class _Dropped:
    """The place of a value that was left empty: its entry is taken out of the tree."""


_DROPPED: Final = _Dropped()


def check_markers(document: Document, value: Any, path: Path, parameters: Mapping[str, Parameter]) -> None:
    """Raise BadInput, naming file, line and field, for the first marker that could not be filled."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            check_markers(document, one, (*path, index), parameters)
        return
    if not isinstance(value, dict):
        return
    marker = next((key for key in value if key.startswith("$")), None)
    if marker is None:
        for key, one in value.items():
            check_markers(document, one, (*path, key), parameters)
        return
    if marker not in MARKERS:
        raise document.fault((*path, marker), f"unknown marker; known are: {', '.join(MARKERS)}")
    if len(value) > 1:
        raise document.fault((*path, marker), "a marker stands alone in its mapping")
    argument = value[marker]
    if marker == "$product":
        _check_product(document, argument, (*path, marker), parameters)
    elif marker == "$text":
        _check_text(document, argument, (*path, marker), parameters)
    else:
        parameter = _known(document, argument, (*path, marker), parameters)
        if marker == "$splice" and (parameter.type != "command" or not isinstance(path[-1], int)):
            raise document.fault((*path, marker), "only a parameter of type command, inside a list")
        if marker == "$param" and parameter.type == "command" and isinstance(path[-1], int):
            raise document.fault((*path, marker), "inside a list a command is spread with $splice")


def _known(document: Document, name: Any, path: Path, parameters: Mapping[str, Parameter]) -> Parameter:
    if not isinstance(name, str) or name not in parameters:
        raise document.fault(path, f"no parameter {name!r}; known are: {', '.join(parameters) or 'none'}")
    return parameters[name]


def _check_product(
    document: Document, argument: Any, path: Path, parameters: Mapping[str, Parameter]
) -> None:
    if not isinstance(argument, list) or not argument:
        raise document.fault(path, "a list of integer parameters and whole numbers is needed")
    for index, one in enumerate(argument):
        if isinstance(one, int) and not isinstance(one, bool):
            continue
        parameter = _known(document, one, (*path, index), parameters)
        if parameter.type != "integer" or parameter.default == "":
            raise document.fault((*path, index), f"{one!r} is no integer parameter that always has a value")


def _check_text(document: Document, argument: Any, path: Path, parameters: Mapping[str, Parameter]) -> None:
    if not isinstance(argument, dict) or set(argument) not in ({"$product"}, {"$param"}):
        raise document.fault(path, "a $product or an integer $param is needed")
    check_markers(document, argument, path, parameters)
    if "$param" in argument and parameters[argument["$param"]].type != "integer":
        raise document.fault(path, "only an integer needs to be turned into text")


def used_parameters(value: Any) -> frozenset[str]:
    """Names of the parameters that a checked tree uses."""
    if isinstance(value, list):
        return frozenset[str]().union(*(used_parameters(one) for one in value))
    if not isinstance(value, dict):
        return frozenset()
    marker = next((key for key in value if key.startswith("$")), None)
    if marker is None or marker == "$text":
        return frozenset[str]().union(*(used_parameters(one) for one in value.values()))
    if marker == "$product":
        return frozenset(one for one in value[marker] if isinstance(one, str))
    return frozenset({str(value[marker])})


def fill(tree: Any, values: Mapping[str, Value]) -> Any:
    """A new tree with every marker of a checked manifest replaced; entries of empty values are gone."""
    filled = _fill(tree, values)
    return None if isinstance(filled, _Dropped) else filled


def _fill(value: Any, values: Mapping[str, Value]) -> Any:
    if isinstance(value, list):
        items: list[Any] = []
        for one in value:
            if isinstance(one, dict) and "$splice" in one:
                words = values.get(one["$splice"])
                items.extend(words if isinstance(words, tuple) else ())
                continue
            filled = _fill(one, values)
            if not isinstance(filled, _Dropped):
                items.append(filled)
        return items
    if not isinstance(value, dict):
        return value
    marker = next((key for key in value if key.startswith("$")), None)
    if marker is not None:
        return _value(marker, value[marker], values)
    entries = {key: _fill(one, values) for key, one in value.items()}
    return {key: one for key, one in entries.items() if not isinstance(one, _Dropped)}


def _value(marker: str, argument: Any, values: Mapping[str, Value]) -> Any:
    if marker == "$product":
        return math.prod(one if isinstance(one, int) else _integer(values[one]) for one in argument)
    if marker == "$given":
        return values.get(argument) not in (None, "", False)
    inner = _fill(argument, values) if marker == "$text" else values.get(argument)
    if inner is None or isinstance(inner, _Dropped):
        return _DROPPED
    if marker == "$text":
        return str(inner)
    return list(inner) if isinstance(inner, tuple) else inner


def _integer(value: Value) -> int:
    if isinstance(value, int):
        return value
    raise TypeError(f"a checked template multiplies integers only, got {value!r}")
