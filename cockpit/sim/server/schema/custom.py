"""A CustomResourceDefinition as it is used: what its objects look like and which subresources they have."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.refusals import Cause, wrong
from cockpit.sim.server.schema.decode import BadJson, decoded, strict
from cockpit.sim.server.schema.notation import named
from cockpit.sim.server.schema.pruning import defaulted, pruned
from cockpit.sim.server.schema.shape import ANY, SchemaField, SchemaShape
from cockpit.sim.server.schema.values import faults

_INT32_MOST = 2**31 - 1
_ANYTHING: Tree = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class ScalePaths(msgspec.Struct, frozen=True):
    """Where the scale subresource finds its numbers, as keys from the root of an object."""

    replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


class CustomVersion(msgspec.Struct, frozen=True, eq=False):
    """One version of a custom kind. `schema` is its openAPIV3Schema, `shape` the same for patches."""

    name: str
    schema: Tree
    shape: SchemaShape
    is_served: bool = True
    is_stored: bool = False
    has_status: bool = False
    scale: ScalePaths | None = None


class CustomKind(msgspec.Struct, frozen=True, eq=False):
    """What a CustomResourceDefinition says. Versions differ in their schemas only (conversion None)."""

    group: str
    kind: str
    plural: str
    singular: str
    list_kind: str
    namespaced: bool
    versions: tuple[CustomVersion, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def version(self, name: str = "") -> CustomVersion:
        """A version by name, "" for the one that is stored. Raises KeyError."""
        for one in self.versions:
            if one.name == name or (not name and one.is_stored):
                return one
        raise KeyError(name)

    def validate(self, tree: Tree) -> list[Cause]:
        """What is wrong with an object, in the server's words, but for rules in CEL (`cel_rules`)."""
        version = self._version_of(tree)
        causes = list(faults(tree, version.schema))
        # Lists as sets and maps are looked at after everything else.
        causes.sort(key=lambda cause: cause["reason"] == "FieldValueDuplicate")
        if version.scale is not None:
            causes += _scale_faults(tree, version.scale)
        return causes

    def decode(self, tree: Tree, validation: str = "") -> tuple[Tree, tuple[str, ...]]:
        """An object as sent -> as understood, with warnings. PortError 400 for what cannot be understood."""
        schema = self._version_of(tree).schema
        known, dropped = pruned(tree, schema)
        unknown = [f'unknown field "{path}"' for path in dropped]
        try:
            metadata, more = decoded(known.get("metadata") or {}, named("meta", "ObjectMeta"))
        except BadJson as problem:
            raise self._refusal(tree, f"metadata.{problem}") from problem
        unknown = [text.replace('"', '"metadata.', 1) for text in more] + unknown
        if unknown and validation == "Strict":
            raise self._refusal(tree, strict(unknown))
        filled: Tree = defaulted({**known, "metadata": metadata}, schema)
        return filled, tuple(unknown) if validation == "Warn" else ()

    def _refusal(self, tree: Tree, why: str) -> PortError:
        version = str(tree.get("apiVersion", "")).rpartition("/")[2]
        sentence = f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {why}'
        return PortError(400, "BadRequest", sentence)

    def _version_of(self, tree: Tree) -> CustomVersion:
        try:
            return self.version(str(tree.get("apiVersion", "")).rpartition("/")[2])
        except KeyError:
            return self.version()


