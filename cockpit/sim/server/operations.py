"""What the server does for a request, once it is known who asks and that they may.

Every method is synchronous and either done or refused (PortError) when it returns. Trees that come out are
the stored ones: shared, never to be changed.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from cockpit.sim.port import Patch, PatchType, Tree
from cockpit.sim.server.core import Admission, Core, WriteOutcome, served
from cockpit.sim.server.deleting import delete
from cockpit.sim.server.eviction import evict
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.listing import Listing, list_page
from cockpit.sim.server.patch.apply import apply
from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.patch.merge import merge
from cockpit.sim.server.patch.strategic import strategic
from cockpit.sim.server.preconditions import check_name, check_place, other_uid, warned_of
from cockpit.sim.server.refusals import (
    bad_request,
    conflict,
    not_found,
    unknown_path,
    unsupported_media,
)
from cockpit.sim.server.request import DeleteOptions, ListOptions, Request, WatchOptions
from cockpit.sim.server.storage import Stored
from cockpit.sim.server.subresources import bind, scale_of, write_scale
from cockpit.sim.server.watching import BOOKMARK, Watched, bookmark, watch
from cockpit.sim.server.writing import BY_APPLY, BY_PUT, create, update, warnings_of

__all__ = [
    "BOOKMARK",
    "Admission",
    "Listing",
    "Operations",
    "Watched",
    "WriteOutcome",
    "bookmark",
]

ALL = ListOptions()
AS_USUAL = DeleteOptions()


class Operations(Core):
    """All verbs on all kinds."""

    def get(self, request: Request) -> Stored:
        """One object, or its `scale`. Raises PortError 404."""
        kind = self.kind(request)
        stored = served(kind, self.found(kind, request))
        self._known(kind, request)
        return scale_of(kind, stored, is_read=True) if request.subresource == "scale" else stored

    def list(self, request: Request, options: ListOptions = ALL) -> Listing:
        """The objects of a namespace, or of all (""). Raises PortError 400, 410, 422, 504."""
        return list_page(self.storage, self.kind(request), request.namespace, options)

    def watch(self, request: Request, options: WatchOptions, watched: Watched) -> Callable[[], None]:
        """Hand over what happens, first (before this returns) what has happened since the version asked for.

        Answers how to stop it. The BOOKMARK that ends the initial events has its annotation; further ones
        are the caller's to send (`bookmark`). Raises PortError 400, 410, 422.
        """
        return watch(self.storage, self.kind(request), request.namespace, options, watched)

    def create(self, request: Request, tree: Tree) -> WriteOutcome:
        """A new object; or the subresources `binding` and `eviction` of a pod (`request.name`)."""
        kind = self.kind(request)
        match request.subresource:
            case "":
                return create(self, kind, request, tree)
            case "binding" if request.resource.plural == "pods":
                return bind(self, kind, request, tree)
            case "eviction" if request.resource.plural == "pods":
                return evict(self, kind, request, tree)
            case _:
                raise unknown_path()

    def replace(self, request: Request, tree: Tree) -> WriteOutcome:
        """PUT: of the object, its `status` or its `scale`."""
        kind = self.kind(request)
        self._known(kind, request)
        if request.subresource == "scale":
            return write_scale(self, kind, request, lambda _: tree)
        if not self._is_missing(kind, request):
            return update(self, kind, request, lambda _: tree, BY_PUT)
        with warned_of(warnings_of(kind, request, tree)):
            check_place(request, tree)
            check_name(request, tree)
            if not kind.is_path_creatable:
                raise not_found(kind.resource, request.name)
            if uid := (tree.get("metadata") or {}).get("uid"):
                raise other_uid(kind, request, uid, "")
        return create(self, kind, request, self._unversioned(self._named(request, tree)))

    def patch(self, request: Request, patch: Patch, type: PatchType) -> WriteOutcome:  # noqa: A002
        """PATCH: of the object, its `status` or its `scale`."""
        kind = self.kind(request)
        self._known(kind, request)
        if type is PatchType.MERGE and not isinstance(patch, dict):
            raise bad_request("a merge patch has to be an object")
        if type is PatchType.STRATEGIC and kind.is_custom:
            raise unsupported_media(_CUSTOM_PATCHES)

        if type is PatchType.APPLY:
            return self._apply(kind, request, cast(Tree, patch))
        is_scale = request.subresource == "scale"
        shape = None if is_scale else kind.shape

        def patched(tree: Tree) -> Tree:
            if type is PatchType.JSON:
                return json_patch(tree, cast(Any, patch))
            if type is PatchType.STRATEGIC and shape is not None:
                return strategic(tree, cast(Tree, patch), shape)
            return merge(tree, cast(Tree, patch))

        if is_scale:
            return write_scale(self, kind, request, patched)
        return update(self, kind, request, patched)

    def delete(self, request: Request, options: DeleteOptions = AS_USUAL) -> WriteOutcome:
        """One object, now or when grace period and finalizers allow it. Raises PortError 404, 409, 422."""
        return delete(self, self.kind(request), request, options)

    def delete_collection(
        self, request: Request, listed: ListOptions, options: DeleteOptions = AS_USUAL
    ) -> Sequence[Stored]:
        """Every object that `listed` selects; answers them as they were."""
        import msgspec

        found = self.list(request, listed).items
        for stored in found:
            metadata = stored.tree["metadata"]
            one = msgspec.structs.replace(
                request, namespace=metadata.get("namespace", ""), name=metadata["name"]
            )
            self.delete(one, options)
        return found

    def _apply(self, kind: ServedKind, request: Request, applied: Tree) -> WriteOutcome:
        """What a manager wants of an object, made where there is none."""
        if not request.field_validation:
            # An actor's; who comes over HTTP says the name.
            applied = self._named(request, applied)
        metadata = applied.get("metadata") or {}
        if request.subresource == "scale":
            return write_scale(self, kind, request, lambda tree: merge(tree, applied))
        now, shape = self.clock.now(), kind.shape
        manager, force = request.field_manager, request.force
        ignored = None
        if kind.is_custom and kind.has_status:
            ignored = _OF_STATUS if request.subresource else _OF_SPEC
        if self._is_missing(kind, request):
            if request.subresource:
                raise not_found(kind.resource, request.name)
            made = apply(None, applied, manager, force, shape, now, ignored=ignored)
            check_name(request, applied)
            if uid := metadata.get("uid"):
                why = (
                    f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                )
                raise conflict(kind.resource, request.name, why)
            return create(
                self, kind, request, made if request.dry_run else self._unversioned(made), is_applied=True
            )

        def wanted(tree: Tree) -> Tree:
            return apply(
                tree,
                applied,
                manager,
                force,
                shape,
                now,
                subresource=request.subresource,
                ignored=ignored,
            )

        return update(self, kind, request, wanted, BY_APPLY)

    def _known(self, kind: ServedKind, request: Request) -> None:
        match request.subresource:
            case "":
                return
            case "status" if kind.has_status:
                return
            case "scale" if kind.scale is not None:
                return
            case "finalize" if request.resource.plural == "namespaces":
                return
            case _:
                raise unknown_path()

    def _is_missing(self, kind: ServedKind, request: Request) -> bool:
        return self.storage.get(kind.shelf, request.namespace, request.name) is None

    def _unversioned(self, tree: Tree) -> Tree:
        metadata = {key: value for key, value in tree["metadata"].items() if key != "resourceVersion"}
        return {**tree, "metadata": metadata}

    def _named(self, request: Request, tree: Tree) -> Tree:
        metadata = dict(tree.get("metadata") or {})
        metadata["name"] = metadata.get("name") or request.name
        return {**tree, "metadata": metadata}


_OF_SPEC = (("f:status",),)
_OF_STATUS = (("f:spec",), ("f:metadata",))
"""What an apply to a custom object, or to its status, never touches."""

_CUSTOM_PATCHES = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)
