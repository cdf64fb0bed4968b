"""`cockpit get KIND`: attach, wait until the lists are whole, print, leave."""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands import engines, overview, pools_told
from cockpit.commands.attached import CLAIM_KINDS, Live, attached
from cockpit.commands.output import note, plain, put, table_lines, tree_text
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.pools.truth import gpus_allocated
from cockpit.triage.on_demand import MOST_LOGS, TOLD_BY_LOG
from cockpit.views import duty, events, gpus, jobs, nodes, pods, pools, queues
from cockpit.views.lazy_table import ListRows
from cockpit.views.node_cards import cards_of
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
}  # fmt: skip
"""Options of `get overview`, for where screens cannot be shown."""


def run(options: argparse.Namespace) -> int:
    """Print one kind as a table, JSON or YAML."""
    chosen = attach_options(options, settings_in_force())
    if options.kind == "engines":
        return engines.run(options, chosen)
    return asyncio.run(within(options.timeout, _run(options, chosen)))


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    kind: str = options.kind
    if kind in ALONE:
        chosen = replace(chosen, is_narrow=True)
    async with attached(chosen, clock) as live:
        notes = await settled(live, kind, options.timeout, clock)
        state = ViewState(
            filter=options.filter,
            sort=options.sort,
            descending=options.descending,
            namespaces=live.attachment.namespaces,
        )
        lines = _lines(kind, options.output, live.attachment, state, clock.cluster_now())
    put(lines)
    note(notes)
    return 0


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
        return [tree_text(overview_json(tree, attachment), output)]
    source = tables()[kind](attachment, state, now_seconds)
    refuse_view(source, state)
    if output == "table":
        return table_lines(source) if len(source) else [_why_empty(kind, attachment, state)]
    items = items_of(kind, [source.row(at) for at in range(len(source))], attachment)
    session = attachment.session
    tree = {
        "kind": kind,
        "context": session.context if session else "",
        "at_seconds": now_seconds,
        **({"telemetry": telemetry(attachment)} if kind in WITH_GPUS else {}),
        "items": items,
    }
    return [tree_text(tree, output)]


def overview_json(tree: dict[str, Any], attachment: Attachment) -> dict[str, Any]:
    """The overview as JSON has it, with what keeps each pool busy."""
    pools = tree["pools"]
    with_duty = None if pools is None else [item(one, attachment) for one in pools]
    found: dict[str, Any] = plain({**tree, "pools": with_duty, "telemetry": telemetry(attachment)})
    return found


def items_of(kind: str, rows: Sequence[Any], attachment: Attachment) -> list[Any]:
    """The rows of a kind as JSON has them."""
    items = [item(row, attachment) for row in rows]
    return pools_told.with_demand_and_cost(items, attachment) if kind == "pools" else items


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
        return {"phase": None, "message": ""}
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
    "pools": lambda one, now: pools.listed(pools_of(one.store), pools_told.beside(one)),
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
