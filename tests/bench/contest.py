"""The contestants: each runs once and answers with one result."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.bed.bed import Bed
from tests.bench import screen
from tests.bench.measure import load_average, run_command, yardstick_seconds
from tests.bench.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
KEY_SECONDS = 0.1
QUIET_KEYS_SECONDS = 4.0
LOAD_SECONDS = 180.0
SCROLLED = "cockpit, scrolled"
DOWN, PAGE_DOWN, END = b"\x1b[B", b"\x1b[6~", b"\x1b[F"


@dataclass(frozen=True)
class Result:
    """One run. Seconds count from the start of the process; None: this contestant has no such moment."""

    contestant: str
    first_seconds: float | None = None  # cockpit: a full screen of pods; others: the first line or object
    all_seconds: float | None = None
    peak_bytes: int = 0
    cpu_seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    yardstick_seconds: float = 0.0
    load_average: float = 0.0
    problem: str = ""

    def tree(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Course:
    """What all contestants run against. `keys` are all pods in the cockpit's own order."""

    bed: Bed
    keys: tuple[str, ...]
    folder: Path  # scratch: state and configuration of the cockpit, recordings
    root: Path = ROOT  # the checkout whose cockpit runs, and which Python runs it
    python: str = sys.executable

    def environment(self) -> dict[str, str]:
        """The caller's variables, the bed's credentials, and empty folders instead of the person's own."""
        made = {**os.environ, **self.bed.environment(), "PYTHONPATH": f"{self.root}:{self.root / 'widgets'}"}
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            made[name] = str(self.folder / name.lower())
        made.pop("PYTHONDONTWRITEBYTECODE", None)  # a start like a person's second one: modules are compiled
        return {
            **made,
            "BENCH_SERVER": self.bed.server,
            "BENCH_TOKEN": self.bed.token(),
            "BENCH_CA": str(self.bed.ca_file),
        }

    def collect(self) -> None:
        """Let the API server collect its garbage: a round through its gigabytes takes 2 s of CPU, comes every
        second or third list, and would be charged to whoever happens to read then."""
        self.bed.api().request("GET", "/debug/pprof/heap", query=[("gc", "1")], accept="*/*").checked()


Contestant = Callable[[Course], Result]


def run_one(name: str, course: Course) -> Result:
    """Run a contestant between two readings of the machine; what goes wrong becomes its `problem`."""
    course.collect()
    before = yardstick_seconds()
    busy = load_average()
    try:
        result = CONTESTANTS[name](course)
    except Exception as error:
        result = Result(name, problem=f"{type(error).__name__}: {error}")
    after = yardstick_seconds()
    return Result(
        **{
            **asdict(result),
            "yardstick_seconds": (before + after) / 2,
            "load_average": max(busy, load_average()),
        }
    )


def _program(name: str, course: Course) -> Result:
    done = run_command(
        [course.python, "-m", "tests.bench.programs", name], course.environment(), folder=course.root
    )
    said = json.loads(done.output)
    began = done.started_monotonic
    pods = said.get("pods", len(course.keys))
    return Result(
        name,
        first_seconds=said["first"] - began,
        all_seconds=said["ended"] - began,
        peak_bytes=done.peak_bytes,
        cpu_seconds=done.cpu_seconds,
        details={
            "from_request_seconds": said["ended"] - said["asked"],
            "bytes": said.get("bytes"),
            "pods": said.get("pods"),
        },
        problem="" if pods == len(course.keys) else f"{pods:,} pods instead of {len(course.keys):,}",
    )


def bare(course: Course) -> Result:
    """The cockpit's own request for pods, read and thrown away."""
    return _program("bare", course)


def feed(course: Course) -> Result:
    """The cockpit's feed and store without a screen."""
    return _program("feed", course)


def models(course: Course) -> Result:
    """The stock kubernetes.aio client with its models."""
    return _program("models", course)


def kubectl(course: Course) -> Result:
    """`kubectl get pods -A`, as a person types it."""
    return _kubectl("kubectl", course)


def kubectl_whole(course: Course) -> Result:
    """The same without its pages of 500."""
    return _kubectl("kubectl --chunk-size=0", course, "--chunk-size=0")


def _kubectl(name: str, course: Course, *options: str) -> Result:
    argv = [course.bed.layout.programs["kubectl"], "get", "pods", "-A", *options]
    lines = 0

    def count(chunk: bytes) -> None:
        nonlocal lines
        lines += chunk.count(b"\n")

    done = run_command(argv, course.environment(), each=count)
    wanted = len(course.keys) + 1
    return Result(
        name,
        first_seconds=done.first_seconds,
        all_seconds=done.end_seconds,
        peak_bytes=done.peak_bytes,
        cpu_seconds=done.cpu_seconds,
        details={"bytes": done.output_bytes, "lines": lines},
        problem="" if lines == wanted else f"{lines:,} lines instead of {wanted:,}",
    )


