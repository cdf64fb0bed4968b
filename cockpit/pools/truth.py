"""What the pool rules read: the part of the store that they need, so that tests can hand in a small one."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from cockpit.model.batch import StreamStatus
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.store.indexes import Requests


class Truth(Protocol):
    """The store, as far as pools look into it."""

    def records(self, kind: str, /) -> Mapping[str, Any]: ...
    def get(self, kind: str, uid: str, /) -> Any | None: ...
    def status(self, kind: str, /) -> StreamStatus | None: ...
    def pods_on(self, node: str, /) -> Collection[Pod]: ...
    def requests_on(self, node: str, /) -> Requests: ...


def nodes_of(truth: Truth) -> tuple[Node, ...]:
    """Every node, by name."""
    return tuple(sorted(truth.records(Kind.NODE).values(), key=lambda one: one.name))


def objects_of(truth: Truth) -> tuple[PoolObject, ...]:
    """Every object that owns a number of machines, by key."""
    return tuple(sorted(truth.records(Kind.POOL).values(), key=lambda one: (one.key, one.kind)))


def gpus_held(truth: Truth, node: str) -> int:
    """Devices on that node taken by pods that are bound and not finished."""
    return truth.requests_on(node).gpus


def is_use_known(truth: Truth) -> bool:
    """False where not every pod of the cluster is seen: what looks idle may be in use."""
    status = truth.status(Kind.POD)
    return status is None or status.is_whole
