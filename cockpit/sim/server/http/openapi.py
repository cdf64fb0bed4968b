"""`/openapi/v3` and `/openapi/v2`, made of the kinds that are served at the moment.

kubectl 1.36 reads v3 as JSON only (explain, apply, diff, create); v2 is what older clients fall back to.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.kinds import Kinds, ServedKind
from cockpit.sim.server.schema.kinds import GROUPS, shape_of
from cockpit.sim.server.schema.notation import blocks, named
from cockpit.sim.server.schema.shape import SchemaField, SchemaShape
from cockpit.sim.server.storage import Storage

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


def definition_name(shape: SchemaShape) -> str:
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

    def needed(self, shape: SchemaShape) -> str:
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

    def _object(self, shape: SchemaShape) -> Tree:
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

    def _field(self, field: SchemaField) -> Tree:
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

    def _told(self, shape: SchemaShape, description: str) -> Tree:
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

    def _referring(self, shape: SchemaShape, description: str) -> Tree:
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


_INFO = {"title": "Kubernetes", "version": "1.36"}
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC = "application/strategic-merge-patch+json"
_WRITTEN = ("dryRun", "fieldManager", "fieldValidation")
_VERBS = {
    "get": ("get", "get", ()),
    "put": ("update", "put", _WRITTEN),
    "patch": ("patch", "patch", (*_WRITTEN, "force")),
    "delete": ("delete", "delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
}
_COLLECTION_VERBS = {
    "get": ("list", "list", ("continue", "fieldSelector", "labelSelector", "limit", "watch")),
    "post": ("create", "post", _WRITTEN),
    "delete": ("deletecollection", "deletecollection", ("dryRun", "fieldSelector", "labelSelector")),
}
_TYPES = {"force": "boolean", "watch": "boolean", "limit": "integer", "gracePeriodSeconds": "integer"}


class OpenAPI:
    """The documents; each is made when it is first asked for, and anew after the kinds have changed.

    `storage` is where the definitions of custom kinds lie.
    """

    def __init__(self, kinds: Kinds, storage: Storage) -> None:
        self._kinds = kinds
        self._storage = storage
        self._revision = -1
        self._made: dict[str, bytes] = {}

    def v2(self) -> bytes:
        """`/openapi/v2` as JSON."""
        self._check()
        if "v2" not in self._made:
            definitions = Definitions(2)
            paths: Tree = {}
            for kind in self._kinds:
                paths |= self._paths(kind, definitions, 2)
            document = {
                "swagger": "2.0",
                "info": _INFO,
                "paths": dict(sorted(paths.items())),
                "definitions": dict(sorted(definitions.found.items())),
            }
            self._made["v2"] = msgspec.json.encode(document)
        return self._made["v2"]

    def v2_protobuf(self) -> bytes:
        """`/openapi/v2` as protobuf (gnostic's openapi.v2.Document) with no definitions.

        kubectl 1.36 asks for it where v3 lacks a group and version: no definition is what it expects then.
        """
        # Field 1 is the version of swagger, field 2 the info: its field 1 the title, field 2 the version.
        title, version = _INFO["title"].encode(), _INFO["version"].encode()
        info = b"\x0a" + bytes([len(title)]) + title + b"\x12" + bytes([len(version)]) + version
        return b"\x0a\x032.0\x12" + bytes([len(info)]) + info

    def v3_index(self) -> bytes:
        """`/openapi/v3` as JSON: where the document of each group and version is."""
        self._check()
        if "" not in self._made:
            paths: Tree = {}
            for path in sorted({_home(kind) for kind in self._kinds}):
                digest = hashlib.sha512(self.v3(path) or b"").hexdigest().upper()
                paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
            self._made[""] = msgspec.json.encode({"paths": paths})
        return self._made[""]

    def v3(self, path: str) -> bytes | None:
        """`/openapi/v3/PATH` as JSON, PATH as in `api/v1`; None when there is no such group and version."""
        self._check()
        if path not in self._made:
            kinds = [kind for kind in self._kinds if _home(kind) == path]
            if not kinds or path in ("", "v2"):
                return None
            definitions = Definitions(3)
            definitions.needed(named("meta", "Status"))
            definitions.needed(named("meta", "DeleteOptions"))
            paths: Tree = {}
            for kind in kinds:
                paths |= self._paths(kind, definitions, 3)
            document = {
                "openapi": "3.0.0",
                "info": _INFO,
                "paths": dict(sorted(paths.items())),
                "components": {"schemas": dict(sorted(definitions.found.items()))},
            }
            self._made[path] = msgspec.json.encode(document)
        return self._made[path]

    def _check(self) -> None:
        if self._revision != self._kinds.revision:
            self._revision = self._kinds.revision
            self._made.clear()

    def _definition(self, kind: ServedKind, definitions: Definitions) -> str:
        """The name of the definition of a kind's objects."""
        resource = kind.resource
        shape = shape_of(resource.group, resource.version, resource.kind)
        if shape is not None and not kind.is_custom:
            return definitions.needed(shape)
        backwards = ".".join(reversed(resource.group.split(".")))
        schema = self._schema(kind) or {"x-kubernetes-preserve-unknown-fields": True}
        return definitions.custom(f"{backwards}.{resource.version}.{resource.kind}", schema, _kind(kind))

    def _schema(self, kind: ServedKind) -> Tree | None:
        resource = kind.resource
        name = f"{resource.plural}.{resource.group}"
        stored = self._storage.get(CUSTOM_RESOURCE_DEFINITIONS, "", name)
        for version in stored.tree["spec"]["versions"] if stored is not None else ():
            if version["name"] == resource.version:
                schema: Tree | None = (version.get("schema") or {}).get("openAPIV3Schema")
                return schema
        return None

    def _paths(self, kind: ServedKind, definitions: Definitions, version: int) -> Tree:
        name = self._definition(kind, definitions)
        listed = definitions.list_of(name, _kind(kind))
        resource = kind.resource
        base = f"/{_home(kind)}"
        if resource.namespaced:
            base += "/namespaces/{namespace}"
        collection, item = f"{base}/{resource.plural}", f"{base}/{resource.plural}/{{name}}"
        writer = _PathWriter(kind, definitions, version)
        paths = {
            collection: writer.path(_COLLECTION_VERBS, name, listed),
            item: writer.path(_VERBS, name, name),
        }
        if kind.has_status:
            paths[f"{item}/status"] = writer.path(_VERBS, name, name, without=("delete",))
        if kind.scale is not None:
            scale = definitions.needed(named("autoscaling", "Scale"))
            paths[f"{item}/scale"] = writer.path(_VERBS, scale, scale, without=("delete",))
        return {path: told for path, told in paths.items() if told}


def _home(kind: ServedKind) -> str:
    resource = kind.resource
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def _kind(kind: ServedKind) -> Tree:
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


class _PathWriter:
    """Tells operations, in the words of one version of OpenAPI."""

    def __init__(self, kind: ServedKind, definitions: Definitions, version: int) -> None:
        self._kind = kind
        self._definitions = definitions
        self._version = version

    def path(
        self,
        verbs: dict[str, tuple[str, str, tuple[str, ...]]],
        sent: str,
        answered: str,
        *,
        without: tuple[str, ...] = (),
    ) -> Tree:
        """The operations at one path: what is sent and answered are names of definitions."""
        told: dict[str, Any] = {
            method: self._operation(method, (verb, action, parameters), sent, answered)
            for method, (verb, action, parameters) in verbs.items()
            if verb in self._kind.verbs and method not in without
        }
        if told:
            told["parameters"] = self._path_parameters()
        return told

    def _path_parameters(self) -> list[Tree]:
        names = ["namespace"] if self._kind.resource.namespaced else []
        return [{"name": name, "in": "path", "required": True, **self._typed("string")} for name in names]

    def _typed(self, kind: str) -> Tree:
        return {"schema": {"type": kind}} if self._version == 3 else {"type": kind}

    def _operation(
        self, method: str, what: tuple[str, str, tuple[str, ...]], sent: str, answered: str
    ) -> Tree:
        verb, action, parameters = what
        refer = self._definitions.reference
        resource = self._kind.resource
        group = (resource.group.split(".")[0] or "core").replace("-", "")
        told: Tree = {
            "tags": [f"{group}_{resource.version}"],
            "description": f"{verb} {resource.plural}",
            "parameters": [
                {"name": name, "in": "query", **self._typed(_TYPES.get(name, "string"))}
                for name in parameters
            ],
            "x-kubernetes-action": action,
            KIND_KEY: _kind(self._kind),
        }
        patches = (*_PATCHES,) if self._kind.is_custom else (*_PATCHES, _STRATEGIC)
        media = patches if method == "patch" else ("application/json",)
        if self._version == 3:
            body = {"schema": refer(sent)} if method != "patch" else {"schema": {"type": "object"}}
            if method in ("post", "put", "patch"):
                told["requestBody"] = {"content": dict.fromkeys(media, body), "required": True}
            answer = {"application/json": {"schema": refer(answered)}}
            told["responses"] = {"200": {"description": "OK", "content": answer}}
        else:
            told["consumes"], told["produces"] = list(media), ["application/json"]
            if method in ("post", "put", "patch"):
                schema = refer(sent) if method != "patch" else {"type": "object"}
                told["parameters"].append({"name": "body", "in": "body", "required": True, "schema": schema})
            told["responses"] = {"200": {"description": "OK", "schema": refer(answered)}}
        return told
