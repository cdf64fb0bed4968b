"""Bytes of a log, with the runtime's time stamps, cut into lines; and what was read of one log so far.

How a kubelet tells a log: kubernetes 1.36 pkg/kubelet/kuberuntime/logs/logs.go (`timestamps` puts
RFC3339 with nine decimals before each whole line; `since` leaves out what is older), pkg/registry/core/pod
and core/v1 PodLogOptions (`sinceTime` travels in whole seconds, whatever the client wrote).
"""

import re
from collections import Counter
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from cockpit.kube.logs import LINE_BYTES, overwritten, readable

LONGEST_LINE_CHARACTERS = 1 << 20
"""More of one line is left out, with a word about it: a line of 10 MB would push all others away."""
MOST_IN_A_SECOND = 20_000
"""Lines of one second that are remembered one by one; beyond it their time alone decides."""

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")
_NANO = 1_000_000_000


class LogPiece(NamedTuple):
    """A line, or a further piece of one that is longer than 64 KiB."""

    at_nanoseconds: int
    text: str
    is_further: bool = False
    overwritten: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def _second(text: bytes, zone: bytes) -> int:
    try:
        whole = datetime.fromisoformat((text + (b"+00:00" if zone == b"Z" else zone)).decode())
    except ValueError:
        return 0
    return int(whole.timestamp())


def split_stamp(line: bytes) -> tuple[int, bytes]:
    """Nanoseconds since the epoch and what follows; 0 and the whole where there is no stamp."""
    found = _STAMP.match(line)
    if found is None:
        return 0, line
    second = _second(found[1], found[3])
    if second <= 0:
        return 0, line
    return second * _NANO + int((found[2] or b"").ljust(9, b"0")), line[found.end() :]


class Cutter:
    """Chunks in, whole lines out; keeps at most the 64 KiB of an unfinished line."""

    def __init__(self) -> None:
        self._held = b""
        self._at = 0
        self._is_inside = False  # pieces of the line that is being read were handed out
        self._told = 0
        self._left_out = 0

    def feed(self, chunk: bytes) -> list[LogPiece]:
        """What is complete with this chunk."""
        parts = (self._held + chunk).split(b"\n")
        rest = parts.pop()
        out: list[LogPiece] = []
        for part in parts:
            self._pieces(part, out)
            self._end_line(out)
        while len(rest) > LINE_BYTES:
            self._piece(rest[:LINE_BYTES], out)
            rest = rest[LINE_BYTES:]
        self._held = rest
        return out

    def end(self) -> list[LogPiece]:
        """What is left when the log has ended; a line that was cut off in the middle is not handed out."""
        out: list[LogPiece] = []
        if self._held or self._is_inside:
            self._pieces(self._held, out)
            self._end_line(out)
        self._held = b""
        return out

    def _pieces(self, part: bytes, out: list[LogPiece]) -> None:
        if len(part) <= LINE_BYTES:
            self._piece(part, out)
            return
        for at in range(0, len(part), LINE_BYTES):
            self._piece(part[at : at + LINE_BYTES], out)

    def _piece(self, data: bytes, out: list[LogPiece]) -> None:
        if self._is_inside and not data:
            return
        was_inside = self._is_inside
        if not was_inside:
            self._at, data = split_stamp(data)
            self._told = self._left_out = 0
        self._is_inside = True
        text = readable(data)
        if self._told + len(text) > LONGEST_LINE_CHARACTERS:
            self._left_out += len(data)
            return
        self._told += len(text)
        out.append(LogPiece(self._at, text, was_inside, overwritten(data)))

    def _end_line(self, out: list[LogPiece]) -> None:
        if self._left_out:
            left_out = f"... {self._left_out:,} more bytes of this line are not shown"
            out.append(LogPiece(self._at, left_out, True))
        self._is_inside = False
        self._left_out = 0


class Resume:
    """What has been read of one log, so that another attempt goes on behind it.

    The API takes the place to go on from in whole seconds only, so the lines of the last second come again:
    those that were read already are left out, one for one, by time and text. A line is lost only where the
    node itself has thrown it away (rotation, a container started anew), and that shows: then none of the
    lines that had to come again comes.
    """

    def __init__(self) -> None:
        self._newest = 0
        self._second = 0
        self._seen: Counter[tuple[int, int]] = Counter()
        self._due: Counter[tuple[int, int]] | None = None
        self._floor = 0
        self._until = 0
        self._is_coarse = False
        self._is_due_found = False
        self._is_dropping = False
        self._last: tuple[int, int] | None = None
        self._last_pieces = 0
        self._cut: tuple[int, int] | None = None
        self._cut_pieces = 0
        self._left_out_pieces = 0
        self.has_gap = False

    @property
    def newest_nanoseconds(self) -> int:
        """Time of the newest line; 0 before there is one."""
        return self._newest

    @property
    def since_time(self) -> str:
        """The `sinceTime` of the next attempt, "" for none."""
        if not self._second:
            return ""
        return datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def begin(self) -> None:
        """Another attempt begins, from `since_time`."""
        self.has_gap = False
        self._is_dropping = False
        self._is_due_found = not self._second
        self._due = self._seen.copy() if self._second else None
        self._floor = self._second * _NANO
        self._until = self._newest
        self._cut, self._cut_pieces = self._last, self._last_pieces

    def take(self, told: LogPiece) -> bool:
        """True for a line that was not read before."""
        if told.is_further:
            return self._takes_further()
        self._is_dropping = self._is_old(told)
        key = (told.at_nanoseconds, hash(told.text))
        if self._is_dropping:
            # of the line in which the last attempt broke off only the first pieces were read
            self._left_out_pieces = self._cut_pieces if key == self._cut else MOST_IN_A_SECOND
            self._left_out_pieces -= 1
            return False
        self._last, self._last_pieces = key, 1
        if not self._is_due_found:
            self.has_gap, self._is_due_found = True, True
        self._note(told)
        return True

    def _takes_further(self) -> bool:
        if self._is_dropping and self._left_out_pieces > 0:
            self._left_out_pieces -= 1
            return False
        self._last_pieces += 1
        return True

    def _is_old(self, told: LogPiece) -> bool:
        if self._due is None or not told.at_nanoseconds:
            return False
        if self._is_coarse:
            is_old = told.at_nanoseconds <= self._until
            self._is_due_found = self._is_due_found or is_old
            return is_old
        key = (told.at_nanoseconds, hash(told.text))
        if self._due.get(key, 0) > 0:
            self._due[key] -= 1
            self._is_due_found = True
            return True
        return told.at_nanoseconds < self._floor

    def _note(self, told: LogPiece) -> None:
        at = told.at_nanoseconds
        if not at:
            return
        self._newest = max(self._newest, at)
        second = at // _NANO
        if second > self._second:
            self._second, self._is_coarse = second, False
            self._seen.clear()
        if second == self._second and not self._is_coarse:
            self._seen[at, hash(told.text)] += 1
            if len(self._seen) > MOST_IN_A_SECOND:
                self._is_coarse = True
                self._seen.clear()