def cockpit(course: Course) -> Result:
    """The cockpit in a terminal, opened by a person who presses 7 and waits for the list."""
    return _in_a_terminal("cockpit", course, is_scrolled=False)


def scrolled(course: Course) -> Result:
    """The same by a person who scrolls all the while: how long keys take, and what they cost the list."""
    return _in_a_terminal(SCROLLED, course, is_scrolled=True)


def _in_a_terminal(name: str, course: Course, *, is_scrolled: bool) -> Result:
    argv = [course.python, "-m", "cockpit", "--kubeconfig", str(course.bed.kubeconfig), "--context", "bed"]
    terminal = Terminal(argv, course.environment(), course.root)
    try:
        terminal.read_until(30.0, screen.has_words)
        terminal.press("7", b"7")
        terminal.read_until(60.0, lambda chunk: screen.POD_ROW_BYTES.search(chunk) is not None)
        if is_scrolled:
            _scroll(terminal, LOAD_SECONDS, screen.has_loaded)
        else:
            terminal.read_until(LOAD_SECONDS, screen.has_loaded)
        _scroll(terminal, terminal.seconds + QUIET_KEYS_SECONDS, lambda _: False)
        terminal.press("end", END)
        terminal.read_until(terminal.seconds + 2.0)
    finally:
        recording = terminal.close()
    file = f"{name.replace(', ', '-')}.recording"
    (course.folder / file).write_bytes(b"".join(chunk for _, chunk in recording.chunks))
    return judge(name, recording, course.keys)


def _scroll(terminal: Terminal, deadline_seconds: float, saw: Callable[[bytes], bool]) -> None:
    """Press down ten times a second, each tenth time page down, until the deadline or what is waited for."""
    pressed = 0
    due = terminal.seconds
    while terminal.seconds < deadline_seconds and not terminal.has_ended:
        pressed += 1
        if pressed % 10:
            terminal.press("down", DOWN)
        else:
            terminal.press(screen.PAGE, PAGE_DOWN)
        due += KEY_SECONDS
        if terminal.read_until(min(due, deadline_seconds), saw):
            terminal.read_until(due)
            return


def judge(name: str, recording: Any, keys: tuple[str, ...]) -> Result:
    """Reads the moments off the recording of a cockpit run."""
    sights, last_lines = screen.replay(recording)
    ranks = {key: rank for rank, key in enumerate(keys)}
    full = max((sight.pod_rows for sight in sights), default=0)
    full_at = screen.first(sights, pod_rows=max(full, 1))
    loaded_at = screen.loaded_at(sights)
    problem = ""
    while_loading = quiet = screen.KeyTimes((), 0)
    if full_at is None or loaded_at is None:
        words = " ".join(" ".join(last_lines).split())[:160]
        problem = f"no full list on the screen, which said: {words} (all of it in the JSON file)"
    else:
        page = max(full - 1, 2)
        presses = [key for key in recording.keys if key[1] != "7"]
        while_loading = screen.key_times(sights, presses, ranks, page, loaded_at)
        later = [key for key in presses if key[0] > loaded_at + 0.5]
        quiet = screen.key_times([s for s in sights if s.seconds > loaded_at], later, ranks, page, 1e9)
        if sights[-1].cursor != keys[-1]:
            problem = f"after End the cursor is on {sights[-1].cursor!r}, not on the last pod {keys[-1]!r}"
    return Result(
        name,
        first_seconds=full_at,
        all_seconds=loaded_at,
        peak_bytes=recording.peak_bytes,
        cpu_seconds=recording.cpu_seconds,
        details={
            "first_frame_seconds": screen.first(sights, words=3),
            "rows_on_screen": full,
            "sent_bytes": recording.sent_bytes,
            "keys_while_loading": len(while_loading.answered),
            "keys_lost": while_loading.lost,
            "key_worst_seconds": while_loading.worst_seconds,
            "key_p99_seconds": while_loading.p99_seconds,
            "key_p50_seconds": while_loading.p50_seconds,
            "keys_quiet": len(quiet.answered),
            "key_quiet_worst_seconds": quiet.worst_seconds,
            "key_quiet_p99_seconds": quiet.p99_seconds,
            "key_quiet_p50_seconds": quiet.p50_seconds,
            "header": sights[-1].header.strip() if sights else "",
            "last_screen": last_lines if problem else [],
        },
        problem=problem,
    )


CONTESTANTS: dict[str, Contestant] = {
    "cockpit": cockpit,
    SCROLLED: scrolled,
    "feed": feed,
    "bare": bare,
    "kubectl": kubectl,
    "kubectl --chunk-size=0": kubectl_whole,
    "models": models,
}
