"""Where the object behind a row is: for its YAML, its description, its owners, and what is copied."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from cockpit.actions.queue import table_of
from cockpit.gangs import registry
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.gpu import Gpu
from cockpit.model.job import Job
from cockpit.model.object_table import ObjectAddress
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool

if TYPE_CHECKING:
    from cockpit.screens.place import Place

OBJECTS: Final = ("object", "job", "pod", "node", "card", "queue", "pool")
"""Kinds of rows behind which an object of the API stands."""


def object_of(place: "Place") -> Any | None:
    """The object of the API under the cursor of a place, or that its page is about; None for none."""
    found = first_thing(place, [item for item in place.kinds if item in OBJECTS])
    return found if found is not None and is_object(found) else None


def first_thing(place: "Place", kinds: Iterable[str]) -> Any | None:
    """What is under the cursor, of the first of the kinds of which something is."""
    found = (place.thing(kind) for kind in kinds)
    return next((thing for thing in found if thing is not None), None)


def address_of(one: Any) -> ObjectAddress:
    """Where the object behind a row is, that `is_object` says there is."""
    match one:
        case ObjectAddress():
            return one
        case Job():
            return ObjectAddress(one.api_version, one.kind, one.namespace, one.name)
        case Pod():
            return ObjectAddress("v1", "Pod", one.namespace, one.name)
        case Pool():
            namespace, _, name = one.owner_key.rpartition("/")
            return ObjectAddress(f"{one.owner_group}/", one.owner_kind, namespace, name)
        case LocalQueue() | ClusterQueue():
            watched = next(item for item in registry.watched() if item.kind == table_of(one))
            return ObjectAddress(f"{watched.group}/", watched.plural, one.namespace, one.name)
        case Gpu():
            return ObjectAddress("v1", "Node", "", one.node)
    return ObjectAddress("v1", "Node", "", one.name)


def is_object(one: Any) -> bool:
    """False for what is made of others: a pool without an owner, a queue that is no object."""
    if isinstance(one, Pool):
        return bool(one.owner_kind)
    is_queue = isinstance(one, LocalQueue | ClusterQueue)
    return not is_queue or any(item.kind == table_of(one) for item in registry.watched())
