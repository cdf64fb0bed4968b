"""`make test-real`: build the real parts, and run every suite that needs them.

The API server is built first; the contract suite runs on it while the rest still compiles, and beside it the
environment in which jobs really train. Suites on the full bed run several at a time, each on a bed of its own
in namespaces of its own, because each makes the estate it needs and three quarters of their time is waiting
for controllers. The longest begin first, so that none of them is left alone at the end; how long each took is
in the committed table of results.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.bed.binaries import GENERATION_VARIABLE, OLDER

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = "tests/contract"
BED_SUITES = ("tests/bed", "tests/tui", "tests/differential", "tests/unit/exporter", "tests/training")
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


WHOLE = {"GPU_COCKPIT_FIT_CASES": "300", "GPU_COCKPIT_SEQUENCES": "200"}
"""What the heavy suites look for: without these they run a seeded part."""
PART = "GPU_COCKPIT_PART"
"""Holds the seed by which a part of the comparisons is drawn (`tests/differential/conftest.py`)."""

GARBAGE = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""Collected less often in the parts written in Go: a fifth less of CPU for a bed, for 0.4 GB more each."""


@dataclass(frozen=True)
class Result:
    """What came of one suite. `seconds` is wall time beside other suites."""

    suite: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    is_good: bool


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


def pytest(suite: str, surroundings: Mapping[str, str]) -> Result:
    """Run one suite of real tests with these variables, print what it printed in one piece."""
    begun = time.monotonic()
    path = suite.removesuffix(ON_OLDER)
    engines = {GENERATION_VARIABLE: OLDER} if path != suite else {}
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.xml"
        command = [sys.executable, "-m", "pytest", "-m", "real", "-p", "no:cacheprovider", path]
        printed = Path(folder) / "printed"
        with printed.open("wb") as sink:
            process = subprocess.Popen(
                [*command, f"--junitxml={counts}"],
                cwd=ROOT,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={**os.environ, **GARBAGE, **surroundings, **engines},
            )
            # Asked for here, because subprocess keeps no count of what the process and its children used.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        said = printed.read_text(errors="replace").rstrip()
        found = ElementTree.parse(counts).getroot().iter("testsuite") if counts.exists() else iter(())
        tally = [
            (int(one.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")) for one in found
        ]
    seconds = time.monotonic() - begun
    cpu_seconds = used.ru_utime + used.ru_stime
    print(f":: {suite} ({seconds:.0f} s, {cpu_seconds:.0f} s of CPU)\n{said}", flush=True)
    tests, failures, errors, skipped = (
        (sum(each) for each in zip(*tally, strict=True)) if tally else (0, 0, 0, 0)
    )
    return Result(
        suite=suite,
        passed=tests - failures - errors - skipped,
        failed=failures + errors,
        skipped=skipped,
        seconds=seconds,
        is_good=process.returncode == 0,
    )


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
    seconds = {row[0]: int(row[-1]) for row in cells if len(row) == 5 and row[-1].isdigit()}
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


def table(results: Sequence[Result]) -> str:
    """The results as the committed page."""
    rows = [
        f"| {one.suite} | {one.passed} | {one.failed} | {one.skipped} | {one.seconds:.0f} |"
        for one in sorted(results, key=lambda one: one.suite)
    ]
    head = [
        "# Suites on the real parts, run whole",
        "",
        "Written by `make test-all`; the heavy suites with "
        + ", ".join(f"{name}={value}" for name, value in WHOLE.items())
        + ". Seconds are wall time of a suite that shares the machine with others.",
        "",
        "| suite | passed | failed | skipped | seconds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([*head, *rows]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the build and every suite went well; what failed is named at the end."""
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
    if given.table:
        given.table.write_text(table(results))
    failed = [one.suite for one in results if not one.is_good]
    minutes = (time.monotonic() - begun) / 60
    verdict = f"failed: {', '.join(failed)}" if failed else "all passed"
    print(f":: real suites: {verdict}, {minutes:.1f} min", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
