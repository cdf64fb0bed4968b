"""Who owns which field: `metadata.managedFields`, and what an ordinary write does to it.

The rules are those of apimachinery's managedfields package (KEP-555): an update takes over what it changed, a
field that is gone is nobody's, at most ten updaters are told apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.server.patch.fields import Fields, Path, difference, is_set, union, without_below
from cockpit.sim.server.patch.typed import Difference, compare
from cockpit.sim.server.schema.decode import zero
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.schema.shape import ANY, SchemaShape
from cockpit.sim.times import rfc3339, seconds_of

MAX_UPDATERS = 10
ANCIENT = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"

_STRIPPED: Fields = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        "f:name": {},
        "f:namespace": {},
        "f:creationTimestamp": {},
        "f:selfLink": {},
        "f:uid": {},
        "f:clusterName": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:resourceVersion": {},
    },
}


class Manager(msgspec.Struct, frozen=True, order=True):
    """Who wrote: `version` ("apps/v1") tells updaters apart, appliers are one over all versions."""

    name: str
    operation: str
    version: str
    subresource: str = ""


class Owned(msgspec.Struct, frozen=True):
    """What a manager owns, in which version of the API it said so, and when (RFC 3339, "" for not said)."""

    fields: Fields
    version: str
    time: str


Managed = dict[Manager, Owned]


def manager_of(name: str, operation: str, version: str, subresource: str) -> Manager:
    """The identity under which `name` writes."""
    return Manager(name or "unknown", operation, "" if operation == "Apply" else version, subresource)


def decoded(entries: Any) -> Managed | None:
    """Managed fields as read from an object; None for what is no such list."""
    managed: Managed = {}
    if not isinstance(entries, list):
        return None
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
            return None
        if entry.get("fieldsType") != "FieldsV1" or not entry.get("apiVersion") or not _is_readable(entry):
            return None
        version = entry["apiVersion"]
        who = manager_of(
            entry.get("manager", ""), entry["operation"], version, entry.get("subresource") or ""
        )
        managed[who] = Owned(entry.get("fieldsV1") or {}, version, entry.get("time") or "")
    return managed


def _is_readable(entry: Tree) -> bool:
    """Whether an entry that a client sent has what its fields ought to be."""
    texts = ("apiVersion", "manager", "subresource", "time")
    if not all(isinstance(entry.get(name) or "", str) for name in texts):
        return False
    try:
        seconds_of(entry.get("time") or "2026-01-01T00:00:00Z")
    except (ValueError, OverflowError):
        return False
    return is_set(entry.get("fieldsV1") or {})


def encoded(managed: Managed) -> list[Tree]:
    """Managed fields as an object has them: appliers first, then by time, then by name."""

    def order(item: tuple[Manager, Owned]) -> tuple[str, float, str, str, str]:
        who, owned = item
        seconds = int(seconds_of(owned.time)) if owned.time else 0
        return who.operation, seconds, who.name, owned.version, who.subresource

    return [_entry(who, owned) for who, owned in sorted(managed.items(), key=order)]


def _entry(who: Manager, owned: Owned) -> Tree:
    entry: Tree = {"manager": who.name, "operation": who.operation, "apiVersion": owned.version}
    if owned.time:
        entry["time"] = owned.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": owned.fields}
    if who.subresource:
        entry["subresource"] = who.subresource
    return entry


def shape_for(tree: Tree) -> SchemaShape:
    """The shape of a built-in kind by what the object says of itself, else any."""
    group, _, version = str(tree.get("apiVersion", "")).rpartition("/")
    return shape_of(group, version, str(tree.get("kind", ""))) or ANY


def reset_fields(shape: SchemaShape, subresource: str) -> tuple[Path, ...]:
    """What a write of a built-in kind never touches, whatever it sends."""
    if "status" not in shape.fields or not shape.name:
        return ()
    return (("f:status",),) if not subresource else (("f:spec",),) if subresource == "status" else ()


def with_managed(tree: Tree, managed: Managed) -> Tree:
    """`tree` with these managed fields; without the member when there are none."""
    metadata = {key: item for key, item in (tree.get("metadata") or {}).items() if key != "managedFields"}
    if managed:
        metadata["managedFields"] = encoded(managed)
    return {**tree, "metadata": metadata}


def without_managed(tree: Mapping[str, Any]) -> Tree:
    """`tree` without its managed fields."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return dict(tree)
    return {**tree, "metadata": {key: item for key, item in metadata.items() if key != "managedFields"}}


