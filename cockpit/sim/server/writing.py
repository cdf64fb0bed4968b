"""Creating and updating: the road that every written tree takes.

create: what is known of it -> defaults, namespace, admissions -> metadata -> rules of the kind -> stored.
update: the new tree over the old -> what may not be changed is put back -> rules -> stored, if it differs.
"""

from collections.abc import Callable

import msgspec

from cockpit.kube.resource import EVENTS, NAMESPACES
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import BUDGETS, NEW_EVENTS
from cockpit.sim.server.core import Core, WriteOutcome, object_key, served
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.object_meta import (
    created,
    faults_at_create,
    faults_at_update,
    generated_name,
    updated,
)
from cockpit.sim.server.preconditions import check_place, check_preconditions, warned_of
from cockpit.sim.server.refusals import Cause, bad_request, exists, invalid
from cockpit.sim.server.request import Request
from cockpit.sim.server.schema.decode import accepted, accepted_patch
from cockpit.sim.server.storage import Stored, key_of

_TRIES = 8

Make = Callable[[Tree], Tree]
"""Old tree -> tree that is wanted."""


Decoded = tuple[Tree, tuple[str, ...]]
"""A tree and warnings."""


def create(
    core: Core, kind: ServedKind, request: Request, tree: Tree, *, is_applied: bool = False
) -> WriteOutcome:
    """A new object; `is_applied` when its managed fields are kept already."""
    tree, warnings = _understood(kind, request, _typed(kind, request, tree), is_applied=is_applied)
    with warned_of(warnings):
        return _create(core, kind, request, tree, warnings, is_applied=is_applied)


def _create(
    core: Core,
    kind: ServedKind,
    request: Request,
    tree: Tree,
    warnings: tuple[str, ...],
    *,
    is_applied: bool,
) -> WriteOutcome:
    check_place(request, tree)
    metadata: Tree = tree["metadata"]
    version = metadata.get("resourceVersion")
    name = metadata.get("name", "")
    core.check_namespace(request, name or metadata.get("generateName", ""))
    if kind.has_status and not kind.keeps_status_at_create:
        tree.pop("status", None)
    for complete in kind.complete:
        tree = complete(tree)
    # Named before it is admitted: a refusal tells the whole name.
    tree = _named(core, kind, request, tree)
    if not is_applied:
        # Before what admissions and the server itself add: that belongs to nobody.
        tree = core.tracked(kind, request, None, tree)
    try:
        tree = dict(core.admit(request, tree, None))
    except PortError as refusal:
        # What is invalid is told before what admissions refuse; but before priorities nothing is.
        is_early = "PriorityClass" in refusal.message
        if not is_early and (causes := _create_faults(kind, tree)):
            raise invalid(kind.shelf, name, causes) from None
        raise
    warnings = (*warnings, *core.warned(request, tree, None))
    namespace = request.namespace if kind.resource.namespaced else ""
    tree["metadata"] = created(tree["metadata"], kind, namespace, core.now, core.random)
    for revise in kind.revise:
        tree = revise(tree, None)
    causes = _create_faults(kind, tree)
    if causes:
        raise invalid(kind.shelf, tree["metadata"].get("name", ""), causes)
    key = object_key(kind, tree)
    if version and not request.dry_run:
        raise PortError(500, "", "resourceVersion should not be set on objects to be created")
    if (held := core.storage.shelf(kind.shelf).objects.get(key)) is not None:
        raise exists(kind.resource, tree["metadata"]["name"], held.tree["metadata"])
    stored = core.put(kind, key, tree, request)
    if is_applied and version and request.dry_run:
        # As sent: only what is stored gets a version of its own.
        stored.tree["metadata"]["resourceVersion"] = version
    return WriteOutcome(stored, is_created=True, warnings=warnings)


def _create_faults(kind: ServedKind, tree: Tree) -> list[Cause]:
    own, general = (
        _faults(kind, tree, None),
        list(faults_at_create(tree["metadata"], kind)),
    )
    if kind.resource == NEW_EVENTS:
        story = list(kind.checks[0](tree, None))
        return [*story, *general, *own[len(story) :]]
    # Where the rules of a kind leave metadata alone, the general ones are asked only after them.
    return (own or general) if kind.resource in (BUDGETS, EVENTS) else [*general, *own]


