"""`cockpit pool show NAME`: everything that the page of a pool tells, once; as text or as a tree."""

import argparse
import asyncio
import os
import shutil
import sys
from functools import partial
from typing import Final

from cockpit_widgets.pair_layout import pair_lines

from cockpit.actions.demand_reads import read_standing
from cockpit.actions.pool_lease import read_lease
from cockpit.actions.scaler_reads import read_scalers
from cockpit.actions.surroundings import ask_budgets
from cockpit.api_server import ApiServer
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.document import document_lines
from cockpit.commands.get import NEEDS
from cockpit.commands.output import note, put, table_lines
from cockpit.commands.patience import within
from cockpit.commands.pool_document import PoolDocument, pool_tree
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.daemon_thread import apart
from cockpit.errors import CockpitError
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.local_state.paths import state_folder
from cockpit.model.lease import LeaseRead
from cockpit.model.pool import Pool, StandingRead
from cockpit.model.record import Kind
from cockpit.model.scaler import ScalersRead
from cockpit.pools.capacity import demand_name
from cockpit.pools.index import pool_again, pool_named
from cockpit.pools.owner_log import log_pod, why_no_log
from cockpit.pools.plan import nodes_named
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
            put(document_lines(PoolDocument, pool_tree(page, attachment), options.output))
    note(notes)
    return 0


async def _learnt(pool: Pool, attachment: Attachment, clock: Clock) -> Learnt:
    """The further reads of the page; the page says what may not be read."""
    session, settings = attachment.connected(), settings_in_force()
    await ApiServer(attachment).read_flags()
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
