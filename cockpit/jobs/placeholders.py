"""The markers of a template's manifest: mappings of one key that starts with `$`.

| marker | becomes |
| --- | --- |
| `{$param: name}` | the value, in its own type; the entry that holds it vanishes when it was left empty |
| `{$product: [a, b, 2]}` | the product of integer parameters and whole numbers |
| `{$text: MARKER}` | the number of a `$product` or an integer `$param` as text, for an argument; |
| | a command as one line, its words quoted for a shell |
| `{$given: name}`, `{$given: [a, b]}` | true when (one of) the parameter was filled in, else false |
| `{$splice: name}` | inside a list: the words of a command, one item each |
| `{$when: name, $then: A, $else: B}` | A when the parameter was filled in (a switch: is on), else B or |
| | nothing; a list as A or B inside a list is spread |
| `{$when: name, $is: VALUE, $then: A, $else: B}` | A when that choice was made |
| `{$first: [MARKER, MARKER]}` | the first that is not empty |
| `{$lookup: table, $by: name}` | the table's value for the parameter's value, empty where it has none |
| `{$env: name}` | inside a list: `{name, value}` of each variable |
| `{$names: name, $before: -x}` | inside a list: the name of each variable, each after `$before` where given |
| `{$env-from: name}` | inside a list: the ConfigMaps or Secrets whose keys are variables |
| `{$volumes: name}`, `{$mounts: name}` | inside a list: volumes and volumeMounts of claims, host paths, |
| | ConfigMaps or Secrets |
| `{$tolerations: name}` | inside a list: a toleration for each taint |

Two more stand beside other keys of a mapping, because they name keys:

| key | becomes |
| --- | --- |
| `$keyed: {parameter: VALUE}` | the parameter's value as key of VALUE; nothing where either is empty |
| `$pairs: name`, `$pairs: [a, b]` | KEY=VALUE pairs of a parameter; a key that stands there is refused |

A list of which every item vanished is left out itself, and so is a mapping with `$keyed` or `$pairs` that
has no entry; what stands empty in the template stays.

There is nothing else: no loops, no expressions, no text substitution. Values are set into the parsed tree.
The check of a template is `cockpit.jobs.marker_check`.
"""

import math
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from cockpit.errors import BadValue
from cockpit.jobs.parameters import Value
from cockpit.jobs.values import KeyValue, Mount, ToleratedTaint

ALONE: Final = (
    *("$param", "$product", "$text", "$given", "$splice", "$when", "$first", "$lookup"),
    *("$env", "$env-from", "$names", "$volumes", "$mounts", "$tolerations"),
)
BESIDE: Final = ("$keyed", "$pairs")
MARKERS: Final = (*ALONE, *BESIDE)
COMPANIONS: Final = {"$when": ("$is", "$then", "$else"), "$lookup": ("$by",), "$names": ("$before",)}
SPREAD: Final = ("$splice", "$env", "$env-from", "$names", "$volumes", "$mounts", "$tolerations")


_SOURCE_FIELDS: Final = {
    "persistentVolumeClaim": "claimName",
    "hostPath": "path",
    "configMap": "name",
    "secret": "secretName",
}


class _Dropped:
    """The place of a value that was left empty: its entry is taken out of the tree."""


_DROPPED: Final = _Dropped()
Values = Mapping[str, Value]


def marker_of(tree: Mapping[str, Any]) -> str | None:
    """The marker that the mapping is, None for a plain mapping (which may hold `$keyed` and `$pairs`)."""
    return next((key for key in tree if key.startswith("$") and key not in BESIDE), None)


def used_parameters(value: Any) -> frozenset[str]:
    """Names of the parameters that a checked tree uses."""
    if isinstance(value, list):
        return frozenset[str]().union(*(used_parameters(item) for item in value))
    if not isinstance(value, dict):
        return frozenset()
    marker = marker_of(value)
    if marker is None:
        found = frozenset[str]().union(*(used_parameters(item) for item in value.values()))
        found |= frozenset(value.get("$keyed") or ())
        return found | frozenset(_names(value.get("$pairs")))
    argument = value[marker]
    if marker in ("$text", "$first"):
        return used_parameters(argument)
    if marker == "$when":
        inner = used_parameters(value.get("$then")) | used_parameters(value.get("$else"))
        return inner | frozenset(_names(argument))
    if marker == "$lookup":
        return frozenset({str(argument), str(value["$by"])})
    return frozenset(_names(argument))


def _names(argument: Any) -> tuple[str, ...]:
    listed = argument if isinstance(argument, list) else [argument]
    return tuple(item for item in listed if isinstance(item, str))


def fill(tree: Any, values: Values) -> Any:
    """A new tree with every marker of a checked manifest replaced; entries of empty values are gone.

    Raises BadValue for two keys that fall together.
    """
    filled = _fill(tree, values)
    return None if isinstance(filled, _Dropped) else filled


def is_given(names: Any, values: Values) -> bool:
    """True when one of the parameters was filled in; a switch that is off counts as empty."""
    return any(values.get(name) not in (None, "", False, ()) for name in _names(names))


