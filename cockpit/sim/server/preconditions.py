"""What has to hold before a write: the object is the one that was meant, in the version that was meant."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.refusals import MODIFIED, bad_request, conflict, invalid, wrong
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import key_of

_SHELVES = {"nodes": "minions", "services": "services/specs"}


@contextmanager
def warned_of(warnings: tuple[str, ...]) -> Iterator[None]:
    """A refusal inside carries what its answer warns of all the same."""
    try:
        yield
    except PortError as error:
        error.warnings = (*warnings, *error.warnings)
        raise


def check_place(request: Request, tree: Tree) -> None:
    """Raises PortError 400 where an object is of another namespace than the path."""
    place = (tree.get("metadata") or {}).get("namespace") or request.namespace
    if request.resource.namespaced and place != request.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(request: Request, tree: Tree) -> None:
    """Raises PortError 400 where an object is not the one that the path names (apiserver rest.checkName)."""
    metadata = tree.get("metadata") or {}
    if not isinstance(metadata, dict):
        return
    given = metadata.get("name")
    if not given:
        why = (
            f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
        )
        raise bad_request(why)
    if given != request.name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({request.name})"
        )


def check_preconditions(kind: ServedKind, request: Request, old: Tree, wanted: Tree, *, is_put: bool) -> None:
    """Raises PortError 400 for another name, 409 for another uid or version, 422 for a missing version."""
    metadata = wanted.get("metadata") or {}
    if metadata is old["metadata"]:
        return
    check_name(request, wanted)
    uid = metadata.get("uid")
    if is_put and uid and uid != old["metadata"]["uid"]:
        raise other_uid(kind, request, uid, old["metadata"]["uid"])
    version = metadata.get("resourceVersion", "")
    if version and version != old["metadata"]["resourceVersion"]:
        raise conflict(kind.resource, request.name, MODIFIED)
    if is_put and not version and not kind.is_update_unconditional:
        cause = wrong("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(
            msgspec.structs.replace(kind.resource, kind=kind.resource.plural), request.name, [cause]
        )


def other_uid(kind: ServedKind, request: Request, uid: str, held: str) -> PortError:
    """409 for a PUT over another object than the caller thought."""
    group = _SHELVES.get(kind.shelf.plural, kind.shelf.plural)
    root = "" if request.dry_run else "/registry"
    where = f"{root}/{group}/{key_of(request.namespace, request.name)}"
    said = (
        f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {uid}, UID in object meta: {held}"
    )
    return conflict(kind.resource, request.name, said)
