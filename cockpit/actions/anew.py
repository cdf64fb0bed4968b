"""A plan whose object moved on between the read and the write is made anew, as long as it does the same.

The status of a job that runs changes all the time, and with it the resource version that guards a plan. Such
a refusal (409) says that nothing was done, so this is no second write; a lost answer is never tried again.
The object is read for the next plan: the tables are what was too old.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from cockpit.actions.perform import Perform, carry_out, rehearse
from cockpit.actions.same import confirmed, version_of
from cockpit.clock import Clock
from cockpit.model.plan import Outcome, Plan

if TYPE_CHECKING:
    from cockpit.actions.ground import Make

TRIES = 4
"""The first, and three more with what was read in between. None waits for anything."""


async def carry_anew(
    shown: Plan,
    make: "Make | None",
    session: Any,
    audit: Any,
    clock: Clock,
    *,
    reads: bool = False,
    same: Callable[[Plan, Plan], Plan] = confirmed,
    perform: Perform | None = None,
    local_user: str = "",
) -> Outcome:
    """Carry out what `make` makes of the verb by now, as long as it is the `same` as what was shown.

    Without `make` (what is created carries no version) it is what was shown. With `reads` the object is read
    for the first plan, too: what was shown rests on a read. Raises what `make` and `same` raise: then nothing
    was done.
    """
    plan = shown if make is None else same(shown, await make(reads=reads))
    note = ""
    for left in reversed(range(TRIES)):
        outcome = await carry_out(
            plan, session, audit, clock, perform=perform, local_user=local_user, note=note
        )
        if make is None or not outcome.is_moved:
            return outcome
        if not left:
            break
        before, plan = plan, same(shown, await make(reads=True))
        if plan.calls == before.calls:
            return outcome  # the object is as it was: the server means something else
        note = (
            f"made anew and the same: version {version_of(before)} was refused, {version_of(plan)} is there"
        )
    told = (
        f"{outcome.sentence} (it was written {TRIES} times between the read and the write; nothing was done)"
    )
    return msgspec.structs.replace(outcome, sentence=told)


async def rehearse_anew(
    plan: Plan, make: "Make | None", session: Any, *, perform: Perform | None = None
) -> tuple[Plan, Outcome]:
    """Ask the server of the plan, made anew where its object moved on; the plan that it was asked of, too.

    Nobody has read the plan yet, so it may be another one. Raises what `make` raises.
    """
    outcome = await rehearse(plan, session, perform=perform)
    for _ in range(TRIES - 1):
        if make is None or not outcome.is_moved:
            break
        before, plan = plan, await make(reads=True)
        if plan.calls == before.calls:
            break
        outcome = await rehearse(plan, session, perform=perform)
    return plan, outcome
