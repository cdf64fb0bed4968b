"""HTTP/1.1 chunked bodies (RFC 9112, section 7.1), taken apart where they lie, with one copy.

A watch of an API server is one chunk an event, so this runs fifty thousand times in a big list: one regular
expression reads what stands between the data of two chunks; only a line that was cut goes a slower way. Where
`_gist` was compiled, it goes through chunks of plain sizes.
"""

import re

try:
    from cockpit.kube.decode._gist import unchunked
except ImportError:  # no compiler where the cockpit was installed
    unchunked = None  # type: ignore[assignment]

LONGEST_LINE_BYTES = 8190
"""Of a chunk's size with its extensions, and of a trailer's line: as much as aiohttp takes."""
LONGEST_TRAILER_BYTES = 64 << 10

# The end of one chunk, and the size of the next with its extensions.
_BETWEEN = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})(?:[ \t]*;[^\r\n]*)?\r\n")
# A prefix that more bytes may complete.
_BEGUN = re.compile(rb"\r?|\r\n(?:[0-9A-Fa-f]{1,16}(?:[ \t]*|[ \t]*;[^\r\n]*)\r?)?")


class ChunkError(ValueError):
    """The bytes are no chunked body; the text says where they went wrong."""


class Dechunker:
    """Chunked bytes in, body out. `is_done` once the last chunk and its trailer have been seen."""

    def __init__(self) -> None:
        self.is_done = False
        self._left = 0  # bytes of the open chunk that are still to come
        self._held = b"\r\n"  # of a line that is not whole; before the first one no chunk ends
        self._is_in_trailer = False
        self._trailer_bytes = 0

    def feed(self, data: bytes | bytearray, end: int) -> bytes:
        """The body in `data[:end]`. Raises ChunkError; what stands behind the body's end is left alone."""
        parts: list[bytes | memoryview] = []
        with memoryview(data) as view:
            at = 0
            try:
                while at < end and not self.is_done:
                    if self._is_in_trailer:
                        at = self._pass_trailer(data, at, end)
                    elif self._held:
                        at = self._mend(data, at, end)
                    else:
                        at = self._run(data, at, end, view, parts)
                return b"".join(parts)
            finally:
                for part in parts:
                    if isinstance(part, memoryview):
                        part.release()

    def _run(
        self, data: bytes | bytearray, at: int, end: int, view: memoryview, parts: list[bytes | memoryview]
    ) -> int:
        """Chunk after chunk, until the bytes end or what follows a chunk is not whole."""
        if unchunked is not None:
            body, at, self._left = unchunked(data, at, end, self._left)
            if body:
                parts.append(body)
            if at == end:
                return end
        left, between, take = self._left, _BETWEEN.match, parts.append
        while at + left < end:
            stop = at + left
            take(view[at:stop])
            found = between(data, stop, end)
            if found is None:
                self._left = 0
                self._hold(bytes(data[stop : min(end, stop + LONGEST_LINE_BYTES + 1)]))
                return end
            at = found.end()
            left = self._begin(found)
            if not left:
                return at
        take(view[at:end])
        self._left = left - (end - at)
        return end

    def _mend(self, data: bytes | bytearray, at: int, end: int) -> int:
        """Add to the line that was cut, up to its next end."""
        line_end = data.find(b"\n", at, end)
        stop = end if line_end < 0 else line_end + 1
        line = self._held + bytes(data[at:stop])
        found = _BETWEEN.fullmatch(line)
        if found is None:
            self._hold(line)
        else:
            self._held = b""
            self._left = self._begin(found)
        return stop

    def _hold(self, line: bytes) -> None:
        if len(line) > LONGEST_LINE_BYTES or not _BEGUN.fullmatch(line):
            raise ChunkError(f"no chunk begins with {line[:40]!r}")
        self._held = line

    def _begin(self, found: re.Match[bytes]) -> int:
        """The size of the chunk that begins; none at all is the last one."""
        size = int(found[1], 16)
        self._is_in_trailer = not size
        return size

    def _pass_trailer(self, data: bytes | bytearray, at: int, end: int) -> int:
        """Lines up to an empty one."""
        line_end = data.find(b"\n", at, end)
        stop = end if line_end < 0 else line_end + 1
        line = self._held + bytes(data[at:stop])
        self._trailer_bytes += stop - at
        if len(line) > LONGEST_LINE_BYTES or self._trailer_bytes > LONGEST_TRAILER_BYTES:
            raise ChunkError(f"the trailer is too long: {line[:40]!r}")
        if line_end < 0:
            self._held = line
            return stop
        self._held = b""
        if not line.endswith(b"\r\n"):
            raise ChunkError(f"a line of the trailer has no end: {line[:40]!r}")
        self.is_done = line == b"\r\n"
        return stop
