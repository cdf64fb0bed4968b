"""What the scheduler writes: events in the new form, conditions, nominations, the end of victims.

Events are those of client-go's tools/events: one object for a pod, action and reason; the second time it gets
a series of two, later ones are counted in memory and written when nothing more came for six minutes. The
first sentence stays.
"""

import logging
from collections.abc import Awaitable

from cockpit.clock import Clock
from cockpit.kube.resource import EVENTS, PODS, Resource
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import PatchType, Port, PortError, Tree
from cockpit.sim.times import rfc3339, rfc3339_micro

_log = logging.getLogger(__name__)

_NOTE_CHARACTERS = 1024
FINISH_SECONDS = 360.0
_MOST_SERIES = 20_000


class _Series:
    __slots__ = ("count", "first", "last", "name", "namespace", "written")

    def __init__(self, namespace: str, name: str, now: float) -> None:
        self.namespace, self.name = namespace, name
        self.first = self.last = now
        self.count = self.written = 1


class StatusWriter:
    """Writes for one scheduler. What the server refuses is logged and dropped, as the real one does."""

    def __init__(self, port: Port, clock: Clock, name: str) -> None:
        self._port = port
        self._clock = clock
        self._name = name
        self._series: dict[tuple[str, str], _Series] = {}
        self._nanoseconds = 0

    async def event(
        self, pod: PodInfo, type_: str, reason: str, action: str, note: str, *, by: Tree | None = None
    ) -> None:
        """One event about a pod; `by` is the object behind it."""
        key = (pod.uid, reason)
        held = self._series.get(key)
        now = self._clock.now()
        if held is not None:
            held.count += 1
            held.last = now
            if held.written == 1:
                await self._write_series(held)
            return
        name = f"{pod.name}.{self._unique(now):x}"
        tree: Tree = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": pod.namespace},
            "involvedObject": _reference(pod.tree),
            "eventTime": rfc3339_micro(now),
            "reportingComponent": self._name,
            "reportingInstance": f"{self._name}-0",
            "action": action,
            "reason": reason,
            "type": type_,
            "message": note if len(note) <= _NOTE_CHARACTERS else f"{note[: _NOTE_CHARACTERS - 4]} ...",
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
        }
        if await self._asked(self._port.create(EVENTS, tree, pod.namespace)) and reason != "Scheduled":
            self._series[key] = _Series(pod.namespace, name, now)
            if len(self._series) > _MOST_SERIES:
                del self._series[next(iter(self._series))]

    @property
    def has_series(self) -> bool:
        """True while `finish` has something to do later."""
        return bool(self._series)

    async def finish(self) -> None:
        """Write and forget series to which nothing came for six minutes."""
        end = self._clock.now() - FINISH_SECONDS
        for key, held in list(self._series.items()):
            if held.last <= end:
                del self._series[key]
                if held.count != held.written:
                    await self._write_series(held)

    async def _write_series(self, held: _Series) -> None:
        held.written = held.count
        series = {"count": held.count, "lastObservedTime": rfc3339_micro(held.last)}
        await self._asked(self._port.patch(EVENTS, held.namespace, held.name, {"series": series}))

    def _unique(self, now: float) -> int:
        self._nanoseconds = max(self._nanoseconds + 1, int(now * 1e9))
        return self._nanoseconds

    async def condition(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        """Set PodScheduled to False, and the nominated node where it is given; nothing when both are so."""
        status = pod.tree.get("status") or {}
        patch: Tree = {}
        held = _condition(status, "PodScheduled")
        told: Tree = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        if generation := pod.tree["metadata"].get("generation"):
            told["observedGeneration"] = generation
        if any(held.get(name) != value for name, value in told.items()):
            since = held.get("lastTransitionTime") if held.get("status") == "False" else None
            told["lastTransitionTime"] = since or rfc3339(self._clock.now())
            told["lastProbeTime"] = None
            patch["conditions"] = [told]
        if nominated is not None and nominated != (status.get("nominatedNodeName") or ""):
            patch["nominatedNodeName"] = nominated or None
        if patch:
            await self._patch_status(pod, patch)

    async def group(self, resource: Resource, key: tuple[str, str], status: Tree) -> None:
        """Write the status of a PodGroup."""
        patched = self._port.patch(resource, *key, {"status": status}, subresource="status")
        await self._asked(patched)

    async def clear_nomination(self, pod: PodInfo) -> None:
        """The room that was being made for `pod` goes to another."""
        await self._patch_status(pod, {"nominatedNodeName": None})

    async def end(self, victim: PodInfo, preemptor: PodInfo, node: str) -> None:
        """Mark, delete and tell of one victim."""
        if victim.is_leaving:
            return
        told: Tree = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{self._name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": rfc3339(self._clock.now()),
            "lastProbeTime": None,
        }
        if generation := victim.tree["metadata"].get("generation"):
            told["observedGeneration"] = generation
        await self._patch_status(victim, {"conditions": [told]})
        gone = self._port.delete(PODS, victim.namespace, victim.name, uid=victim.uid)
        if await self._asked(gone):
            note = f"Preempted by pod {preemptor.uid} on node {node}"
            await self.event(victim, "Normal", "Preempted", "Preempting", note)

    async def _patch_status(self, pod: PodInfo, status: Tree) -> None:
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        await self._asked(
            self._port.patch(
                PODS, pod.namespace, pod.name, patch, type=PatchType.STRATEGIC, subresource="status"
            )
        )

    async def _asked(self, call: Awaitable[object]) -> bool:
        try:
            await call
        except PortError as error:
            if not error.is_gone:
                _log.warning("%s: %s", self._name, error)
            return False
        return True


def _condition(status: Tree, type_: str) -> Tree:
    held: Tree = next((c for c in status.get("conditions") or () if c.get("type") == type_), {})
    return held


def _reference(tree: Tree) -> Tree:
    metadata = tree["metadata"]
    reference: Tree = {"kind": "Pod", "apiVersion": "v1"}
    for name in ("namespace", "name", "uid", "resourceVersion"):
        if metadata.get(name):
            reference[name] = metadata[name]
    return reference
