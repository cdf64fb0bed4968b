"""The narrow door through which an actor sees a cluster.

Two adapters: the embedded server's own storage (`cockpit.sim.server.local_port`) and, for tests, a real API
server by way of `cockpit.kube` (`tests/adapters/kube_port.py`). The same actors run on both.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from cockpit.kube.resource import Resource

Tree = dict[str, Any]
"""One object as JSON. Trees that come out of a port or a cache are shared: never changed in place."""

Patch = Tree | list[Tree]
"""A merge, strategic or apply patch is a tree, a JSON patch a list of operations."""


class ChangeType(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class PatchType(StrEnum):
    """How a patch is meant; the values are its media types."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class ObjectChange(msgspec.Struct, frozen=True):
    """One object, after what happened to it (for DELETED: its last state)."""

    type: ChangeType
    resource: Resource
    tree: Tree


class PortError(Exception):
    """The server refused: HTTP status, reason as in `Status.reason`, and its sentence."""

    def __init__(
        self, status: int, reason: str, message: str, causes: Sequence[Mapping[str, str]] = ()
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)
        self.warnings: tuple[str, ...] = ()

    @property
    def is_gone(self) -> bool:
        """True when the object is not there (any more)."""
        return self.status == 404

    @property
    def is_conflict(self) -> bool:
        """True when the object has changed, or exists already: read again and decide again."""
        return self.status == 409


Sink = Callable[[ObjectChange], None]


class Port(Protocol):
    """What an actor may ask of a cluster. Every method raises PortError when it is refused.

    `namespace` is "" for what has none. `uid` and `version` are preconditions; "" means none.
    """

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree: ...

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]: ...

    async def follow(self, resource: Resource, sink: Sink) -> None:
        """Hand every object to `sink` as ADDED, return, and go on handing over changes until `close`.

        A lost connection is mended inside; the sink then gets the changes that make up the difference.
        """

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree: ...

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002
        subresource: str = "",
    ) -> Tree:
        """A `metadata.resourceVersion` or `metadata.uid` in a merge patch is a precondition."""

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None: ...

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        """Put a pod on a node, as a scheduler does."""

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        """Delete a pod if its disruption budgets allow it (429 where not)."""

    async def close(self) -> None:
        """Stop following."""