def _typed(kind: ServedKind, request: Request, tree: Tree) -> Tree:
    """A tree of the caller's own, of the right type and in the right place."""
    resource = kind.resource
    if not isinstance(tree.get("metadata", {}), dict):
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"metadata: expected object, got {json_type(tree['metadata'])}"
        )
    for field, wanted in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        given = tree.get(field) or wanted
        if given != wanted:
            what = "API version" if field == "apiVersion" else "kind"
            raise bad_request(
                f"the {what} in the data ({given}) does not match the expected {what} ({wanted})"
            )
    tree = {**tree, "apiVersion": resource.api_version, "kind": resource.kind}
    tree["metadata"] = metadata = dict(tree.get("metadata") or {})
    if not resource.namespaced:
        metadata.pop("namespace", None)
    return tree


def warnings_of(kind: ServedKind, request: Request, tree: Tree) -> tuple[str, ...]:
    """What is warned of a tree. Raises PortError 400 for what is not understood."""
    known, warnings = _understood(kind, request, _typed(kind, request, tree))
    for complete in kind.complete:
        known = complete(known)
    return warnings


def _understood(
    kind: ServedKind, request: Request, tree: Tree, *, is_applied: bool = False, old: Tree | None = None
) -> Decoded:
    """Without what is not known, and as the server writes it; `old` is the version that it is made from."""
    if kind.decode is not None:
        known, warnings = kind.decode(tree, request.field_validation)
        return dict(known), warnings
    if kind.shape is None or is_applied:
        return tree, ()
    known, warnings = accepted(tree, kind.shape, request.field_validation, old)
    return dict(known), warnings


def _patched(kind: ServedKind, request: Request, tree: Tree, old: Tree | None) -> Decoded:
    """As `_understood`, for what a patch has made."""
    if kind.decode is not None or kind.shape is None or not request.field_validation:
        return _understood(kind, request, tree, old=old)
    known, warnings = accepted_patch(tree, kind.shape, request.field_validation, old)
    return dict(known), warnings


def _named(core: Core, kind: ServedKind, request: Request, tree: Tree) -> Tree:
    """With a name made of `generateName` where there is none, one that is free."""
    metadata = tree["metadata"]
    prefix = metadata.get("generateName")
    if metadata.get("name") or not prefix:
        return tree
    taken = core.storage.shelf(kind.shelf).objects
    for _ in range(_TRIES):
        metadata = {**metadata, "name": generated_name(prefix, core.random)}
        tree = {**tree, "metadata": metadata}
        if key_of(request.namespace if kind.resource.namespaced else "", metadata["name"]) not in taken:
            break
    return tree


def _faults(kind: ServedKind, tree: Tree, old: Tree | None) -> list[Cause]:
    return [cause for check in kind.checks for cause in check(tree, old)]


class UpdateSource(msgspec.Struct, frozen=True):
    """How an update came: by PUT, by an apply patch (managed fields kept already), or by another patch."""

    is_put: bool = False
    is_applied: bool = False


BY_PATCH = UpdateSource()
BY_PUT = UpdateSource(is_put=True)
BY_APPLY = UpdateSource(is_applied=True)


def update(
    core: Core, kind: ServedKind, request: Request, make: Make, how: UpdateSource = BY_PATCH
) -> WriteOutcome:
    """A new version of an object, or of its status; nothing is stored where nothing is new."""
    stored = core.found(kind, request)
    return update_from(core, kind, request, stored, make(served(kind, stored).tree), how=how)


def update_from(
    core: Core,
    kind: ServedKind,
    request: Request,
    stored: Stored,
    wanted: Tree,
    *,
    how: UpdateSource = BY_PATCH,
) -> WriteOutcome:
    """As `update`, with the wanted tree at hand."""
    old = served(kind, stored).tree
    if wanted is old:
        return WriteOutcome(served(kind, stored))
    if how.is_put and isinstance(wanted.get("metadata"), dict):
        check_place(request, wanted)
    taken, warnings = _taken(kind, request, old, wanted, how)
    with warned_of(warnings):
        check_preconditions(kind, request, old, wanted, is_put=how.is_put)
        return _stored(core, kind, request, stored, taken, how=how, warnings=warnings)


