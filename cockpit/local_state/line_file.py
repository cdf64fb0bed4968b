"""A file of lines that several processes append to: whole lines or an error, and rotation that loses none.

All is done under a lock of its own file (flock). On NFS Linux turns it into a byte-range lock of the server:
it holds between hosts with NFSv4 or lockd; a mount with `nolock` or `local_lock=flock` keeps only the
processes of one host apart, and a file system without locks is refused.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from cockpit.local_state.paths import make_private_folder

LOCK_TRIES: Final = 1000
_PAUSE_SECONDS: Final = 0.005
_TAIL_BYTES: Final = 1 << 16
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
Stamp = tuple[tuple[str, int, int, int], ...]
"""Of each segment its name, inode, size in bytes, and time of change in nanoseconds."""


class LockedFile:
    """`path` and the older segments beside it: `path.1` is the oldest, the highest number the newest."""

    def __init__(self, path: Path, largest_bytes: int, *, tries: int = LOCK_TRIES) -> None:
        self.path = path
        self._largest_bytes = largest_bytes
        self._tries = tries

    def append(self, line: bytes, *, is_old: Callable[[bytes], bool] = lambda _line: False) -> None:
        """Append a line (without its newline) and wait until it is on the disk. Raises OSError: then no part
        of it is left. A part of a line that a process left when it died is ended before it. A segment whose
        last line `is_old` is deleted when the file is rotated."""
        make_private_folder(self.path.parent)
        with self._locked(fcntl.LOCK_EX):
            handle = self._opened(len(line) + 1, is_old)
            try:
                _write_whole(handle, line + b"\n")
            finally:
                os.close(handle)

    def segments(self) -> list[tuple[Path, bytes]]:
        """Each segment with what it holds, the oldest first. Raises OSError."""
        with self._locked(fcntl.LOCK_SH) if self.path.parent.is_dir() else contextlib.nullcontext():
            handles = [
                (path, os.open(path, _READ)) for path in (*self._older(), self.path) if os.path.lexists(path)
            ]
        found = []
        for path, handle in handles:
            with os.fdopen(handle, "rb") as file:
                found.append((path, file.read()))
        return found

    def stamp(self) -> Stamp:
        """What is another one after every change. Raises OSError."""
        found = []
        for path in (*self._older(), self.path):
            with contextlib.suppress(FileNotFoundError):
                seen = os.stat(path)
                found.append((path.name, seen.st_ino, seen.st_size, seen.st_mtime_ns))
        return tuple(found)

    def _older(self) -> list[Path]:
        prefix = f"{self.path.name}."
        numbers = (
            [
                int(name.removeprefix(prefix))
                for name in os.listdir(self.path.parent)
                if name.startswith(prefix) and name.removeprefix(prefix).isdecimal()
            ]
            if self.path.parent.is_dir()
            else []
        )
        return [self.path.with_name(f"{prefix}{number}") for number in sorted(numbers)]

    @contextlib.contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """Raises TimeoutError where another process keeps it. Who may only read goes on without."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            if kind == fcntl.LOCK_EX:
                raise
            yield
            return
        try:
            for left in reversed(range(self._tries)):
                try:
                    fcntl.flock(handle, kind | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not left:
                        raise TimeoutError(0, "another process keeps it locked") from None
                    time.sleep(_PAUSE_SECONDS)
            yield
        finally:
            os.close(handle)  # which gives the lock up

    def _opened(self, more_bytes: int, is_old: Callable[[bytes], bool]) -> int:
        """The file to append to; a full one is set aside under the next number first."""
        handle = self._open()
        try:
            size = os.fstat(handle).st_size
            if not size or size + more_bytes <= self._largest_bytes:
                return handle
            older = self._older()
            last = int(older[-1].name.rpartition(".")[2]) if older else 0
            os.rename(self.path, self.path.with_name(f"{self.path.name}.{last + 1}"))
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        for path in older:
            if is_old(_last_line(path)):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        return self._open()

    def _open(self) -> int:
        is_new = not os.path.lexists(self.path)
        handle = os.open(self.path, _APPEND, 0o600)
        try:
            os.fchmod(handle, 0o600)
            if is_new:
                _sync_folder(self.path.parent)
        except BaseException:
            os.close(handle)
            raise
        return handle


def _write_whole(handle: int, line: bytes) -> None:
    """All of it, or OSError and the file as it was."""
    before = os.fstat(handle).st_size
    if before and os.pread(handle, 1, before - 1) != b"\n":
        line = b"\n" + line
    try:
        left = memoryview(line)
        while left:
            written = os.write(handle, left)
            if written <= 0:
                raise OSError(0, "nothing was written")
            left = left[written:]
        os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, before)
        raise


def _last_line(path: Path) -> bytes:
    """The last whole line of a file, b"" where none can be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return b""
    return next((it for it in reversed(lines) if it.strip()), b"")


def _sync_folder(folder: Path) -> None:
    """So that the name of a new file outlasts a power cut; not every file system can."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
