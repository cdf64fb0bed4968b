"""XID events, on a thread of their own: waiting for them blocks."""

import threading
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from cockpit_exporter.driver import CallFailed, Nvml, text
from cockpit_exporter.model import Xid

WAIT_MILLISECONDS = 1000
_PAUSE_SECONDS = 5.0
_OFF = frozenset({"not-supported", "function-not-found", "no-permission"})


class XidWatch:
    """Counts XIDs by card. Cards are registered again when their set changes."""

    def __init__(
        self,
        nvml: Nvml,
        clock: Callable[[], float],
        uuids: Callable[[], frozenset[str]],
        tell: Callable[[str], None],
    ) -> None:
        """`uuids` gives the cards that answer now, `tell` is told the UUID of a card that had an XID."""
        self._nvml = nvml
        self._clock = clock
        self._uuids = uuids
        self._tell = tell
        self._stop = threading.Event()
        self._xids: dict[str, Xid] = {}
        self._set: Any = None
        self._registered: frozenset[str] = frozenset()
        self.state = "not-started"

    def run(self) -> None:
        """Until `stop`. A driver without events ends it; any other failure is tried again."""
        while not self._stop.is_set() and self.state not in _OFF:
            if not self.step():
                self._stop.wait(_PAUSE_SECONDS)
        self._release()

    def stop(self) -> None:
        self._stop.set()

    def xids(self) -> dict[str, Xid]:
        """By UUID; cards without an XID since the start are not there."""
        return dict(self._xids)

    def step(self) -> bool:
        """Wait once for an event. False where there is nothing to wait on."""
        wanted = self._uuids()
        if not wanted:
            self.state = "no-cards"
            return False
        try:
            if wanted != self._registered or self._set is None:
                self._register(wanted)
            event = self._nvml.call("nvmlEventSetWait_v2", self._set, WAIT_MILLISECONDS)
            self.state = "watching"
            if event.eventType & self._nvml.nvmlEventTypeXidCriticalError:
                self._count(text(self._nvml.call("nvmlDeviceGetUUID", event.device)), int(event.eventData))
        except CallFailed as problem:
            if problem.error == "timeout":
                self.state = "watching"
                return True
            self.state = problem.error
            self._release()
            return False
        return True

    def _register(self, wanted: frozenset[str]) -> None:
        self._release()
        self._set = self._nvml.call("nvmlEventSetCreate")
        taken = 0
        for uuid in sorted(wanted):
            try:
                handle = self._nvml.call("nvmlDeviceGetHandleByUUID", uuid.encode())
                self._nvml.call(
                    "nvmlDeviceRegisterEvents", handle, self._nvml.nvmlEventTypeXidCriticalError, self._set
                )
                taken += 1
            except CallFailed as problem:
                refused = problem
        if not taken:
            raise refused
        self._registered = wanted

    def _count(self, uuid: str, code: int) -> None:
        old = self._xids.get(uuid)
        counts = dict(old.counts) if old is not None else {}
        counts[code] = counts.get(code, 0) + 1
        self._xids[uuid] = Xid(code, self._clock(), MappingProxyType(counts))
        self._tell(uuid)

    def _release(self) -> None:
        held, self._set, self._registered = self._set, None, frozenset()
        if held is not None:
            try:
                self._nvml.call("nvmlEventSetFree", held)
            except CallFailed:
                return  # the driver that lent it is gone
