"""The eight places by name. Each is imported when it is first opened."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cockpit.screens.place import Place

_CLASSES = {
    "now": "NowScreen",
    "jobs": "JobsScreen",
    "nodes": "NodesScreen",
    "queues": "QueuesScreen",
    "pools": "PoolsScreen",
    "events": "EventsScreen",
    "pods": "PodsScreen",
    "fleet": "FleetScreen",
}


class _Places(Mapping[str, "type[Place]"]):
    """Name, which is that of the module, to the class of the screen."""

    def __getitem__(self, name: str) -> "type[Place]":
        found: type[Place] = getattr(import_module(f"cockpit.screens.{name}"), _CLASSES[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


PLACES: Mapping[str, "type[Place]"] = _Places()
