"""`cockpit audit restore ID`: create what was deleted to be recreated, from the manifest kept on this
host."""

import argparse
import asyncio
from typing import Any

from cockpit.actions.recreate import plan_restore
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import WEIGHED_KINDS, attached
from cockpit.commands.confirm import confirm_plan, refuse_without_right
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.commands.verb import planner
from cockpit.local_state.kept_manifests import kept_manifest


def run(options: argparse.Namespace) -> int:
    """Create the object; the answer is the exit code."""
    manifest = kept_manifest(options.id)
    chosen = attach_options(options, settings_in_force())
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _run(manifest, options, chosen)))


async def _run(manifest: dict[str, Any], options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        await live.settle(WEIGHED_KINDS, options.timeout, tells_rest=True, may_be_new=True)
        fresh = await planner(live, clock)
        context = fresh().session.context
        plan = plan_restore(manifest, options.id, lookup=fresh().lookup, context=context)
        return await confirm_plan(plan, options, fresh, clock)
