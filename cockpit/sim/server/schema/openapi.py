"""`/openapi/v3` and `/openapi/v2`, made of the kinds that are served at the moment.

kubectl 1.36 reads v3 as JSON only (explain, apply, diff, create); v2 is what older clients fall back to.
"""

import hashlib
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.kinds import Kind, Kinds
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.schema.notation import named
from cockpit.sim.server.schema.openapi_types import KIND_KEY, Definitions
from cockpit.sim.server.storage import Storage

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

    def _definition(self, kind: Kind, definitions: Definitions) -> str:
        """The name of the definition of a kind's objects."""
        resource = kind.resource
        shape = shape_of(resource.group, resource.version, resource.kind)
        if shape is not None and not kind.is_custom:
            return definitions.needed(shape)
        backwards = ".".join(reversed(resource.group.split(".")))
        schema = self._schema(kind) or {"x-kubernetes-preserve-unknown-fields": True}
        return definitions.custom(f"{backwards}.{resource.version}.{resource.kind}", schema, _kind(kind))

    def _schema(self, kind: Kind) -> Tree | None:
        resource = kind.resource
        name = f"{resource.plural}.{resource.group}"
        stored = self._storage.get(CUSTOM_RESOURCE_DEFINITIONS, "", name)
        for version in stored.tree["spec"]["versions"] if stored is not None else ():
            if version["name"] == resource.version:
                schema: Tree | None = (version.get("schema") or {}).get("openAPIV3Schema")
                return schema
        return None

    def _paths(self, kind: Kind, definitions: Definitions, version: int) -> Tree:
        name = self._definition(kind, definitions)
        listed = definitions.list_of(name, _kind(kind))
        resource = kind.resource
        base = f"/{_home(kind)}"
        if resource.namespaced:
            base += "/namespaces/{namespace}"
        collection, item = f"{base}/{resource.plural}", f"{base}/{resource.plural}/{{name}}"
        teller = _Teller(kind, definitions, version)
        paths = {
            collection: teller.path(_COLLECTION_VERBS, name, listed),
            item: teller.path(_VERBS, name, name),
        }
        if kind.has_status:
            paths[f"{item}/status"] = teller.path(_VERBS, name, name, without=("delete",))
        if kind.scale is not None:
            scale = definitions.needed(named("autoscaling", "Scale"))
            paths[f"{item}/scale"] = teller.path(_VERBS, scale, scale, without=("delete",))
        return {path: told for path, told in paths.items() if told}


def _home(kind: Kind) -> str:
    resource = kind.resource
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def _kind(kind: Kind) -> Tree:
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


class _Teller:
    """Tells operations, in the words of one version of OpenAPI."""

    def __init__(self, kind: Kind, definitions: Definitions, version: int) -> None:
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
