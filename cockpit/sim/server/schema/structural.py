"""Is an openAPIV3Schema structural? In the server's words (pkg/apiserver/schema/validation.go)."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.limits import shortened
from cockpit.sim.server.refusals import Cause, banned, required, unsupported, wrong
from cockpit.sim.server.schema.patterns import BadPattern, pattern
from cockpit.sim.server.schema.values import faults

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "set", "map")
_BRANCHES = ("allOf", "anyOf", "oneOf")
_METADATA = frozenset(("name", "generateName"))


def structural_faults(schema: Tree, path: str) -> Iterator[Cause]:
    """Every fault of the schema of whole objects; `path` is where it stands."""
    kind = schema.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must not be empty at the root")
    elif kind != "object":
        yield wrong(f"{path}.type", kind, "must be object at the root")
    metadata = (schema.get("properties") or {}).get("metadata") or {}
    if not _METADATA.issuperset(metadata.get("properties") or ()):
        why = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        yield banned(f"{path}.properties[metadata]", why)
    yield from _faults(schema, path, is_root=True)


def _faults(
    schema: Tree, path: str, *, is_root: bool = False, what: str = "object fields"
) -> Iterator[Cause]:
    yield from _type_faults(schema, path, is_root=is_root, what=what)
    yield from _list_faults(schema, path)
    if "$ref" in schema:
        yield banned(f"{path}.$ref", "$ref is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield banned(f"{path}.uniqueItems", why)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield wrong(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    yield from _pattern_faults(schema, path)
    if schema.get("default") is not None:
        for cause in faults(schema["default"], schema):
            yield {**cause, "field": f"{path}.default{_below(cause['field'])}"}
    if schema.get("properties") and schema.get("additionalProperties"):
        why = "additionalProperties and properties are mutual exclusive"
        yield banned(f"{path}.additionalProperties", why)
    for name in sorted(schema.get("properties") or ()):
        yield from _faults(schema["properties"][name], f"{path}.properties[{shortened(name)}]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _faults(schema["additionalProperties"], f"{path}.additionalProperties")
    if isinstance(schema.get("items"), dict):
        yield from _faults(schema["items"], f"{path}.items", what="array items")
    for word in _BRANCHES:
        for at, branch in enumerate(schema.get(word) or ()):
            yield from _branch_faults(branch, f"{path}.{word}[{at}]")


def _below(field: str) -> str:
    return "" if field in ("", "<nil>") else f".{field}"


def _type_faults(schema: Tree, path: str, *, is_root: bool, what: str) -> Iterator[Cause]:
    kind = schema.get("type", "")
    is_free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not is_free and not is_root and "$ref" not in schema:
        yield required(f"{path}.type", f"must not be empty for specified {what}")
    elif kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield required(f"{path}.items", "must be specified")


def _list_faults(schema: Tree, path: str) -> Iterator[Cause]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if list_type is not None and list_type not in _LIST_TYPES:
        yield unsupported(f"{path}.x-kubernetes-list-type", list_type, _LIST_TYPES)
    if list_type is not None and schema.get("type") != "array":
        yield wrong(
            f"{path}.type", schema.get("type", ""), "must be array if x-kubernetes-list-type is specified"
        )
    if list_type == "map" and not keys:
        why = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", why)
    given = schema.get("items")
    items: Tree = given if isinstance(given, dict) else {}
    for key in keys:
        inner = (items.get("properties") or {}).get(key)
        if inner is None:
            why = "entries must all be names of item properties"
            yield wrong(f"{path}.x-kubernetes-list-map-keys", list(keys), why)
        elif key not in (items.get("required") or ()) and inner.get("default") is None:
            must = "so it must have a default or be a required property"
            why = f"this property is in x-kubernetes-list-map-keys, {must}"
            yield required(f"{path}.items.properties[{key}].default", why)


def _branch_faults(branch: Tree, path: str) -> Iterator[Cause]:
    """What may not stand below `anyOf` and its like."""
    for word in ("description", "default", "additionalProperties", "nullable"):
        if branch.get(word):
            yield banned(f"{path}.{word}", "must be empty to be structural")
    yield from _pattern_faults(branch, path)


def _pattern_faults(schema: Tree, path: str) -> Iterator[Cause]:
    text = schema.get("pattern")
    try:
        if text:
            pattern(text)
    except BadPattern as problem:
        yield wrong(f"{path}.pattern", text, f"must be a valid regular expression, but isn't: {problem}")
