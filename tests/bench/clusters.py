"""What ten clusters of 50 nodes cost beside one of 500: `python -m tests.bench.clusters`, in `make bench`.

Each is loaded, shown on the shared lists and changed in a process of its own; told are processor seconds,
resident memory and their ratios. `WANTED` is the most that ten may cost. No connection is made: it is what
stores, services and lists of several clusters take. No test asserts it: machines are shared.
"""

import argparse
import asyncio
import gc
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions, Link
from cockpit.clock import ManualClock
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.bench import waiting
from tests.bench.report import aligned

WANTED = 2.5
PLACES = ("now", "jobs", "nodes", "queues", "pools")
CHANGES = 20
SIZE = (160, 45)


class Cost(msgspec.Struct, frozen=True):
    """Of one run: processor seconds to load, to show each list first, and a change on each list; MB."""

    load_s: float
    first_s: float
    change_ms: float
    resident_mb: float
    rows: int


async def measured(clusters: int, nodes: int, pods: int, seed: int) -> Cost:
    """That many clusters, each of `nodes` nodes and `pods` pods."""
    chance = random.Random(seed)
    options = [AttachOptions(context=f"cluster-{number}") for number in range(clusters)]
    app = CockpitApp(
        AppOptions(options[0], attach_also=tuple(options[1:]), attach=False),
        clock=ManualClock(waiting.NOW),
        rng=random.Random(seed),
    )
    shape = waiting.SHAPES["half runs, half waits"]
    batches = [list(waiting.fleet(shape, pods, nodes, chance)) for _ in range(clusters)]
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        began = time.process_time()
        for each, own in zip(app.clusters, batches, strict=True):
            each.attachment.link = Link.ATTACHED
            for batch in own:
                each.attachment.sink(batch)
            for kind in (Kind.NODE, Kind.POD):
                each.attachment.sink(Batch(kind=kind, status=StreamStatus(kind=kind, phase=Phase.LIVE)))
            each.attachment.jobs.catch_up()
        load_s = time.process_time() - began
        began = time.process_time()
        for place in PLACES:
            app.go(place)
            await pilot.pause()
        first_s = time.process_time() - began
        began, rows = time.process_time(), 0
        for place in PLACES[1:]:
            app.go(place)
            await pilot.pause()
            for number in range(CHANGES):
                attachment = chance.choice(app.clusters).attachment
                pod: Pod = chance.choice(list(attachment.store.records(Kind.POD).values()))
                attachment.sink(
                    Batch(kind=Kind.POD, changed=(msgspec.structs.replace(pod, restarts=number),))
                )
                for each in app.clusters:
                    each.attachment.jobs.catch_up()
                app.screen.show()  # type: ignore[attr-defined]
                await pilot.pause()
            rows += len(app.screen.table.source)  # type: ignore[attr-defined]
        change_ms = 1e3 * (time.process_time() - began) / CHANGES / (len(PLACES) - 1)
    gc.collect()
    return Cost(load_s, first_s, change_ms, _resident_mb(), rows)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096 / 1e6


def _run(*words: object) -> Cost:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.clusters", "--measure", *map(str, words)],
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Cost)


def table(nodes: int, pods: int, clusters: int, seed: int) -> list[str]:
    """One cluster and several of the same size together, and the ratios."""
    one, several = _run(1, nodes, pods, seed), _run(clusters, nodes // clusters, pods // clusters, seed)
    lines: list[tuple[str, ...]] = [("", "load s", "first lists s", "a change ms", "MB", "rows")]
    for name, cost in (("one cluster", one), (f"{clusters} clusters", several)):
        figures = (f"{cost.load_s:.2f}", f"{cost.first_s:.2f}", f"{cost.change_ms:.1f}")
        lines.append((name, *figures, f"{cost.resident_mb:.0f}", str(cost.rows)))
    ratios = [
        several.load_s / one.load_s,
        several.first_s / one.first_s,
        several.change_ms / one.change_ms,
        several.resident_mb / one.resident_mb,
    ]
    verdict = "met" if max(ratios) <= WANTED else "missed"
    lines.append((f"ratio (at most {WANTED:g})", *(f"{ratio:.2f}" for ratio in ratios), verdict))
    return list(aligned(lines))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.clusters")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=5_000)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--measure", type=int, nargs=4, metavar="N", help="in this process, as JSON")
    options = parser.parse_args(arguments)
    if options.measure:
        print(msgspec.json.encode(asyncio.run(measured(*options.measure))).decode())
        return 0
    for line in table(options.nodes, options.pods, options.clusters, options.seed):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
