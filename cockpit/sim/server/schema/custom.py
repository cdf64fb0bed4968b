"""A CustomResourceDefinition as it is used: what its objects look like and which subresources they have."""

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
_RULES = b'"x-kubernetes-validations":'
_NOT_EVALUATED = "rules in CEL of its definition are not evaluated by this server"
_ANYTHING: Tree = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class CustomSchema(msgspec.Struct, frozen=True, eq=False):
    """One version of a custom kind: its openAPIV3Schema, the same as a `shape` for patches, and where `scale`
    finds numbers of replicas. `warnings` are those of every write: rules in CEL are not evaluated."""

    kind: str
    schema: Tree
    shape: SchemaShape
    replicas: tuple[tuple[str, ...], ...] = ()
    warnings: tuple[str, ...] = ()

    def validate(self, tree: Tree) -> list[Cause]:
        """What is wrong with an object, in the server's words."""
        causes = list(faults(tree, self.schema))
        # Lists as sets and maps are looked at after everything else.
        causes.sort(key=lambda cause: cause["reason"] == "FieldValueDuplicate")
        return causes + _scale_faults(tree, self.replicas)

    def check(self, tree: Tree, old: Tree | None) -> list[Cause]:
        """New faults: what was wrong before may stay as it is (validation ratcheting)."""
        causes = self.validate(tree)
        before = self.validate(old) if causes and old is not None else []
        return [cause for cause in causes if cause not in before]

    def decode(self, tree: Tree, validation: str = "") -> tuple[Tree, tuple[str, ...]]:
        """An object as sent -> as understood, with warnings. PortError 400 for what cannot be understood."""
        known, dropped = pruned(tree, self.schema)
        unknown = [f'unknown field "{path}"' for path in dropped]
        try:
            metadata, more = decoded(known.get("metadata") or {}, named("meta", "ObjectMeta"))
        except BadJson as problem:
            raise self._refusal(tree, f"metadata.{problem}") from problem
        unknown = [text.replace('"', '"metadata.', 1) for text in more] + unknown
        if unknown and validation == "Strict":
            raise self._refusal(tree, strict(unknown))
        filled: Tree = defaulted({**known, "metadata": metadata}, self.schema)
        return filled, (*unknown, *self.warnings) if validation == "Warn" else ()

    def _refusal(self, tree: Tree, why: str) -> PortError:
        version = str(tree.get("apiVersion", "")).rpartition("/")[2]
        sentence = f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {why}'
        return PortError(400, "BadRequest", sentence)


def custom_schema(kind: str, version: Tree) -> CustomSchema:
    """What one entry of `spec.versions` of a definition says of its objects."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING
    scale = (version.get("subresources") or {}).get("scale") or {}
    paths = [keys_of(scale[name]) for name in ("specReplicasPath", "statusReplicasPath") if scale]
    warnings = (_NOT_EVALUATED,) if _RULES in msgspec.json.encode(schema) else ()
    return CustomSchema(kind, schema, custom_shape(schema), tuple(paths), warnings)


def at(tree: Any, path: Iterable[str]) -> Any:
    """What lies at a path of keys, None where it ends."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def _is_no_map(value: Any) -> bool:
    return value is not None and not isinstance(value, dict)


def _scale_faults(tree: Tree, paths: Iterable[tuple[str, ...]]) -> list[Cause]:
    """Numbers of replicas that scale could not show (customresource: validator.go)."""
    causes: list[Cause] = []
    for path in paths:
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


def keys_of(path: str) -> tuple[str, ...]:
    """The keys of a simple JSON path: `.spec.replicas`."""
    return tuple(path.split(".")[1:])


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
