"""Who wrote which field of an object, as `metadata.managedFields` tells it.

An author is a tool by which people write (kubectl, helm, Argo CD, the cockpit ...), and whatever wrote the
containers: a program of the company's own that submits jobs. All other managers are controllers. What an
admission webhook writes while an object is created counts as its creator's.

Sources: kubernetes.io/docs/reference/using-api/server-side-apply, structured-merge-diff
fieldpath/serialize-pe.go.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

Path = tuple[str | int, ...]
"""Keys and indexes that lead to a field."""

_PEOPLES_TOOLS: Final = re.compile(
    r"(kubectl|gpu-cockpit|helm|argo-?cd|kustomize|flux|terraform|hashicorp|pulumi|k9s|lens|node-fetch|mozilla"
    r"|headlamp|rancher|dashboard|skaffold|kapp|kpt|oc($|[^a-z])|openapi-generator|python|curl"
    r"|fabric8|application/apply-patch)",
    re.IGNORECASE,
)
_CONTAINERS: Final = "f:containers"


class _Entry(NamedTuple):
    manager: str
    at: str
    fields: Mapping[str, Any]
    is_applied: bool = False


class FieldOwners:
    """The managers of one object's fields; of an object without managedFields nothing is known."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._tree = tree
        self._entries = [*_entries(tree)]
        self._authors = _authors(self._entries)

    def is_of_controllers(self, path: Path) -> bool:
        """True where controllers own the field and no author does; False if no owner is known."""
        owners = {entry.manager for entry in self._entries if _owns(entry.fields, self._tree, path)}
        return bool(owners) and owners.isdisjoint(self._authors)

    def is_of_an_author(self, path: Path) -> bool:
        """True where an author is known to own the field."""
        return any(
            entry.manager in self._authors and _owns(entry.fields, self._tree, path)
            for entry in self._entries
        )

    def appliers(self, path: Path) -> tuple[str, ...]:
        """Managers that hold the field by server-side apply: they want it as it is, and another one's apply
        would be refused with a conflict."""
        found = {
            entry.manager
            for entry in self._entries
            if entry.is_applied and _owns(entry.fields, self._tree, path)
        }
        return tuple(sorted(found))


def _entries(tree: Mapping[str, Any]) -> Iterable[_Entry]:
    metadata = tree.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    for item in found if isinstance(found, list) else ():
        if not isinstance(item, Mapping) or item.get("subresource"):
            continue
        fields = item.get("fieldsV1")
        if isinstance(fields, Mapping):
            is_applied = item.get("operation") == "Apply"
            yield _Entry(str(item.get("manager") or ""), str(item.get("time") or ""), fields, is_applied)


def _authors(entries: Iterable[_Entry]) -> frozenset[str]:
    every = [*entries]
    found = {
        item.manager for item in every if _PEOPLES_TOOLS.match(item.manager) or _has_containers(item.fields)
    }
    if not found and every:
        found = {min(every, key=lambda one: one.at).manager}
    return frozenset(found)


def _has_containers(fields: Mapping[str, Any]) -> bool:
    return _CONTAINERS in fields or any(
        isinstance(field, Mapping) and _has_containers(field) for field in fields.values()
    )


def _owns(fields: Mapping[str, Any], node: Any, path: Path) -> bool:
    for key in path:
        if not fields:
            return True  # the field above is owned as a whole
        inner = _step(fields, node, key)
        if inner is None:
            return False
        fields = inner
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _step(fields: Mapping[str, Any], node: Any, key: str | int) -> Mapping[str, Any] | None:
    """What is owned below `key` of `node`, None where nothing is."""
    if isinstance(key, str):
        found = fields.get(f"f:{key}")
        return found if isinstance(found, Mapping) else None
    item = node[key] if isinstance(node, list) and key < len(node) else None
    for name, found in fields.items():
        if isinstance(found, Mapping) and _means(name, item, key):
            return found
    return None


def _means(name: str, item: Any, index: int) -> bool:
    """Whether the name of an item (`k:{"name":"main"}`, `v:"a"`, `i:0`) is that of `item`."""
    kind, _, text = name.partition(":")
    if kind == "i":
        return text == str(index)
    if kind not in ("k", "v"):
        return False
    try:
        wanted = json.loads(text)
    except ValueError:
        return False
    if kind == "v" or not isinstance(wanted, dict) or not isinstance(item, Mapping):
        return kind == "v" and bool(wanted == item)
    return all(item.get(key) == value for key, value in wanted.items())
