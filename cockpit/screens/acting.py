"""From marked rows and a verb to a plan that is shown: one job by its own plan, many by one sweep."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.model.job import Job
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.deck import Deck

if TYPE_CHECKING:
    from cockpit.actions.ground import Ground, Make

MakePlan = Callable[["Ground", Job], Awaitable[Plan]]


def ground_of(deck: Deck, *, reads: bool = False) -> "Ground":
    """What plans are made on now; with `reads` what is watched is read, too.

    Raises NoConnection while there is no cluster.
    """
    from cockpit.actions.ground import Ground

    attachment = deck.attachment
    if attachment.session is None:
        raise NoConnection("not attached to a cluster: nothing can be planned")
    taken = frozenset(one.name for one in attachment.jobs.jobs.values())
    return Ground(attachment.store, attachment.session, deck.lookup, deck.context, taken, reads)


def maker(deck: Deck, make: MakePlan) -> Callable[[Job], "Make"]:
    """For each job how its plan is made anew, from the job as it is by then."""

    def of(job: Job) -> "Make":
        async def now(*, reads: bool = False) -> Plan:
            deck.attachment.absorb()
            found = deck.attachment.jobs.job(job.key)
            if found is None or found.uid != job.uid:
                raise Refused(f"{job.kind.lower()} {job.namespace}/{job.name} is gone")
            return await make(ground_of(deck, reads=reads), found)

        return now

    return of


async def act(
    deck: Deck,
    verb: str,
    jobs: Sequence[Job],
    make: MakePlan,
    *,
    say: Callable[[str], None],
    then: Callable[[Outcome], None],
    shell: str = "",
) -> None:
    """Plan the verb for these jobs, show it, and on yes carry it out; a plan that cannot be is said."""
    from cockpit.actions.sweep import make_sweep, reached

    of = maker(deck, make)
    store = deck.attachment.store
    try:
        if len(reached(jobs, store)) > 1 or shell:
            sweep = await make_sweep(verb, jobs, of, store, context=deck.context, shell=shell)
            deck.confirm_and_carry_all(sweep, then=then)
            return
        again = of(jobs[0])
        shown = await again()
    except CockpitError as error:
        say(error.sentence)
        return
    deck.confirm_and_carry(shown, again=again, then=then)
