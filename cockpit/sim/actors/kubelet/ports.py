"""What answers at a port of a pod: a process of this machine, or the page of a simulated container.

A pod of the process runtime has no network of its own, so only ports that it announces are dialled: whoever
may forward in the embedded cluster is not to reach everything that listens on this machine.
"""

import asyncio
import contextlib
import html
from collections.abc import Iterator, Sequence

from cockpit.sim.actors.kubelet.runtime import RunningContainer
from cockpit.sim.port import Tree

PIECE_BYTES = 32 << 10
_MOST_HEAD_BYTES = 64 << 10
_LINES = 20
_LOOPBACK = "127.0.0.1"
_SECTIONS = ("containers", "initContainers")


class DialFailed(Exception):
    """Nobody listens at the port; the sentence of containerd."""


def announced(pod: Tree) -> Iterator[tuple[str, int]]:
    """Container and number of each port that the pod's containers announce."""
    for section in _SECTIONS:
        for one in pod["spec"].get(section) or ():
            for port in announced_by(one):
                yield str(one["name"]), port


def announced_by(container: Tree) -> Iterator[int]:
    """Numbers of the ports that one container announces."""
    for port in container.get("ports") or ():
        if port.get("protocol", "TCP") == "TCP":
            yield int(port["containerPort"])


def refused(port: int) -> DialFailed:
    """As containerd says it of a port where nobody listens."""
    return DialFailed(
        f"failed to connect to localhost:{port} inside namespace, "
        f"IPv4: dial tcp4 {_LOOPBACK}:{port}: connect: connection refused"
    )


class ProcessLine:
    """A TCP connection of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """The next bytes."""
        try:
            return await self._reader.read(PIECE_BYTES)
        except ConnectionError:
            return b""

    async def write(self, data: bytes) -> None:
        """Give it bytes, as fast as it reads."""
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def dial_process(pod: Tree, port: int, address: str) -> ProcessLine:
    """Connect to a process of the pod: at its own address, or where it listens to 127.0.0.1 alone.

    Raises DialFailed.
    """
    if port not in {number for _, number in announced(pod)}:
        raise refused(port)
    for host in (address, _LOOPBACK):
        with contextlib.suppress(OSError):
            return ProcessLine(*await asyncio.open_connection(host, port))
    raise refused(port)


class SimulatedLine:
    """A small web server inside a simulated container: one page, which tells the end of its log."""

    def __init__(self, pod: Tree, running: RunningContainer, now: float) -> None:
        self._pod = pod
        self._running = running
        self._now = now
        self._head = bytearray()
        self._is_answered = False
        self._said: asyncio.Queue[bytes] = asyncio.Queue()

    async def read(self) -> bytes:
        """What it answers."""
        return await self._said.get()

    async def write(self, data: bytes) -> None:
        """A request, in any pieces; a body is not read, and the answer ends the connection."""
        if self._is_answered:
            return
        self._head += data
        if b"\r\n\r\n" in self._head or b"\n\n" in self._head:
            method, _, rest = bytes(self._head).partition(b" ")
            path = rest.partition(b" ")[0].decode("ascii", "replace")
            self._answer(method, path)
        elif len(self._head) > _MOST_HEAD_BYTES:
            self._say(
                b"431 Request Header Fields Too Large", "the request's head is too long\n", "text/plain"
            )

    def close(self) -> None:
        """Nobody listens any more."""
        self._said.put_nowait(b"")

    def _answer(self, method: bytes, path: str) -> None:
        if method not in (b"GET", b"HEAD"):
            self._say(b"405 Method Not Allowed", "only GET and HEAD\n", "text/plain")
        elif path.partition("?")[0] != "/":
            self._say(b"404 Not Found", "a simulated container has one page: /\n", "text/plain")
        else:
            self._say(b"200 OK", self._page(), "text/html", is_head=method == b"HEAD")

    def _page(self) -> str:
        metadata = self._pod["metadata"]
        where = html.escape(f"{metadata.get('namespace', '')}/{metadata['name']}")
        lines = self._running.log.lines(since=0.0, tail=_LINES, now=self._now)
        text = html.escape("\n".join(line.text.decode("utf-8", "replace") for line in lines))
        return (
            f"<!doctype html><title>{where}</title><h1>{where}</h1>"
            f"<p>A simulated container: no TensorBoard runs here. The end of its log:</p><pre>{text}</pre>\n"
        )

    def _say(self, status: bytes, text: str, content_type: str, *, is_head: bool = False) -> None:
        self._is_answered = True
        body = text.encode()
        head = (
            f"Content-Type: {content_type}; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        self._said.put_nowait(b"HTTP/1.1 " + status + b"\r\n" + head.encode() + (b"" if is_head else body))
        self._said.put_nowait(b"")


def dial_simulated(
    pod: Tree, running: Sequence[tuple[str, RunningContainer]], port: int, now: float
) -> SimulatedLine:
    """Connect to the running container that announces the port. Raises DialFailed."""
    by_name = dict(running)
    for name, number in announced(pod):
        if number == port and name in by_name:
            return SimulatedLine(pod, by_name[name], now)
    raise refused(port)
