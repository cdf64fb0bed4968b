"""`cockpit pool reclaim NAME`: the verb, and with `--list` the idle nodes alone."""

import argparse
import asyncio

from cockpit.actions.reclaim_nodes import idle_words
from cockpit.actions.verbs.kinds import KINDS
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands import verb
from cockpit.commands.live import attached
from cockpit.commands.output import note, put
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.errors import NoConnection
from cockpit.gangs.sentence import counted
from cockpit.pools.idle import IdleNode, idle_nodes
from cockpit.pools.index import pool_named
from cockpit.pools.truth import is_use_known


def run(options: argparse.Namespace) -> int:
    """The next step of the reclaim, or the list; the answer is the exit code."""
    if not options.verb_list:
        return verb.run(options)
    options.all_namespaces, options.namespace = True, ""
    return asyncio.run(_list(options, attach_options(options, settings_in_force())))


async def _list(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS["pool"].watched(), options.timeout))
        store = live.attachment.store
        pool = pool_named(store, options.names[0])
        if not is_use_known(store):
            raise NoConnection("not every pod of the cluster is seen: which nodes are idle is not known")
        found, now_seconds = idle_nodes(pool, store), clock.cluster_now()
        put([f"{one.node.name}: {_told(one, now_seconds)}" for one in found])
        put([f"pool {pool.name} has {counted(len(found), 'idle node')} of {pool.nodes_now}"])
    return 0


def _told(one: IdleNode, now_seconds: float) -> str:
    more = f"; kept by annotation {one.why_kept}" if one.why_kept else ""
    more += "; cordoned by a reclaim" if one.reclaimed_seconds is not None else ""
    return idle_words(one, now_seconds) + more
