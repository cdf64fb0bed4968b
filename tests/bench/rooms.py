"""What one piece of work costs in the quick rooms: `python -m tests.bench.rooms`, also part of `make bench`.

Processor seconds of the quickest of a few rounds, beside the bound that keeps the screen fluent or the fleet
scenario at its pace, and in *yardsticks*: the same divided by what a fixed pure-Python loop takes at that
moment, by which runs on two machines can be compared. No test asserts any of it: machines are shared.
"""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from cockpit_widgets.heatmap import Heatmap
from cockpit_widgets.log_view import LogView
from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.types import Column
from msgspec.structs import replace
from textual.widget import Widget

from cockpit.clock import ManualClock
from cockpit.jobs.index import JobIndex
from cockpit.k8s.admission.admission_cycle import decide
from cockpit.kube.resource import PODS
from cockpit.model.batch import Batch
from cockpit.model.finding import Subject
from cockpit.model.record import Kind
from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.local_port import LocalPort
from cockpit.store.store import Store
from cockpit.triage.advice import advised
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.fleet import fleet_load, fleet_use
from cockpit.triage.idle_jobs import IdleJobs
from tests.bench.fitting import measured_store
from tests.bench.measure import yardstick_seconds
from tests.bench.report import aligned
from tests.contract.shapes import pod as stored_pod
from tests.unit.sim.queue.crowd import crowded
from tests.unit.sim.scheduler.bursts import BURSTS, filled, named
from tests.unit.store.builders import fleet
from tests.unit.triage.objects import NOW, decoded, job, pods_of
from tests.unit.widgets.builders import Host, Rows, heat, rows

ROUNDS = 5
NODES = 2_500


@dataclass(frozen=True)
class Cost:
    """One measured piece of work. `wanted_seconds` is the bound it is compared with."""

    what: str
    seconds: float
    wanted_seconds: float


def best_seconds(work: Callable[[], object]) -> float:
    """Processor seconds of the quickest of several rounds."""
    found = []
    gc.collect()  # what others left; once, so that rounds find warm caches
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


# ---- widgets


@asynccontextmanager
async def _shown(widget: Widget) -> AsyncIterator[Any]:
    async with Host(widget).run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        yield pilot


async def table_costs() -> list[Cost]:
    """A line drawn cold, and fifty thousand rows put in place of fifty thousand others."""
    columns = tuple(Column(f"c{number}", f"Col {number}", 12, grow=1) for number in range(12))
    texts = ("team-a/llm-70b", "▇▇▁▂", "日本語", "12/16", "● running")
    source = Rows(
        ((f"k{n}", 0, [texts[(n + c) % 5] + str(n) for c in range(12)]) for n in range(60)), columns
    )
    table = ResourceTable(source)

    def draw() -> None:
        table.notify_style_update()
        for y in range(1, 60):
            table.render_line(y)

    async with _shown(table):
        line = best_seconds(draw) / 59
    big = ResourceTable(rows(50_000))
    async with _shown(big):
        sources = iter([rows(50_000, version=n) for n in range(ROUNDS)])
        swap = best_seconds(lambda: big.set_source(next(sources)))
    return [Cost("a table line drawn cold", line, 200e-6), Cost("50,000 rows swapped", swap, 0.005)]


async def heat_costs() -> list[Cost]:
    """A frame of 2,500 nodes of 8, folded by node and not."""
    heatmap, groups, found = Heatmap(), heat(250, groups=10), []

    def frame() -> None:
        heatmap.set_groups(groups)
        for y in range(60):
            heatmap.render_line(y)

    async with _shown(heatmap) as pilot:
        for is_folded in (True, False):
            heatmap.set_fold("node" if is_folded else "gpu")
            await pilot.pause()
            words = "by node" if is_folded else "by GPU"
            found.append(Cost(f"a frame of {NODES:,} nodes of 8, {words}", best_seconds(frame), 0.050))
    return found


async def log_costs() -> list[Cost]:
    """Twenty thousand lines appended in batches."""
    log = LogView()
    batch = [f"rank {number % 8} step {number} loss 1.234" for number in range(200)]

    def pour() -> None:
        for _ in range(100):
            log.append(batch)

    async with _shown(log):
        return [Cost("20,000 log lines taken", best_seconds(pour), 0.200)]


# ---- the store


def store_costs() -> list[Cost]:
    """Five hundred changed pods of five thousand."""

    store = Store()
    store.apply(Batch(kind=Kind.POD, changed=fleet(5_000, "Running", "1")))
    store.take_delta()
    batches = iter([Batch(kind=Kind.POD, changed=fleet(500, "Running", str(2 + n))) for n in range(ROUNDS)])
    return [Cost("500 pod changes stored", best_seconds(lambda: store.apply(next(batches))), 0.020)]


# ---- the embedded cluster


