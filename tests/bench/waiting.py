"""What *Now* and *Why* cost where a fleet waits: `python -m tests.bench.waiting`, also part of `make bench`.

Each shape is loaded and judged in a process of its own: processor seconds and resident memory of the first
look beyond loading, the middle one of a few looks after one change each, and *Why* of a waiting pod of a
store that no page was shown of. `of limit` is each figure divided by its bound. No test asserts it: machines
are shared.
"""

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

import msgspec

from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.finding import Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.verdicts import Verdicts
from tests.bench.report import aligned

ROWS_LIMIT = 50
CHANGE_LIMIT_MS, WHY_LIMIT_MS = 5.0, 50.0
JUDGED_LIMIT_S, JUDGED_LIMIT_MB = 1.0, 30.0
"""Of a fleet that starts, beyond loading it."""
LOOKS = 15
NOW = 1_800_000_000.0
_GPU = "nvidia.com/gpu"
_PAGE = 500
_READY = (Condition("Ready", "True"),)


class Shape(NamedTuple):
    """A fleet: the share of pods that wait for room, that start for too long, and that pull an image from a
    registry that is away; the rest runs. `roots` are pools and registries."""

    waiting: float
    starting: float
    pulling: float
    roots: int


SHAPES = {
    "all wait, 1 pool": Shape(1.0, 0.0, 0.0, 1),
    "all start, 1 pool": Shape(0.0, 1.0, 0.0, 1),
    "all start, 40 pools": Shape(0.0, 1.0, 0.0, 40),
    "half runs, half waits": Shape(0.5, 0.0, 0.0, 5),
    "a third each waits, starts, pulls": Shape(0.34, 0.33, 0.33, 10),
    "all pull, 300 registries": Shape(0.0, 0.0, 1.0, 300),
}


class Figures(msgspec.Struct, frozen=True):
    """What one shape has cost."""

    jobs: int
    rows: int
    load_s: float
    judged_s: float
    judged_mb: float
    change_ms: float
    worst_change_ms: float
    why_ms: float


def fleet(shape: Shape, pods: int, nodes: int, rng: Random) -> Iterator[Batch]:
    """Its nodes, then its pods in pages."""
    yield Batch(kind=Kind.NODE, changed=tuple(_node(number, shape.roots) for number in range(nodes)))
    for begin in range(0, pods, _PAGE):
        some = range(begin, min(pods, begin + _PAGE))
        yield Batch(kind=Kind.POD, changed=tuple(_pod(number, shape, nodes, rng) for number in some))


def _node(number: int, pools: int) -> Node:
    return Node(
        uid=f"n{number}",
        name=f"gpu-{number}",
        pool=f"pool-{number % pools}",
        conditions=_READY,
        gpu_capacity=8,
        gpu_allocatable=8,
        gpu_resource=_GPU,
    )


def _pod(number: int, shape: Shape, nodes: int, rng: Random) -> Pod:
    drawn = rng.random()
    more: dict[str, Any] = {"phase": "Running", "is_ready": True}
    if drawn < shape.waiting:
        message = f"0/{nodes} nodes are available: {nodes} Insufficient {_GPU}."
        told = {"scheduled_reason": "Unschedulable", "scheduled_message": message}
        more = {"phase": "Pending", "scheduled": "False", **told}
    else:
        more["node"] = f"gpu-{number % nodes}"
        if drawn < shape.waiting + shape.starting:
            more |= {"phase": "Pending", "is_ready": False, "waiting_reason": "ContainerCreating"}
        elif drawn < shape.waiting + shape.starting + shape.pulling:
            registry = rng.randrange(shape.roots)
            image = f"registry-{registry}.example/team/train-{registry}:1"
            said = f'Back-off pulling image "{image}"'
            more |= {"phase": "Pending", "is_ready": False, "image": image, "waiting_message": said}
            more["waiting_reason"] = "ImagePullBackOff"
    return Pod(
        uid=f"u{number}",
        name=f"train-{number}",
        namespace=f"team-{number % 9}",
        created_seconds=NOW - rng.uniform(700.0, 9_000.0),
        gpus=1,
        gpu_resource=_GPU,
        **more,
    )