def _fill(value: Any, values: Values) -> Any:
    if isinstance(value, list):
        items = _list(value, values)
        return items if items or not value else _DROPPED
    if not isinstance(value, dict):
        return value
    marker = marker_of(value)
    if marker is not None:
        return _value(marker, value, values)
    entries = {key: _fill(one, values) for key, one in value.items() if key not in BESIDE}
    made = {key: one for key, one in entries.items() if not isinstance(one, _Dropped)}
    for name, inner in (value.get("$keyed") or {}).items():
        key, filled = values.get(name), _fill(inner, values)
        if isinstance(key, str) and key and not isinstance(filled, _Dropped):
            _put(made, key, filled, name)
    for name in _names(value.get("$pairs")):
        for pair in _parts(values.get(name)):
            if isinstance(pair, KeyValue):
                _put(made, pair.key, pair.value, name)
    return made if made or not any(key in value for key in BESIDE) else _DROPPED


def _put(made: dict[str, Any], key: str, value: Any, name: str) -> None:
    if key in made:
        raise BadValue(name, f"{key} is already set by another field; give it in one place")
    made[key] = value


def _list(value: list[Any], values: Values) -> list[Any]:
    items: list[Any] = []
    for item in value:
        marker = marker_of(item) if isinstance(item, dict) else None
        if marker in SPREAD:
            items.extend(_SPREADERS[marker](item, values))
            continue
        filled = _fill(item, values)
        if isinstance(filled, list) and marker == "$when":
            items.extend(filled)
        elif not isinstance(filled, _Dropped):
            items.append(filled)
    return items


def _value(marker: str, tree: Mapping[str, Any], values: Values) -> Any:
    argument = tree[marker]
    match marker:
        case "$product":
            return math.prod(item if isinstance(item, int) else _integer(values[item]) for item in argument)
        case "$given":
            return is_given(argument, values)
        case "$when":
            holds = values.get(argument) == tree["$is"] if "$is" in tree else is_given(argument, values)
            branch = "$then" if holds else "$else"
            return _fill(tree[branch], values) if branch in tree else _DROPPED
        case "$first":
            filled = (_fill(item, values) for item in argument)
            return next((item for item in filled if not isinstance(item, _Dropped)), _DROPPED)
        case "$lookup":
            wanted = values.get(tree["$by"])
            found = (
                part.value
                for part in _parts(values.get(argument))
                if isinstance(part, KeyValue) and part.key == wanted
            )
            return next(found, _DROPPED)
    inner = _fill(argument, values) if marker == "$text" else values.get(argument)
    if inner is None or isinstance(inner, _Dropped):
        return _DROPPED
    if marker == "$text":
        return shlex.join(inner) if isinstance(inner, list) else str(inner)
    return list(inner) if isinstance(inner, tuple) else inner


def _integer(value: Value) -> int:
    if isinstance(value, int):
        return value
    raise TypeError(f"a checked template multiplies integers only, got {value!r}")


def _parts(value: Value) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _splice(tree: Mapping[str, Any], values: Values) -> list[Any]:
    return [part for part in _parts(values.get(tree["$splice"])) if isinstance(part, str)]


def _env(tree: Mapping[str, Any], values: Values) -> list[Any]:
    return [{"name": part.key, "value": part.value} for part in _parts(values.get(tree["$env"]))]


def _variable_names(tree: Mapping[str, Any], values: Values) -> list[Any]:
    before = [tree["$before"]] if "$before" in tree else []
    return [word for part in _parts(values.get(tree["$names"])) for word in (*before, part.key)]


def _volumes(tree: Mapping[str, Any], values: Values) -> list[Any]:
    """A volume of each thing once, though it may be mounted at several places."""
    name = tree["$volumes"]
    made: dict[str, Any] = {}
    for item in _mounts_of(values.get(name)):
        source = {_SOURCE_FIELDS[item.kind]: item.source}
        volume: dict[str, Any] = {"name": _volume_name(name, item, values), item.kind: source}
        made.setdefault(item.source, volume)
    return list(made.values())


def _mounts(tree: Mapping[str, Any], values: Values) -> list[Any]:
    name = tree["$mounts"]
    made: list[Any] = []
    for item in _mounts_of(values.get(name)):
        mount: dict[str, Any] = {"name": _volume_name(name, item, values), "mountPath": item.path}
        if item.is_read_only:
            mount["readOnly"] = True
        made.append(mount)
    return made


def _mounts_of(value: Value) -> list[Mount]:
    return [part for part in _parts(value) if isinstance(part, Mount) and part.path]


def _env_from(tree: Mapping[str, Any], values: Values) -> list[Any]:
    parts = _parts(values.get(tree["$env-from"]))
    return [
        {f"{part.kind}Ref": {"name": part.source}}
        for part in parts
        if isinstance(part, Mount) and not part.path
    ]


def _tolerations(tree: Mapping[str, Any], values: Values) -> list[Any]:
    made = []
    for part in _parts(values.get(tree["$tolerations"])):
        if isinstance(part, ToleratedTaint):
            one = {"key": part.key, "operator": "Exists" if part.value is None else "Equal"}
            one |= {} if part.value is None else {"value": part.value}
            made.append(one | ({"effect": part.effect} if part.effect else {}))
    return made


def _volume_name(name: str, mount: Mount, values: Values) -> str:
    sources = list(dict.fromkeys(item.source for item in _mounts_of(values.get(name))))
    return f"{name}-{sources.index(mount.source)}"


_SPREADERS: Final[dict[str, Callable[[Mapping[str, Any], Values], list[Any]]]] = {
    "$splice": _splice,
    "$env": _env,
    "$env-from": _env_from,
    "$tolerations": _tolerations,
    "$names": _variable_names,
    "$volumes": _volumes,
    "$mounts": _mounts,
}
