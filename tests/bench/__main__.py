"""`python -m tests.bench`: the cockpit beside kubectl and the stock client, on a real API server, in one run.

Prints every run and the ratios that are wanted, and writes bench-out/bench.json. The exit code is 0 even
where a goal is missed (it is printed as such), 1 when a contestant could not be measured, 2 without a bed.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bed.bed import Bed
from tests.bed.cache import BedError
from tests.bench import fitting, load, plant, report
from tests.bench.contest import CONTESTANTS, ROOT, SCROLLED, Course, Result, run_one
from tests.bench.measure import yardstick_seconds

REPEATS = {
    **{"cockpit": 3, SCROLLED: 3, "feed": 3, "bare": 3},
    **{"kubectl": 1, "kubectl --chunk-size=0": 1, "models": 1},
}
# Nothing here takes the taint of an unready node away, and every node of the estate is ready.
APISERVER_FLAGS = ("--disable-admission-plugins", "TaintNodesByCondition")
FULL_SIZE = (50_000, 2_500)  # pods, nodes
OUT = ROOT / "bench-out"


def _say(line: str) -> None:
    print(line, flush=True)


def parser_of_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="The cockpit beside kubectl and the stock client."
    )
    parser.add_argument("--pods", type=int, default=FULL_SIZE[0])
    parser.add_argument("--nodes", type=int, default=FULL_SIZE[1])
    parser.add_argument("--seed", type=int, default=1, help="of the objects and of the order of running")
    parser.add_argument(
        "--unlike-labels",
        action="store_true",
        help="give each pod of a job a label with a value of its own, so that no two are alike",
    )
    parser.add_argument("--repeats", type=int, help="runs of each cheap contestant (default: 3)")
    parser.add_argument(
        "--only", action="append", choices=list(CONTESTANTS), metavar="NAME", help="run only this one; repeat"
    )
    parser.add_argument("--keep", action="store_true", help="leave the bed up afterwards, until Ctrl-C")
    parser.add_argument("--bed", type=Path, metavar="RUN_DIR", help="a bed left up by --keep, same sizes")
    return parser


@contextmanager
def bed_of(options: argparse.Namespace) -> Iterator[Bed]:
    if options.bed:
        yield Bed.attach(options.bed)
        return
    with Bed({"apiserver"}, namespace=False, apiserver_flags=APISERVER_FLAGS, report=_say) as bed:
        yield bed


def _order(options: argparse.Namespace) -> list[str]:
    """Contestants in turn: every round in another order, the dear ones in the first round only."""
    rng = random.Random(options.seed)
    chosen = options.only or list(CONTESTANTS)
    wanted = {name: min(REPEATS[name], options.repeats or REPEATS[name]) for name in chosen}
    order: list[str] = []
    for number in range(max(wanted.values())):
        round_ = [name for name in chosen if wanted[name] > number]
        rng.shuffle(round_)
        order += round_
    return order


def jobs_of(options: argparse.Namespace) -> list[load.TrainingJob]:
    return load.training_jobs(
        options.pods, options.seed, options.nodes, has_unlike_labels=options.unlike_labels
    )


def fill(bed: Bed, options: argparse.Namespace) -> float:
    """Make sure that the server holds the cluster; answers with the mean size of a pod in bytes of JSON."""
    place = plant.Place(bed.server, bed.token(), bed.ca_file, bed.etcd_url)
    started = time.monotonic()
    if not options.bed:
        asyncio.run(plant.plant(place, jobs_of(options), nodes=options.nodes, seed=options.seed, report=_say))
    count, mean = asyncio.run(plant.count_and_mean_bytes(place, options.pods))
    if count != options.pods:
        raise BedError(f"the bed holds {count:,} pods, not {options.pods:,}: fill a new one without --bed")
    _say(f"filled after {time.monotonic() - started:.0f} s; a pod is {mean:,.0f} bytes of JSON")
    return mean


def _contest(bed: Bed, options: argparse.Namespace, scratch: Path) -> list[Result]:
    jobs = jobs_of(options)
    course = Course(bed, load.pod_keys(jobs), scratch)
    # Once for nothing: whoever comes first would pay for the server's cold caches.
    run_one("bare", course)
    results: list[Result] = []
    for name in _order(options):
        result = run_one(name, course)
        results.append(result)
        _say(report.runs_table([result])[1])
    return results


def main(arguments: Sequence[str]) -> int:
    options = parser_of_options().parse_args(arguments)
    started = yardstick_seconds()
    try:
        with bed_of(options) as bed, tempfile.TemporaryDirectory(prefix="gpu-cockpit-bench-") as scratch:
            mean = fill(bed, options)
            results = _contest(bed, options, Path(scratch))
            about = {
                "pods": options.pods,
                "nodes": options.nodes,
                "seed": options.seed,
                "has_unlike_labels": options.unlike_labels,
                "pod_bytes_json": mean,
                "cpus": os.cpu_count(),
                "python": platform.python_version(),
                "yardstick_seconds_before": started,
                "yardstick_seconds_after": yardstick_seconds(),
            }
            _tell(results, about)
            _say("")
            for line in fitting.table(options.pods, options.nodes, options.seed):
                _say(line)
            if options.keep and not options.bed:
                _say(f"The bed stays up until Ctrl-C: python -m tests.bench --bed {bed.run_dir}")
                bed.watch()
    except (BedError, plant.PlantError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 1 if any(one.problem for one in results) else 0


def _tell(results: Sequence[Result], about: dict[str, object]) -> None:
    _say("")
    for line in report.runs_table(results):
        _say(line)
    _say("")
    for line in report.goals_table(results):
        _say(line)
    _say("")
    _say(
        f"{about['pods']:,} pods, {about['nodes']:,} nodes, {about['cpus']} CPUs, Python {about['python']}; "
        f"yardstick {about['yardstick_seconds_before']:.3f} s before, "
        f"{about['yardstick_seconds_after']:.3f} s after"
    )
    if (about["pods"], about["nodes"]) != FULL_SIZE:
        _say(f"The goals are meant for {FULL_SIZE[0]:,} pods and {FULL_SIZE[1]:,} nodes.")
    OUT.mkdir(exist_ok=True)
    path = OUT / "bench.json"
    path.write_text(json.dumps(report.tree(results, about), indent=1))
    _say(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
