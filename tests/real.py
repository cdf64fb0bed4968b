"""`make test-real`: build the real parts, and run every suite that needs them.

The API server is built first; the contract suite runs on it while the rest still compiles, and beside it the
environment in which jobs really train. Suites on the full bed run several at a time, each on a bed of its own
in namespaces of its own, because each makes the estate it needs and three quarters of their time is waiting
for controllers. The longest begin first, so that none of them is left alone at the end; how long each took is
in the committed table of results. A suite that fails is run once more when all others are over; if it passes
then it is printed and written down as flaky.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from tests import running_test
from tests.bed.binaries import GENERATION_VARIABLE, OLDER

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = "tests/contract"
BED_SUITES = (
    *("tests/bed", "tests/tui", "tests/differential", "tests/unit/exporter", "tests/training"),
    *("tests/deploy", "tests/release", "tests/docs"),
)
ONE_BED = ("tests/differential/server",)
"""Folders that are a suite each: their files share a bed, alone each would mostly start one."""
OLDER_ONLY = ("tests/differential/test_mpijob_words_real.py", "tests/differential/test_queue_words_real.py")
"""Hold the embedded cluster against the Kueue and mpi-operator that it imitates: run whole only, because only
then the older engines are built."""
OLDER_TOO = (
    "tests/bed/test_bed_real.py",
    "tests/differential/test_places_real.py",
    "tests/tui/test_job_life_on_the_bed_real.py",
    "tests/tui/test_kueue_topology_real.py",
)
"""Run whole once more, on a bed with the older engines: many clusters have them still."""
ON_OLDER = " (older engines)"
LEAST_A_CORE, MOST_A_CORE = 1.5, 3.0
"""Suites at a time for one core. Most of their time goes by in waiting, so more are begun while the machine
has time left, and none while it has not: a bed needs processor time as long as it stands, and three a core at
all times took an eighth more of it than two (measured). The other tests do not run beside them: a machine
without a free moment made tests fail that wait for what is to happen soon."""
LOOK_SECONDS = 2.0
TIME_LEFT = 0.06
"""Share of the machine's time that was not used in the last look, from which on another suite begins."""
RESULTS = ROOT / "tests" / "RESULTS.md"


WHOLE = {"GPU_COCKPIT_FIT_CASES": "300"}
"""What the heavy suites look for: without these they run a seeded part."""
PART = "GPU_COCKPIT_PART"
"""Holds the seed by which a part of the comparisons is drawn (`tests/differential/conftest.py`)."""

