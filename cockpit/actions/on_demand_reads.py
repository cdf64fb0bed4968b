"""Asks the server for what rows on screen rest on and no watch covers (`cockpit.triage.on_demand`): bounded,
logs once a restart."""

import asyncio
from collections.abc import Iterable

from cockpit.actions.surroundings import ask_budgets
from cockpit.actions.verdict_reads import Lookup, last_lines, objects_for
from cockpit.errors import Refused
from cockpit.kube.session import ApiSession
from cockpit.model.pod import Pod
from cockpit.triage.verdicts import Verdicts


async def read_on_demand(
    session: ApiSession,
    lookup: Lookup,
    verdicts: Verdicts,
    rows: Iterable[tuple[Pod, ...]],
    now_seconds: float,
) -> bool:
    """Read what these rows (the members of each) lack; whether anything new was learnt.

    Raises NoConnection.
    """
    known = verdicts.on_demand
    pods = known.unread(rows)
    lines = await asyncio.gather(*(_lines(session, pod) for pod in pods))
    heard = [verdicts.hear(pod, line) for pod, line in zip(pods, lines, strict=True)]
    needs = known.unread_objects(now_seconds)
    view = verdicts.view(now_seconds)
    found = [await objects_for(session, lookup, need, job, view) for need, job in needs]
    taken = [verdicts.take_objects(need, read) for (need, _), read in zip(needs, found, strict=True)]
    is_new = any(heard) or any(taken)
    if not known.needs_budgets(view.store, now_seconds):
        return is_new
    return known.take_budgets(await ask_budgets(session), now_seconds) or is_new


async def _lines(session: ApiSession, pod: Pod) -> str:
    """ "" where we may not read them, or the node has them no more."""
    try:
        return await last_lines(session, pod)
    except Refused:
        return ""
