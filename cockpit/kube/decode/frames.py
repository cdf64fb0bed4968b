"""Cutting a byte stream into frames: JSON lines, and protobuf messages behind a 4-byte length."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

LONGEST_BYTES = 16 << 20
"""A frame longer than this is not kept: etcd refuses objects above 1.5 MiB, so no server sends one."""

_LENGTH_BYTES = 4

Run = Callable[[bytes, int, int, int], tuple[Sequence[Any], int]]
"""`run(data, at, most, longest_bytes)`: records of the frames at `at` and where they end (`decode.alike`)."""


class FramingError(Exception):
    """The stream can no longer be cut into frames; `reason` says why, in words for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Frames(Protocol):
    """A cutter: bytes in, whole frames out one by one; the rest waits for the next bytes."""

    oversized: int

    def add(self, chunk: bytes) -> None:
        """More bytes. What came before is to be taken out first. Raises FramingError."""

    def take(self) -> bytes | None:
        """The next frame, None where more bytes are needed. Raises FramingError."""

    def run(self, read: Run, most: int) -> Sequence[Any]:
        """What `read` makes of the next frames, `most` at most; none where the next one is to be taken."""

    def leftover(self) -> int:
        """Bytes of an unfinished frame: more than none at the end means that the stream was cut."""


def feed(frames: Frames, chunk: bytes) -> list[bytes]:
    """All frames that a chunk completes, in order. Raises FramingError."""
    frames.add(chunk)
    return list(iter(frames.take, None))


class LineFrames:
    """One JSON text a line. A line above the limit is dropped and counted in `oversized`."""

    def __init__(self, longest_bytes: int = LONGEST_BYTES) -> None:
        self.oversized = 0
        self._longest = longest_bytes
        self._lines: deque[bytes] = deque()
        self._parts: list[bytes] = []
        self._held = 0
        self._dropping = False

    def add(self, chunk: bytes) -> None:
        lines = chunk.split(b"\n")
        tail = lines.pop()
        for line in lines:
            if self._parts or self._dropping:
                line = self._join(line)  # noqa: PLW2901 - the first line closes what the last chunk began
            if len(line) > self._longest:
                self.oversized += 1
            elif line and not line.isspace():
                self._lines.append(line)
        self._hold(tail)

    def take(self) -> bytes | None:
        return self._lines.popleft() if self._lines else None

    def run(self, read: Run, most: int) -> Sequence[Any]:
        """Nothing: a run is made of frames with a length before them."""
        return ()

    def _join(self, line: bytes) -> bytes:
        if self._dropping:
            self._dropping = False
            self.oversized += 1
            return b""
        self._parts.append(line)
        whole = b"".join(self._parts)
        self._parts, self._held = [], 0
        return whole

    def _hold(self, tail: bytes) -> None:
        if self._dropping or not tail:
            return
        self._parts.append(tail)
        self._held += len(tail)
        if self._held > self._longest:
            self._parts, self._held, self._dropping = [], 0, True

    def leftover(self) -> int:
        return self._held


class LengthFrames:
    """Frames behind a 4-byte big-endian length, as apimachinery's length-delimited framer writes them.

    A chunk stays as it came and is walked through; only the frame that two chunks share is put together, so
    that a list of 300 MB is not copied for being cut.
    """

    def __init__(self, longest_bytes: int = LONGEST_BYTES) -> None:
        self.oversized = 0
        self._longest = longest_bytes
        self._data = b""  # walked through until `_at`
        self._at = 0
        self._shared = b""  # the whole frame, with its length, that comes before `_data`
        self._parts: list[bytes] = []  # of a frame that is not whole: then `_data` has been walked through
        self._held = 0
        self._wanted = _LENGTH_BYTES
        self._skip = 0

    def add(self, chunk: bytes) -> None:
        self._data, self._at = chunk, 0
        if self._skip:
            self._at = min(self._skip, len(chunk))
            self._skip -= self._at
        if self._parts:
            self._complete()

    def _complete(self) -> None:
        """Go on with the frame that the last chunks began, first with its length."""
        data, parts = self._data, self._parts
        while True:
            part = data[self._at : self._at + self._wanted - self._held]
            parts.append(part)
            self._at += len(part)
            self._held += len(part)
            if self._held < self._wanted:
                return
            whole = b"".join(parts)
            if self._wanted == _LENGTH_BYTES:
                size = int.from_bytes(whole, "big")
                if size > self._longest:
                    self._forget()
                    self._pass_over(size)
                    return
                self._wanted += size
                if size:
                    continue
            self._forget()
            self._shared = whole
            return

    def _forget(self) -> None:
        self._parts, self._held, self._wanted = [], 0, _LENGTH_BYTES

    def take(self) -> bytes | None:
        if self._shared:
            frame, self._shared = self._shared[_LENGTH_BYTES:], b""
            return frame
        data, end = self._data, len(self._data)
        while (body := self._at + _LENGTH_BYTES) <= end:
            size = int.from_bytes(data[self._at : body], "big")
            if size > self._longest:
                self._at = body
                self._pass_over(size)
                continue
            if body + size > end:
                self._wanted = size + _LENGTH_BYTES
                break
            self._at = body + size
            return data[body : self._at]
        if self._at < end:
            self._parts, self._held = [data[self._at :]], end - self._at
            self._at = end
        return None

    def run(self, read: Run, most: int) -> Sequence[Any]:
        if self._shared:
            found, at = read(self._shared, 0, most, self._longest)
            if at:
                self._shared = b""
            return found
        found, self._at = read(self._data, self._at, most, self._longest)
        return found

    def _pass_over(self, size: int) -> None:
        """Go on behind a frame that is too long; four times the limit is no length at all."""
        if size > 4 * self._longest:
            raise FramingError(f"a frame claims {size} bytes: this is not a protobuf watch stream")
        self.oversized += 1
        stop = min(len(self._data), self._at + size)
        self._skip = self._at + size - stop
        self._at = stop

    def leftover(self) -> int:
        return self._held + self._skip
