"""Server-side apply (KEP-555): the applier says what it wants, the server knows who owns what.

The steps and the sentences are those of apimachinery's managedfields and of structured-merge-diff's updater.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from cockpit.k8s import labels as well_known
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.patch.fields import (
    Fields,
    Path,
    difference,
    intersection,
    paths,
    text_of,
    union,
    without_below,
)
from cockpit.sim.server.patch.managed import (
    BEFORE_FIRST_APPLY,
    Manager,
    Owned,
    decoded,
    filtered,
    manager_of,
    reset_fields,
    shape_for,
    stripped,
    taken_over,
    update_managed,
    with_managed,
    without_managed,
)
from cockpit.sim.server.patch.merge import without_nulls
from cockpit.sim.server.patch.typed import (
    compare,
    field_set,
    item_element,
    merged,
    removed,
    with_named_members,
)
from cockpit.sim.server.schema.decode import BadJson, normal, zero
from cockpit.sim.server.schema.shape import SchemaShape
from cockpit.sim.times import rfc3339

_NUMBERS = frozenset(("int32", "int64", "double"))
_TEXTS = frozenset(("string", "bytes"))


def check_declared(tree: Tree, shape: SchemaShape) -> None:
    """Raises PortError 500 with every field that the schema does not know or knows otherwise."""
    found = _problems(tree, shape, "")
    if not found:
        return
    metadata = tree.get("metadata") or {}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    told = found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {text}" for text in found)
    raise PortError(500, "", f"failed to create typed patch object ({name}; {kind_text(tree)}): {told}")


def _problems(value: Any, shape: SchemaShape, path: str) -> list[str]:
    if value is None or shape.type == "any":
        return []
    match shape.type:
        case "object" | "map":
            if not isinstance(value, dict):
                return [f"{path}: expected map, got {json_type(value)}"]
            return _map_problems(value, shape, path)
        case "list":
            if not isinstance(value, list):
                return [f"{path}: expected list, got {json_type(value)}"]
            return _list_problems(value, shape, path)
        case _:
            wrong = _scalar_problem(value, shape.type)
            return [f"{path}: {wrong}"] if wrong else []


def _map_problems(value: Tree, shape: SchemaShape, path: str) -> list[str]:
    found: list[str] = []
    for key in sorted(value):
        below = f"{path}.{key}"
        if shape.type == "object" and key not in shape.fields and not shape.open and shape.items is None:
            # The server stops at the first; its order is any, this one is by name.
            return [*found, f"{below}: field not declared in schema"]
        found += _problems(value[key], shape.below(key), below)
    return found


def _list_problems(value: list[Any], shape: SchemaShape, path: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for at, item in enumerate(value):
        below = f"{path}[{at}]"
        if shape.list_type in ("set", "map"):
            try:
                name = item_element(item, shape)
            except KeyError:
                keys = " ".join(f'"{key}"' for key in shape.keys)
                found.append(
                    f"{path}: element {at}: associative list with keys has an element that omits all key "
                    f"fields [{keys}] (and doesn't have default values for any key fields)"
                )
                continue
            below = path + text_of((name,))
            if name in seen:
                found.append(f"{path}: duplicate entries for key {text_of((name,))}")
                continue
            seen.add(name)
        found += _problems(item, shape.item, below)
    return found


def _scalar_problem(value: Any, kind: str) -> str:
    if kind in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected number, got {json_type(value)}"
    if kind == "bool" and not isinstance(value, bool):
        return f"expected bool, got {json_type(value)}"
    if kind in _TEXTS and not isinstance(value, str):
        return f"expected string, got {json_type(value)}"
    return ""


def kind_text(tree: Tree) -> str:
    """`apps/v1, Kind=Deployment`; the core group is the empty one: `/v1, Kind=Pod`."""
    group, _, version = str(tree.get("apiVersion", "")).rpartition("/")
    return f"{group}/{version}, Kind={tree.get('kind')}"


LAST_APPLIED = well_known.LAST_APPLIED


class _Conflict(msgspec.Struct, frozen=True):
    who: Manager
    path: Path


class _Conflicts(Exception):
    def __init__(self, conflicts: list[_Conflict]) -> None:
        super().__init__(len(conflicts))
        self.conflicts = conflicts


def apply(  # noqa: PLR0917 (the call reads like the request)
    live: Tree | None,
    applied: Tree,
    manager: str,
    force: bool,
    kind_schema: SchemaShape | None,
    now: float,
    *,
    subresource: str = "",
    ignored: Sequence[Path] | None = None,
) -> Tree:
    """The object after `manager` applied `applied`; `live` itself when that changes nothing.

    `live` is None where the object is not there yet, `now` seconds since the epoch. `ignored` are paths that
    this request cannot write; by default those of `reset_fields`. Raises PortError: 409 with a cause for each
    conflict unless `force`, 400 for another kind or managed fields in the body, 500 (as the real server) for
    a body that does not fit the schema.
    """
    shape = kind_schema or shape_for(applied)
    _check(live, applied, shape)
    applied = without_managed(applied)
    if live is not None and not (live.get("metadata") or {}).get("managedFields"):
        empty = {**zero(shape), "apiVersion": live.get("apiVersion"), "kind": live.get("kind")}
        live = update_managed(
            empty, without_managed(live), BEFORE_FIRST_APPLY, "Update", subresource, now, shape, ignored=()
        )
    skipped = reset_fields(shape, subresource) if ignored is None else ignored
    step = _Step(live or zero(shape), applied, manager, shape, subresource, now, tuple(skipped))
    try:
        done = step.done(force)
    except _Conflicts as refused:
        done = _done_in_spite(step, refused.conflicts)
    return _settled(live, done, manager, applied)


def _check(live: Tree | None, applied: Tree, shape: SchemaShape) -> None:
    if live is not None:
        have = (live.get("apiVersion"), live.get("kind"))
        if have != (applied.get("apiVersion"), applied.get("kind")):
            raise PortError(400, "BadRequest", f"invalid object type: {kind_text(applied)}")
    metadata = applied.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise PortError(400, "BadRequest", "error decoding YAML: metadata is no object")
    if metadata.get("managedFields") is not None:
        raise PortError(400, "BadRequest", "metadata.managedFields must be nil")
    check_declared(applied, shape)


class _Step(msgspec.Struct, frozen=True):
    live: Tree
    applied: Tree
    manager: str
    shape: SchemaShape
    subresource: str
    now: float
    ignored: tuple[Path, ...]

    def done(self, force: bool) -> Tree:
        """The object with its managed fields. Raises _Conflicts."""
        version = str(self.applied.get("apiVersion", ""))
        who = manager_of(self.manager, "Apply", version, self.subresource)
        managed = decoded((self.live.get("metadata") or {}).get("managedFields")) or {}
        live = without_managed(self.live)
        last = managed.pop(who, None)
        mine = without_below(field_set(self.applied, self.shape), self.ignored)
        everyone = mine
        for owned in managed.values():
            everyone = union(everyone, owned.fields)
        new = merged(live, self.applied, self.shape)
        if last is not None and last.fields:
            new = _pruned(new, last.fields, everyone, self.shape)
        change = filtered(compare(live, new, self.shape), self.ignored)
        touched = union(change.added, change.modified)
        conflicts = [
            _Conflict(other, path)
            for other, owned in sorted(managed.items(), key=lambda item: item[0])
            for path in paths(intersection(owned.fields, touched))
        ]
        if conflicts and not force:
            raise _Conflicts(conflicts)
        managed = taken_over(managed, change)
        kept = stripped(mine)
        is_changed = bool(change.added or change.modified or change.removed) or live != new
        if kept:
            time = rfc3339(self.now) if is_changed else last.time if last is not None else ""
            managed[who] = Owned(kept, version, time)
        return with_managed(_written_back(new, self.applied, self.shape) if is_changed else live, managed)


def _written_back(new: Tree, applied: Tree, shape: SchemaShape) -> Tree:
    if not shape.name:
        # Of a custom kind nulls may be wanted: its schema decides (`CustomKind.decode`).
        return new
    try:
        return normal(new, shape)
    except BadJson as problem:
        metadata = applied.get("metadata") or {}
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        said, kind = "unable to convert unstructured object to", kind_text(new)
        message = f"failed to convert new object ({name}; {kind}) to proper version: {said} {kind}: {problem}"
        raise PortError(500, "", message) from problem


def _pruned(new: Tree, last: Fields, everyone: Fields, shape: SchemaShape) -> Tree:
    """`new` without what the applier named before and nobody names now."""
    all_last = with_named_members(last, shape)
    before = with_named_members(field_set(new, shape), shape)
    pruned = removed(new, all_last, shape) or {}
    # What somebody else owns, or what the applier still names, comes back.
    left = union(with_named_members(field_set(pruned, shape), shape), with_named_members(everyone, shape))
    pruned = removed(new, difference(before, left), shape) or {}
    # What nobody ever named comes back too: it was only below something that went.
    left = with_named_members(field_set(pruned, shape), shape)
    return removed(new, intersection(difference(before, left), all_last), shape) or {}


def _done_in_spite(step: _Step, conflicts: list[_Conflict]) -> Tree:
    """kubectl takes over without force what it had applied on the client side, where nobody changed it."""
    allowed = _last_applied(step) if step.manager == "kubectl" else None
    if allowed is None:
        raise _refusal(conflicts)
    known = set(paths(allowed))
    others = [conflict for conflict in conflicts if conflict.path not in known]
    if others:
        raise _refusal(others)
    return step.done(force=True)


def _last_applied(step: _Step) -> Fields | None:
    annotations = (step.live.get("metadata") or {}).get("annotations") or {}
    try:
        last = json.loads(annotations.get(LAST_APPLIED, ""))
    except ValueError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != step.applied.get("apiVersion"):
        return None
    last = without_nulls(last)
    change = compare(last, without_managed(step.live), step.shape)
    differing = union(union(change.added, change.modified), change.removed)
    return difference(field_set(last, step.shape), differing)


def _settled(live: Tree | None, done: Tree, manager: str, applied: Tree) -> Tree:
    annotations = (done.get("metadata") or {}).get("annotations") or {}
    if manager == "kubectl" and annotations.get(LAST_APPLIED):
        done = _with_last_applied(done, applied)
    if live is None:
        return done
    mine, theirs = live["metadata"].get("managedFields"), done["metadata"].get("managedFields")
    if without_managed(live) == without_managed(done) and _untimed(mine) == _untimed(theirs):
        return live
    return done


def _with_last_applied(done: Tree, applied: Tree) -> Tree:
    metadata = dict(applied.get("metadata") or {})
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(LAST_APPLIED, None)
    if annotations:
        metadata["annotations"] = annotations
    text = json.dumps(
        {**applied, "metadata": metadata}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    # As Go writes JSON: these three are escaped, and a line ends the text.
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") + "\n"
    annotations = {**done["metadata"]["annotations"], LAST_APPLIED: text}
    return {**done, "metadata": {**done["metadata"], "annotations": annotations}}


def _untimed(entries: list[Tree] | None) -> list[Tree]:
    return [{key: item for key, item in entry.items() if key != "time"} for entry in entries or []]


def _refusal(conflicts: list[_Conflict]) -> PortError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_told(conflict.who)}",
            "field": text_of(conflict.path),
        }
        for conflict in conflicts
    ]
    return PortError(409, "Conflict", _sentence(conflicts), causes)


def _sentence(conflicts: list[_Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_told(only.who)}: {text_of(only.path)}"
    lines: list[str] = []
    for who in sorted({conflict.who for conflict in conflicts}):
        lines.append(f"conflicts with {_told(who)}:")
        lines += [f"- {text_of(conflict.path)}" for conflict in conflicts if conflict.who == who]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _told(who: Manager) -> str:
    text = f'"{who.name}"'
    if who.subresource:
        text += f' with subresource "{who.subresource}"'
    return f"{text} using {who.version}" if who.operation == "Update" else text
