"""`cockpit get engines`: which queueing and gang engines are installed, and which are at work."""

import argparse
import asyncio
from typing import Literal

import msgspec

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.output import grid, note, put
from cockpit.commands.patience import within
from cockpit.errors import NoConnection
from cockpit.gangs import registry
from cockpit.gangs.installed_engines import installed_engines
from cockpit.kube.discovery import discover
from cockpit.model.record import Kind
from cockpit.views.engines import engine_grid

KINDS = (Kind.WORKLOAD, Kind.POD_GROUP, Kind.POD)
"""What tells that a controller is at work: its pods, and status that only it writes."""


class EngineItem(msgspec.Struct):
    """An engine: served by the API server, and at work, null where that is unknown."""

    engine: str
    is_served: bool
    is_alive: bool | None
    sentence: str
    meaning: str


class EnginesDocument(OutputDocument, kw_only=True):
    """`cockpit get engines`."""

    kind: Literal["engines"]
    context: str
    items: list[EngineItem]


async def show(options: argparse.Namespace, chosen: AttachOptions) -> int:
    """Print both facts of every engine, with what tells them."""
    async with attached(chosen, SystemClock()) as live:
        notes = await live.settle(KINDS, options.timeout)
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "not connected to a cluster")
        served = live.attachment.served or await discover(session)
        found = installed_engines(
            live.attachment.store, lambda group, name: served.find(group, name) is not None
        )
        context = session.context
    if options.output == "table":
        put(grid(*engine_grid(found)))
    else:
        items = [
            {
                "engine": item.engine,
                "is_served": item.is_served,
                "is_alive": item.is_alive,
                "sentence": item.sentence,
                "meaning": registry.engine_named(item.engine).meaning,
            }
            for item in found
        ]
        tree = {"kind": "engines", "context": context, "items": items}
        put(document_lines(EnginesDocument, tree, options.output))
    note(notes)
    return 0


def run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    """The command."""
    return asyncio.run(within(options.timeout, show(options, chosen)))
