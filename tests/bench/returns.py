"""`python -m tests.bench.returns`: how soon the truth is back after a fault.

An attachment reads a server through a link and a proxy. A pod is made at the server while the fault lasts.
The time counts from the fault's end (of half-open connections: from its beginning, as new ones are answered)
until the attachment holds that pod. The moment of a fault between two probes is drawn from a seed.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import SystemClock
from cockpit.kube.pulse import ALIVE_SECONDS
from cockpit.model.record import Kind
from cockpit.sim.faults.exchange import Fault
from tests.adapters.faults.proxy import FaultProxy
from tests.bench.measure import load_average
from tests.bench.report import aligned
from tests.contract import faults
from tests.contract.asking import pods_in
from tests.contract.mirror import eventually
from tests.contract.server import Server, chosen, write_kubeconfig
from tests.contract.shapes import pod

WANTED_MEDIAN_SECONDS, WANTED_SECONDS = 5.0, 10.0


@dataclass
class Link:
    """A TCP relay before `port`: it passes bytes, refuses connections, or holds bytes back for ever."""

    port: int
    is_refusing: bool = False
    holds_new: bool = False
    _pipes: list["Pipe"] = field(default_factory=list)
    _server: asyncio.Server | None = None
    own_port: int = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.own_port)
        self.own_port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """As a server that is killed: connections are cut, new ones are refused."""
        assert self._server is not None
        self._server.close()
        for pipe in self._pipes:
            pipe.writer.transport.abort()

    def hold(self) -> None:
        """From now on nothing comes through the connections that stand."""
        for pipe in self._pipes:
            pipe.is_held = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
        there, back = Pipe(reader, far_writer, self.holds_new), Pipe(far_reader, writer, self.holds_new)
        self._pipes += (there, back)
        try:
            await asyncio.gather(there.run(), back.run(), return_exceptions=True)
        finally:
            self._pipes = [one for one in self._pipes if one not in (there, back)]
            for end in (writer, far_writer):
                end.transport.abort()


@dataclass
class Pipe:
    """One direction of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_held: bool

    async def run(self) -> None:
        while data := await self.reader.read(1 << 16):
            if not self.is_held:
                self.writer.write(data)
                await self.writer.drain()
        self.writer.transport.abort()


@dataclass
class Stage:
    """What a fault has in its hands."""

    link: Link
    proxy: FaultProxy

    async def killed(self, seconds: float) -> None:
        await self.link.kill()
        await asyncio.sleep(seconds)
        await self.link.open()

    async def half_open(self, seconds: float) -> None:
        """Connections that stand are dead from now on; new ones are not."""
        self.link.hold()
        await asyncio.sleep(seconds)

    async def black_hole(self, seconds: float) -> None:
        self.link.hold()
        self.link.holds_new = True
        await asyncio.sleep(seconds)
        self.link.holds_new = False

    async def answers(self, fault: Fault, seconds: float, *, path: str = "") -> None:
        self.proxy.plan(fault, times=None, path=path)
        self.proxy.cut_all()
        await asyncio.sleep(seconds)
        self.proxy.heal()


def _forbidden() -> Fault:
    return faults.status(403, reason="Forbidden", message="caches are not warm")


Play = Callable[[Stage], Awaitable[None]]

FAULTS: dict[str, Play] = {
    "server killed for 5 s": lambda stage: stage.killed(5),
    "server killed for 30 s": lambda stage: stage.killed(30),
    "half-open connections": lambda stage: stage.half_open(0),
    "black hole for 20 s": lambda stage: stage.black_hole(20),
    "502 of a proxy for 20 s": lambda stage: stage.answers(faults.bare(502, b"<html>", "text/html"), 20),
    "500 for pods for 20 s": lambda stage: stage.answers(faults.status(500), 20, path="/pods"),
    "403 for 5 s": lambda stage: stage.answers(_forbidden(), 5, path="/pods"),
    "page of HTML for 20 s": lambda stage: stage.answers(faults.html(), 20),
}


@asynccontextmanager
async def _attached(kubeconfig: str, rng: random.Random) -> AsyncIterator[Attachment]:
    attachment = Attachment(
        AttachOptions(kubeconfig=kubeconfig), SystemClock(), random.Random(1), lambda: None
    )
    task = asyncio.create_task(attachment.run())
    try:
        await eventually(lambda: attachment.is_settled((Kind.NODE, Kind.POD)), "the first lists")
        await asyncio.sleep(2.0 + ALIVE_SECONDS * rng.random())  # streams stand
        yield attachment
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _round(server: Server, space: str, fault: Play, rng: random.Random) -> float:
    api, name = server.api(), f"p-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as folder:
        async with FaultProxy(server.url, server.ca_file) as proxy:
            link = Link(int(proxy.url.rsplit(":", 1)[1]))
            await link.open()
            user = {"token": server.tokens["viewer"]}
            path = write_kubeconfig(Path(folder) / "kubeconfig", f"http://127.0.0.1:{link.own_port}", user)
            async with _attached(path, rng) as attachment:
                breaking = asyncio.ensure_future(fault(Stage(link, proxy)))
                await asyncio.sleep(0)
                await asyncio.to_thread(api.create, pods_in(space), pod(name))
                await breaking
                loop = asyncio.get_running_loop()
                healed = loop.time()
                await eventually(
                    lambda: attachment.store.by_key(Kind.POD, f"{space}/{name}") is not None, "the pod"
                )
                took = loop.time() - healed
            await link.kill()
    return took


async def _measured(server: Server, rounds: int, only: str) -> list[tuple[str, list[float]]]:
    api, space = server.api(), f"returns-{uuid.uuid4().hex[:6]}"
    await asyncio.to_thread(api.create, "/api/v1/namespaces", {"metadata": {"name": space}})
    found, rng = [], random.Random(7)
    for name, fault in FAULTS.items():
        if only in name:
            found.append((name, [await _round(server, space, fault, rng) for _ in range(rounds)]))
            sys.stderr.write(f"{name}: {', '.join(f'{one:.1f}' for one in found[-1][1])}\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.returns", description=__doc__)
    parser.add_argument(
        "--server", default="embedded", help="or real, or a contract.json (default: embedded)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each fault (default: 5)")
    parser.add_argument("--only", default="", help="faults with this in their name (default: all)")
    asked = parser.parse_args()
    with chosen(asked.server, lambda: False) as server:
        found = asyncio.run(_measured(server, asked.rounds, asked.only))
    rows = [("fault", "median s", "longest s")]
    rows += [(name, f"{median(times):.1f}", f"{max(times):.1f}") for name, times in found]
    sys.stdout.write("\n".join(aligned(rows)) + f"\nload {load_average()}\n")
    every = [one for _, times in found for one in times]
    return int(median(every) > WANTED_MEDIAN_SECONDS or max(every) > WANTED_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
