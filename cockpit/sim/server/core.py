"""What every operation stands on: the storage, the kinds, the clock, the dice and the admissions."""

from collections.abc import Callable, Sequence
from random import Random

import msgspec

from cockpit.clock import Clock
from cockpit.kube.resource import NAMESPACES
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.kinds import Kinds, ServedKind
from cockpit.sim.server.patch.managed import update_managed
from cockpit.sim.server.refusals import forbidden, not_found, unknown_path
from cockpit.sim.server.request import SYSTEM, Request
from cockpit.sim.server.storage import Key, Storage, Stored, key_of
from cockpit.sim.times import rfc3339

_encode = msgspec.json.Encoder().encode
_MOST_OBJECT_BYTES = 3 * 512 * 1024
"""Of an object that a client stores, as JSON (the default of etcd's --max-request-bytes)."""

Admission = Callable[[Request, Tree, Tree | None], Tree]
"""(request, new tree, old tree or None) -> tree to store. Raises PortError to refuse. Called for create,
replace and patch, also of subresources (`request.subresource`), also for dry runs (`request.dry_run`)."""


Warner = Callable[[Request, Tree, Tree | None], tuple[str, ...]]
"""(request, new tree as admitted, old tree or None) -> texts for the answer's Warning headers."""


class WriteOutcome(msgspec.Struct, frozen=True):
    """What a write came to.

    `is_final` (deletes): the object is gone now, not only marked. `has_object` (deletes): the answer is the
    object, else a Status of success.
    """

    stored: Stored
    is_created: bool = False
    is_final: bool = False
    has_object: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def tree(self) -> Tree:
        """The object after it (for a dry run: as it would be)."""
        return self.stored.tree


class Core:
    """`admissions` run in order at every write; `warners` warn of what they let through. Append to both."""

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
        for kind in kinds:
            storage.shelf(kind.shelf)
        self.warners: list[Warner] = []

    @property
    def now(self) -> str:
        """The cluster's time as it stands in metadata."""
        return rfc3339(self.clock.now())

    def kind(self, request: Request) -> ServedKind:
        """The kind a request is about. Raises PortError 404 when it is not served."""
        kind = self.kinds.of(request.resource)
        if kind is None:
            raise unknown_path()
        return kind

    def found(self, kind: ServedKind, request: Request) -> Stored:
        """The object a request names, as it is stored. Raises PortError 404."""
        stored = self.storage.get(kind.shelf, request.namespace, request.name)
        if stored is None:
            raise not_found(request.resource, request.name)
        return stored

    def admit(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """Ask every admission in turn."""
        for admission in self.admissions:
            new = admission(request, new, old)
        return new

    def warned(self, request: Request, new: Tree, old: Tree | None) -> tuple[str, ...]:
        """What the answer to an admitted write warns of."""
        return tuple(text for warner in self.warners for text in warner(request, new, old))

    def tracked(self, kind: ServedKind, request: Request, old: Tree | None, new: Tree) -> Tree:
        """Managed fields brought up to date, where the request names a manager."""
        if not request.field_manager:
            return new
        try:
            return update_managed(
                old, new, request.field_manager, "Update", request.subresource, self.clock.now(), kind.shape
            )
        except KeyError:
            # A member of a list without its key: its schema will refuse it, in better words.
            return new

    def put(self, kind: ServedKind, key: Key, tree: Tree, request: Request) -> Stored:
        """Store (but for a dry run); `tree` as served, its metadata the caller's own. Answers as served."""
        if request.dry_run:
            before = self.storage.shelf(kind.shelf).objects.get(key)
            version = before.version if before else 0
            if before is None:
                tree["metadata"].pop("resourceVersion", None)
            else:
                tree["metadata"]["resourceVersion"] = str(version)
            return Stored(key, tree, version)
        # What actors write is made of what clients were let write.
        if request.user is not SYSTEM and len(_encode(tree)) > _MOST_OBJECT_BYTES:
            raise PortError(413, "RequestEntityTooLarge", "etcdserver: request is too large")
        if kind.to_stored is None:
            return self.storage.put(kind.shelf, key, tree)
        return served(kind, self.storage.put(kind.shelf, key, kind.to_stored(tree)))

    def remove(self, kind: ServedKind, key: Key, request: Request) -> Stored:
        """Take away (but for a dry run). Answers the last state as served."""
        if request.dry_run:
            return served(kind, self.storage.shelf(kind.shelf).objects[key])
        return served(kind, self.storage.remove(kind.shelf, key))

    def check_namespace(self, request: Request, name: str) -> None:
        """Raises PortError where the namespace of a new object is missing (404) or ending (403)."""
        if not request.resource.namespaced:
            return
        space = self.storage.get(NAMESPACES, "", request.namespace)
        if space is None:
            raise not_found(NAMESPACES, request.namespace)
        if "deletionTimestamp" in space.tree["metadata"]:
            where = request.namespace
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {where} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(
                request.resource,
                name,
                f"unable to create new content in namespace {where} because it is being terminated",
                [cause],
            )


def served(kind: ServedKind, stored: Stored) -> Stored:
    """A stored object as a kind shows it."""
    if kind.to_served is None:
        return stored
    return Stored(stored.key, kind.to_served(stored.tree), stored.version)


def object_key(kind: ServedKind, tree: Tree) -> Key:
    """Where a tree belongs."""
    metadata = tree["metadata"]
    return key_of(metadata["namespace"] if kind.resource.namespaced else "", metadata["name"])
