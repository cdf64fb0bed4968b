"""Which objects an owner controls, kept up to date change by change: never a scan of all pods."""

from collections.abc import Iterable

from cockpit.sim.actors.controllers.trees import controller_of, key_of, uid_of
from cockpit.sim.port import ChangeType, ObjectChange, Tree


class Children:
    """Objects of one resource by the uid of their controller, in the order in which they came.

    An actor also puts in what it has just written, so that it never decides on what it knows to be old;
    a change that the port hands over later, but that is older, is not taken (versions only grow).
    """

    def __init__(self, owner_kinds: Iterable[str]) -> None:
        """Only objects whose controller is of one of these kinds are kept."""
        self._kinds = frozenset(owner_kinds)
        self._by_owner: dict[str, dict[tuple[str, str], Tree]] = {}
        self._owner: dict[tuple[str, str], str] = {}
        self._gone: dict[tuple[str, str], str] = {}

    def of(self, owner: Tree) -> list[Tree]:
        """What `owner` controls."""
        return list(self._by_owner.get(uid_of(owner), {}).values())

    def take(self, change: ObjectChange) -> Tree | None:
        """Apply a change; answers the controller reference of the object when it is of our kinds."""
        reference = controller_of(change.tree)
        if reference is None or reference["kind"] not in self._kinds:
            self._drop(key_of(change.tree))
            return None
        if change.type is ChangeType.DELETED:
            self._forget(change.tree)
        else:
            self.put(change.tree)
        return reference

    def put(self, tree: Tree) -> None:
        """What the actor has written itself, or what came."""
        key, uid = key_of(tree), uid_of(tree)
        reference = controller_of(tree)
        if reference is None or self._gone.get(key) == uid:
            return
        self._gone.pop(key, None)
        owner = self._owner.get(key)
        held = self._by_owner.get(owner, {}).get(key) if owner is not None else None
        if held is not None and uid_of(held) == uid and _version(held) > _version(tree):
            return
        if owner is not None and owner != reference["uid"]:
            self._drop(key)
        self._owner[key] = reference["uid"]
        self._by_owner.setdefault(reference["uid"], {})[key] = tree

    def gone(self, tree: Tree) -> None:
        """The actor has seen that the object is no more, before the port has said so."""
        key = key_of(tree)
        if key in self._owner:
            self._drop(key)
            self._gone[key] = uid_of(tree)

    def _forget(self, tree: Tree) -> None:
        key = key_of(tree)
        self._gone.pop(key, None)
        owner = self._owner.get(key)
        held = self._by_owner.get(owner, {}).get(key) if owner is not None else None
        if held is None or uid_of(held) == uid_of(tree):
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        owner = self._owner.pop(key, None)
        if owner is None:
            return
        held = self._by_owner[owner]
        held.pop(key, None)
        if not held:
            del self._by_owner[owner]


def _version(tree: Tree) -> int:
    text = tree["metadata"].get("resourceVersion", "0")
    return int(text) if text.isdigit() else 0
