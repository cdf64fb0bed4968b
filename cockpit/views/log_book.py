"""The lines of all members of a job that are kept, those that are shown, and how a line is written."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from cockpit_widgets.types import Tone, ToneLine

from cockpit.jobs.members import LAUNCHER, LEADERS, short_name
from cockpit.jobs.run_log import container_of
from cockpit.model.log import LogLine, LogSource
from cockpit.model.pod import Pod
from cockpit.views.log_filter import LogFilter
from cockpit.views.pods import rank_text

MOST_LINES = 50_000
MOST_CHARACTERS = 16 << 20
"""Of all lines together: 50,000 lines of 64 KiB would be 3 GB."""
LEAST_LABEL, MOST_LABEL = 8, 20
_BAD_WORDS = ("Traceback (most recent", "Error:", "ERROR", "FATAL", "CRITICAL", "Segmentation fault", "OOM")


def sources_of(members: Iterable[Pod], container: str = "") -> list[LogSource]:
    """One source for each member, in the order given (launcher first, then by rank).

    `container` chooses one by name where a pod has it; else the first that is not known as a sidecar.
    """
    return [
        LogSource(
            uid=pod.uid,
            namespace=pod.namespace,
            pod=pod.name,
            label=(rank_text(pod) if pod.role else "") or short_name(pod),
            container=container_of(pod, container),
            rank=pod.rank,
            is_leader=pod.role in LEADERS and not (pod.role == LAUNCHER and pod.rank is not None),
        )
        for pod in members
    ]


def tail_lines(members: int, most: int = 20_000) -> int:
    """How many of the last lines of each member are read at first, so that all together are bounded."""
    return max(20, min(1_000, most // max(1, members)))


class LogBook:
    """A ring of lines, bounded in lines and in characters, and the filter in force.

    `add` and `shown` give lines as they are drawn: label, then text; with `times` the moment before them.
    """

    def __init__(
        self,
        *,
        most_lines: int = MOST_LINES,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        self.filter = LogFilter()
        self.has_times = False
        self.dropped = 0
        self._lines: deque[LogLine] = deque()
        self._characters = 0
        self._most_lines = most_lines
        self._most_characters = most_characters
        self._label_cells = LEAST_LABEL

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def characters(self) -> int:
        """Of all lines that are kept."""
        return self._characters

    def name(self, sources: Iterable[LogSource]) -> bool:
        """Make room for the labels of these members; True when lines stand elsewhere than before."""
        longest = max((len(source.label) for source in sources), default=0)
        cells = min(MOST_LABEL, max(self._label_cells, longest))
        has_moved = cells != self._label_cells
        self._label_cells = cells
        return has_moved

    def add(self, lines: Iterable[LogLine]) -> list[str]:
        """Keep these lines; those that the filter shows come back as they are drawn."""
        shown: list[str] = []
        for line in lines:
            self._lines.append(line)
            self._characters += len(line.text)
            if self.filter.passes(line):
                shown.append(self.drawn(line))
        while len(self._lines) > self._most_lines or (
            self._characters > self._most_characters and len(self._lines) > 1
        ):
            self._characters -= len(self._lines.popleft().text)
            self.dropped += 1
        return shown

    def shown(self) -> list[str]:
        """Every kept line that the filter shows, as it is drawn."""
        return [self.drawn(line) for line in self._lines if self.filter.passes(line)]

    def clear(self) -> None:
        """Forget every line."""
        self._lines.clear()
        self._characters = self.dropped = 0

    def drawn(self, line: LogLine) -> str:
        """One line as it is written: `worker 3  text`."""
        label = line.source.label
        if len(label) > self._label_cells:
            label = f"{label[: self._label_cells - 1]}…"
        text = f"-- {line.text} --" if line.is_note else line.text
        start = f"{clock_text(line)} " if self.has_times else ""
        drawn = f"{start}{label:<{self._label_cells}}  {text}"
        return ToneLine(drawn, "dim") if line.is_note else drawn


def clock_text(line: LogLine) -> str:
    """When the runtime took the line, UTC to the millisecond; dots where that is not told."""
    if line.at_seconds is None:
        return "··:··:··.···"
    moment = datetime.fromtimestamp(line.at_nanoseconds // 1_000_000_000, UTC)
    return f"{moment:%H:%M:%S}.{line.at_nanoseconds // 1_000_000 % 1_000:03d}"


def looks_bad(text: str) -> bool:
    """Whether a drawn line tells of a failure, by the words that most programs use."""
    return any(word in text for word in _BAD_WORDS)


def summary(
    *,
    members: int,
    book: LogBook,
    shown: int,
    how_far: str,
    is_following: bool | None,
    troubles: Sequence[tuple[str, str]],
) -> list[tuple[str, Tone]]:
    """(words, tone) of the line above the log: who, how far back, how much is kept, who cannot be read.

    `is_following` None: a run that has ended, nothing comes.
    """
    parts: list[tuple[str, Tone]] = [(f"{members} member{'s' if members != 1 else ''}", "")]
    if is_following is not None:
        parts.append(("following", "good") if is_following else ("paused, f follows", "warn"))
    kept = f"{len(book):,} lines"
    if shown != len(book):
        kept = f"{shown:,} of {kept} shown"
    if book.dropped:
        kept += f", {book.dropped:,} older dropped"
    if book.has_times:
        how_far += ", times in UTC"
    parts += [(kept, ""), (how_far, "dim")]
    if troubles:
        label, sentence = troubles[0]
        more = f" and {len(troubles) - 1} more" if len(troubles) > 1 else ""
        parts.append((f"{label}{more}: {sentence}", "warn"))
    return parts
