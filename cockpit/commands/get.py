"""`cockpit get KIND`: attach, wait until the lists are whole, print, leave."""

import argparse
import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands import overview
from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.commands.live import attached
from cockpit.commands.paper import note, plain, put, table_lines, tree_text
from cockpit.errors import BadInput
from cockpit.model.record import Kind
from cockpit.pools.index import node_stage, pools_of
from cockpit.pools.truth import gpus_held
from cockpit.views import events, gpus, jobs, nodes, pods, pools, queues
from cockpit.views.view_state import ViewState

_JOBS: Final = (
    Kind.POD,
    Kind.MPIJOB,
    Kind.JOB,
    Kind.VOLCANO_JOB,
    Kind.WORKLOAD,
    Kind.LOCAL_QUEUE,
    Kind.CLUSTER_QUEUE,
)
NEEDS: Final = {
    "overview": (Kind.NODE, *_JOBS, Kind.POOL),
    "nodes": (Kind.NODE, Kind.POD, Kind.POOL),
    "gpus": (Kind.NODE, Kind.POD),
    "pods": (Kind.POD,),
    "jobs": _JOBS,
    "queues": (Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE, Kind.WORKLOAD),
    "pools": (Kind.NODE, Kind.POD, Kind.POOL),
    "events": (Kind.EVENT, Kind.POD),
}
ALONE: Final = ("pods", "events", "queues")
"""Rows that say nothing about what is free: other namespaces need not be read for them."""
WITH_GPUS: Final = ("overview", "nodes", "gpus", "jobs")


def run(options: argparse.Namespace) -> int:
    """Print one kind as a table, JSON or YAML."""
    chosen = attach_options(options, settings_in_force())
    if options.kind == "engines":
        from cockpit.commands import engines

        return engines.run(options, chosen)
    return asyncio.run(_run(options, chosen))


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    kind: str = options.kind
    if kind in ALONE:
        chosen = replace(chosen, is_narrow=True)
    async with attached(chosen, clock) as live:
        notes = await live.settle(NEEDS[kind], options.timeout, with_gpus=kind in WITH_GPUS)
        state = ViewState(
            filter=options.filter,
            sort=options.sort,
            descending=options.descending,
            namespace=chosen.namespace,
        )
        lines = _lines(kind, options.output, live.attachment, state, clock.now())
    put(lines)
    note(notes)
    return 0


def _lines(kind: str, output: str, attachment: Attachment, state: ViewState, now_seconds: float) -> list[str]:
    if kind == "overview":
        tree = overview.tree(attachment, now_seconds)
        return overview.lines(tree) if output == "table" else [tree_text(plain(tree), output)]
    source = tables()[kind](attachment, state, now_seconds)
    refuse_view(source, state)
    if output == "table":
        return table_lines(source) if len(source) else [_why_empty(kind, attachment, state)]
    items = [item(source.row(at), attachment) for at in range(len(source))]
    session = attachment.session
    tree = {
        "kind": kind,
        "context": session.context if session else "",
        "at_seconds": now_seconds,
        "items": items,
    }
    return [tree_text(tree, output)]


def refuse_view(source: Any, state: ViewState) -> None:
    if source.problem:
        raise BadInput(f"--filter: {source.problem}")
    columns = [one.id for one in source.columns]
    if state.sort and state.sort not in columns:
        raise BadInput(f"--sort: there is no column {state.sort!r}; it has: {', '.join(columns)}")


def _why_empty(kind: str, attachment: Attachment, state: ViewState) -> str:
    status = attachment.store.status(NEEDS[kind][0])
    if status is not None and status.message:
        return f"no {kind}: {status.message}"
    within = f" in namespace {state.namespace}" if state.namespace else ""
    return f"no {kind}{within}{' match the filter' if state.filter else ''}"


Table = Callable[[Attachment, ViewState, float], Any]


def tables() -> dict[str, Table]:
    return {
        "nodes": lambda one, state, now: nodes.table(one.store, state, now),
        "gpus": lambda one, state, now: gpus.table(one.store, state, now),
        "pods": lambda one, state, now: pods.table(one.store, state, now),
        "jobs": lambda one, state, now: jobs.table(one.jobs.jobs.values(), one.store, state, now),
        "queues": lambda one, state, now: queues.table(one.store, state, now),
        "pools": lambda one, state, now: pools.table(pools_of(one.store), state, now),
        "events": lambda one, state, now: events.table(one.store, state, now),
    }


def item(row: Any, attachment: Attachment) -> Any:
    """The record behind a row, with what the cockpit computed beside it."""
    store = attachment.store
    if isinstance(row, nodes.NodeRow):
        node = row.node
        return {
            **plain(node),
            "stage": node_stage(node, store),
            "gpus_held": gpus_held(store, node.name),
            "gpus": plain(store.gpus_on(node.name)),
        }
    if isinstance(row, gpus.GpuRow):
        return {**plain(row.card), "is_lost": row.is_lost}
    if isinstance(row, jobs.JobRow):
        return plain(row.job)
    if isinstance(row, queues.QueueRow):
        return {"name": row.name, "local_queue": plain(row.local), "cluster_queue": plain(row.cluster)}
    if isinstance(row, events.EventRow):
        return plain(row.event)
    return plain(row)
