"""A plan whose object moved on between the read and the write is made anew, as long as it means the same.

The status of a job that runs changes all the time, and with it the resource version that guards a plan. Such
a refusal (409) says that nothing was done, so this is no second write; a lost answer is never tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from cockpit.actions.perform import Perform, carry_out, rehearse
from cockpit.actions.refusals import CHANGED
from cockpit.clock import Clock
from cockpit.model.plan import Outcome, Plan

TRIES = 4
PAUSE_SECONDS = 0.2
"""For the watch to tell what changed: the next plan rests on it."""

Again = Callable[[], Plan | Awaitable[Plan]]
"""Makes the plan anew, and raises Refused where it would not do what was shown."""


async def made(again: Again) -> Plan:
    """The plan, whether it takes a read or not."""
    plan = again()
    return await plan if isinstance(plan, Awaitable) else plan


async def carry_anew(
    again: Again,
    session: Any,
    audit: Any,
    clock: Clock,
    *,
    perform: Perform | None = None,
    local_user: str = "",
) -> Outcome:
    """Carry out what `again` makes; raises what it raises."""
    outcome = Outcome(state="refused", sentence="")
    for tried in range(TRIES):
        plan = await made(again)
        outcome = await carry_out(plan, session, audit, clock, perform=perform, local_user=local_user)
        if not _moved(outcome, plan) or tried == TRIES - 1:
            break
        await asyncio.sleep(PAUSE_SECONDS)
    return outcome


async def rehearse_anew(plan: Plan, again: Again | None, session: Any) -> Outcome:
    """Ask the server of the plan, made anew where its object moved on."""
    outcome = await rehearse(plan, session)
    for _ in range(TRIES - 1):
        if again is None or not _moved(outcome, plan):
            break
        await asyncio.sleep(PAUSE_SECONDS)
        outcome = await rehearse(await made(again), session)
    return outcome


def _moved(outcome: Outcome, plan: Plan) -> bool:
    return outcome.state == "refused" and CHANGED in outcome.sentence and len(plan.calls) == 1
