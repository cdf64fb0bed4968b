"""`python -m tests.bench.idle`: what a minute costs the line in which nobody presses a key.

The real program in real pseudo-terminals of 160x45 and 80x24 (true colour, the dearest), on the embedded
cluster of `idle.yaml`: each place and page for a whole minute of wall time, nothing sped up. Three settings:

* still: every GPU stands, no log is written; ages and the API's own times move on,
* moving: every held GPU's duty, power and temperature change every five seconds, as exporters tell them,
* pouring: five members write a line a second each, and the page of their logs follows.

Beside each the line of the screen that took the most of it. `--only NAME` measures one page, `--seconds N`
another time (told as bytes a minute; what happens once a minute is then seen or not).
"""

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyte

from tests.bench.idle_pages import LOGS, PAGES, Page
from tests.bench.measure import load_average
from tests.bench.report import aligned
from tests.tui.embedded import embedded
from tests.tui.pseudo_terminal import PseudoTerminal

HERE = Path(__file__).parent
SIZES = ((160, 45), (80, 24))
SECONDS = 60.0
WARM_SECONDS = 1_200
SETTLED_SECONDS = 8.0
"""After a key: numbers that are asked for only now come with the next round, and make columns."""
SHOWN_SECONDS = 2.0
"""A place is in sight before its table has the keys."""
AT_ONCE = 10
STILL_BYTES, MOVING_BYTES, POURING_RATIO = 1_000, 20_000, 1.3
_LINE = re.compile(r"^ rank (\d) .* epoch (\d+) step (\d+)/(\d+) .*?(?= *$)")
_STEADY = re.compile(r"LOAD-[a-z-]+")


@dataclass(frozen=True)
class Minute:
    """What was sent in the time, told as bytes a minute; `text_bytes` of a log's own lines."""

    sent_bytes: float
    text_bytes: float = 0.0
    dearest: str = ""

    @property
    def ratio(self) -> float:
        return self.sent_bytes / self.text_bytes if self.text_bytes else 0.0


def scenario(*, moves: bool, pours: bool) -> str:
    """The cluster of `idle.yaml` in one of the settings."""
    text = (HERE / "idle.yaml").read_text()
    text = text.replace("LOAD-", "") if moves else _STEADY.sub("steady:0.6", text)
    return text.replace('"LOG"', "training" if pours else "none")


@contextmanager
def cluster(*, moves: bool, pours: bool) -> Iterator[tuple[Path, Path]]:
    """Its kubeconfig, and a folder for whoever asks it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "idle.yaml").write_text(scenario(moves=moves, pours=pours))
        with embedded(folder / "cluster", folder / "idle.yaml", WARM_SECONDS) as kubeconfig:
            yield kubeconfig, folder


def minute(kubeconfig: Path, state: Path, page: Page, size: tuple[int, int], seconds: float) -> Minute:
    """Go to the page, wait until it has what it shows, and count."""
    environment = {"COLORTERM": "truecolor", "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state)}
    arguments = ["-m", "cockpit", "--kubeconfig", str(kubeconfig), "--write"]
    with PseudoTerminal(arguments, size, environment) as terminal:
        terminal.shows("live", "duty")
        for keys, word in page.ways:
            terminal.press(*keys)
            terminal.shows(word)
            take(terminal, SHOWN_SECONDS)
        take(terminal, SETTLED_SECONDS)
        before, lines = len(terminal.sent), terminal.lines
        drawn = pyte.Screen(*size)
        pyte.ByteStream(drawn).feed(terminal.sent[:before])
        take(terminal, seconds)
        sent = terminal.sent[before:]
        text_bytes = written(lines, terminal.lines)
    scale = SECONDS / seconds
    return Minute(len(sent) * scale, text_bytes * scale, dearest(drawn, sent))


def take(terminal: PseudoTerminal, seconds: float) -> None:
    """Read what comes in the time. Fails where the program ends."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        assert terminal.take(left), "it ended\n" + "\n".join(terminal.lines)


