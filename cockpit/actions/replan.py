"""A plan whose object moved on between the read and the write is made anew, as long as it does the same.

The status of a job that runs changes all the time, and with it the resource version that guards a plan. Such
a refusal (409) says that nothing was done, so this is no second write; a lost answer is never tried again.
The object is read for the next plan: the tables are what was too old.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from cockpit.actions.perform import TRY_SECONDS, Perform, carry_out, rehearse
from cockpit.actions.plan_diff import confirmed, version_of
from cockpit.clock import Clock
from cockpit.model.plan import Outcome, Plan
from cockpit.model.session import Session

if TYPE_CHECKING:
    from cockpit.actions.planning import Make

TRIES = 4
"""The first, and three more with what was read in between. None waits for anything."""


async def carry_replanned(
    shown: Plan,
    make: "Make | None",
    session: Session,
    audit: Any,
    clock: Clock,
    *,
    reads: bool = False,
    same: Callable[[Plan, Plan], Plan] = confirmed,
    perform: Perform | None = None,
) -> Outcome:
    """Carry out what `make` makes of the verb by now, as long as it is the `same` as what was shown.

    Without `make` (what is created carries no version) it is what was shown. With `reads` the object is read
    for the first plan, too: what was shown rests on a read. Raises what `make` and `same` raise: then nothing
    was done.
    """
    plan = shown if make is None else same(shown, await make(reads=reads))
    note = ""
    for left in reversed(range(TRIES)):
        outcome = await carry_out(plan, session, audit, clock, perform=perform, note=note)
        if make is None or not outcome.is_moved:
            return outcome
        if not left:
            break
        before, plan = plan, same(shown, await make(reads=True))
        if plan.calls == before.calls:
            return outcome  # the object is as it was: the server means something else
        stale, now = version_of(before), version_of(plan)
        note = f"re-planned with the same effect (version {stale} was stale, now {now})"
    told = f"{outcome.sentence} (it was written {TRIES} times between read and write; nothing was done)"
    return msgspec.structs.replace(outcome, sentence=told)


async def rehearse_replanned(
    plan: Plan,
    make: "Make | None",
    session: Session,
    *,
    perform: Perform | None = None,
    seconds: float = TRY_SECONDS,
) -> tuple[Plan, Outcome]:
    """Ask the server of the plan, made anew where its object moved on; the plan that it was asked of, too.

    It may be another one by then: who asks shows it. Each dry run takes `seconds` at most. Raises what `make`
    raises.
    """
    outcome = await rehearse(plan, session, perform=perform, seconds=seconds)
    for _ in range(TRIES - 1):
        if make is None or not outcome.is_moved:
            break
        before, plan = plan, await make(reads=True)
        if plan.calls == before.calls:
            break
        outcome = await rehearse(plan, session, perform=perform, seconds=seconds)
    return plan, outcome
