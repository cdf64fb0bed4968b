"""`cockpit pool reclaim NAME`: the verb, with `--list` the idle nodes alone, with `--jobs`
its idle jobs."""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterable

from cockpit.actions.execute.run_verb import Intent
from cockpit.actions.reclaim_job import ReclaimJobOptions, jobs_line
from cockpit.actions.reclaim_nodes import idle_words
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.job import RECLAIM
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands import verb
from cockpit.commands.attached import attached
from cockpit.commands.confirm import confirm_and_carry, refuse_without_right
from cockpit.commands.output import note, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.errors import BadInput, NoConnection
from cockpit.gangs.sentence import counted
from cockpit.model.job import Job
from cockpit.model.pool import Pool
from cockpit.model.store_reader import StoreReader
from cockpit.pools.idle import IdleNode, idle_nodes
from cockpit.pools.index import pool_named
from cockpit.pools.truth import is_use_known
from cockpit.triage.idle_jobs import TelemetryGap, reclaimable, unmeasured


def run(options: argparse.Namespace) -> int:
    """The next step of the reclaim, or the list; the answer is the exit code."""
    if options.verb_jobs:
        return _run_jobs(options)
    if options.verb_grace:
        raise BadInput("--grace is for jobs: add --jobs")
    if not options.verb_list:
        return verb.run(options)
    options.all_namespaces, options.namespace = True, ""
    return asyncio.run(within(options.timeout, _list(options, attach_options(options, settings_in_force()))))


async def _list(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS["pool"].watched(), options.timeout))
        store = live.attachment.store
        pool = pool_named(store, options.names[0])
        if not is_use_known(store):
            raise NoConnection("not every pod of the cluster is seen: which nodes are idle is not known")
        now_seconds = clock.cluster_now()
        found = idle_nodes(pool, store, now_seconds)
        put([f"{item.node.name}: {_told(item, now_seconds)}" for item in found])
        put([f"pool {pool.name} has {counted(len(found), 'idle node')} of {pool.nodes_now}"])
    return 0


def _run_jobs(options: argparse.Namespace) -> int:
    if options.verb_list or options.verb_most or options.verb_include_unknown:
        raise BadInput("--list, --most and --include-unknown are about nodes: leave out --jobs")
    told = ReclaimJobOptions(options.verb_idle_for, options.verb_grace or "")
    options.all_namespaces, options.namespace = True, ""
    chosen = attach_options(options, settings_in_force())
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _reclaim_jobs(options, chosen, told)))


async def _reclaim_jobs(options: argparse.Namespace, chosen: AttachOptions, told: ReclaimJobOptions) -> int:
    """Every job of the pool that looks idle or is marked, by the verb that is done to one."""
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        kinds = tuple(dict.fromkeys((*KINDS["pool"].watched(), *KINDS["job"].watched())))
        note(await live.settle(kinds, options.timeout, with_gpus=True))
        fresh = await verb.planner(live, clock)
        planning = fresh()
        pool = pool_named(planning.store, options.names[0])
        jobs = reclaimable(pool.node_names, planning.jobs.values(), planning.store)
        if not jobs:
            put([_none_words(pool, planning.jobs.values(), planning.store)])
            return 0
        shell = jobs_line(pool, told, planning.context)
        intent = Intent(RECLAIM, jobs, told, shell)
        return await confirm_and_carry(intent, fresh, options, clock, context=planning.context)


def _none_words(pool: Pool, jobs: Iterable[Job], store: StoreReader) -> str:
    """Where no job may be reclaimed: none looks idle, or what is missing to say so."""
    gaps: Counter[TelemetryGap] = Counter()
    nodes = frozenset(pool.node_names)
    for job in jobs:
        if not nodes.isdisjoint(job.nodes):
            gaps.update(unmeasured(job, store))
    if not gaps:
        return f"no job on pool {pool.name} looks idle, and none is marked"
    missing = ", ".join(f"duty of {counted(count, 'GPU')} {gap}" for gap, count in sorted(gaps.items()))
    return f"no job on pool {pool.name} is marked; whether jobs are idle is not known: {missing}"


def _told(one: IdleNode, now_seconds: float) -> str:
    more = f"; kept by annotation {one.why_kept}" if one.why_kept else ""
    more += "; cordoned by a reclaim" if one.reclaimed_seconds is not None else ""
    return idle_words(one, now_seconds) + more
