"""Events as client-go's recorder writes them: core/v1, repeated ones counted on one object.

Like client-go's correlator (tools/record/events_cache.go): the same event again (same source, object, type,
reason and message) raises `count` and `lastTimestamp` of the object that is there. What is told is bounded:
the recorder remembers the last `_REMEMBERED` different events, older ones start anew. The server forgets
events an hour after they were written last; a count on a forgotten one starts anew as well.
"""

from collections import OrderedDict
from random import Random
from typing import Any

from cockpit.clock import Clock
from cockpit.kube.resource import EVENTS
from cockpit.sim.port import Port, PortError, Tree
from cockpit.sim.times import rfc3339

_REMEMBERED = 4096
_MESSAGE_CHARACTERS = 1024

NORMAL = "Normal"
WARNING = "Warning"


class Recorder:
    """Writes the events of one component; actors of one component may share it."""

    def __init__(self, port: Port, clock: Clock, random: Random, component: str, host: str = "") -> None:
        """`component` is the source, as in `kubelet`; `host` the node it speaks from, "" for none."""
        self._port = port
        self._clock = clock
        self._random = random
        self._component = component
        self._host = host
        self._told: OrderedDict[tuple[str, ...], tuple[str, str, int]] = OrderedDict()

    async def event(
        self, regarding: Tree, type_: str, reason: str, message: str, *, field_path: str = ""
    ) -> None:
        """Tell `message` about the object `regarding` (a tree with apiVersion, kind and metadata).

        An event is never worth a failure: what the server refuses (a namespace that ends, no right) is
        dropped, as client-go drops it. `field_path` names a part, as in `spec.containers{main}`.
        """
        message = message[:_MESSAGE_CHARACTERS]
        reference = _reference(regarding, field_path)
        key = (*(str(reference.get(k, "")) for k in _KEY), type_, reason, message)
        held = self._told.pop(key, None)
        try:
            if held is None or not await self._again(key, held):
                await self._first(key, reference, type_, reason, message)
        except PortError:
            self._told.pop(key, None)
        while len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)

    async def _again(self, key: tuple[str, ...], held: tuple[str, str, int]) -> bool:
        """Count the event that is there; False when the server has forgotten it."""
        namespace, name, count = held
        patch: Tree = {"count": count + 1, "lastTimestamp": rfc3339(self._clock.now())}
        try:
            await self._port.patch(EVENTS, namespace, name, patch)
        except PortError as error:
            if error.is_gone:
                return False
            raise
        self._told[key] = (namespace, name, count + 1)
        return True

    async def _first(
        self, key: tuple[str, ...], reference: Tree, type_: str, reason: str, message: str
    ) -> None:
        namespace = reference.get("namespace") or "default"
        now = rfc3339(self._clock.now())
        name = f"{reference['name']}.{self._random.getrandbits(64):016x}"
        source = {"component": self._component}
        if self._host:
            source["host"] = self._host
        tree: Tree = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "type": type_,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }
        await self._port.create(EVENTS, tree, namespace)
        self._told[key] = (namespace, name, 1)


_KEY = ("kind", "namespace", "name", "uid", "fieldPath")


def _reference(tree: Tree, field_path: str) -> Tree:
    """The ObjectReference of `tree`."""
    metadata: dict[str, Any] = tree["metadata"]
    reference: Tree = {"kind": tree.get("kind", ""), "apiVersion": tree.get("apiVersion", "")}
    for source, target in (
        ("namespace", "namespace"),
        ("name", "name"),
        ("uid", "uid"),
        ("resourceVersion", "resourceVersion"),
    ):
        if metadata.get(source):
            reference[target] = metadata[source]
    if field_path:
        reference["fieldPath"] = field_path
    return reference
