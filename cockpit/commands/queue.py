"""`cockpit queue stop|resume`."""

import argparse
import asyncio

from cockpit.actions.address import Lookup
from cockpit.actions.queue import Queue, plan_queue_resume, plan_queue_stop, queue_as_read, queue_named
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.ask import confirm_and_carry, refuse_without_right
from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.commands.job import served_lookup
from cockpit.commands.live import Live, attached
from cockpit.commands.paper import note
from cockpit.errors import NoConnection
from cockpit.model.plan import Plan
from cockpit.model.record import Kind

KINDS = (Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE, Kind.WORKLOAD)


def stop(options: argparse.Namespace) -> int:
    """Stop a queue for new jobs, with `--drain` for all."""
    return _run(options, stops=True)


def resume(options: argparse.Namespace) -> int:
    """Let a stopped queue admit again."""
    return _run(options, stops=False)


def _run(options: argparse.Namespace, *, stops: bool) -> int:
    chosen = attach_options(options, settings_in_force())
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(_act(options, chosen, stops=stops))


async def _act(options: argparse.Namespace, chosen: AttachOptions, *, stops: bool) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS, options.timeout))
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "the connection was lost")
        lookup = await served_lookup(session)

        async def make(*, reads: bool = False) -> Plan:
            live.attachment.absorb()
            queue = queue_named(live.attachment.store, options.name, chosen.namespace)
            if reads:
                queue = await queue_as_read(session, queue, lookup)
            return _plan(live, options, queue, lookup, session.context, stops=stops)

        return await confirm_and_carry(await make(), options, session, clock, make)


def _plan(
    live: Live, options: argparse.Namespace, queue: Queue, lookup: Lookup, context: str, *, stops: bool
) -> Plan:
    store = live.attachment.store
    if stops:
        return plan_queue_stop(queue, store, drain=options.drain, lookup=lookup, context=context)
    return plan_queue_resume(queue, lookup=lookup, context=context)
