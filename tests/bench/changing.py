"""What one change of the store costs *Now*, whatever kind of object changes:
`python -m tests.bench.changing`, also part of `make bench`.

Each fleet of 50,000 pods is loaded in processes of its own, with the collector as the app has it. Then every
change is made a few times in a drawn order: the batch is stored, the job rows and the rows of *Now* are
brought up to it. The worst counts: of each single change the middle of a few processes that draw the same. No
test asserts it: machines are shared.
"""

import argparse
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random
from statistics import median

import msgspec

from cockpit import gc_tuning
from cockpit.jobs.index import JobIndex
from cockpit.store.store import Store
from cockpit.triage.attention import needs_human
from cockpit.triage.troubles import Troubles
from cockpit.triage.verdicts import SLICE_SECONDS, Pace, Verdicts
from tests.bench.changes import CHANGES
from tests.bench.fleets import FLEETS, NOW
from tests.bench.report import aligned

LIMIT_MS = 5.0
EACH = 4
"""So often every kind of change is made."""
PROCESSES = 3
PAUSES_SECONDS = (0.3, 1.0, 7.0)
"""Between two changes, in turn: right after another, and once everything has settled."""


class Figures(msgspec.Struct, frozen=True):
    """Of one process: rows on *Now*, and what each change cost, in their order."""

    rows: int
    changes: list[tuple[str, float]]


def measured(fleet: str, pods: int, nodes: int, seed: int) -> Figures:
    """In this process, which has done nothing else."""
    gc_tuning.expect_many()
    store, rng = Store(), Random(seed)
    jobs = JobIndex(store, store.take_delta)
    for batch in FLEETS[fleet](pods, nodes, rng):
        store.apply(batch)
        jobs.catch_up(is_whole=False)
    pace = Pace(time.monotonic, SLICE_SECONDS)
    verdicts, troubles, now = Verdicts(store, jobs, pace), Troubles(), NOW

    def look() -> int:
        found = needs_human(store, jobs, now, verdicts=verdicts)
        troubles.look(found, now, is_sighted=_yes, exists=_yes, is_mended=_yes)
        return len(found)

    look()
    gc_tuning.settle()
    jobs.catch_up()
    pace.is_in_force = True
    look()
    order = [name for name in CHANGES for _ in range(EACH)]
    rng.shuffle(order)
    costs, rows = [], 0
    for number, name in enumerate(order):
        made = CHANGES[name](store, rng, number)
        if made is None:
            continue  # the fleet has none of that kind
        now += PAUSES_SECONDS[number % len(PAUSES_SECONDS)]
        started = time.process_time()
        store.apply(made)
        jobs.catch_up(is_whole=False)
        rows = look()
        costs.append((name, 1e3 * (time.process_time() - started)))
    return Figures(rows, costs)


def _yes(_found: object) -> bool:
    return True


def middle_of(fleet: str, pods: int, nodes: int, seed: int, processes: int) -> Figures:
    """Of each change the middle of several processes that draw the same."""
    asked = ["--fleet", fleet, f"--pods={pods}", f"--nodes={nodes}", f"--seed={seed}", "--alone"]
    command = [sys.executable, "-m", "tests.bench.changing", *asked]
    told = [subprocess.run(command, capture_output=True, check=True) for _ in range(processes)]
    runs = [msgspec.json.decode(one.stdout, type=Figures) for one in told]
    names = [name for name, _ in runs[0].changes]
    costs = [median(ms for _, ms in same) for same in zip(*(one.changes for one in runs), strict=True)]
    return Figures(runs[0].rows, list(zip(names, costs, strict=True)))


def lines_of(fleet: str, found: Figures, *, shows_all: bool) -> Iterator[tuple[str, ...]]:
    """A line for the fleet; with `shows_all` one for each kind of change behind it."""
    by_name: dict[str, list[float]] = defaultdict(list)
    for name, ms in found.changes:
        by_name[name].append(ms)
    costs = [ms for _, ms in found.changes]
    name, worst = max(found.changes, key=lambda one: one[1])
    is_met = "met" if worst <= LIMIT_MS else "missed"
    yield fleet, str(found.rows), f"{median(costs):.1f}", f"{worst:.1f}", name, is_met
    if shows_all:
        for kind, some in sorted(by_name.items(), key=lambda one: -max(one[1])):
            yield "", "", f"{median(some):.1f}", f"{max(some):.1f}", kind, ""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.changing", description="What one change of the store costs *Now*."
    )
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=2_500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--fleet", choices=list(FLEETS), action="append", help="only this one; repeat")
    parser.add_argument("--kinds", action="store_true", help="a line for each kind of change besides")
    parser.add_argument("--alone", action="store_true", help="measure in this process, as JSON")
    options = parser.parse_args(arguments)
    fleets = options.fleet or list(FLEETS)
    if options.alone:
        found = measured(fleets[0], options.pods, options.nodes, options.seed)
        print(msgspec.json.encode(found).decode())
        return 0
    lines: list[tuple[str, ...]] = [("fleet", "rows", "one change ms", "worst", "of", "")]
    for fleet in fleets:
        found = middle_of(fleet, options.pods, options.nodes, options.seed, options.processes)
        lines += lines_of(fleet, found, shows_all=options.kinds)
    for line in aligned(lines):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
