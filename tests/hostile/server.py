"""A metrics server on loopback that behaves as its URL says: `/KEY/api/v1/query` for a mode's key.

Behind `/now/` is the mode that was chosen last by `/choose/KEY`, and `/seen` answers how many queries came
since; an unknown key is the truth.
`python -m tests.hostile.server` prints its port and stays until its standard input is closed.
"""

import asyncio
import contextlib
import gzip
import json
import socket
import struct
import sys
import time
from urllib.parse import parse_qs, urlsplit

from tests.hostile import truth
from tests.hostile.modes import BY_KEY, Mode

DROP_SECONDS = 0.05
PIECE = 1 << 20
TRUTH = Mode("the truth", "truth", "all")
_LINE = b"HTTP/1.1 200 OK\r\n"
_JSON = b"Content-Type: application/json\r\n"


def answer(mode: Mode, query: str, now: float) -> bytes:
    """The whole answer of a mode without a script."""
    if mode.only and mode.only not in query:
        mode = TRUTH
    rows = truth.rows(query, now)
    tree = {
        "status": "success",
        "data": {"resultType": "vector", "result": mode.rows(rows) if mode.rows else rows},
    }
    shaped = mode.tree(tree) if mode.tree else tree
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        text = json.dumps(shaped)
    finally:
        sys.set_int_max_str_digits(digits)
    text = mode.text(text) if mode.text else text
    body = text.encode()
    body = mode.body(body) if mode.body else body
    heads = [b"HTTP/1.1 " + mode.status]
    if mode.kind:
        heads.append(b"Content-Type: " + mode.kind)
    heads += [b"Content-Length: " + (mode.length or str(len(body)).encode()), *mode.heads]
    return b"\r\n".join([*heads, b"", body])


class Hostile:
    """Serves; `chosen` is the mode behind `/now/`, `seen` how many queries came since it was chosen."""

    def __init__(self) -> None:
        self.chosen = TRUTH
        self.seen = 0
        self._made: dict[str, bytes] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                first = await reader.readexactly(1)
                if first == b"\x16":
                    await self._no_tls(writer)
                    break
                head = first + await reader.readuntil(b"\r\n\r\n")
                url = urlsplit(head.split(b" ", 2)[1].decode())
                if not await self._one(url.path, parse_qs(url.query).get("query", [""])[0], writer):
                    break
        with contextlib.suppress(ConnectionError):
            writer.close()

    async def _one(self, path: str, query: str, writer: asyncio.StreamWriter) -> bool:
        _, key, *rest = path.split("/")
        if key == "choose":
            self.chosen, self.seen = BY_KEY.get(rest[0], TRUTH), 0
            writer.write(b"HTTP/1.1 204 OK\r\n\r\n")
            return True
        if key == "seen":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n%6d" % self.seen)
            return True
        self.seen += 1
        mode = self.chosen if key == "now" else BY_KEY.get(key, TRUTH)
        if mode.script and (not mode.only or mode.only in query):
            await Script(writer, answer(TRUTH, query, time.time()), mode).run()
            return False
        is_whole = mode.body is not None and not mode.rows and not mode.only
        said = self._made.get(key) if is_whole else None
        if said is None:
            said = answer(mode if not mode.script else TRUTH, query, time.time())
        if mode.group == "sizes" and is_whole:
            self._made[key] = said
        writer.write(said)
        await writer.drain()
        return not mode.length

    async def _no_tls(self, writer: asyncio.StreamWriter) -> None:
        for _ in range(1_000):
            writer.write(b"\x16")
            await writer.drain()
            await asyncio.sleep(DROP_SECONDS)


