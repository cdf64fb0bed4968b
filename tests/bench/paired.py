"""`python -m tests.bench.paired OLD`: this checkout beside an older one, in turns on the same beds.

OLD is a checkout with its own .venv (`make .venv/.installed` in it). Each measure is taken once from both in
every run, the order changing from run to run. A measure is *worse* where its median is more than 5 % above
the old one's and above every old run, so that noise alone is not called so. Five runs take about 20 minutes;
the machine has to be otherwise idle. Exit code 1 where a measure is worse.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from cockpit.views.order import natural
from tests.bed.cache import BedError
from tests.bench import load
from tests.bench.__main__ import bed_of, fill, jobs_of, parser_of_options
from tests.bench.contest import ROOT, Course, Result, run_one
from tests.bench.measure import run_command
from tests.bench.report import aligned

ALLOWED_RATIO = 1.05
BEDS = {"alike": [], "unlike": ["--unlike-labels"]}
SCRAPES = 300
# Timed in one way, whatever the older checkout's rooms do.
_ROOM = """
import asyncio, gc, inspect, json, time
from tests.bench import rooms

def best_seconds(work):
    gc.collect()
    found = []
    for _ in range(rooms.ROUNDS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)

rooms.best_seconds, rooms.ROUNDS = best_seconds, 50
made = rooms.{name}()
print(json.dumps([one.seconds for one in (asyncio.run(made) if inspect.iscoroutine(made) else made)]))
"""
# A scrape every 10 s instead of 30 s, and 8,000 GPUs instead of 20,000: to be had in half a minute.
_TELEMETRY = """
from tests.bench import telemetry
telemetry.SCRAPE_SECONDS = 10
telemetry.main(["--rounds", "2", "--nodes", "1000"])
"""

Found = dict[str, float | None]
Samples = dict[str, tuple[list[float], list[float]]]
"""Measure -> what the old and the new checkout took, in run order."""


def _python(root: Path) -> str:
    return str(root / ".venv" / "bin" / "python")


# ---- measures of a checkout


def on_the_bed(course: Course, kind: str) -> Found:
    """The feed alone, and the cockpit in a terminal. Raises BedError where one of them failed."""
    feed, whole = _sound(run_one("feed", course)), _sound(run_one("cockpit", course))
    return {
        f"feed {kind}, s": feed.all_seconds,
        f"feed {kind}, CPU s": feed.cpu_seconds,
        f"cockpit {kind}, first screen s": whole.first_seconds,
        f"cockpit {kind}, all loaded s": whole.all_seconds,
        f"cockpit {kind}, CPU s": whole.cpu_seconds,
        f"cockpit {kind}, quiet key p99 s": whole.details["key_quiet_p99_seconds"],
    }


def _sound(result: Result) -> Result:
    if result.problem:
        raise BedError(f"{result.contestant}: {result.problem}")
    return result


def rooms(root: Path) -> Found:
    """Processor seconds of two pieces of work, each in a process of its own."""
    return {
        "20,000 log lines, CPU s": _room(root, "log_costs"),
        "a queue cycle, CPU s": _room(root, "queue_costs"),
    }


def _room(root: Path, name: str) -> float:
    return float(json.loads(_output(root, "-c", _ROOM.format(name=name)))[0])


def telemetry(root: Path) -> Found:
    """A refresh of the numbers of all GPUs, and what one screen of nodes needs."""
    _output(root, "-c", _TELEMETRY)
    rounds = json.loads((root / "bench-out" / "telemetry.json").read_text())["rounds"]
    names = dict.fromkeys(one["name"] for one in rounds if one["name"] != "first")
    return {
        f"telemetry refresh, {name}, CPU s": median(
            one["cpu_seconds"] for one in rounds if one["name"] == name
        )
        for name in names
    }


def exporter(root: Path) -> Found:
    """A scrape of eight cards."""
    text = _output(root, "-m", "tests.bench.exporter", "--scrapes", str(SCRAPES)).decode()
    wall, cpu = re.search(r"median ([\d.]+) ms", text), re.search(r"own CPU +([\d.]+) ms", text)
    if wall is None or cpu is None:
        raise BedError(f"the exporter's bench printed no times: {text[-300:]}")
    return {"exporter scrape, s": float(wall[1]) / 1e3, "exporter scrape, CPU s": float(cpu[1]) / 1e3}


def _output(root: Path, *words: str) -> bytes:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home())}
    return run_command([_python(root), *words], environment, folder=root).output


ALONE: dict[str, Callable[[Path], Found]] = {"rooms": rooms, "telemetry": telemetry, "exporter": exporter}


# ---- runs


def taken(samples: Samples, runs: int, roots: tuple[Path, Path], measure: Callable[[Path], Found]) -> None:
    """Measure both checkouts so many times, in turns."""
    for number in range(runs):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            for name, value in measure(roots[side]).items():
                if value is not None:
                    samples.setdefault(name, ([], []))[side].append(value)
            print(f"run {number + 1} of {runs}: {roots[side]}", flush=True)


def is_worse(old: Sequence[float], new: Sequence[float]) -> bool:
    """By more than is allowed, and more than any old run took."""
    return median(new) > max(median(old) * ALLOWED_RATIO, *old)


def table(samples: Samples) -> list[str]:
    """One line for each measure."""
    rows = [("measure", "old", "spread", "new", "spread", "new / old", "")]
    for name, (old, new) in samples.items():
        if old and new:
            ratio = f"{median(new) / median(old):.3f}" if median(old) else "-"
            verdict = "WORSE" if is_worse(old, new) else "ok"
            rows.append((name, _middle(old), _spread(old), _middle(new), _spread(new), ratio, verdict))
    return aligned(rows)


def _middle(values: Sequence[float]) -> str:
    return f"{median(values):.4g}"


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.4g} to {max(values):.4g}"


def _beds(samples: Samples, options: argparse.Namespace, roots: tuple[Path, Path], chosen: list[str]) -> None:
    for kind in chosen:
        words = ["--pods", str(options.pods), "--nodes", str(options.nodes), *BEDS[kind]]
        asked = parser_of_options().parse_args(words)
        with bed_of(asked) as bed, tempfile.TemporaryDirectory(prefix="gpu-cockpit-bench-") as scratch:
            fill(bed, asked)
            keys = tuple(sorted(load.pod_keys(jobs_of(asked)), key=natural))
            courses = {
                root: Course(bed, keys, Path(scratch) / str(side), root, _python(root))
                for side, root in enumerate(roots)
            }

            def measure(root: Path, courses: dict[Path, Course] = courses, kind: str = kind) -> Found:
                return on_the_bed(courses[root], kind)

            for root, course in courses.items():
                course.folder.mkdir()
                measure(root)  # once for nothing: cold caches of the server, bytecode of the checkout
            taken(samples, options.runs, roots, measure)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD", help="the older checkout")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=2_500)
    parser.add_argument("--only", action="append", choices=[*BEDS, *ALONE], help="only this; repeat")
    options = parser.parse_args(arguments)
    roots = options.old.resolve(), ROOT
    for root in roots:
        if not Path(_python(root)).exists():
            parser.error(f"{root} has no .venv: call `make .venv/.installed` in it")
    chosen = options.only or [*ALONE, *BEDS]
    samples: Samples = {}
    try:
        for name in (one for one in ALONE if one in chosen):
            taken(samples, options.runs, roots, ALONE[name])
        _beds(samples, options, roots, [one for one in BEDS if one in chosen])
    except (BedError, subprocess.SubprocessError) as error:
        print(f"measuring ended early: {error}", file=sys.stderr)
        return 2
    finally:
        for line in table(samples):
            print(line, flush=True)
    return int(any(old and new and is_worse(old, new) for old, new in samples.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
