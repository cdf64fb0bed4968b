"""`/openapi/v3`, made of the kinds served at the moment: kubectl 1.36 reads it to explain and to apply."""

import hashlib
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
_SCALARS: dict[str, tuple[str, Tree]] = {
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "time": (f"{_META}.Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{_META}.MicroTime", {"type": "string", "format": "date-time"}),
    "intorstr": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
}
_KIND_KEY = "x-kubernetes-group-version-kind"
_TYPE_META = {
    "apiVersion": {"description": "Group and version of the API.", "type": "string"},
    "kind": {"description": "What kind of object this is.", "type": "string"},
}
_INFO = {"title": "Kubernetes", "version": "1.36"}
_WRITTEN = ("dryRun", "fieldManager", "fieldValidation")
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC = "application/strategic-merge-patch+json"
Verbs = dict[str, tuple[str, str, tuple[str, ...]]]
"""Method of HTTP -> verb, action as clients know it, parameters."""
_VERBS: Verbs = {
    "get": ("get", "get", ()),
    "put": ("update", "put", _WRITTEN),
    "patch": ("patch", "patch", (*_WRITTEN, "force")),
    "delete": ("delete", "delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
}
_SUBRESOURCE_VERBS: Verbs = {method: what for method, what in _VERBS.items() if method != "delete"}
_COLLECTION_VERBS: Verbs = {
    "get": ("list", "list", ("continue", "fieldSelector", "labelSelector", "limit", "watch")),
    "post": ("create", "post", _WRITTEN),
    "delete": ("deletecollection", "deletecollection", ("dryRun", "fieldSelector", "labelSelector")),
}
_TYPES = {"force": "boolean", "watch": "boolean", "limit": "integer", "gracePeriodSeconds": "integer"}


class OpenAPI:
    """The documents; each is made when it is first asked for, and again after the kinds have changed.

    `storage` is where the definitions of custom kinds lie.
    """

    def __init__(self, kinds: Kinds, storage: Storage) -> None:
        self._kinds = kinds
        self._storage = storage
        self._revision = -1
        self._made: dict[str, bytes] = {}

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
            if not kinds or not path:
                return None
            schemas = _Schemas()
            paths: Tree = {}
            for kind in kinds:
                paths |= self._paths(kind, schemas)
            document = {
                "openapi": "3.0.0",
                "info": _INFO,
                "paths": dict(sorted(paths.items())),
                "components": {"schemas": dict(sorted(schemas.made.items()))},
            }
            self._made[path] = msgspec.json.encode(document)
        return self._made[path]

    def _check(self) -> None:
        if self._revision != self._kinds.revision:
            self._revision = self._kinds.revision
            self._made.clear()

    def _paths(self, kind: ServedKind, schemas: "_Schemas") -> Tree:
        resource = kind.resource
        shape = shape_of(resource.group, resource.version, resource.kind)
        if shape is not None and not kind.is_custom:
            name = schemas.named(shape)
        else:
            backwards = ".".join(reversed(resource.group.split(".")))
            name = f"{backwards}.{resource.version}.{resource.kind}"
            schemas.add_custom(name, self._custom_schema(kind), _kind(kind))
        listed = schemas.list_of(name, _kind(kind))
        base = f"/{_home(kind)}"
        if resource.namespaced:
            base += "/namespaces/{namespace}"
        collection, item = f"{base}/{resource.plural}", f"{base}/{resource.plural}/{{name}}"
        paths = {
            collection: _path(kind, _COLLECTION_VERBS, name, listed),
            item: _path(kind, _VERBS, name, name),
        }
        if kind.has_status:
            paths[f"{item}/status"] = _path(kind, _SUBRESOURCE_VERBS, name, name)
        if kind.scale is not None:
            scale = schemas.named(named("autoscaling", "Scale"))
            paths[f"{item}/scale"] = _path(kind, _SUBRESOURCE_VERBS, scale, scale)
        return {path: operations for path, operations in paths.items() if operations}

    def _custom_schema(self, kind: ServedKind) -> Tree:
        """The openAPIV3Schema of a custom kind's version; one that takes everything where it has none."""
        resource = kind.resource
        stored = self._storage.get(CUSTOM_RESOURCE_DEFINITIONS, "", f"{resource.plural}.{resource.group}")
        for version in stored.tree["spec"]["versions"] if stored is not None else ():
            schema: Tree | None = (version.get("schema") or {}).get("openAPIV3Schema")
            if version["name"] == resource.version and schema:
                return schema
        return {"x-kubernetes-preserve-unknown-fields": True}


class _Schemas:
    """The schemas that a document refers to, by full name."""

    def __init__(self) -> None:
        self.made: dict[str, Tree] = {}
        self.named(named("meta", "Status"))
        self.named(named("meta", "DeleteOptions"))

    def named(self, shape: SchemaShape) -> str:
        """Make sure of the schema of a named shape; answers `io.k8s.api.core.v1.Pod` for `core.Pod`."""
        table, _, short = shape.name.partition(".")
        name = f"{_PACKAGES.get(table, f'io.k8s.api.{table}.v1')}.{short}"
        if name not in self.made:
            self.made[name] = {}
            self.made[name] = self._object(shape)
        return name

    def add_custom(self, name: str, schema: Tree, kind: Tree) -> None:
        """The schema of a custom kind by its openAPIV3Schema."""
        meta = self._told(named("meta", "ObjectMeta"), "Name, labels, owners of the object.")
        properties = {**(schema.get("properties") or {}), **_TYPE_META, "metadata": meta}
        self.made[name] = {**schema, "type": "object", "properties": properties, _KIND_KEY: [kind]}

    def list_of(self, name: str, kind: Tree) -> str:
        """The schema of a list of `name`; `kind` is group, version and kind of the items."""
        meta = self._told(named("meta", "ListMeta"), "Version and place of the list.")
        self.made[f"{name}List"] = {
            "description": f"A list of {kind['kind']} objects.",
            "type": "object",
            "required": ["items"],
            "properties": {
                **_TYPE_META,
                "items": {"type": "array", "items": _reference(name)},
                "metadata": meta,
            },
            _KIND_KEY: [{**kind, "kind": f"{kind['kind']}List"}],
        }
        return f"{name}List"

    def _object(self, shape: SchemaShape) -> Tree:
        table, _, name = shape.name.partition(".")
        made: Tree = {"description": shape.description or name, "type": "object"}
        required = [field.name for field in shape.fields.values() if field.required]
        if required:
            made["required"] = required
        made["properties"] = {field.name: self._field(field) for field in shape.fields.values()}
        if shape.atomic:
            made["x-kubernetes-map-type"] = "atomic"
        if "kind" in blocks(table)[name].flags:
            group = next(group for group, home in GROUPS.items() if home == table)
            made[_KIND_KEY] = [{"group": "" if table == "meta" else group, "version": "v1", "kind": name}]
        return made

    def _field(self, field: SchemaField) -> Tree:
        made = self._told(field.shape, field.description)
        if field.shape.type == "list":
            made["x-kubernetes-list-type"] = field.shape.list_type or "atomic"
            if field.shape.keys:
                made["x-kubernetes-list-map-keys"] = list(field.shape.keys)
        if field.shape.type == "map" and field.shape.atomic:
            made["x-kubernetes-map-type"] = "atomic"
        strategies = [
            word
            for word, is_so in (
                ("merge", field.merges),
                ("retainKeys", field.retains),
                ("replace", field.replaces),
            )
            if is_so
        ]
        if strategies:
            made["x-kubernetes-patch-strategy"] = ",".join(strategies)
        if field.merge_key:
            made["x-kubernetes-patch-merge-key"] = field.merge_key
        if field.values:
            inside = made.get("items") or made.get("additionalProperties") or made
            inside["enum"] = list(field.values)
        if field.default is not None and field.shape.type not in ("object", "list", "map"):
            made["default"] = field.default
        return made

    def _told(self, shape: SchemaShape, description: str) -> Tree:
        """A value of a shape where it is used, with what its field says of it."""
        if shape.type == "list":
            made: Tree = {"type": "array", "items": self._told(shape.item, "")}
        elif shape.type == "map":
            made = {"type": "object", "additionalProperties": self._told(shape.item, "")}
        elif shape.type == "object":
            made = _reference(self.named(shape))
        elif shape.type in _SCALARS:
            name, schema = _SCALARS[shape.type]
            self.made[name] = schema
            made = _reference(name)
        else:
            made = dict(_PLAIN[shape.type])
        if not description:
            return made
        return {"description": description, **({"allOf": [made]} if "$ref" in made else made)}


def _reference(name: str) -> Tree:
    return {"$ref": f"#/components/schemas/{name}"}


def _home(kind: ServedKind) -> str:
    resource = kind.resource
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def _kind(kind: ServedKind) -> Tree:
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _path(kind: ServedKind, verbs: Verbs, sent: str, answered: str) -> Tree:
    """The operations at one path: what is sent and answered are names of schemas."""
    made: dict[str, Any] = {
        method: _operation(kind, method, what, sent, answered)
        for method, what in verbs.items()
        if what[0] in kind.verbs
    }
    if made:
        names = ["namespace"] if kind.resource.namespaced else []
        made["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    return made


def _operation(
    kind: ServedKind, method: str, what: tuple[str, str, tuple[str, ...]], sent: str, answered: str
) -> Tree:
    verb, action, parameters = what
    made: Tree = {
        "description": f"{verb} {kind.resource.plural}",
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": _TYPES.get(name, "string")}}
            for name in parameters
        ],
        "x-kubernetes-action": action,
        _KIND_KEY: _kind(kind),
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": _reference(answered)}}}
        },
    }
    if method == "patch":
        media = _PATCHES if kind.is_custom else (*_PATCHES, _STRATEGIC)
        content = {name: {"schema": {"type": "object"}} for name in media}
    else:
        content = {"application/json": {"schema": _reference(sent)}}
    if method in ("post", "put", "patch"):
        made["requestBody"] = {"content": content, "required": True}
    return made