GARBAGE = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""Collected less often in the parts written in Go: a fifth less of CPU for a bed, for 0.4 GB more each."""


SUITE_SECONDS = 2_400.0
"""The longest a suite may take; a cold contract suite beside the compilers took 900."""
SLOWEST = 10
"""Of each suite so many of its slowest tests are printed."""


@dataclass(frozen=True)
class Result:
    """The outcome of one suite. `seconds` is wall time beside other suites; `ended` says how the process died
    where it left no summary, else ""; `is_flaky`: it failed, and passed when it was run again alone."""

    suite: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    is_good: bool
    ended: str = ""
    is_flaky: bool = False


def seed_of(commit: str) -> str:
    """The seed for a commit; a checkout without one always draws the same part."""
    return commit.strip()[:12] or "none"


def commit() -> str:
    """What HEAD is; "" outside of a checkout."""
    asked = ["git", "rev-parse", "HEAD"]
    try:
        return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def pytest(suite: str, surroundings: Mapping[str, str], arguments: Sequence[str] = ("-m", "real")) -> Result:
    """Run one suite with these variables, print its output in one piece and, where it died, how and at which
    test."""
    begun = time.monotonic()
    path = suite.removesuffix(ON_OLDER)
    engines = {GENERATION_VARIABLE: OLDER} if path != suite else {}
    with tempfile.TemporaryDirectory() as folder:
        counts, running, printed = (Path(folder) / name for name in ("counts.xml", "running", "printed"))
        running.write_text(running_test.BETWEEN)
        command = [sys.executable, "-m", "pytest", *arguments, "-p", "no:cacheprovider", path]
        command += ["-p", running_test.__name__, f"--durations={SLOWEST}", f"--junitxml={counts}"]
        with printed.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    **GARBAGE,
                    **surroundings,
                    **engines,
                    running_test.FILE_VARIABLE: str(running),
                },
            )
            limit = threading.Timer(SUITE_SECONDS, process.send_signal, (signal.SIGABRT,))
            limit.start()
            # Asked for here, because subprocess keeps no count of what the process and its children used.
            _, status, used = os.wait4(process.pid, 0)
            limit.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
        output = printed.read_text(errors="replace").rstrip()
        tally = _tally(counts)
        ended = "" if counts.exists() else how_it_ended(process.returncode, running.read_text())
    seconds = time.monotonic() - begun
    cpu_seconds = used.ru_utime + used.ru_stime
    print(f":: {suite} ({seconds:.0f} s, {cpu_seconds:.0f} s of CPU)\n{output}", flush=True)
    if ended:
        print(f":: {suite} {ended}", flush=True)
    tests, failures, errors, skipped = tally
    return Result(
        suite=suite,
        passed=tests - failures - errors - skipped,
        failed=failures + errors,
        skipped=skipped,
        seconds=seconds,
        is_good=process.returncode == 0,
        ended=ended,
    )


def _tally(counts: Path) -> tuple[int, int, int, int]:
    """Tests, failures, errors and skips of a junit file; zeros where there is none."""
    suites = list(ElementTree.parse(counts).getroot().iter("testsuite")) if counts.exists() else []
    tests, failures, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites)
        for name in ("tests", "failures", "errors", "skipped")
    )
    return tests, failures, errors, skipped


def how_it_ended(returncode: int, running: str) -> str:
    """A sentence about a process that left no summary, with the test under way."""
    if returncode < 0:
        died = f"was ended by {signal.Signals(-returncode).name}"
    else:
        died = f"ended with exit code {returncode}"
    return f"{died} without a summary: {running}"


def suites(*, is_whole: bool) -> list[str]:
    """What is run alone: files with real tests, on the full bed or of the exporter, and folders of them.

    Whole, what needs the older engines is among them; a name that ends with `ON_OLDER` is run on these.
    """
    found = sorted(path for folder in BED_SUITES for path in (ROOT / folder).glob("test_*_real.py"))
    names = [*ONE_BED, *(str(path.relative_to(ROOT)) for path in found)]
    if is_whole:
        return [*names, *(f"{name}{ON_OLDER}" for name in OLDER_TOO)]
    return [name for name in names if name not in OLDER_ONLY]


def longest_first(names: Sequence[str], results: str) -> list[str]:
    """`names` by their seconds in a table of `results`; suites that it does not know come first."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in results.splitlines()]
    seconds = {row[0]: int(row[-1]) for row in cells if len(row) in (5, 6) and row[-1].isdigit()}
    return sorted(names, key=lambda name: -seconds.get(name, sys.maxsize))


def used_and_all(stat: str) -> tuple[int, int]:
    """Ticks of all processors since the start, from the first line of /proc/stat: used, and all."""
    ticks = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)  # idle, waiting for a disk


def has_time_left(before: str, after: str) -> bool:
    """Whether another suite is no burden; without /proc/stat it is taken for none."""
    if not before or not after:
        return True
    used, whole = (b - a for a, b in zip(used_and_all(before), used_and_all(after), strict=True))
    return used < (1 - TIME_LEFT) * whole


def _stat() -> str:
    try:
        return Path("/proc/stat").read_text()
    except OSError:
        return ""


def run_all(names: Sequence[str], surroundings: Mapping[str, str]) -> list[Result]:
    """Each suite alone, as many at a time as the machine bears."""
    cores = os.cpu_count() or 1
    waiting, running, results = list(names), set[Future[Result]](), list[Result]()
    with ThreadPoolExecutor(round(MOST_A_CORE * cores)) as pool:
        before = _stat()
        while waiting or running:
            is_light = len(running) < MOST_A_CORE * cores and has_time_left(before, _stat())
            if waiting and (len(running) < LEAST_A_CORE * cores or is_light):
                running.add(pool.submit(pytest, waiting.pop(0), surroundings))
            before = _stat()
            patience = LOOK_SECONDS if len(running) >= LEAST_A_CORE * cores or not waiting else 0.0
            done, running = wait(running, timeout=patience, return_when=FIRST_COMPLETED)
            results += [one.result() for one in done]
    return results