class Script:
    """One answer that is more than bytes. Ends when its reader has gone."""

    def __init__(self, writer: asyncio.StreamWriter, whole: bytes, mode: Mode) -> None:
        self._writer = writer
        self._whole = whole
        self._mode = mode
        self._head, _, self._body = whole.partition(b"\r\n\r\n")

    async def run(self) -> None:
        """Speak as the mode's script says."""
        await getattr(self, self._mode.script.replace(" ", "_"))()

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()

    async def drip(self, text: bytes) -> None:
        for at in range(len(text)):
            await self.say(text[at : at + 1])
            await asyncio.sleep(DROP_SECONDS)

    async def silence(self) -> None:
        await asyncio.sleep(1_000)

    async def spaces(self) -> None:
        await self.say(b"HTTP/1.1 " + self._mode.status + b"\r\nContent-Length: %d\r\n\r\n" % (300 * PIECE))
        await self.say(*[b" " * PIECE] * 300)

    async def rows(self) -> None:
        row = json.dumps(truth.rows('{__name__=~".*"}', 1.0)[0]).encode() + b","
        await self.say(_LINE + b"Content-Length: %d\r\n\r\n" % (300 * PIECE), b'{"data":{"result":[')
        await self.say(*[row * (PIECE // len(row))] * 300)

    async def endless_chunks(self) -> None:
        await self.say(_LINE + _JSON + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(1_000):
            await self.say(b"%x\r\n" % PIECE + b" " * PIECE + b"\r\n")

    async def drip_head(self) -> None:
        await self.drip(self._whole)

    async def drip_headers(self) -> None:
        await self.say(_LINE)
        await self.drip(b"X-Slow: " + b"x" * 5_000)

    async def endless_headers(self) -> None:
        await self.say(_LINE)
        for number in range(100_000):
            await self.say(b"X-%d: y\r\n" % number)
            await asyncio.sleep(DROP_SECONDS / 10)

    async def drip_body(self) -> None:
        await self.say(self._head + b"\r\n\r\n")
        await self.drip(self._body)

    async def drip_spaces(self) -> None:
        await self.say(_LINE + _JSON + b"Content-Length: 100000\r\n\r\n")
        await self.drip(b" " * 100_000)

    async def drip_chunks(self) -> None:
        await self.say(_LINE + _JSON + b"Transfer-Encoding: chunked\r\n\r\n")
        for at in range(len(self._body)):
            await self.say(b"1\r\n" + self._body[at : at + 1] + b"\r\n")
            await asyncio.sleep(DROP_SECONDS)

    async def drip_gzip(self) -> None:
        packed = gzip.compress(self._body)
        await self.say(_LINE + _JSON + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed))
        await self.drip(packed)

    async def stop(self) -> None:
        await self.say(self._whole[:-10])
        await asyncio.sleep(1_000)

    async def storm(self) -> None:
        for _ in range(20_000):
            await self.say(b"HTTP/1.1 100 Continue\r\n\r\n" * 10)
        await asyncio.sleep(1_000)

    async def drip_interim(self) -> None:
        for _ in range(10_000):
            await self.say(b"HTTP/1.1 102 Processing\r\n\r\n")
            await asyncio.sleep(DROP_SECONDS)

    async def close(self) -> None:
        return

    async def reset(self) -> None:
        made: socket.socket = self._writer.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def reset_body(self) -> None:
        await self.say(self._whole[:-10])
        await self.reset()

    async def half(self) -> None:
        await self.say(self._head + b"\r\n\r\n")
        self._writer.write_eof()
        await asyncio.sleep(1_000)

    async def line_escapes(self) -> None:
        await self.say(b"HTTP/1.1 \x1b]0;OWNED\x07\xe2\x80\xae 200\r\n\r\n")

    async def line_giant(self) -> None:
        await self.say(b"HTTP/1.1 200 " + b"x" * PIECE + b"\r\n\r\n")

    async def bare(self) -> None:
        await self.say(self._body)

    async def version(self) -> None:
        await self.say(self._whole.replace(b"HTTP/1.1", b"HTTP/9.9", 1))

    async def ssh(self) -> None:
        await self.say(b"SSH-2.0-OWNED\x1b]0;OWNED\x07\r\n")
        await asyncio.sleep(0.1)

    async def too_long(self) -> None:
        await self.say(_LINE + _JSON + b"Content-Length: 99999\r\n\r\n" + self._body)

    async def chunk_escapes(self) -> None:
        await self.say(_LINE + _JSON + b"Transfer-Encoding: chunked\r\n\r\n\x1b]0;OWNED\x07\r\n")

    async def chunk_size(self) -> None:
        await self.say(_LINE + _JSON + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * PIECE)

    async def trailers(self) -> None:
        chunk = b"%x\r\n" % len(self._body) + self._body + b"\r\n0\r\n"
        await self.say(_LINE + _JSON + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        for number in range(10_000):
            await self.say(b"X-%d: \x1b[2J\r\n" % number)
        await self.say(b"\r\n")


async def serve() -> None:
    """Until standard input is closed."""
    hostile = Hostile()
    made = await asyncio.start_server(hostile.serve, "127.0.0.1", 0, limit=1 << 20)
    print(made.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
