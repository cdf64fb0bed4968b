"""`cockpit pool show NAME`: everything that the page of a pool tells, once; as text or as a tree."""

import argparse
import asyncio
import os
import shutil
import sys
from functools import partial
from typing import Any, Final

from cockpit_widgets.pair_layout import pair_lines

from cockpit.actions.demand_reads import read_standing
from cockpit.actions.pool_lease import read_lease
from cockpit.actions.scaler_reads import read_scalers
from cockpit.actions.surroundings import ask_budgets
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.get import NEEDS, item, telemetry
from cockpit.commands.output import note, plain, put, table_lines, tree_text
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.daemon_thread import apart
from cockpit.errors import CockpitError
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.local_state.paths import state_folder
from cockpit.model.lease import LeaseRead
from cockpit.model.pool import Pool, StandingRead
from cockpit.model.record import Kind
from cockpit.model.remembered import Reclaim
from cockpit.model.scaler import ScalersRead
from cockpit.pools import registry
from cockpit.pools.capacity import demand_name
from cockpit.pools.idle import IdleNode
from cockpit.pools.index import pool_again, pool_named, pool_object
from cockpit.pools.ladder import Hang, Ladder, MachineLadder, Stamp
from cockpit.pools.owner import PoolFailure
from cockpit.pools.owner_log import log_pod, why_no_log
from cockpit.pools.plan import nodes_named
from cockpit.pools.price import node_hourly, pool_hourly
from cockpit.pools.usual import usual_wait
from cockpit.triage.node_walk import stage_at
from cockpit.views import nodes as nodes_view
from cockpit.views.pool_curves import SHOWN_SECONDS
from cockpit.views.pool_json import Learnt, page_of
from cockpit.views.pool_page import TALL_HEIGHT, PoolPage, facts, page_lines
from cockpit.views.view_state import ViewState

_NEEDS: Final = tuple(
    dict.fromkeys((Kind.NODE, *NEEDS["overview"], Kind.MACHINE, Kind.AUTOSCALER, Kind.EVENT))
)
_WIDTH: Final = 120
"""Of text that no terminal shows."""


def run(options: argparse.Namespace) -> int:
    """Print one pool. Raises BadInput where there is none of that name."""
    options.all_namespaces, options.namespace = True, ""  # demand comes from all of them
    return asyncio.run(
        within(options.timeout, _run(options, attach_options(options, settings_in_force()), SystemClock()))
    )


async def _run(options: argparse.Namespace, chosen: AttachOptions, clock: Clock) -> int:
    async with attached(chosen, clock) as live:
        notes = await live.settle(_NEEDS, options.timeout, with_gpus=options.output != "table")
        attachment = live.attachment
        pool = pool_named(attachment.store, options.name)
        if await attachment.outside.read(pool, is_fresh=False):
            pool = pool_again(attachment.store, pool)
        learnt = await _learnt(pool, attachment, clock)
        page = page_of(pool, attachment.store, attachment.jobs, clock.cluster_now(), learnt)
        if options.output == "table":
            put(text_lines(page, attachment))
        else:
            put([tree_text(tree(page, attachment), options.output)])
    note(notes)
    return 0


async def _learnt(pool: Pool, attachment: Attachment, clock: Clock) -> Learnt:
    """The further reads of the page; the page says what may not be read."""
    session, settings = attachment.connected(), settings_in_force()
    space = settings.of_context(session.context).lease_namespace
    try:
        held = await read_lease(session, pool, space)
    except CockpitError as error:
        held = LeaseRead(trouble=error.sentence)
    try:
        scalers = await read_scalers(session)
    except CockpitError as error:
        scalers = ScalersRead(trouble=error.sentence)
    standing = StandingRead()
    if pool.grows_by_demand:
        try:
            standing = await read_standing(session, attachment.lookup, demand_name(pool))
        except CockpitError as error:
            standing = StandingRead(trouble=error.sentence)
    budgets = await ask_budgets(session)
    found = Learnt(scalers=scalers, prices=settings.prices, held=held, standing=standing, budgets=budgets)
    if log_pod(pool, attachment.store) is None:
        found = found._replace(no_log=why_no_log(pool, attachment.store))
    path = history_path(state_folder(os.environ), session.context, session.server)
    if not path.exists():
        return found
    history, since = LocalHistory(path), clock.cluster_now() - SHOWN_SECONDS
    samples = await apart(partial(history.pool_samples, pool.key, since))
    reclaims = await apart(partial(history.reclaims, pool.key))
    growths = await apart(history.growths)
    note([history.note] if history.note else [])
    return found._replace(growths=growths, samples=samples, reclaims=reclaims)


# ---- for a person


def text_lines(page: PoolPage, attachment: Attachment) -> list[str]:
    """The page as on a tall screen, then the nodes of the pool."""
    width = shutil.get_terminal_size((_WIDTH, TALL_HEIGHT)).columns if sys.stdout.isatty() else _WIDTH
    cells = page_lines(page, width, TALL_HEIGHT) + pair_lines(facts(page), width)
    lines = [f"pool {page.pool.name}", *("".join(item.text for item in line).rstrip() for line in cells)]
    nodes = nodes_named(attachment.store, page.pool)
    if not nodes:
        return lines
    table = nodes_view.table(attachment.store, ViewState(), page.now_seconds, nodes=nodes)
    return [*lines, "", *table_lines(table)]


# ---- for a program


