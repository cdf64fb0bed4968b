"""What the server does for a request, once it is known who asks and that they may.

Every method is synchronous and either done or refused (PortError) when it returns. Trees that come out are
the stored ones: shared, never to be changed.
"""

from collections.abc import Callable, Sequence
from random import Random

import msgspec

from cockpit.clock import Clock
from cockpit.sim.port import Patch, PatchType, Tree
from cockpit.sim.server.kinds import Kind, Kinds
from cockpit.sim.server.refusals import not_found, unknown_path
from cockpit.sim.server.request import DeleteOptions, ListOptions, Request, WatchOptions
from cockpit.sim.server.storage import Storage, Stored

Admission = Callable[[Request, Tree, Tree | None], Tree]
"""(request, new tree, old tree or None) -> tree to store. Raises PortError to refuse. Called for create,
replace and patch, also of subresources (`request.subresource`), also for dry runs (`request.dry_run`)."""

Watched = Callable[[str, Stored], None]
"""Gets ADDED, MODIFIED, DELETED or BOOKMARK, and the object in the version asked for."""


ALL = ListOptions()
AS_USUAL = DeleteOptions()


class Outcome(msgspec.Struct, frozen=True):
    """What a write came to. `is_final` (deletes): the object is gone now, not only marked."""

    stored: Stored
    is_created: bool = False
    is_final: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def tree(self) -> Tree:
        """The object after it (for a dry run: as it would be)."""
        return self.stored.tree


class Listing(msgspec.Struct, frozen=True):
    """One page. `remaining` is None where the server does not say (selectors, last page)."""

    items: list[Stored]
    version: int
    continue_token: str = ""
    remaining: int | None = None


class Operations:
    """All verbs on all kinds.

    `admissions` run in order at every write; append to it.
    """

    def __init__(
        self,
        storage: Storage,
        kinds: Kinds,
        clock: Clock,
        random: Random,
        admissions: Sequence[Admission] = (),
    ) -> None:
        self.storage = storage
        self.kinds = kinds
        self.clock = clock
        self.random = random
        self.admissions: list[Admission] = list(admissions)

    def kind(self, request: Request) -> Kind:
        """The kind a request is about. Raises PortError 404 when it is not served."""
        kind = self.kinds.of(request.resource)
        if kind is None:
            raise unknown_path()
        return kind

    def get(self, request: Request) -> Stored:
        """One object, or its `scale`."""
        kind = self.kind(request)
        stored = self.storage.get(kind.shelf, request.namespace, request.name)
        if stored is None:
            raise not_found(request.resource, request.name)
        return stored

    def list(self, request: Request, options: ListOptions = ALL) -> Listing:
        """The objects of a namespace, or of all ("")."""
        raise NotImplementedError

    def watch(self, request: Request, options: WatchOptions, watched: Watched) -> Callable[[], None]:
        """Hand over what happens, first (before this returns) what has happened since the version asked
        for; answers how to stop it. The first BOOKMARK of a streaming list has its annotation."""
        raise NotImplementedError

    def create(self, request: Request, tree: Tree) -> Outcome:
        """A new object; or the subresources `binding` and `eviction` of a pod (`request.name`)."""
        raise NotImplementedError

    def replace(self, request: Request, tree: Tree) -> Outcome:
        """PUT: of the object, its `status` or its `scale`."""
        raise NotImplementedError

    def patch(self, request: Request, patch: Patch, type: PatchType) -> Outcome:  # noqa: A002
        """PATCH: of the object, its `status` or its `scale`."""
        raise NotImplementedError

    def delete(self, request: Request, options: DeleteOptions = AS_USUAL) -> Outcome:
        """One object, now or when its grace period and finalizers allow it."""
        raise NotImplementedError

    def delete_collection(
        self, request: Request, listed: ListOptions, options: DeleteOptions = AS_USUAL
    ) -> tuple[Stored, ...]:
        """Every object that `listed` selects; answers them as they were."""
        raise NotImplementedError
