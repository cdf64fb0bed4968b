"""A server of which a test writes every byte."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Wire:
    """A server whose every byte is written by the test. `left` is set once a client has gone."""

    def __init__(self) -> None:
        self.script: Script | None = None
        self.url = ""
        self.left = asyncio.Event()
        self.requests: list[bytes] = []
        self._talks: list[tuple[asyncio.Task[None] | None, asyncio.StreamWriter]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self.script is not None
        self.joins(writer)
        try:
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            await self.script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    def joins(self, writer: asyncio.StreamWriter) -> None:
        """The task that runs now serves this connection; both end with the server."""
        self._talks.append((asyncio.current_task(), writer))

    async def close(self) -> None:
        tasks = [task for task, _ in self._talks if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _, writer in self._talks:
            # asyncio forgets that a transport is lost where its last bytes left after it was closed (3.11)
            with contextlib.suppress(AttributeError):
                writer.transport.abort()
        for _ in range(3):  # the loop closes what was aborted
            await asyncio.sleep(0)