def queue_costs() -> list[Cost]:
    """A cycle over the heads of a hundred queues in ten cohorts, a thousand workloads pending."""
    estate = crowded(Random(1))

    def cycle() -> None:
        heads = estate.heads(estate.stirred)
        decide(estate.forest, estate.specs, estate.flavors, estate.held, heads)

    return [Cost("a queue cycle over 100 heads of 1,000 pending", best_seconds(cycle), 0.100)]


def scheduling_costs() -> list[Cost]:
    """One pod of a burst of 300 at 2,500 nodes with 10,000 pods on them."""
    world, found = filled(NODES), []
    for burst, make in BURSTS.items():
        cycle = Cycle(world, Random(1))
        asked = [named(make(), f"{burst}-{number}") for number in range(300)]
        placed: list[str] = []
        gc.collect()
        start = time.process_time()
        for one in asked:
            if where := cycle.decide(one).node:
                world.put_pod(one.on(where))
                placed.append(one.uid)
        seconds = (time.process_time() - start) / len(asked)
        for uid in placed:
            world.drop_pod(uid)
        found.append(Cost(f"a pod {burst} scheduled", seconds, 0.005))
    return found


async def write_costs() -> list[Cost]:
    """A status written through the port, of 2,000 pods."""
    port, count = LocalPort(assemble(ManualClock(), Random(1), has_accounts=False).operations), 2_000
    for number in range(count):
        await port.create(PODS, stored_pod(f"p{number}", node="n"), "default")
    status = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    gc.collect()
    start = time.process_time()
    for number in range(count):
        await port.patch(PODS, "default", f"p{number}", {"status": status}, subresource="status")
    return [Cost("a pod status written", (time.process_time() - start) / count, 0.0002)]


# ---- triage


def triage_costs() -> list[Cost]:
    """What the fleet needs, and why one job of 64 pods waits and what would start it, at 2,500 nodes with
    10,000 pods."""
    store = measured_store(10_000, NODES, 1)
    nodes = store.records(Kind.NODE).values()
    roomy = tuple(replace(one, allocatable=_eightfold_cpu(one.allocatable)) for one in nodes)
    store.apply(Batch(kind=Kind.NODE, changed=roomy))
    waits = job("waits", 64, 8)
    pods = pods_of(waits)
    for pod in pods:
        (condition,) = pod["status"]["conditions"]
        condition["message"] = f"0/{NODES} nodes are available: {NODES} {_TAINTED}."
    store.apply(Batch(kind=Kind.JOB, changed=tuple(decoded(waits))))
    store.apply(Batch(kind=Kind.POD, changed=tuple(one for pod in pods for one in decoded(pod))))
    jobs = JobIndex(store)
    jobs.update(store.take_delta())
    trees = {("Job", "team-a"): [waits], ("Pod", "team-a"): pods}
    view = ClusterView(store=store, jobs=jobs, now_seconds=NOW, trees=trees)
    subject = Subject("job", "team-a", "waits")
    verdict = explain(subject, view)
    assert verdict.cause and verdict.funnel is not None and advised(verdict, view).changes

    def whole() -> None:
        advised(explain(subject, view), view)

    return [
        Cost("why one job waits", best_seconds(lambda: explain(subject, view)), 0.050),
        Cost("why, what starts it, and when", best_seconds(whole), 0.050),
        Cost(
            f"what {NODES:,} nodes need",
            best_seconds(lambda: fleet_use(fleet_load(store, jobs, IdleJobs(), NOW))),
            0.100,
        ),
        Cost("changes that start one job", best_seconds(lambda: changes_for(verdict, view)), 0.050),
    ]


_TAINTED = "node(s) had untolerated taint {nvidia.com/gpu: present}"


def _eightfold_cpu(offered: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """The measured load asks for more CPU and memory than its nodes have: then nothing could be packed."""
    return tuple((name, count * 8 if name in ("cpu", "memory") else count) for name, count in offered)


async def costs() -> list[Cost]:
    """Every piece of work, in the order of the table."""
    found = [*await table_costs(), *await heat_costs(), *await log_costs()]
    found += [*store_costs(), *queue_costs(), *scheduling_costs(), *triage_costs()]
    return [*found, *await write_costs()]


def table(found: list[Cost], yardstick: float) -> list[str]:
    """One line for each cost."""
    lines = [("work", "ms", "yardsticks", "wanted ms", "")]
    for one in found:
        verdict = "met" if one.seconds <= one.wanted_seconds else "missed"
        share = one.seconds / yardstick
        lines.append(
            (one.what, f"{one.seconds * 1e3:.3f}", f"{share:.5f}", f"{one.wanted_seconds * 1e3:.3f}", verdict)
        )
    return aligned(lines)


def main() -> int:
    before = yardstick_seconds()
    found = asyncio.run(costs())
    yardstick = min(before, yardstick_seconds())
    print(f"a yardstick is {yardstick:.3f} s")
    for line in table(found, yardstick):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