def tree(page: PoolPage, attachment: Attachment) -> dict[str, Any]:
    """All of it, nothing shortened. Times are epoch seconds; null is unknown."""
    pool, store, session = page.pool, attachment.store, attachment.session
    nodes = nodes_named(store, pool)
    says = registry.ownership(pool_object(store, pool), nodes, store)
    wait = usual_wait(page.growths, pool.key, pool.machine)
    return {
        "kind": "pool",
        "context": session.context if session else "",
        "at_seconds": page.now_seconds,
        "telemetry": telemetry(attachment),
        **item(pool, attachment),
        "idle_nodes": len(page.idle) if page.idle is not None else None,
        "gpus_allocated": pool.gpus_allocated if pool.is_use_known else None,
        "gpus_idle": pool.gpus_idle if pool.is_use_known else None,
        "gpus_per_node": page.gpus_each,
        "owner": {
            "name": page.owner,
            "may_resize": plain(says.may_resize),
            "may_limit": plain(says.may_limit),
            "may_demand": plain(says.may_demand),
            "may_remove": plain(says.may_remove),
            "handle": says.handle,
            "read_seconds": says.read_seconds,
        },
        "hourly_cost": pool_hourly(pool, page.prices),
        "hourly_cost_per_node": node_hourly(pool, page.prices),
        "currency": page.prices.currency,
        "demand": _demand(page),
        "change": _change(page),
        "ladder": None if page.ladder is None else _ladder(page.ladder, page.now_seconds),
        "failures": [_failure(item) for item in page.failures],
        "idle": None if page.idle is None else [_idle(item) for item in page.idle],
        "reclaimed": [_reclaim(item) for item in page.reclaims],
        "owner_words": [word._asdict() for word in page.words],
        "owner_log": {"trouble": page.no_log or ""},
        "scalers": [
            {**plain(item.scaler), "waiting_pods": item.waiting, "waiting_gpus": item.gpus}
            for item in page.chains
        ],
        "scalers_trouble": page.scalers_trouble,
        "spot_notices": [
            {"node": item.node, "sentence": item.sentence, "jobs": [_gpus(*job) for job in item.jobs]}
            for item in page.notices
        ],
        "expected_wait_seconds": None if wait is None else wait.seconds,
        "nodes": [{"name": node.name, "stage": stage_at(node, store, page.now_seconds)} for node in nodes],
    }


def _gpus(name: str, gpus: int) -> dict[str, Any]:
    return {"name": name, "gpus": gpus}


def _demand(page: PoolPage) -> dict[str, Any] | None:
    found = page.demand
    if found is None:
        return None
    return {
        "only_here_gpus": found.gpus,
        "only_here_pods": len(found.only),
        "shared_gpus": sum(pod.gpus for pod in found.shared),
        "shared_pods": len(found.shared),
        "next": [_gpus(*job) for job in page.next_jobs],
    }


def _change(page: PoolPage) -> dict[str, Any]:
    """The change in flight; `holder` null where there is none, or `trouble` says why it is unknown."""
    held, lease = page.held, page.held.lease
    if lease is not None and not lease.is_in_force(page.now_seconds):
        lease = None
    return {
        "holder": lease.holder if lease is not None else None,
        "is_ours": held.is_ours and lease is not None,
        "from_nodes": lease.from_nodes if lease is not None else None,
        "to_nodes": lease.to_nodes if lease is not None else None,
        "since_seconds": lease.acquired_seconds if lease is not None else None,
        "lapses_seconds": lease.lapses_seconds() if lease is not None else None,
        "trouble": held.trouble,
    }


def _ladder(found: Ladder, now_seconds: float) -> dict[str, Any]:
    return {
        "wanted": found.wanted,
        "asked_seconds": found.asked_seconds,
        "asked_by": found.asked.by or None if found.asked is not None else None,
        "is_over": found.is_over,
        "stamps": [{**_stamp(item), "machines": found.done(item.step)} for item in found.stamps],
        "hangs_in": _hang(found.hang, now_seconds),
        "machines": [_machine(machine, now_seconds) for machine in found.machines],
    }


def _machine(one: MachineLadder, now_seconds: float) -> dict[str, Any]:
    return {
        "name": one.name,
        "node": one.node,
        "failure": one.failure,
        "stamps": [_stamp(each) for each in one.stamps],
        "hangs_in": _hang(one.hang, now_seconds),
    }


def _stamp(one: Stamp) -> dict[str, Any]:
    return {"step": str(one.step), "is_reached": one.is_reached, "at_seconds": one.at_seconds}


def _hang(one: Hang | None, now_seconds: float) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "step": str(one.step),
        "since_seconds": one.since_seconds,
        "lasted_seconds": one.lasted(now_seconds),
        "usually_seconds": one.usually_seconds,
        "limit_seconds": one.limit_seconds,
        "is_late": one.is_late(now_seconds),
        "is_broken": one.is_broken(now_seconds),
    }


def _failure(one: PoolFailure) -> dict[str, Any]:
    return {**plain(one), "kind": one.kind.value}


def _reclaim(one: Reclaim) -> dict[str, Any]:
    return {"what": one.what, "at_seconds": one.at_seconds, "gpu_hours": one.gpu_hours}


def _idle(one: IdleNode) -> dict[str, Any]:
    return {
        "node": one.node.name,
        "gpus": one.node.gpu_allocatable,
        "since_seconds": one.since_seconds,
        "vouched": one.vouched,
        "why_kept": one.why_kept,
        "reclaimed_seconds": one.reclaimed_seconds,
    }