def run_again(results: Sequence[Result], run: Callable[[str], Result]) -> list[Result]:
    """The results after each suite that failed was run once more, alone. One that passes then is flaky, which
    is a defect to mend. Counts and seconds stay those of the first run."""
    again = list(results)
    for place, first in enumerate(results):
        if first.is_good:
            continue
        print(f":: {first.suite} failed; once more, alone", flush=True)
        if run(first.suite).is_good:
            again[place] = replace(first, is_good=True, is_flaky=True)
    return again


def state(result: Result) -> str:
    """Of a row: what is not *passed* is to be mended."""
    return "flaky" if result.is_flaky else "passed" if result.is_good else result.ended or "failed"


def table(results: Sequence[Result]) -> str:
    """The results as the committed page."""
    rows = [
        f"| {result.suite} | {result.passed} | {result.failed} | {result.skipped} | {state(result)} "
        f"| {result.seconds:.0f} |"
        for result in sorted(results, key=lambda result: result.suite)
    ]
    head = [
        "# Suites on the real parts, run whole",
        "",
        "Written by `make test-all`; the heavy suites with "
        + ", ".join(f"{name}={value}" for name, value in WHOLE.items())
        + ". Seconds are wall time of a suite that shares the machine with others.",
        "",
        "| suite | passed | failed | skipped | state | seconds |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    return "\n".join([*head, *rows]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the build and every suite passed, a flaky one in its second run; the end names all others."""
    parser = argparse.ArgumentParser(prog="python -m tests.real")
    parser.add_argument("--whole", action="store_true", help="the heavy suites whole, not a seeded part")
    parser.add_argument("--seed", default=seed_of(commit()), help="draws the part; by default the commit")
    parser.add_argument("--table", type=Path, help="write the results to this file")
    given = parser.parse_args(arguments)
    surroundings = WHOLE if given.whole else {PART: given.seed}
    if not given.whole:
        print(f":: of the heavy comparisons the part drawn by --seed {given.seed}", flush=True)
    begun = time.monotonic()
    everything = ["--all"] if given.whole else []
    build = subprocess.Popen([sys.executable, "-m", "tests.bed", "build", *everything], cwd=ROOT)
    training = subprocess.Popen([sys.executable, "-m", "cockpit.sim.training_env"], cwd=ROOT)
    try:
        with ThreadPoolExecutor(1) as pool:
            contract = pool.submit(pytest, CONTRACT, surroundings)
            if build.wait() != 0:
                print("the real parts could not be built", flush=True)
                return 1
            if training.wait() != 0:
                print("the training environment could not be built", flush=True)
                return 1
            known = RESULTS.read_text() if RESULTS.exists() else ""
            results = [
                *run_all(longest_first(suites(is_whole=given.whole), known), surroundings),
                contract.result(),
            ]
    finally:
        for one in (build, training):
            if one.poll() is None:
                one.terminate()
                one.wait()
    results = run_again(results, lambda suite: pytest(suite, surroundings))
    if given.table:
        given.table.write_text(table(results))
    minutes = (time.monotonic() - begun) / 60
    print(f":: real suites: {verdict(results)}, {minutes:.1f} min", flush=True)
    return 0 if all(result.is_good for result in results) else 1


def verdict(results: Sequence[Result]) -> str:
    """Which suites failed, and which only passed alone."""
    failed = [result.suite for result in results if not result.is_good]
    flaky = [result.suite for result in results if result.is_flaky]
    parts = [
        f"{name}: {', '.join(suites)}" for name, suites in (("failed", failed), ("flaky", flaky)) if suites
    ]
    return "; ".join(parts) or "all passed"


if __name__ == "__main__":
    sys.exit(main())
