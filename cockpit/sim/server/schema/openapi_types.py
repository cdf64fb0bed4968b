"""Shapes told as OpenAPI: the 3.0 of `/openapi/v3` and the 2.0 of `/openapi/v2`."""

from collections.abc import Callable
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.schema.kinds import GROUPS
from cockpit.sim.server.schema.notation import blocks, named
from cockpit.sim.server.schema.shape import Field, Shape

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_PACKAGES = {
    "meta": _META,
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
}
_PLAIN: dict[str, Tree] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "any": {"type": "object"},
}
_NAMED = {
    "quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "time": f"{_META}.Time",
    "microtime": f"{_META}.MicroTime",
    "intorstr": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}
_SCALARS_V3: dict[str, Tree] = {
    "quantity": {
        "description": "An amount: digits, and a suffix such as m, k, M, Ki, Mi or Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "time": {"description": "A time in RFC 3339.", "type": "string", "format": "date-time"},
    "microtime": {
        "description": "A time in RFC 3339 with microseconds.",
        "type": "string",
        "format": "date-time",
    },
    "intorstr": {
        "description": "A whole number or a text.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
_SCALARS_V2: dict[str, Tree] = {
    **_SCALARS_V3,
    "quantity": {"description": _SCALARS_V3["quantity"]["description"], "type": "string"},
    "intorstr": {
        "description": _SCALARS_V3["intorstr"]["description"],
        "type": "string",
        "format": "int-or-string",
    },
}
KIND_KEY = "x-kubernetes-group-version-kind"


def package_of(table: str) -> str:
    """The prefix of the definitions of a table: `io.k8s.api.core.v1`."""
    return _PACKAGES.get(table, f"io.k8s.api.{table}.v1")


def definition_name(shape: Shape) -> str:
    """`io.k8s.api.core.v1.Pod` for the shape `core.Pod`."""
    table, _, name = shape.name.partition(".")
    return f"{package_of(table)}.{name}"


class Definitions:
    """The definitions that are needed for what is asked of `needed` and `reference`, and for their parts."""

    def __init__(self, version: int) -> None:
        self._version = version
        self.found: dict[str, Tree] = {}

    def reference(self, name: str) -> Tree:
        """A reference to a definition by its full name."""
        base = "#/components/schemas/" if self._version == 3 else "#/definitions/"
        return {"$ref": base + name}

    def needed(self, shape: Shape) -> str:
        """Make sure of the definition of a named shape, and answer its full name."""
        name = definition_name(shape)
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self._object(shape)
        return name

    def list_of(self, name: str, kind: Tree) -> str:
        """The definition of a list of `name`; `kind` is group, version and kind of the items."""
        listed = f"{name}List"
        if listed not in self.found:
            items: Tree = {
                "description": "The objects.",
                "type": "array",
                "items": self.reference(name),
            }
            meta = self._referring(named("meta", "ListMeta"), "Version and place of the list.")
            self.found[listed] = {
                "description": f"A list of {kind['kind']} objects.",
                "type": "object",
                "required": ["items"],
                "properties": {**_type_meta(), "items": items, "metadata": meta},
                KIND_KEY: [{**kind, "kind": f"{kind['kind']}List"}],
            }
        return listed

    def custom(self, name: str, schema: Tree, kind: Tree) -> str:
        """The definition of a custom kind by its openAPIV3Schema."""
        if name not in self.found:
            meta = self._referring(named("meta", "ObjectMeta"), "Name, labels, owners of the object.")
            told = {key: item for key, item in schema.items() if key != "properties"}
            properties = {**(schema.get("properties") or {}), **_type_meta(), "metadata": meta}
            self.found[name] = {**told, "type": "object", "properties": properties, KIND_KEY: [kind]}
        return name

    def _object(self, shape: Shape) -> Tree:
        made: Tree = {"description": shape.description or shape.name.partition(".")[2], "type": "object"}
        required = [field.name for field in shape.fields.values() if field.required]
        if required:
            made["required"] = required
        made["properties"] = {field.name: self._field(field) for field in shape.fields.values()}
        if shape.atomic:
            made["x-kubernetes-map-type"] = "atomic"
        table, _, name = shape.name.partition(".")
        block = blocks(table)[name]
        if "kind" in block.flags:
            group = next(group for group, home in GROUPS.items() if home == table)
            group = "" if table == "meta" else group
            made[KIND_KEY] = [{"group": group, "version": "v1", "kind": name}]
        return made

    def _field(self, field: Field) -> Tree:
        made = self._told(field.shape, field.description)
        if field.shape.type == "list":
            made["x-kubernetes-list-type"] = field.shape.list_type or "atomic"
            if field.shape.keys:
                made["x-kubernetes-list-map-keys"] = list(field.shape.keys)
        if field.shape.type == "map" and field.shape.atomic:
            made["x-kubernetes-map-type"] = "atomic"
        if field.merges:
            made["x-kubernetes-patch-strategy"] = "merge,retainKeys" if field.retains else "merge"
            if field.merge_key:
                made["x-kubernetes-patch-merge-key"] = field.merge_key
        elif field.retains:
            made["x-kubernetes-patch-strategy"] = "retainKeys"
        if field.replaces:
            made["x-kubernetes-patch-strategy"] = "replace"
        if field.values:
            inside = made.get("items") or made.get("additionalProperties") or made
            inside["enum"] = list(field.values)
        if field.default is not None and field.shape.type not in ("object", "list", "map"):
            made["default"] = field.default
        return made

    def _told(self, shape: Shape, description: str) -> Tree:
        match shape.type:
            case "object":
                return self._referring(shape, description)
            case "list":
                made: Tree = {"type": "array", "items": self._told(shape.item, "")}
            case "map":
                made = {"type": "object", "additionalProperties": self._told(shape.item, "")}
            case kind if kind in _NAMED:
                scalars = _SCALARS_V3 if self._version == 3 else _SCALARS_V2
                self.found[_NAMED[kind]] = scalars[kind]
                return self._pointing(_NAMED[kind], description)
            case kind:
                made = dict(_PLAIN[kind])
        return {"description": description, **made} if description else made

    def _referring(self, shape: Shape, description: str) -> Tree:
        return self._pointing(self.needed(shape), description)

    def _pointing(self, name: str, description: str) -> Tree:
        if not description:
            return self.reference(name)
        if self._version == 3:
            return {"description": description, "allOf": [self.reference(name)]}
        return {"description": description, **self.reference(name)}


def _type_meta() -> dict[str, Any]:
    return {
        "apiVersion": {"description": "Group and version of the API.", "type": "string"},
        "kind": {"description": "What kind of object this is.", "type": "string"},
    }


Schemas = Callable[[str, str], Tree | None]
"""(name of a definition `things.y.test`, version) -> the openAPIV3Schema of a custom kind."""
