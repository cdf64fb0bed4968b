"""`cockpit fleet`: nodes needed at the current load, largest gangs that fit, idle and lost GPUs."""

import argparse
import asyncio
from typing import Any, ClassVar, Literal

import msgspec

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.document import ClusterDocument, Telemetry, document_lines
from cockpit.commands.get import NEEDS, telemetry
from cockpit.commands.output import note, plain, put, table_lines
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.triage.fleet import IdleGpus
from cockpit.views.fleet_use import FleetPage, card_table, fleet_sight, head_lines, waste_table


class PackingItem(msgspec.Struct):
    """`nodes` hold the load, fewer than `at_least` cannot; `pods_without_room` find no node."""

    nodes: int
    at_least: int
    pods_without_room: int


class GangItem(msgspec.Struct):
    """Largest gang with this many GPUs each that would start now."""

    gpus_each: int
    members: int


class GapItem(msgspec.Struct):
    """Nodes with this number of free GPUs."""

    free_gpus: int
    nodes: int


class ModelItem(msgspec.Struct, kw_only=True):
    """Nodes with one model of GPU. `is_exact`: fewer nodes are known to be impossible."""

    model: str
    resource: str
    nodes: int
    gpus: int
    allocated: int
    free: int
    packing: PackingItem
    with_waiting: PackingItem | None
    gangs: list[GangItem]
    scattered: int
    gaps: list[GapItem]
    shut: int
    is_exact: bool


class UnmeasuredItem(msgspec.Struct):
    """GPUs whose idleness is unknown; without a number where that is so of all."""

    why: str
    gpus: int | None


class LostItem(msgspec.Struct):
    """Lost GPUs of a node."""

    node: str
    gpus: int
    is_ready: bool


class FleetDocument(ClusterDocument, kw_only=True):
    """`cockpit fleet`. Null: unknown, for nodes, pods or metrics may not be read."""

    rows: ClassVar[str] = "models"

    kind: Literal["fleet"]
    telemetry: Telemetry
    nodes: int | None
    nodes_needed: int | None
    nodes_needed_at_least: int | None
    models: list[ModelItem] | None
    idle: list[IdleGpus] | None
    idle_gpu_hours: float | None
    idle_not_known: list[IdleGpus] | None
    idle_not_measured: list[UnmeasuredItem]
    lost: list[LostItem] | None


def run(options: argparse.Namespace) -> int:
    """Print once."""
    return asyncio.run(
        within(options.timeout, _run(options, attach_options(options, settings_in_force()), SystemClock()))
    )


async def _run(options: argparse.Namespace, chosen: AttachOptions, clock: Clock) -> int:
    async with attached(chosen, clock) as live:
        notes = await live.settle(NEEDS["overview"], options.timeout, with_gpus=True, tells_rest=True)
        await live.judge_idle_jobs()
        put(page_lines(live.attachment, options.output, clock.cluster_now()))
    note(notes)
    return 0


def page_lines(attachment: Attachment, output: str, now_seconds: float) -> list[str]:
    """The lines of one answer."""
    sight = fleet_sight(attachment.store, attachment.jobs, attachment.verdicts.on_demand.idle, now_seconds)
    page = sight.solved()
    if output == "table":
        return page_text(page, now_seconds)
    return document_lines(FleetDocument, _tree(page, attachment, now_seconds), output)


def page_text(page: FleetPage, now_seconds: float) -> list[str]:
    """For a person."""
    lines = head_lines(page)
    for table in (card_table(page.use, now_seconds), waste_table(page, now_seconds)):
        if len(table):
            lines += ["", *table_lines(table)]
    return lines


def _tree(page: FleetPage, attachment: Attachment, now_seconds: float) -> dict[str, Any]:
    use = page.use
    is_known = use.is_use_known and use.are_nodes_known
    models = [{**plain(item), "is_exact": item.packing.is_exact} for item in use.models]
    for one, model in zip(models, use.models, strict=True):
        one["packing"] = _packing(model.packing)
        one["with_waiting"] = None if model.with_waiting is None else _packing(model.with_waiting)
        one["gangs"] = [{"gpus_each": size, "members": members} for size, members in model.gangs]
        one["gaps"] = [{"free_gpus": free, "nodes": nodes} for free, nodes in model.gaps]
    return {
        "kind": "fleet",
        "context": attachment.session.context if attachment.session else "",
        "at_seconds": now_seconds,
        "telemetry": telemetry(attachment),
        "nodes": use.nodes if use.are_nodes_known else None,
        "nodes_needed": use.needed if is_known else None,
        "nodes_needed_at_least": use.at_least if is_known else None,
        "models": models if is_known else None,
        "idle": None if use.idle is None else [plain(item) for item in use.idle],
        "idle_gpu_hours": use.idle_gpu_hours,
        "idle_not_known": None if use.unsure is None else [plain(item) for item in use.unsure],
        "idle_not_measured": [{"why": gap, "gpus": gpus} for gap, gpus in use.unmeasured],
        "lost": [item._asdict() for item in page.lost] if use.are_nodes_known else None,
    }


def _packing(one: Any) -> dict[str, int]:
    return {"nodes": one.nodes, "at_least": one.at_least, "pods_without_room": one.unplaced}