def _stored(
    core: Core,
    kind: ServedKind,
    request: Request,
    stored: Stored,
    wanted: Tree,
    *,
    how: UpdateSource,
    warnings: tuple[str, ...],
) -> WriteOutcome:
    if isinstance(wanted.get("metadata"), dict):
        check_place(request, wanted)
    old = served(kind, stored).tree
    is_status = request.subresource == "status"
    new = _of_status(kind, old, wanted) if is_status else _of_spec(kind, request, old, wanted)
    new = core.admit(request, new, old)
    warnings = (*warnings, *core.warned(request, new, old))
    causes = _update_faults(kind, new, old, is_status)
    if causes:
        raise invalid(kind.shelf, request.name, causes)
    if new == old:
        return WriteOutcome(served(kind, stored), warnings=warnings)
    new = {**new, "metadata": dict(new["metadata"])}
    if kind.has_generation and not is_status and _has_changed(kind, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if not how.is_applied:
        new = core.tracked(kind, request, old, new)
    if not new["metadata"].get("managedFields"):
        new["metadata"].pop("managedFields", None)
    if _is_freed(kind, new, old):
        core.remove(kind, stored.key, request)
        return WriteOutcome(Stored(stored.key, new, stored.version), is_final=True, warnings=warnings)
    return WriteOutcome(core.put(kind, stored.key, new, request), warnings=warnings)


def _taken(kind: ServedKind, request: Request, old: Tree, wanted: Tree, how: UpdateSource) -> Decoded:
    """The wanted tree as it is understood; a status from an actor is taken as it is: there are many."""
    if not how.is_put and not kind.is_custom and not request.field_validation and request.subresource:
        return wanted, ()
    wanted = _typed(kind, request, wanted)
    if how.is_put or how.is_applied:
        return _understood(kind, request, wanted, is_applied=how.is_applied)
    # what is served in another form than it is stored in was never read under this one
    return _patched(kind, request, wanted, old if kind.to_served is None else None)


def _of_spec(kind: ServedKind, request: Request, old: Tree, wanted: Tree) -> Tree:
    """The whole object but for its status."""
    new = dict(wanted)
    if new.get("metadata") is not old["metadata"]:
        new["metadata"] = updated(new.get("metadata") or {}, old["metadata"])
    if kind.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    if kind.resource == NAMESPACES and request.subresource != "finalize":
        new["spec"] = old["spec"]
    for complete in kind.complete:
        new = complete(new)
    for revise in kind.revise:
        new = revise(new, old)
    return new


def _of_status(kind: ServedKind, old: Tree, wanted: Tree) -> Tree:
    """The old object with the new status; metadata of built-in kinds can be written this way, too."""
    new = dict(old)
    if "status" in wanted:
        new["status"] = wanted["status"]
    else:
        new.pop("status", None)
    for complete in kind.complete_status:
        new = complete(new)
    if kind.kept_status and (held := old.get("status")):
        kept = {key: held[key] for key in kind.kept_status if key in held}
        new["status"] = {**kept, **(new.get("status") or {})}
    metadata = wanted.get("metadata")
    if metadata is None or metadata is old["metadata"]:
        return new
    fresh = updated(metadata, old["metadata"])
    if kind.is_custom:
        kept = dict(old["metadata"])
        if "managedFields" in fresh:
            kept["managedFields"] = fresh["managedFields"]
        fresh = kept
    if "ownerReferences" in old["metadata"]:
        fresh["ownerReferences"] = old["metadata"]["ownerReferences"]
    else:
        fresh.pop("ownerReferences", None)
    new["metadata"] = fresh
    return new


def _update_faults(kind: ServedKind, new: Tree, old: Tree, is_status: bool) -> list[Cause]:
    causes: list[Cause] = []
    if new["metadata"] is not old["metadata"]:
        # The real server checks metadata twice and tells both.
        causes.extend(2 * list(faults_at_update(new["metadata"], old["metadata"], kind)))
    for check in kind.status_checks if is_status else kind.checks:
        causes.extend(check(new, old))
    return causes


def _has_changed(kind: ServedKind, new: Tree, old: Tree) -> bool:
    """True where the generation has to grow."""
    if kind.is_generation_of_annotations and _annotations(new) != _annotations(old):
        return True
    if kind.generation_parts:
        return any(new.get(part) != old.get(part) for part in kind.generation_parts)
    apart = ("metadata", "status") if kind.has_status else ("metadata",)
    return any(new.get(key) != old.get(key) for key in {**new, **old} if key not in apart)


def _annotations(tree: Tree) -> Tree:
    return tree["metadata"].get("annotations") or {}


def _is_freed(kind: ServedKind, new: Tree, old: Tree) -> bool:
    """True where the last finalizer went from what waited for nothing else."""
    was = old["metadata"]
    if "deletionTimestamp" not in was or new["metadata"].get("finalizers"):
        return False
    if kind.resource == NAMESPACES:
        return not new.get("spec", {}).get("finalizers")
    return bool(was.get("finalizers")) and not was.get("deletionGracePeriodSeconds")
