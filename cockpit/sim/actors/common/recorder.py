"""Events as client-go's recorder writes them: core/v1, repeated ones counted on one object.

Like client-go's correlator (tools/record/events_cache.go): the same event again (same source, object, type,
reason and message) raises `count` and `lastTimestamp` of the object that is there. From the tenth message
of one reason within ten minutes on they share one object, `(combined from similar events): ...`. About one
object a component tells 25 things at once and then one in five minutes; what is more is dropped.

Memory is bounded: only the last `_REMEMBERED` events and objects are known. The server forgets events an hour
after they were written last; a count on a forgotten one starts anew.
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
_SIMILAR = 10
_SIMILAR_SECONDS = 600.0
_BURST = 25.0
_REFILL_SECONDS = 300.0
_COMBINED = "(combined from similar events): "
_UNLIMITED = frozenset({"default-scheduler"})
"""Components whose events go by way of events.k8s.io, which combines and limits nothing."""

_Key = tuple[str, ...]

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
        self._told: OrderedDict[_Key, tuple[str, str, int]] = OrderedDict()
        self._similar: OrderedDict[_Key, tuple[float, dict[str, None]]] = OrderedDict()
        self._tokens: OrderedDict[_Key, tuple[float, float]] = OrderedDict()

    async def event(
        self, regarding: Tree, type_: str, reason: str, message: str, *, field_path: str = ""
    ) -> None:
        """Tell `message` about the object `regarding` (a tree with apiVersion, kind and metadata).

        An event is never worth a failure: what the server refuses (a namespace that ends, no right) is
        dropped, as client-go drops it. `field_path` names a part, as in `spec.containers{main}`.
        """
        reference = _reference(regarding, field_path)
        about = tuple(str(reference.get(name, "")) for name in _KEY)
        key = (*about, field_path, type_, reason, message)
        if self._component not in _UNLIMITED:
            if self._is_combined((*about, type_, reason), message):
                key, message = (*about, type_, reason), f"{_COMBINED}{message}"
            if not self._may_tell(about):
                return
        message = message[:_MESSAGE_CHARACTERS]
        held = self._told.pop(key, None)
        try:
            if held is None or not await self._again(key, held, message):
                await self._first(key, reference, type_, reason, message)
        except PortError:
            self._told.pop(key, None)
        _trim(self._told)

    def _is_combined(self, key: _Key, message: str) -> bool:
        """True when so many different messages of one reason were told lately that they share an object."""
        now = self._clock.monotonic()
        last, messages = self._similar.pop(key, (now, {}))
        if now - last > _SIMILAR_SECONDS:
            messages = {}
        messages[message] = None
        self._similar[key] = (now, messages)
        _trim(self._similar)
        if len(messages) < _SIMILAR:
            return False
        del messages[next(iter(messages))]
        return True

    def _may_tell(self, about: _Key) -> bool:
        """Take one of the tokens that an object has."""
        now = self._clock.monotonic()
        tokens, last = self._tokens.pop(about, (_BURST, now))
        tokens = min(_BURST, tokens + (now - last) / _REFILL_SECONDS)
        self._tokens[about] = (tokens - 1 if tokens >= 1 else tokens, now)
        _trim(self._tokens)
        return tokens >= 1

    async def _again(self, key: _Key, held: tuple[str, str, int], message: str) -> bool:
        """Count the event that is there; False when the server has forgotten it."""
        namespace, name, count = held
        patch: Tree = {"count": count + 1, "lastTimestamp": rfc3339(self._clock.now()), "message": message}
        try:
            await self._port.patch(EVENTS, namespace, name, patch)
        except PortError as error:
            if error.is_gone:
                return False
            raise
        self._told[key] = (namespace, name, count + 1)
        return True

    async def _first(self, key: _Key, reference: Tree, type_: str, reason: str, message: str) -> None:
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


_KEY = ("kind", "namespace", "name", "uid")


def _trim(held: OrderedDict[_Key, Any]) -> None:
    while len(held) > _REMEMBERED:
        held.popitem(last=False)


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
