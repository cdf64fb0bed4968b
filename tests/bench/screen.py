"""Draws a recording on an emulated screen, chunk by chunk, and reads off when what was to be seen."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyte

from tests.bench.terminal import COLUMNS, LINES, Recording

POD_ROW = re.compile(r"team-[a-z]+/[a-z]+-[a-z]+-\d{4}-worker-\d+")
POD_ROW_BYTES = re.compile(rb"team-[a-z]+/[a-z]+-[a-z]+-[0-9]{4}-worker-")
# At its right end the header says which stream still lists, nodes first, and when all do: that they are live.
LOADED = re.compile(r"· live\b")
LOADED_BYTES = re.compile(rb"\blive\b")
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
PAGE = "pagedown"


def has_loaded(chunk: bytes) -> bool:
    """Whether a chunk may hold the header's word that all is there: only to know when to stop recording."""
    # only cells that changed are sent: what an escape parts is no one word
    return LOADED_BYTES.search(ESCAPES.sub(b" ", chunk)) is not None


def has_words(chunk: bytes) -> bool:
    """Whether a chunk draws any word."""
    return re.search(rb"[A-Za-z]{3}", ESCAPES.sub(b"", chunk)) is not None


@dataclass(frozen=True)
class Sight:
    """What the screen showed after one chunk."""

    seconds: float
    words: int
    pod_rows: int
    header: str
    cursor: str  # `namespace/name` of the row under the cursor, "" when there is none


@dataclass(frozen=True)
class KeyTimes:
    """Seconds from a key press to the first screen that had answered it, for the answered ones."""

    answered: tuple[float, ...]
    lost: int

    @property
    def worst_seconds(self) -> float | None:
        return max(self.answered, default=None)

    @property
    def p99_seconds(self) -> float | None:
        return percentile(self.answered, 0.99)

    @property
    def p50_seconds(self) -> float | None:
        return percentile(self.answered, 0.5)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The nearest-rank percentile; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def replay(recording: Recording) -> tuple[list[Sight], list[str]]:
    """Every sight in order, and the lines of the last screen."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    texts = [""] * LINES
    sights: list[Sight] = []
    for seconds, chunk in recording.chunks:
        stream.feed(chunk)
        for line in screen.dirty:
            if line < LINES:
                row = screen.buffer[line]
                texts[line] = "".join(row[column].data for column in range(COLUMNS))
        screen.dirty.clear()
        pods = {line: found.group() for line, text in enumerate(texts) if (found := POD_ROW.search(text))}
        sights.append(
            Sight(
                seconds,
                sum(len(text.split()) for text in texts),
                len(pods),
                texts[0],
                _cursor(screen, pods),
            )
        )
    return sights, [text.rstrip() for text in texts]


def _cursor(screen: pyte.Screen, pods: Mapping[int, str]) -> str:
    """The pod whose line has another background than the others'."""
    if len(pods) < 3:
        return ""
    looks = {line: (screen.buffer[line][4].bg, screen.buffer[line][4].reverse) for line in pods}
    usual = Counter(looks.values()).most_common(1)[0][0]
    odd = [line for line, look in looks.items() if look != usual]
    return pods[odd[0]] if len(odd) == 1 else ""


def first(sights: Sequence[Sight], **at_least: int) -> float | None:
    """Seconds of the first sight with at least so many words or pod rows."""
    for sight in sights:
        if all(getattr(sight, name) >= least for name, least in at_least.items()):
            return sight.seconds
    return None


def loaded_at(sights: Sequence[Sight]) -> float | None:
    """Seconds of the first sight whose header says that nodes and pods are listed whole."""
    for sight in sights:
        if LOADED.search(sight.header):
            return sight.seconds
    return None


def key_times(
    sights: Sequence[Sight],
    keys: Sequence[tuple[float, str]],
    ranks: Mapping[str, int],
    page_rows: int,
    until_seconds: float,
) -> KeyTimes:
    """How long each `down` and `pagedown` took.

    The cursor belongs to a row, not to a line, so that its row in the order of all pods (`ranks`) moves only
    by keys. A key is answered by the first screen on which the cursor has come as far as it and all keys
    before it that were still open lead: one row for a down, at least half a page for a page down.
    """
    answered: list[float] = []
    open_keys: list[tuple[float, int]] = []  # pressed at, rank to be reached
    pending = [key for key in keys if key[1] in ("down", PAGE)]
    rank = None
    for sight in sights:
        while pending and pending[0][0] <= sight.seconds and rank is not None:
            pressed, name = pending.pop(0)
            start = open_keys[-1][1] if open_keys else rank
            open_keys.append((pressed, start + (page_rows // 2 if name == PAGE else 1)))
        rank = ranks.get(sight.cursor, rank)
        while open_keys and rank is not None and rank >= open_keys[0][1]:
            pressed, _ = open_keys.pop(0)
            if pressed <= until_seconds:
                answered.append(sight.seconds - pressed)
    return KeyTimes(
        tuple(answered), sum(1 for pressed, _ in (*open_keys, *pending) if pressed <= until_seconds)
    )
