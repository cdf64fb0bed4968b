"""The log of a real child: kept in files of bounded size in the format of CRI (`TIME STREAM TAG TEXT`)."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from cockpit.sim.actors.kubelet.runtime import ContainerLogLine
from cockpit.sim.times import rfc3339_micro, seconds_of

ROTATE_BYTES = 10 << 20
KEPT_FILES = 3
_LINE_BYTES = 16 << 10
_A_LINE = 200
"""Bytes of memory beside its text."""
_UNREAD_BYTES = 4 << 20
"""Of lines that a follower has not taken; of more the oldest go, as with files that are rotated meanwhile."""


class _Follower:
    """Lines on their way to one reader."""

    def __init__(self) -> None:
        self._lines: deque[ContainerLogLine] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: ContainerLogLine) -> None:
        """One line more."""
        self._lines.append(line)
        self._bytes += len(line.text) + _A_LINE
        while self._bytes > _UNREAD_BYTES:
            self.take()

    def take(self) -> ContainerLogLine:
        """The oldest. Raises IndexError where there is none."""
        line = self._lines.popleft()
        self._bytes -= len(line.text) + _A_LINE
        return line


class LogFile:
    """Lines of one run of one container; the older files are `PATH.1`, `PATH.2`."""

    def __init__(self, path: Path, *, rotate_bytes: int = ROTATE_BYTES) -> None:
        self._path = path
        self._rotate_bytes = rotate_bytes
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab")
        self._bytes = path.stat().st_size
        self._is_closed = False
        self._changed = asyncio.Event()
        self._followers: list[_Follower] = []

    def write(self, at: float, stream: str, text: bytes, *, is_partial: bool = False) -> None:
        """Add one line (without its line feed)."""
        tag = b"P" if is_partial else b"F"
        line = b"%s %s %s %s\n" % (rfc3339_micro(at).encode(), stream.encode(), tag, text)
        self._file.write(line)
        self._file.flush()
        self._bytes += len(line)
        if self._followers:
            new = ContainerLogLine(at, stream, text, is_partial)
            for follower in self._followers:
                follower.add(new)
            self._wake()
        if self._bytes >= self._rotate_bytes:
            self._rotate()

    def close(self) -> None:
        """Nothing will be added any more."""
        self._is_closed = True
        self._file.close()
        self._wake()

    def lines(self, *, since: float, tail: int | None, now: float) -> Iterable[ContainerLogLine]:
        """Lines from `since` on that are there now; a line that is longer than 16 KiB comes in parts.

        Without `tail` they are read when they are asked for: a reader who waits holds open files, no lines.
        """
        found = (line for line in self._read(self._opened()) if line.at >= since)
        return found if tail is None else list(deque(found, maxlen=tail))

    def follow(self, after: float) -> AsyncIterator[ContainerLogLine]:
        """What is written from this call on, until the file is closed."""
        mine = _Follower()
        self._followers.append(mine)
        return self._follow(mine)

    async def _follow(self, mine: _Follower) -> AsyncIterator[ContainerLogLine]:
        try:
            while True:
                while mine:
                    yield mine.take()
                if self._is_closed:
                    return
                await self._changed.wait()
        finally:
            self._followers.remove(mine)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _opened(self) -> list[tuple[BinaryIO, int]]:
        """The files, oldest first, and how many bytes are in each now."""
        older = [self._path.with_name(f"{self._path.name}.{index}") for index in range(KEPT_FILES - 1, 0, -1)]
        found: list[tuple[BinaryIO, int]] = []
        for path in (*older, self._path):
            with contextlib.suppress(FileNotFoundError):
                file = path.open("rb")
                found.append((file, os.fstat(file.fileno()).st_size))
        return found

    def _read(self, files: list[tuple[BinaryIO, int]]) -> Iterator[ContainerLogLine]:
        try:
            for file, size in files:
                for raw in file:
                    if file.tell() > size:
                        break
                    parts = raw.rstrip(b"\n").split(b" ", 3)
                    if len(parts) == 4:
                        at = seconds_of(parts[0].decode())
                        yield ContainerLogLine(at, parts[1].decode(), parts[3], parts[2] == b"P")
        finally:
            for file, _ in files:
                file.close()

    def _rotate(self) -> None:
        self._file.close()
        for index in range(KEPT_FILES - 1, 0, -1):
            source = self._path if index == 1 else self._path.with_name(f"{self._path.name}.{index - 1}")
            if source.exists():
                source.replace(self._path.with_name(f"{self._path.name}.{index}"))
        self._file = self._path.open("ab")
        self._bytes = 0


class LineCutter:
    """Cuts a stream of bytes into lines of bounded length."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """(line, is it only a part of one) for what is complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield from _parts(line)
        while len(self._rest) > _LINE_BYTES:
            yield self._rest[:_LINE_BYTES], True
            self._rest = self._rest[_LINE_BYTES:]

    def end(self) -> Iterator[tuple[bytes, bool]]:
        """What is left when the stream ends."""
        if self._rest:
            yield self._rest, True
        self._rest = b""


def _parts(line: bytes) -> Iterator[tuple[bytes, bool]]:
    while len(line) > _LINE_BYTES:
        yield line[:_LINE_BYTES], True
        line = line[_LINE_BYTES:]
    yield line, False
