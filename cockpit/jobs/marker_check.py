"""The check of a template's markers, before anything is filled in: file, line and field in one sentence."""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.jobs.parameters import Parameter
from cockpit.jobs.placeholders import BESIDE, COMPANIONS, MARKERS, SPREAD, marker_of
from cockpit.jobs.yaml_document import Document, Path

Parameters = Mapping[str, Parameter]

_SPREAD_TYPES: Final = {
    "$splice": ("command",),
    "$env": ("environment",),
    "$names": ("environment",),
    "$env-from": ("config-maps", "secrets"),
    "$tolerations": ("tolerations",),
    "$volumes": ("claims", "host-paths", "config-maps", "secrets"),
    "$mounts": ("claims", "host-paths", "config-maps", "secrets"),
}
_MANY: Final = (
    *("environment", "labels", "annotations", "resources", "table", "tolerations"),
    *("claims", "host-paths", "config-maps", "secrets"),
)
_KEY_TYPES: Final = ("resource-name",)
_PAIR_TYPES: Final = ("labels", "annotations", "resources")


def check_markers(document: Document, value: Any, path: Path, parameters: Parameters) -> None:
    """Raise BadInput, naming file, line and field, for the first marker that could not be filled."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            check_markers(document, one, (*path, index), parameters)
        return
    if not isinstance(value, dict):
        return
    marker = marker_of(value)
    if marker is None:
        _check_beside(document, value, path, parameters)
        for key, one in value.items():
            if key not in BESIDE:
                check_markers(document, one, (*path, key), parameters)
        return
    if marker in {word for words in COMPANIONS.values() for word in words}:
        first = next((item for item in value if item in COMPANIONS), "")
        if first:
            marker = first
    if marker not in MARKERS:
        raise document.fault((*path, marker), f"unknown marker; known: {', '.join(MARKERS)}")
    extra = set(value) - {marker, *COMPANIONS.get(marker, ())}
    if extra:
        raise document.fault((*path, marker), "a marker must be the only key of its mapping")
    _check_one(document, marker, value, path, parameters)


def _check_one(
    document: Document, marker: str, value: dict[str, Any], path: Path, parameters: Parameters
) -> None:
    here, argument = (*path, marker), value[marker]
    match marker:
        case "$product":
            _check_product(document, argument, here, parameters)
        case "$text":
            _check_text(document, argument, here, parameters)
        case "$given" | "$when":
            for item in argument if isinstance(argument, list) and argument else [argument]:
                _known(document, item, here, parameters)
            if marker == "$when":
                if "$then" not in value:
                    raise document.fault(here, "it needs $then beside it")
                if "$is" in value:
                    _check_choice(document, argument, value["$is"], path, parameters)
                for branch in ("$then", "$else"):
                    # A branch stands where the marker does, so that spreading markers know their list.
                    inner = value.get(branch)
                    check_markers(document, inner, (*path, branch), parameters)
        case "$first":
            if not isinstance(argument, list) or not all(isinstance(item, dict) for item in argument):
                raise document.fault(here, "this must be a list of markers")
            check_markers(document, argument, here, parameters)
        case "$lookup":
            if _known(document, argument, here, parameters).type != "table":
                raise document.fault(here, "only a parameter of type table")
            _known(document, value.get("$by"), (*path, "$by"), parameters)
        case _:
            _check_plain(document, marker, argument, path, parameters)


def _check_plain(document: Document, marker: str, argument: Any, path: Path, parameters: Parameters) -> None:
    here = (*path, marker)
    parameter = _known(document, argument, here, parameters)
    in_list = bool(path) and isinstance(path[-1], int)
    if marker in SPREAD:
        allowed = _SPREAD_TYPES[marker]
        if parameter.type not in allowed or not in_list:
            raise document.fault(here, f"only a parameter of type {' or '.join(allowed)}, inside a list")
    elif parameter.type == "command" and in_list:
        raise document.fault(here, "inside a list a command is spread with $splice")
    elif parameter.type in _MANY:
        raise document.fault(
            here, f"a parameter of type {parameter.type} has several parts: use its own marker"
        )


def _check_beside(document: Document, value: dict[str, Any], path: Path, parameters: Parameters) -> None:
    keyed = value.get("$keyed", {})
    if not isinstance(keyed, dict):
        raise document.fault((*path, "$keyed"), "this must map parameters to values")
    for name, inner in keyed.items():
        here = (*path, "$keyed", name)
        if _known(document, name, here, parameters).type not in _KEY_TYPES:
            raise document.fault(here, f"only a parameter of type {' or '.join(_KEY_TYPES)} can be a key")
        check_markers(document, inner, here, parameters)
    if "$pairs" in value:
        named = value["$pairs"]
        for item in named if isinstance(named, list) else [named]:
            if _known(document, item, (*path, "$pairs"), parameters).type not in _PAIR_TYPES:
                raise document.fault(
                    (*path, "$pairs"), f"only a parameter of type {' or '.join(_PAIR_TYPES)}"
                )


def _known(document: Document, name: Any, path: Path, parameters: Parameters) -> Parameter:
    if not isinstance(name, str) or name not in parameters:
        raise document.fault(path, f"no parameter {name!r}; parameters: {', '.join(parameters) or 'none'}")
    return parameters[name]


def _check_product(document: Document, argument: Any, path: Path, parameters: Parameters) -> None:
    if not isinstance(argument, list) or not argument:
        raise document.fault(path, "this must be a list of integer parameters and whole numbers")
    for index, one in enumerate(argument):
        if isinstance(one, int) and not isinstance(one, bool):
            continue
        parameter = _known(document, one, (*path, index), parameters)
        if parameter.type != "integer" or parameter.default == "":
            raise document.fault(
                (*path, index), f"{one!r} is not an integer parameter that always has a value"
            )


def _check_choice(document: Document, name: Any, made: Any, path: Path, parameters: Parameters) -> None:
    choices = _known(document, name, (*path, "$when"), parameters).choices
    if made not in choices:
        told = ", ".join(choices) or "none: it has no choices"
        raise document.fault((*path, "$is"), f"{made!r} is not among the choices of {name}: {told}")


def _check_text(document: Document, argument: Any, path: Path, parameters: Parameters) -> None:
    if not isinstance(argument, dict) or set(argument) not in ({"$product"}, {"$param"}):
        raise document.fault(path, "this must be a $product, an integer $param or a command")
    check_markers(document, argument, path, parameters)
    if "$param" in argument and parameters[argument["$param"]].type not in ("integer", "command"):
        raise document.fault(path, "only an integer or a command needs to be turned into text")