def update_managed(  # noqa: PLR0917 (the call reads like the request)
    live: Tree | None,
    new: Tree,
    manager: str,
    operation: str,
    subresource: str,
    now: float,
    kind_schema: SchemaShape | None = None,
    *,
    ignored: Sequence[Path] | None = None,
) -> Tree:
    """`new` with the managed fields that an ordinary write by `manager` leads to.

    `live` is the object before (None at creation), `now` seconds since the epoch, `operation` "Update".
    `kind_schema` is found by the object's kind when it is built in. `ignored` are paths that the write does
    not touch; by default those of `reset_fields`.
    """
    shape = kind_schema or shape_for(new)
    before: Tree = live or zero(shape)
    managed = _starting_point(before, new, subresource)
    if not managed and (before.get("metadata") or {}).get("uid"):
        return without_managed(new)
    version = str(new.get("apiVersion", ""))
    who = manager_of(manager, operation, version, subresource)
    skipped = reset_fields(shape, subresource) if ignored is None else ignored
    change = filtered(compare(without_managed(before), without_managed(new), shape), skipped)
    managed = taken_over(managed, change)
    mine = difference(union(change.added, change.modified), _STRIPPED)
    if mine:
        previous = managed.get(who)
        fields = union(mine, previous.fields) if previous is not None else mine
        # The server loses the time on the way from a Scale to its object.
        managed[who] = Owned(fields, version, "" if subresource == "scale" else rfc3339(now))
    return with_managed(new, _capped(managed))


def _starting_point(live: Tree, new: Tree, subresource: str) -> Managed:
    mine = (live.get("metadata") or {}).get("managedFields")
    sent = (new.get("metadata") or {}).get("managedFields")
    if not subresource:
        # An empty list, or a list of one empty entry, is how a client resets them.
        if sent in ([], [{}]):
            return {}
        if sent is not mine and (given := decoded(sent)):
            return given
    return decoded(mine) or {}


def filtered(change: Difference, ignored: Sequence[Path]) -> Difference:
    """The difference without what a write does not touch."""
    if not ignored:
        return change
    return Difference(
        without_below(change.added, ignored),
        without_below(change.removed, ignored),
        without_below(change.modified, ignored),
    )


def taken_over(managed: Managed, change: Difference) -> Managed:
    """What is left to each manager after somebody else's change; who has nothing left is dropped."""
    lost = union(union(change.added, change.modified), change.removed)
    kept: Managed = {}
    for who, owned in managed.items():
        fields = difference(owned.fields, lost)
        if fields:
            kept[who] = owned if fields == owned.fields else Owned(fields, owned.version, owned.time)
    return kept


def stripped(fields: Fields) -> Fields:
    """The set without what nobody owns: names, uid, versions."""
    return difference(fields, _STRIPPED)


def _capped(managed: Managed) -> Managed:
    """The oldest updaters of each version put together, so that at most ten are told apart."""
    updaters = [who for who in managed if who.operation == "Update"]
    if len(updaters) <= MAX_UPDATERS:
        return managed

    def age(who: Manager) -> tuple[int, Manager]:
        time = managed[who].time
        return (int(seconds_of(time)) if time else 0), who

    capped = dict(managed)
    first: dict[str, Manager] = {}
    left = len(updaters)
    for who in sorted(updaters, key=age):
        if left <= MAX_UPDATERS:
            break
        version = managed[who].version
        if version not in first:
            first[version] = who
            continue
        bucket = Manager(ANCIENT, "Update", version)
        if bucket not in capped:
            capped[bucket] = capped.pop(first[version])
        joined = union(managed[who].fields, capped[bucket].fields)
        del capped[who]
        capped[bucket] = Owned(joined, version, managed[who].time)
        left -= 1
    return capped
