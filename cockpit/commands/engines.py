"""`cockpit get engines`: which queueing and gang engines are installed, and which are at work."""

import argparse
import asyncio

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.live import attached
from cockpit.commands.paper import grid, note, plain, put, tree_text
from cockpit.errors import NoConnection
from cockpit.gangs.presence import presences
from cockpit.model.record import Kind
from cockpit.views.engines import MEANINGS, engine_grid

KINDS = (Kind.WORKLOAD, Kind.POD_GROUP, Kind.POD)
"""What tells that a controller is at work: its pods, and status that only it writes."""


async def show(options: argparse.Namespace, chosen: AttachOptions) -> int:
    """Print both facts of every engine, with what tells them."""
    from cockpit.kube.discovery import discover

    async with attached(chosen, SystemClock()) as live:
        notes = await live.settle(KINDS, options.timeout)
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "not attached to a cluster")
        served = live.attachment.served or await discover(session)
        found = presences(live.attachment.store, lambda group, name: served.find(group, name) is not None)
        context = session.context
    if options.output == "table":
        put(grid(*engine_grid(found)))
    else:
        items = [{**plain(one), "meaning": MEANINGS.get(one.engine, "")} for one in found]
        put([tree_text({"kind": "engines", "context": context, "items": items}, options.output)])
    note(notes)
    return 0


def run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    """The command."""
    return asyncio.run(show(options, chosen))
