"""Does the body of an apply fit the schema?"""

from typing import Any

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.limits import shortened
from cockpit.sim.server.patch.fields import text_of
from cockpit.sim.server.patch.typed import item_element
from cockpit.sim.server.schema.shape import SchemaShape

_NUMBERS = frozenset(("int32", "int64", "double"))
_TEXTS = frozenset(("string", "bytes"))


def check_declared(tree: Tree, shape: SchemaShape) -> None:
    """Raises PortError 500 with every field that the schema does not know or knows otherwise."""
    found = _problems(tree, shape, "")
    if not found:
        return
    metadata = tree.get("metadata") or {}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    told = found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {text}" for text in found)
    raise PortError(500, "", f"failed to create typed patch object ({name}; {kind_text(tree)}): {told}")


def _problems(value: Any, shape: SchemaShape, path: str) -> list[str]:
    if value is None or shape.type == "any":
        return []
    match shape.type:
        case "object" | "map":
            if not isinstance(value, dict):
                return [f"{path}: expected map, got {json_type(value)}"]
            return _map_problems(value, shape, path)
        case "list":
            if not isinstance(value, list):
                return [f"{path}: expected list, got {json_type(value)}"]
            return _list_problems(value, shape, path)
        case _:
            wrong = _scalar_problem(value, shape.type)
            return [f"{path}: {wrong}"] if wrong else []


def _map_problems(value: Tree, shape: SchemaShape, path: str) -> list[str]:
    found: list[str] = []
    for key in sorted(value):
        below = f"{path}.{shortened(key)}"
        if shape.type == "object" and key not in shape.fields and not shape.open and shape.items is None:
            # The server stops at the first; its order is any, this one is by name.
            return [*found, f"{below}: field not declared in schema"]
        found += _problems(value[key], shape.below(key), below)
    return found


def _list_problems(value: list[Any], shape: SchemaShape, path: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for at, item in enumerate(value):
        below = f"{path}[{at}]"
        if shape.list_type in ("set", "map"):
            try:
                name = item_element(item, shape)
            except KeyError:
                keys = " ".join(f'"{key}"' for key in shape.keys)
                found.append(
                    f"{path}: element {at}: associative list with keys has an element that omits all key "
                    f"fields [{keys}] (and doesn't have default values for any key fields)"
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
        return f"expected number, got {json_type(value)}"
    if kind == "bool" and not isinstance(value, bool):
        return f"expected bool, got {json_type(value)}"
    if kind in _TEXTS and not isinstance(value, str):
        return f"expected string, got {json_type(value)}"
    return ""


def kind_text(tree: Tree) -> str:
    """`apps/v1, Kind=Deployment`; the core group is the empty one: `/v1, Kind=Pod`."""
    group, _, version = str(tree.get("apiVersion", "")).rpartition("/")
    return f"{group}/{version}, Kind={tree.get('kind')}"
