"""Every object of the cluster, one line of versions over all of them, and what happened lately.

A tree that is stored is never changed in place: each version is a tree of its own that shares what is equal
with the one before. Its JSON is made at most once, when somebody asks for it.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec

from cockpit.kube.resource import Resource
from cockpit.sim.port import ChangeType, Tree


class Versioned(Protocol):
    """Something that happened at a version."""

    @property
    def version(self) -> int: ...


C = TypeVar("C", bound=Versioned)


class History(Generic[C]):
    """At least the last `length` commits (twice that at most); older ones are forgotten."""

    __slots__ = ("_commits", "_floor", "_length", "_versions")

    def __init__(self, length: int, floor: int = 0) -> None:
        self._length = length
        self._floor = floor
        self._commits: list[C] = []
        self._versions: list[int] = []

    @property
    def floor(self) -> int:
        """The oldest version from which everything that followed is known."""
        return self._floor

    def append(self, commit: C) -> None:
        """Add what happened last."""
        self._commits.append(commit)
        self._versions.append(commit.version)
        if len(self._commits) >= 2 * self._length:
            self.compact(self._versions[-self._length - 1])

    def since(self, version: int) -> list[C]:
        """What happened after `version`, oldest first. Raises LookupError when that is forgotten."""
        if version < self._floor:
            raise LookupError(version)
        return self._commits[bisect_right(self._versions, version) :]

    def compact(self, version: int) -> None:
        """Forget what happened up to and at `version`."""
        end = bisect_right(self._versions, version)
        del self._commits[:end]
        del self._versions[:end]
        self._floor = max(self._floor, version)


Key = str
"""`namespace/name`, or the name of what has no namespace: also the order of lists, as in etcd."""

_encode = msgspec.json.Encoder().encode


class Stored:
    """One version of one object."""

    __slots__ = ("_json", "key", "tree", "version")

    def __init__(self, key: Key, tree: Tree, version: int) -> None:
        self.key = key
        self.tree = tree
        self.version = version
        self._json: bytes | None = None

    @property
    def json(self) -> bytes:
        """The object as JSON, made once."""
        if self._json is None:
            self._json = _encode(self.tree)
        return self._json


class Commit:
    """One change of one object; `after` is the new version, for DELETED the last state under a new one."""

    __slots__ = ("after", "before", "resource", "type", "version")

    def __init__(
        self,
        resource: Resource,
        kind: ChangeType,
        before: Stored | None,
        after: Stored,
    ) -> None:
        self.resource = resource
        self.type = kind
        self.before = before
        self.after = after
        self.version = after.version


def key_of(namespace: str, name: str) -> Key:
    """Where an object lies within its resource."""
    return f"{namespace}/{name}" if namespace else name


Listener = Callable[[Commit], None]


class Shelf:
    """The objects of one resource by key, in the order of their keys, and their history."""

    __slots__ = ("history", "keys", "listeners", "objects")

    def __init__(self, history: History[Commit]) -> None:
        self.objects: dict[Key, Stored] = {}
        self.keys: list[Key] = []
        self.listeners: dict[int, tuple[int, Listener]] = {}
        self.history = history

    def between(self, namespace: str, after: Key = "") -> Iterator[Stored]:
        """In the order of their keys: those of a namespace ("" for all), behind the key `after`."""
        keys = self.keys
        begin = bisect_left(keys, f"{namespace}/") if namespace else 0
        end = bisect_left(keys, f"{namespace}0") if namespace else len(keys)
        if after:
            begin = max(begin, bisect_right(keys, after))
        objects = self.objects
        for key in keys[begin:end]:
            yield objects[key]


class Storage:
    """The objects of all resources. Knows no kinds and no rules: those are `Operations`'."""

    def __init__(self, *, history_length: int = 20_000) -> None:
        self.version = 1
        self._shelves: dict[Resource, Shelf] = {}
        self._history_length = history_length
        self._listener_count = 0
        self._untold: deque[tuple[Shelf, Commit]] = deque()
        self._is_telling = False

    def shelf(self, resource: Resource) -> Shelf:
        """The objects of a resource (made empty when first asked for)."""
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = Shelf(History(self._history_length, self.version))
        return shelf

    def get(self, resource: Resource, namespace: str, name: str) -> Stored | None:
        """The newest version of an object, or None."""
        return self.shelf(resource).objects.get(key_of(namespace, name))

    def resources(self) -> list[Resource]:
        """Those that were ever written to or asked for, oldest first."""
        return list(self._shelves)

    def put(self, resource: Resource, key: Key, tree: Tree) -> Stored:
        """Store a new version; writes its number into the tree's metadata, which must be the caller's own."""
        shelf = self.shelf(resource)
        before = shelf.objects.get(key)
        self.version += 1
        tree["metadata"]["resourceVersion"] = str(self.version)
        after = Stored(key, tree, self.version)
        if before is None:
            insort(shelf.keys, key)
        shelf.objects[key] = after
        kind = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self._tell(shelf, Commit(resource, kind, before, after))
        return after

    def remove(self, resource: Resource, key: Key) -> Stored:
        """Take an object away; answers its last state, at the version of its end. Raises KeyError."""
        shelf = self.shelf(resource)
        before = shelf.objects.pop(key)
        del shelf.keys[bisect_left(shelf.keys, key)]
        self.version += 1
        after = at_version(before, self.version)
        self._tell(shelf, Commit(resource, ChangeType.DELETED, before, after))
        return after

    def listen(self, resource: Resource, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every commit of a resource from now on, at once; answers how to stop that."""
        listeners = self.shelf(resource).listeners
        self._listener_count += 1
        number = self._listener_count
        listeners[number] = (self.version, listener)

        def stop() -> None:
            listeners.pop(number, None)

        return stop

    def compact(self) -> None:
        """Forget all history: versions before now can no longer be listed or watched from."""
        for shelf in self._shelves.values():
            shelf.history.compact(self.version)

    def _tell(self, shelf: Shelf, commit: Commit) -> None:
        """Everybody hears of commits in their order, also of those that a listener makes."""
        shelf.history.append(commit)
        self._untold.append((shelf, commit))
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._untold:
                shelf, commit = self._untold.popleft()
                for since, listener in tuple(shelf.listeners.values()):
                    if commit.version > since:
                        listener(commit)
        finally:
            self._is_telling = False


def at_version(stored: Stored, version: int) -> Stored:
    """The same object under another version."""
    tree = dict(stored.tree)
    tree["metadata"] = {**tree["metadata"], "resourceVersion": str(version)}
    return Stored(stored.key, tree, version)
