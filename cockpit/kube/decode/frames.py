"""Cutting a byte stream into frames: JSON lines, and protobuf messages behind a 4-byte length."""

from typing import Protocol

LONGEST_BYTES = 16 << 20
"""A frame longer than this is not kept: etcd refuses objects above 1.5 MiB, so no server sends one."""


class FramingError(Exception):
    """The stream can no longer be cut into frames; `reason` says why, in words for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Frames(Protocol):
    """A cutter: bytes in, whole frames out; the rest waits for the next bytes."""

    oversized: int

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that this chunk completes, in order. Raises FramingError."""

    def leftover(self) -> int:
        """Bytes of an unfinished frame: more than none at the end means that the stream was cut."""


class LineFrames:
    """One JSON text a line. A line above the limit is dropped and counted in `oversized`."""

    def __init__(self, longest_bytes: int = LONGEST_BYTES) -> None:
        self.oversized = 0
        self._longest = longest_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        lines = chunk.split(b"\n")
        tail = lines.pop()
        out: list[bytes] = []
        for line in lines:
            if self._parts or self._dropping:
                line = self._join(line)  # noqa: PLW2901 - the first line closes what the last chunk began
            if len(line) > self._longest:
                self.oversized += 1
            elif line and not line.isspace():
                out.append(line)
        self._hold(tail)
        return out

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
    """Frames behind a 4-byte big-endian length, as apimachinery's length-delimited framer writes them."""

    def __init__(self, longest_bytes: int = LONGEST_BYTES) -> None:
        self.oversized = 0
        self._longest = longest_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._wanted = 4
        self._skip = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._skip:
            passed = min(self._skip, len(chunk))
            self._skip -= passed
            chunk = chunk[passed:]
        self._parts.append(chunk)
        self._held += len(chunk)
        if self._held < self._wanted:
            return []
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return self._cut(data)

    def _cut(self, data: bytes) -> list[bytes]:
        out: list[bytes] = []
        at, end = 0, len(data)
        self._wanted = 4
        while end - at >= 4:
            size = int.from_bytes(data[at : at + 4], "big")
            if size > self._longest:
                at = self._pass_over(size, at, end)
                continue
            if end - at - 4 < size:
                self._wanted = size + 4
                break
            out.append(data[at + 4 : at + 4 + size])
            at += size + 4
        rest = data[at:]
        self._parts, self._held = ([rest] if rest else []), len(rest)
        return out

    def _pass_over(self, size: int, at: int, end: int) -> int:
        """Where to go on behind a frame that is too long; four times the limit is no length at all."""
        if size > 4 * self._longest:
            raise FramingError(f"a frame claims {size} bytes: this is not a protobuf watch stream")
        self.oversized += 1
        stop = min(end, at + 4 + size)
        self._skip = at + 4 + size - stop
        return stop

    def leftover(self) -> int:
        return self._held + self._skip
