"""`cockpit get KIND`: attach, wait until the lists are whole, print, leave."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands import engines, overview
from cockpit.commands.attached import CLAIM_KINDS, Live, attached
from cockpit.commands.document import document_lines
from cockpit.commands.get_documents import OF_KIND
from cockpit.commands.get_watch import RowChanges, change_lines
from cockpit.commands.output import note, plain, put, table_lines
from cockpit.commands.patience import Sleep, wait_on, within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.commands.triage_document import finding_item
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.model.listing import listing
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.demand import NO_DEMAND, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.pools.price import pool_hourly
from cockpit.pools.truth import gpus_allocated
from cockpit.triage.on_demand import MOST_LOGS, TOLD_BY_LOG
from cockpit.views import duty, events, gpus, jobs, nodes, pods, pools, queues
from cockpit.views.lazy_table import ListRows
from cockpit.views.node_cards import cards_of
from cockpit.views.pools import PoolsBeside
from cockpit.views.view_state import ViewState

_JOBS: Final = (
    Kind.POD,
    Kind.MPIJOB,
    Kind.JOB,
    Kind.OTHER_JOB,
    *registry.own_job_tables(),
    Kind.WORKLOAD,
    *registry.queue_tables(),
    *CLAIM_KINDS,
)
NEEDS: Final = {
    "overview": (Kind.NODE, *_JOBS, Kind.POOL),
    "nodes": (Kind.NODE, Kind.POD, Kind.POOL, *CLAIM_KINDS),
    "gpus": (Kind.NODE, Kind.POD, *CLAIM_KINDS),
    "pods": (Kind.POD, *CLAIM_KINDS),
    "jobs": _JOBS,
    "queues": (*registry.queue_tables(), Kind.WORKLOAD, Kind.POD_GROUP, Kind.POD),
    "pools": (Kind.NODE, Kind.POD, Kind.POOL, *CLAIM_KINDS),
    "events": (Kind.EVENT, Kind.POD),
}
ALONE: Final = ("pods", "events", "queues")
"""Rows that say nothing about what is free: other namespaces need not be read for them."""
WITH_GPUS: Final = ("overview", "nodes", "gpus", "jobs", "pools")
OVERVIEW: Final = {
    "kind": "overview", "output": "table", "filter": "", "sort": "", "descending": False, "timeout": 30.0,
    "watch": False,
}  # fmt: skip
"""Options of `get overview`, for where screens cannot be shown."""


def run(options: argparse.Namespace) -> int:
    """Print the rows of one kind once, or with --watch until interrupted."""
    chosen = attach_options(options, settings_in_force())
    if options.watch and options.kind not in tables():
        raise BadInput(f"--watch: get {options.kind} has none; watch one of {', '.join(tables())}")
    if options.kind == "engines":
        return engines.run(options, chosen)
    return asyncio.run(within(options.timeout, watch(options, chosen, SystemClock())))


async def watch(
    options: argparse.Namespace, chosen: AttachOptions, clock: Clock, sleep: Sleep = asyncio.sleep
) -> int:
    """Rounds of one attachment, one without --watch: an unchanged table is not printed again, nor rows that
    did not change."""
    kind: str = options.kind
    if kind in ALONE:
        chosen = replace(chosen, is_narrow=True)
    noted: tuple[str, ...] = ()
    printed: list[str] | None = None
    changes = RowChanges()
    async with attached(chosen, clock) as live:
        while True:
            notes = await settled(live, kind, options.timeout, clock)
            state = ViewState(
                filter=options.filter,
                sort=options.sort,
                descending=options.descending,
                namespaces=live.attachment.namespaces,
            )
            if options.watch and options.output != "table":
                lines = _changed(options, live.attachment, state, clock, changes, is_first=printed is None)
            else:
                lines = _lines(kind, options.output, live.attachment, state, clock.cluster_now())
            if options.output != "table" or lines != printed:
                put(lines if printed is None or options.output != "table" else ["", *lines])
            printed = lines
            note(item for item in notes if item not in noted)
            noted = notes
            if not options.watch:
                return 0
            sys.stdout.flush()
            wait_on()
            await sleep(options.interval)


def _changed(
    options: argparse.Namespace,
    attachment: Attachment,
    state: ViewState,
    clock: Clock,
    changes: RowChanges,
    *,
    is_first: bool,
) -> list[str]:
    """The lines of one round of --watch for programs."""
    kind, now_seconds = options.kind, clock.cluster_now()
    source = tables()[kind](attachment, state, now_seconds)
    refuse_view(source, state)
    items = items_of(kind, _rows(source), attachment)
    rows = [(source.key(at), row) for at, row in enumerate(items)]
    found = changes.since_last(rows, has_all=listing(attachment.store, NEEDS[kind][0]).has_all)
    about = {"kind": kind, "context": _context(attachment), "at_seconds": now_seconds}
    return change_lines(OF_KIND[kind], about, found, options.output, is_first=is_first)


def _rows(source: Any) -> list[Any]:
    return [source.row(at) for at in range(len(source))]


async def settled(live: Live, kind: str, timeout_seconds: float, clock: Clock) -> tuple[str, ...]:
    """Wait until all that rows of the kind rest on is read; the notes about it."""
    notes = await live.settle(
        NEEDS[kind], timeout_seconds, with_gpus=kind in WITH_GPUS, tells_rest=kind == "overview"
    )
    if kind in ("overview", "jobs"):
        await live.judge_idle_jobs()
    if kind == "jobs":
        await live.read_rows(lambda: _crashed(live.attachment, clock.cluster_now()))
    return notes


def _crashed(attachment: Attachment, now_seconds: float) -> list[tuple[Pod, ...]]:
    """The members of jobs of which a log may say more, their verdicts reached."""
    jobs, verdicts = attachment.jobs, attachment.verdicts
    found = [job.key for job in jobs.jobs.values() if verdicts.of(job, now_seconds).cause in TOLD_BY_LOG]
    return [jobs.members(key) for key in found[:MOST_LOGS]]


def _lines(kind: str, output: str, attachment: Attachment, state: ViewState, now_seconds: float) -> list[str]:
    if kind == "overview":
        tree = overview.tree(attachment, now_seconds)
        if output == "table":
            return overview.lines(tree)
        return document_lines(OF_KIND[kind], overview_json(tree, attachment), output)
    source = tables()[kind](attachment, state, now_seconds)
    refuse_view(source, state)
    if output == "table":
        return table_lines(source) if len(source) else [_why_empty(kind, attachment, state)]
    tree = {
        "kind": kind,
        "context": _context(attachment),
        "at_seconds": now_seconds,
        **({"telemetry": telemetry(attachment)} if kind in WITH_GPUS else {}),
        "items": items_of(kind, _rows(source), attachment),
    }
    return document_lines(OF_KIND[kind], tree, output)


def _context(attachment: Attachment) -> str:
    return attachment.session.context if attachment.session else ""


def overview_json(tree: dict[str, Any], attachment: Attachment) -> dict[str, Any]:
    """The overview as JSON has it, with what keeps each pool busy."""
    pools = tree["pools"]
    with_duty = None if pools is None else [item(one, attachment) for one in pools]
    findings = [finding_item(row) for row in tree["needs_a_human"]]
    more = {"pools": with_duty, "needs_a_human": findings, "telemetry": telemetry(attachment)}
    found: dict[str, Any] = plain({**tree, **more})
    return found


def items_of(kind: str, rows: Sequence[Any], attachment: Attachment) -> list[Any]:
    """The rows of a kind as JSON has them."""
    items = [item(row, attachment) for row in rows]
    return with_demand_and_cost(items, attachment) if kind == "pools" else items


def refuse_view(source: Any, state: ViewState) -> None:
    if source.problem:
        raise BadInput(f"--filter: {source.problem}")
    columns = [column.id for column in source.columns]
    if state.sort and state.sort not in columns:
        raise BadInput(f"--sort: there is no column {state.sort!r}; it has: {', '.join(columns)}")


def _why_empty(kind: str, attachment: Attachment, state: ViewState) -> str:
    status = attachment.store.status(NEEDS[kind][0])
    if status is not None and status.message:
        return f"no {kind}: {status.message}"
    within = f" in {state.namespaces.words}" if state.namespaces else ""
    return f"no {kind}{within}{' match the filter' if state.filter else ''}"


def telemetry(attachment: Attachment) -> dict[str, Any]:
    """Where GPU numbers stand: `is_partial` says that cards may be missing, `clock_ahead_seconds` how far the
    metrics server's clock is ahead of the cluster's (ages are corrected for it)."""
    status = attachment.store.status(Kind.GPU)
    if status is None:
        return {"phase": None, "message": "", "is_partial": False, "clock_ahead_seconds": 0.0}
    return {
        "phase": status.phase.value,
        "message": status.message,
        "is_partial": status.is_partial,
        "clock_ahead_seconds": status.clock_ahead_seconds,
    }


Table = Callable[[Attachment, ViewState, float], Any]
LISTS: Final[dict[str, Callable[[Attachment, float], ListRows[Any]]]] = {
    "jobs": lambda one, now: jobs.listed(one.jobs.jobs.values(), one.store, now, explain=one.verdicts.of),
    "nodes": lambda one, now: nodes.listed(one.store, now),
    "queues": lambda one, now: queues.listed(one.store),
    "pools": lambda one, now: pools.listed(pools_of(one.store), pools_beside(one)),
}
"""Lists that several clusters share: all rows of one cluster now, in epoch seconds."""


def _table_of(made: Callable[[Attachment, float], ListRows[Any]]) -> Table:
    return lambda one, state, now: made(one, now).table(state, now)


def tables() -> dict[str, Table]:
    return {
        **{kind: _table_of(made) for kind, made in LISTS.items()},
        "gpus": lambda one, state, now: gpus.table(one.store, state, now),
        "pods": lambda one, state, now: pods.table(one.store, state, now),
        "events": lambda one, state, now: events.table(one.store, state, now),
    }


def item(row: Any, attachment: Attachment) -> Any:
    """The record behind a row, with what the cockpit computed beside it."""
    store = attachment.store
    if isinstance(row, nodes.NodeRow):
        node = row.node
        allocated = gpus_allocated(store, node.name) if row.allocated_text != "?" else None
        return {
            **plain(node),
            "stage": row.stage,
            "gpus_allocated": allocated,
            "duty": plain(duty.of_node(node, store, allocated)),
            "gpus": plain(cards_of(node, store)),
        }
    if isinstance(row, gpus.GpuRow):
        return {**plain(row.card), "is_lost": row.is_lost}
    if isinstance(row, jobs.JobRow):
        allocated = jobs.known_gpus(row.job)
        told = {"why": row.why, "gpus_allocated": allocated, "duty": plain(duty.of_job(row))}
        return {**plain(row.job), **told}
    if isinstance(row, Pool):
        return {**plain(row), "duty": plain(duty.of_pool(row, store))}
    if isinstance(row, queues.QueueRow):
        records = {"local_queue": plain(row.local), "cluster_queue": plain(row.cluster)}
        return {"name": row.name, "engine": row.engine.name, "state": row.state, "why": row.why, **records}
    if isinstance(row, events.EventRow):
        return plain(row.event)
    if isinstance(row, Pod):
        return {**plain(row), "gpus": None if row.has_unknown_gpus else row.gpus}
    return plain(row)


def pools_beside(attachment: Attachment) -> PoolsBeside:
    """As the screen shows it."""
    demand = demand_by_pool(attachment.store, pools_of(attachment.store))
    return PoolsBeside(attachment.trends, demand, settings_in_force().prices)


def with_demand_and_cost(items: Sequence[dict[str, Any]], attachment: Attachment) -> list[dict[str, Any]]:
    """`demand` counts pods that wait for a node; `only_here` are those that no other pool could take.
    `hourly_cost` is null where the prices do not name the machine."""
    pools = {item.name: item for item in pools_of(attachment.store)}
    found, prices = demand_by_pool(attachment.store, tuple(pools.values())), settings_in_force().prices
    told = []
    for item in items:
        waits = None if found is None else found.get(item["name"], NO_DEMAND)
        demand = (
            None
            if waits is None
            else {
                "only_here_gpus": waits.gpus,
                "only_here_pods": len(waits.only),
                "shared_gpus": sum(pod.gpus for pod in waits.shared),
                "shared_pods": len(waits.shared),
            }
        )
        cost = pool_hourly(pools[item["name"]], prices)
        told.append({**item, "demand": demand, "hourly_cost": cost, "currency": prices.currency})
    return told