def written(before: Sequence[str], after: Sequence[str]) -> float:
    """Bytes of the log's lines that came between two screens of a page that follows, as they are drawn."""
    first, last = steps(before), steps(after)
    fresh = sum(last[rank] - first[rank] for rank in last if rank in first)
    shown = [len(found.group().encode()) for line in after if (found := _LINE.match(line))]
    return fresh * (sum(shown) / len(shown) + 1) if shown else 0.0  # a line ends with a line feed


def steps(lines: Sequence[str]) -> dict[str, int]:
    """The newest step of each rank on the screen, counted through its epochs."""
    found = [one for line in lines if (one := _LINE.match(line))]
    newest: dict[str, int] = {}
    for rank, epoch, step, steps_of_epoch in (one.groups() for one in found):
        newest[rank] = max(newest.get(rank, 0), int(epoch) * int(steps_of_epoch) + int(step))
    return newest


def dearest(screen: pyte.Screen, sent: bytes) -> str:
    """The line that took most of the bytes: `line 1, 41%: admin · now ...`; "" where nothing was sent."""
    stream = pyte.Stream(screen)
    spent: Counter[int] = Counter()
    for part in re.findall(r"(?:\x1b[^a-zA-Z\\]*[a-zA-Z\\])?[^\x1b]*", sent.decode(errors="replace")):
        stream.feed(part)
        spent[screen.cursor.y] += len(part.encode())
    if not spent:
        return ""
    line, most = spent.most_common(1)[0]
    words = " ".join(screen.display[line].split())
    return f"line {line + 1}, {most / max(1, sum(spent.values())):.0%}: {words[:44]}"


def measured(
    pages: Sequence[Page], seconds: float, *, moves: bool, pours: bool
) -> dict[tuple[str, tuple[int, int]], Minute]:
    """Every page in every size, some of them side by side."""
    wanted = [(page, size) for page in pages for size in SIZES]
    with cluster(moves=moves, pours=pours) as (kubeconfig, folder), ThreadPoolExecutor(AT_ONCE) as pool:

        def one(page: Page, size: tuple[int, int]) -> Minute:
            return minute(kubeconfig, folder / f"{page.name}-{size[0]}", page, size, seconds)

        found = pool.map(one, *zip(*wanted, strict=True))
        return {(page.name, size): took for (page, size), took in zip(wanted, found, strict=True)}


def rows_of(
    name: str, found: dict[tuple[str, tuple[int, int]], Minute], most_bytes: float, most_ratio: float = 0.0
) -> list[Sequence[str]]:
    """A line for each page and size: what was sent, the bound, and where most of it went."""
    rows: list[Sequence[str]] = []
    for (page, (width, height)), took in found.items():
        if most_ratio:
            told = f"{took.sent_bytes:,.0f} B of {took.text_bytes:,.0f} B text ({took.ratio:.2f})"
            bound, is_met = f"{most_ratio:g}x", 0 < took.ratio <= most_ratio
        else:
            told, bound = f"{took.sent_bytes:,.0f} B", f"{most_bytes:,.0f} B"
            is_met = took.sent_bytes <= most_bytes
        verdict = "met" if is_met else "MISSED"
        rows.append((name, page, f"{width}x{height}", told, bound, verdict, took.dearest))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.idle", allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", default="")
    given = parser.parse_args(arguments)
    print(f"load {load_average():.1f}; {given.seconds:g} s each, {AT_ONCE} side by side", flush=True)
    pages = [page for page in PAGES if given.only in ("", page.name)]
    rows: list[Sequence[str]] = []
    if pages:
        rows += rows_of("still", measured(pages, given.seconds, moves=False, pours=False), STILL_BYTES)
        rows += rows_of("moving", measured(pages, given.seconds, moves=True, pours=False), MOVING_BYTES)
    if given.only in ("", LOGS.name):
        found = measured([LOGS], given.seconds, moves=True, pours=True)
        rows += rows_of("pouring", found, 0.0, POURING_RATIO)
    titles = ("setting", "page", "size", "a minute", "bound", "", "most of it")
    for line in aligned([titles, *rows]):
        print(line, flush=True)
    return int(any(row[5] == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