def measured(shape: Shape, pods: int, nodes: int, seed: int) -> Figures:
    """In this process, which has done nothing else."""
    rng, store = Random(seed), Store()
    batches = list(fleet(shape, pods, nodes, rng))
    jobs = JobIndex(store)

    def load() -> None:
        for batch in batches:
            store.apply(batch)
            jobs.update(store.take_delta())

    load_s = _cpu_seconds(load)
    batches.clear()
    gc.collect()
    before = _resident_mb()
    verdicts, rows = Verdicts(store, jobs), 0
    why_ms = 0.0
    pending = next((pod for pod in store.records(Kind.POD).values() if pod.phase == "Pending"), None)
    if pending is not None:
        view = ClusterView(store=store, jobs=jobs, now_seconds=NOW)
        subject = Subject("pod", pending.namespace, pending.name)
        why_ms = 1e3 * _cpu_seconds(lambda: explain(subject, view))
    judged_s = _cpu_seconds(lambda: needs_human(store, jobs, NOW, verdicts=verdicts))
    gc.collect()
    judged_mb = _resident_mb() - before
    found = []
    for number in range(LOOKS):
        _change(store, rng, number)
        started = time.process_time()
        jobs.update(store.take_delta())
        rows = len(needs_human(store, jobs, NOW + number, verdicts=verdicts))
        found.append(1e3 * (time.process_time() - started))
    return Figures(len(jobs.jobs), rows, load_s, judged_s, judged_mb, median(found), max(found), why_ms)


def _change(store: Store, rng: Random, number: int) -> None:
    """One pod moves, goes, or runs; every fifth time a node is cordoned."""
    if number % 5 == 4:
        node = rng.choice(list(store.records(Kind.NODE).values()))
        changed = msgspec.structs.replace(node, unschedulable=not node.unschedulable)
        store.apply(Batch(kind=Kind.NODE, changed=(changed,)))
        return
    pod = rng.choice(list(store.records(Kind.POD).values()))
    if number % 5 == 3:
        store.apply(Batch(kind=Kind.POD, removed=(pod.uid,)))
        return
    told: dict[str, Any] = {"restarts": 1}
    if number % 2:
        told = {"phase": "Running", "is_ready": True, "waiting_reason": "", "node": pod.node or "gpu-1"}
    store.apply(Batch(kind=Kind.POD, changed=(msgspec.structs.replace(pod, **told),)))


def _cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4_096 / 1e6


def table(pods: int, nodes: int, seed: int) -> Iterator[str]:
    """One line for each shape, each with a seed of its own."""
    head = ("shape", "rows", "first look s", "MB", "one change ms", "worst", "why ms", "of limit", "")
    lines: list[tuple[str, ...]] = [head]
    for number, (name, shape) in enumerate(SHAPES.items()):
        asked = ["--shape", name, f"--pods={pods}", f"--nodes={nodes}", f"--seed={seed + number}"]
        told = subprocess.run(
            [sys.executable, "-m", "tests.bench.waiting", *asked], capture_output=True, check=True
        )
        figures = msgspec.json.decode(told.stdout, type=Figures)
        lines.append(_line(name, shape, figures))
    yield from aligned(lines)


def _line(name: str, shape: Shape, found: Figures) -> tuple[str, ...]:
    shares = {"change": found.change_ms / CHANGE_LIMIT_MS, "why": found.why_ms / WHY_LIMIT_MS}
    if shape.roots <= ROWS_LIMIT:
        shares["rows"] = found.rows / ROWS_LIMIT
    if shape.starting == 1.0:
        shares |= {"judging": found.judged_s / JUDGED_LIMIT_S, "memory": found.judged_mb / JUDGED_LIMIT_MB}
    missed = [what for what, share in shares.items() if share > 1.0]
    return (
        name,
        str(found.rows),
        f"{found.judged_s:.2f}",
        f"{found.judged_mb:.1f}",
        f"{found.change_ms:.1f}",
        f"{found.worst_change_ms:.1f}",
        f"{found.why_ms:.1f}",
        " ".join(f"{what} {share:.2f}" for what, share in shares.items()),
        f"missed: {', '.join(missed)}" if missed else "met",
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.waiting", description="What *Now* and *Why* cost where a fleet waits."
    )
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=2_500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", choices=list(SHAPES), help="measure this one in this process, as JSON")
    options = parser.parse_args(arguments)
    if options.shape:
        found = measured(SHAPES[options.shape], options.pods, options.nodes, options.seed)
        print(msgspec.json.encode(found).decode())
        return 0
    for line in table(options.pods, options.nodes, options.seed):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
