"""`cockpit pool scale`."""

import argparse
import asyncio

from cockpit.actions.scale import read_replicas, scale_as_now
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.ask import confirm_and_carry, refuse_without_right
from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.commands.live import attached
from cockpit.commands.paper import note, put
from cockpit.errors import NoConnection
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.pools.index import pool_named

POOL_KINDS = (Kind.NODE, Kind.POOL, Kind.POD)


def scale(options: argparse.Namespace) -> int:
    """Set the number of nodes of a pool."""
    # Pools are not in the namespace that a person works in: everything is listed.
    options.all_namespaces = True
    options.namespace = ""
    read_replicas(options.to, options.name)
    chosen = attach_options(options, settings_in_force())
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(_scale(options, chosen))


async def _scale(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(POOL_KINDS, options.timeout))
        store, session = live.attachment.store, live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "the connection was lost")
        context = session.context

        found = pool_named(store, options.name)
        wanted = read_replicas(options.to, found.name)

        async def make(*, reads: bool = False) -> Plan:
            live.attachment.absorb()
            return await scale_as_now(session, store, options.name, wanted, context=context, reads=reads)

        if found.target == wanted and not found.why_not:
            # The size is absolute: asking for it again is done already, and a script may ask twice.
            put([f"pool {found.name} is already set to {wanted}; nothing was changed"])
            return 0
        return await confirm_and_carry(await make(), options, session, clock, make)
