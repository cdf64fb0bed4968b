"""Ports of pods that this session forwards to loopback: each stays open until it is stopped, its pod ends, or
the session leaves the cluster."""

import asyncio
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cockpit.errors import CockpitError
from cockpit.listener import LOOPBACK, Listener
from cockpit.local_state.kept_ports import KeptPorts, Ports
from cockpit.services.host import Host

if TYPE_CHECKING:
    from cockpit.actions.forward import Passage

LOOK_SECONDS: Final = 1.0
"""Interval at which the pod of an open port is looked up."""
STOPPED: Final = "stopped by key"
LEFT: Final = "the session left the cluster"


@dataclass(frozen=True, slots=True, eq=False)
class PortForward:
    """A port that is open. `end` takes the reason for which it is closed."""

    passage: "Passage"
    listener: Listener
    end: asyncio.Future[str]

    @property
    def address(self) -> str:
        """`127.0.0.1:8080`."""
        return f"{LOOPBACK}:{self.listener.port}"

    @property
    def traffic(self) -> str:
        """`2 open, 14 served`, and why the last connection failed where it did."""
        counts = f"{self.listener.open_count} open, {self.listener.served_count} served"
        return f"{counts}; {self.listener.trouble}" if self.listener.trouble else counts

    def stop(self, why: str = STOPPED) -> None:
        """Close it; safe to call again."""
        if not self.end.done():
            self.end.set_result(why)


class PortForwards:
    """The open ports, oldest first. `path` is the file of the last ports, None to keep none."""

    def __init__(self, host: Host, path: Path | None, look_seconds: float = LOOK_SECONDS) -> None:
        self._host = host
        self._path = path
        self._look_seconds = look_seconds
        self._open: list[PortForward] = []

    @property
    def open(self) -> tuple[PortForward, ...]:
        """What is forwarded now."""
        return tuple(self._open)

    @cached_property
    def _kept(self) -> KeptPorts:
        return KeptPorts(self._path)

    def last_ports(self, target: str) -> tuple[Ports, ...]:
        """The ports that were last forwarded to this pod or job."""
        return self._kept.of(target)

    def begin(self, passage: "Passage", target: str) -> None:
        """Open the port, and keep it as the last one of `target`; the outcome is shown as a remark."""
        self._host.spawn(partial(self._hold, passage, target), f"forward {passage.pod}:{passage.port}")

    def leave(self) -> None:
        """Close all of them: their cluster is left."""
        for forward in self.open:
            forward.stop(LEFT)

    async def _hold(self, passage: "Passage", target: str) -> None:
        host = self._host
        address = passage.target

        async def stay(listener: Listener) -> str:
            nonlocal address
            forward = PortForward(passage, listener, asyncio.get_running_loop().create_future())
            address = f"{forward.address} to {passage.target}"
            self._kept.keep(target, (passage.local_port, passage.port))
            self._open.append(forward)
            host.notify(f"Forwarding {address}")
            host.looked_up()
            try:
                return await self._until_over(forward)
            finally:
                self._open.remove(forward)

        try:
            why = await host.api.hold_open(passage, host.audit(), stay, changed=host.looked_up)
        except CockpitError as error:
            host.notify(f"Not forwarded: {error.sentence}", severity="error")
        else:
            host.notify(f"No longer forwarding {address}: {why}")
        finally:
            host.looked_up()

    async def _until_over(self, forward: PortForward) -> str:
        while not forward.end.done():
            if why := self._host.api.why_over(forward.passage):
                return why
            await asyncio.wait((forward.end,), timeout=self._look_seconds)
        return forward.end.result()
