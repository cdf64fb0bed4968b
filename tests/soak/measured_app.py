"""`python -m tests.soak.measured_app SOCKET KUBECONFIG STATE`: the whole app, which also tells what it holds.

To each line that comes over the Unix socket it answers one of JSON: `tell` for the records of the store by
identity and version, the phases of the streams and the tasks of the loop; `jump N` puts the clock N seconds
off, as a machine does whose time is set.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from textual.worker import Worker

from cockpit import gc_tuning
from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.model.record import Kind
from cockpit.terminal import end_with_terminal

NOT_WATCHED = frozenset(
    {Kind.GPU, Kind.GPU_DETAIL, Kind.POD_USE, Kind.PLACE, Kind.OWNER, Kind.OWNER_EVENT, Kind.AUTOSCALER}
)
"""Kinds of record that no watch delivers: telemetry, what is read on demand, what is made of others."""


class SetClock(SystemClock):
    """The machine's clock, which can be set; what is monotonic stays so."""

    def __init__(self) -> None:
        super().__init__()
        self.off_seconds = 0.0

    def now(self) -> float:
        return super().now() + self.off_seconds


class MeasuredApp(CockpitApp):
    """The app, and a socket beside it."""

    def __init__(self, options: AppOptions, clock: SetClock, socket: Path) -> None:
        super().__init__(options, clock=clock)
        self._set_clock = clock
        self._socket = socket
        self._server: asyncio.Server | None = None

    async def on_ready(self) -> None:  # type: ignore[override]
        super().on_ready()
        self._server = await asyncio.start_unix_server(self._serve, self._socket)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        word, _, number = (await reader.readline()).decode().strip().partition(" ")
        if word == "jump":
            self._set_clock.off_seconds = float(number)
        writer.write(json.dumps(self._holds()).encode() + b"\n")
        await writer.drain()
        writer.close()

    def _holds(self) -> dict[str, Any]:
        store = self.attachment.store
        kinds = {status.kind for status in store.statuses().values()} - NOT_WATCHED
        records = [record for kind in kinds for record in store.records(kind).values()]
        here = asyncio.current_task()
        tasks = Counter(_name(task) for task in asyncio.all_tasks() if task is not here)
        return {
            "records": {record.uid: [record.resource_version, record.key] for record in records},
            "phases": {name: status.phase.value for name, status in store.statuses().items()},
            "messages": {name: status.message for name, status in store.statuses().items()},
            "link": self.attachment.link.value,
            "faults": dict(self.attachment.faults),
            "tasks": dict(tasks),
            "kept_connections": self._kept_connections(),
        }

    def _kept_connections(self) -> int:
        """Those that wait for another request: how many depends on how many were under way at a time."""
        session = self.attachment.session
        clients = () if session is None else (session._client, session._probe_client)
        connectors: list[Any] = [client.connector for client in clients if client is not None]
        return sum(len(kept) for one in connectors for kept in one._conns.values())


def _name(task: "asyncio.Task[Any]") -> str:
    """Its name, or of one without a name of its own what it runs."""
    name, work = task.get_name(), task.get_coro()
    if not name.startswith("Task-"):
        return name
    frame = getattr(work, "cr_frame", None)
    owner = None if frame is None else frame.f_locals.get("self")
    told = f" {owner.name}" if isinstance(owner, Worker) else ""
    return f"{getattr(work, '__qualname__', name)}{told}"


def main(socket: str, kubeconfig: str, state: str) -> int:
    """Run until left."""
    gc_tuning.expect_many()
    end_with_terminal()
    options = AppOptions(AttachOptions(kubeconfig=kubeconfig), state_folder=Path(state), goes_on=True)
    app = MeasuredApp(options, SetClock(), Path(socket))
    code = app.run()
    if app.fault is not None:
        raise app.fault
    return code or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
