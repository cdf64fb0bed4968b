"""Does the body of an apply fit the schema? In structured-merge-diff's words."""

from typing import Any

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.patch.fields import text_of
from cockpit.sim.server.patch.typed import item_element
from cockpit.sim.server.schema.shape import Shape

_NUMBERS = frozenset(("int32", "int64", "double"))
_TEXTS = frozenset(("string", "bytes"))


def check_declared(tree: Tree, shape: Shape) -> None:
    """Raises PortError 500 with every field that the schema does not know or knows otherwise."""
    found = _problems(tree, shape, "")
    if not found:
        return
    metadata = tree.get("metadata") or {}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    kind = f"{tree.get('apiVersion')}, Kind={tree.get('kind')}"
    told = found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {text}" for text in found)
    raise PortError(500, "InternalError", f"failed to create typed patch object ({name}; {kind}): {told}")


def _problems(value: Any, shape: Shape, path: str) -> list[str]:
    if value is None or shape.type == "any":
        return []
    match shape.type:
        case "object" | "map":
            if not isinstance(value, dict):
                return [f"{path}: expected map, got &{{{value}}}"]
            return _map_problems(value, shape, path)
        case "list":
            if not isinstance(value, list):
                return [f"{path}: expected list, got &{{{value}}}"]
            return _list_problems(value, shape, path)
        case _:
            wrong = _scalar_problem(value, shape.type)
            return [f"{path}: {wrong}"] if wrong else []


def _map_problems(value: Tree, shape: Shape, path: str) -> list[str]:
    found: list[str] = []
    for key in sorted(value):
        below = f"{path}.{key}"
        if shape.type == "object" and key not in shape.fields and not shape.open and shape.items is None:
            found.append(f"{below}: field not declared in schema")
        else:
            found += _problems(value[key], shape.below(key), below)
    return found


def _list_problems(value: list[Any], shape: Shape, path: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for at, item in enumerate(value):
        below = f"{path}[{at}]"
        if shape.list_type in ("set", "map"):
            try:
                name = item_element(item, shape)
            except KeyError as missing:
                key = missing.args[0]
                found.append(
                    f"{path}: element {at}: associative list with keys has an element that omits key field "
                    f'"{key}" (and doesn\'t have default value)'
                )
                continue
            below = path + text_of((name,))
            if name in seen:
                found.append(f"{path}: duplicate entries for key {text_of((name,))}")
                continue
            seen.add(name)
        found += _problems(item, shape.item, below)
    return found


def _scalar_problem(value: Any, kind: str) -> str:
    if kind in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {_go(value)}"
    if kind == "bool" and not isinstance(value, bool):
        return f"expected boolean, got {_go(value)}"
    if kind in _TEXTS and not isinstance(value, str):
        return f"expected string, got {_go(value)}"
    return ""


def _go(value: Any) -> str:
    if isinstance(value, bool):
        return f"&value.valueUnstructured{{Value:{str(value).lower()}}}"
    if isinstance(value, str):
        return f'&value.valueUnstructured{{Value:"{value}"}}'
    return f"&value.valueUnstructured{{Value:{value}}}"
