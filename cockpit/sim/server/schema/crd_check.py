"""Is a CustomResourceDefinition one? (pkg/apis/apiextensions/validation; pkg/apiserver/schema)"""

import re
from collections.abc import Iterator
from typing import Any

from cockpit.sim.port import Tree
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
        yield from _faults(schema["properties"][name], f"{path}.properties[{name}]")
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


_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_SIMPLE_PATH = re.compile(r"(\.[a-zA-Z0-9_\-]+)+")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
APPROVED = "api-approved.kubernetes.io"


def crd_faults(crd: Tree, old: Tree | None = None) -> Iterator[Cause]:
    """What is wrong with a definition, given the one before."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    group = spec.get("group", "")
    if crd["metadata"].get("name") != f"{names.get('plural', '')}.{group}":
        why = 'must be spec.names.plural+"."+spec.group'
        yield wrong("metadata.name", crd["metadata"].get("name", ""), why)
    yield from _group_faults(group, crd["metadata"])
    yield from _scope_faults(spec)
    yield from _name_faults(names)
    yield from _version_list_faults(crd, spec)
    if spec.get("preserveUnknownFields"):
        instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        why = f"cannot set to true, {instead}"
        yield wrong("spec.preserveUnknownFields", True, why)
    yield from _conversion_faults(spec.get("conversion") or {})
    if old is not None:
        for field in ("group", "scope"):
            if spec.get(field) != old["spec"].get(field):
                yield wrong(f"spec.{field}", spec.get(field), "field is immutable")


def _group_faults(group: str, metadata: Tree) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif not _DOMAIN.fullmatch(group):
        yield wrong("spec.group", group, _DOMAIN_TEXT)
    elif "." not in group:
        yield wrong("spec.group", group, "should be a domain with at least one dot")
    is_protected = group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))
    if is_protected and not (metadata.get("annotations") or {}).get(APPROVED):
        why = (
            f'protected groups must have approval annotation "{APPROVED}", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield required(f"metadata.annotations[{APPROVED}]", why)


def _scope_faults(spec: Tree) -> Iterator[Cause]:
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield unsupported("spec.scope", scope, ("Cluster", "Namespaced"))


def _name_faults(names: Tree) -> Iterator[Cause]:
    kind = names.get("kind", "")
    told = {
        "plural": names.get("plural", ""),
        "singular": names.get("singular") or kind.lower(),
        "kind": kind,
        "listKind": names.get("listKind") or (f"{kind}List" if kind else ""),
    }
    for field, value in told.items():
        if not value:
            yield required(f"spec.names.{field}")
        elif not _LABEL.fullmatch(value.lower() if field in ("kind", "listKind") else value):
            mixed = field in ("kind", "listKind")
            why = "may have mixed case, but should otherwise match: " if mixed else ""
            yield wrong(f"spec.names.{field}", value, why + _LABEL_TEXT)
    for at, short in enumerate(names.get("shortNames") or ()):
        if not _LABEL.fullmatch(short):
            yield wrong(f"spec.names.shortNames[{at}]", short, _LABEL_TEXT)
    for at, category in enumerate(names.get("categories") or ()):
        if not _LABEL.fullmatch(category):
            yield wrong(f"spec.names.categories[{at}]", category, _LABEL_TEXT)


def _version_list_faults(crd: Tree, spec: Tree) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    names = [version.get("name", "") for version in versions]
    for at, name in enumerate(names):
        if not _LABEL.fullmatch(name):
            yield wrong(f"spec.versions[{at}].name", name, _LABEL_TEXT)
    shown = [_go_version(version) for version in versions]
    if len(set(names)) != len(names):
        yield wrong("spec.versions", shown, "must contain unique version names")
    stored = [version["name"] for version in versions if version.get("storage")]
    if len(stored) != 1:
        yield wrong("spec.versions", shown, "must have exactly one version marked as storage version")
    if names and not _LABEL.fullmatch(names[0]):
        yield wrong("spec.version", names[0], _LABEL_TEXT)
    yield from _stored_faults((crd.get("status") or {}).get("storedVersions"), names, stored)
    # Versions that say the same are told of once, under the place that older definitions had for it.
    for word in ("schema", "subresources", "additionalPrinterColumns"):
        values = [version.get(word) for version in versions]
        is_one = len(values) > 0 and all(value == values[0] for value in values)
        for at, value in enumerate(values[:1] if is_one else values):
            base = "spec" if is_one else f"spec.versions[{at}]"
            yield from _part_faults(word, value, base, is_one=is_one)


def _stored_faults(kept: list[str] | None, names: list[str], stored: list[str]) -> Iterator[Cause]:
    # A new definition gets the first version that is marked.
    kept = stored[:1] if kept is None else kept
    if not kept:
        yield wrong("status.storedVersions", kept or None, "must have at least one stored version")
        return
    for at, name in enumerate(kept):
        if name not in names:
            yield wrong(f"status.storedVersions[{at}]", name, "must appear in spec.versions")
    if stored and stored[-1] not in kept:
        yield wrong("status.storedVersions", kept, f"must have the storage version {stored[-1]}")


def _part_faults(word: str, value: Any, base: str, *, is_one: bool) -> Iterator[Cause]:
    if word == "schema":
        schema = (value or {}).get("openAPIV3Schema")
        if schema is None:
            where = "spec.versions[0]" if is_one else base
            yield required(f"{where}.schema.openAPIV3Schema")
        else:
            where = "spec.validation" if is_one else f"{base}.schema"
            yield from structural_faults(schema, f"{where}.openAPIV3Schema")
    elif word == "subresources":
        if value and value.get("scale") is not None:
            yield from _scale_faults(value["scale"], f"{base}.subresources.scale")
    else:
        for at, column in enumerate(value or ()):
            yield from _column_faults(column, f"{base}.additionalPrinterColumns[{at}]")


def _go_version(version: Tree) -> Tree:
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None,
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }


def _path_faults(path: str, field: str, roots: tuple[str, ...]) -> Iterator[Cause]:
    if not path:
        yield required(field)
    elif not path.startswith("."):
        yield wrong(field, path, "must be a simple json path starting with .")
    elif not _SIMPLE_PATH.fullmatch(path) or not path.startswith(tuple(f"{root}." for root in roots)):
        under = f"either {roots[0]} or {roots[1]}" if len(roots) > 1 else roots[0]
        yield wrong(field, path, f"should be a json path under {under}")


def _scale_faults(scale: Tree, base: str) -> Iterator[Cause]:
    yield from _path_faults(scale.get("specReplicasPath", ""), f"{base}.specReplicasPath", (".spec",))
    yield from _path_faults(scale.get("statusReplicasPath", ""), f"{base}.statusReplicasPath", (".status",))
    if scale.get("labelSelectorPath"):
        yield from _path_faults(scale["labelSelectorPath"], f"{base}.labelSelectorPath", (".spec", ".status"))


def _column_faults(column: Tree, base: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{base}.name")
    kind = column.get("type", "")
    if not kind:
        yield required(f"{base}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
    elif kind not in _COLUMN_TYPES:
        yield wrong(f"{base}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}")
    path = column.get("jsonPath", "")
    if not path:
        yield required(f"{base}.JSONPath")
    elif not path.startswith("."):
        yield wrong(f"{base}.JSONPath", path, "must be a simple json path starting with .")


def _conversion_faults(conversion: Tree) -> Iterator[Cause]:
    strategy = conversion.get("strategy", "None")
    if strategy not in ("None", "Webhook"):
        yield unsupported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    elif strategy == "Webhook":
        if not (conversion.get("webhook") or {}).get("clientConfig"):
            why = "required when strategy is set to Webhook"
            yield required("spec.conversion.webhookClientConfig", why)
        if not (conversion.get("webhook") or {}).get("conversionReviewVersions"):
            yield required("spec.conversion.conversionReviewVersions")
        else:
            yield banned("spec.conversion.strategy", "this cluster calls no webhooks: use None")