def at(tree: Any, path: Iterable[str]) -> Any:
    """What lies at a path of keys, None where it ends."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def _is_no_map(value: Any) -> bool:
    return value is not None and not isinstance(value, dict)


def _scale_faults(tree: Tree, paths: ScalePaths) -> list[Cause]:
    """Numbers of replicas that scale could not show (customresource: validator.go)."""
    causes: list[Cause] = []
    for path in (paths.replicas, paths.status_replicas):
        where, value = "." + ".".join(path), at(tree, path)
        above = next((held for n in range(1, len(path)) if _is_no_map(held := at(tree, path[:n]))), None)
        if above is not None:
            causes.append(wrong(where, 0, f"must lie in an object, not in {json_type(above)}"))
        elif value is None:
            continue
        elif isinstance(value, bool) or not isinstance(value, int):
            causes.append(wrong(where, 0, f"must be an integer, not {json_type(value)}"))
        elif value < 0:
            causes.append(wrong(where, value, "should be a non-negative integer"))
        elif value > _INT32_MOST:
            causes.append(wrong(where, value, f"should be less than or equal to {_INT32_MOST}"))
    return causes


def definition_of(crd: Tree) -> CustomKind:
    """What a stored CustomResourceDefinition says."""
    spec = crd["spec"]
    names = spec["names"]
    kind = names["kind"]
    return CustomKind(
        spec["group"],
        kind,
        names["plural"],
        names.get("singular") or kind.lower(),
        names.get("listKind") or f"{kind}List",
        spec.get("scope") != "Cluster",
        tuple(version_of(one) for one in spec["versions"]),
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
    )


def version_of(version: Tree) -> CustomVersion:
    """One entry of `spec.versions`."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING
    subresources = version.get("subresources") or {}
    return CustomVersion(
        version["name"],
        schema,
        custom_shape(schema),
        is_served=bool(version.get("served")),
        is_stored=bool(version.get("storage")),
        has_status=subresources.get("status") is not None,
        scale=_scale(subresources.get("scale")),
    )


def _scale(scale: Tree | None) -> ScalePaths | None:
    if not scale:
        return None
    return ScalePaths(
        keys_of(scale["specReplicasPath"]),
        keys_of(scale["statusReplicasPath"]),
        keys_of(scale.get("labelSelectorPath") or ""),
    )


def keys_of(path: str) -> tuple[str, ...]:
    """The keys of a simple JSON path: `.spec.replicas`."""
    return tuple(re.split(r"\.", path)[1:])


_TYPES = {"integer": "int64", "number": "double", "boolean": "bool", "string": "string"}


def custom_shape(schema: Tree) -> SchemaShape:
    """The shape of whole objects of a version."""
    shape = _shape(schema)
    fields = dict(shape.fields)
    fields["apiVersion"] = SchemaField("apiVersion", SchemaShape("string"))
    fields["kind"] = SchemaField("kind", SchemaShape("string"))
    fields["metadata"] = SchemaField("metadata", named("meta", "ObjectMeta"))
    return msgspec.structs.replace(shape, type="object", fields=fields)


def _shape(schema: Tree) -> SchemaShape:
    is_open = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    told = schema.get("description", "")
    if schema.get("x-kubernetes-int-or-string"):
        return SchemaShape("intorstr", description=told)
    kind = schema.get("type", "")
    if kind == "array":
        keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        return SchemaShape(
            "list",
            items=_shape(schema.get("items") or {}),
            list_type=schema.get("x-kubernetes-list-type", "atomic"),
            keys=keys,
            description=told,
        )
    if kind == "object":
        return _object_shape(schema, is_open=is_open, told=told)
    return SchemaShape(_TYPES[kind], description=told) if kind in _TYPES else ANY


def _object_shape(schema: Tree, *, is_open: bool, told: str) -> SchemaShape:
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    others = schema.get("additionalProperties")
    properties = schema.get("properties") or {}
    if isinstance(others, dict) and not properties:
        return SchemaShape("map", items=_shape(others), atomic=is_atomic, description=told)
    wanted = frozenset(schema.get("required") or ())
    fields = {
        name: SchemaField(
            name,
            _shape(inner),
            required=name in wanted,
            default=inner.get("default"),
            description=inner.get("description", ""),
        )
        for name, inner in properties.items()
    }
    is_open = is_open or others is True or bool(schema.get("x-kubernetes-embedded-resource"))
    return SchemaShape("object", fields=fields, atomic=is_atomic, open=is_open, description=told)
