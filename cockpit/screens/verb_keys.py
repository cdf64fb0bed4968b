"""From a key to the outcome: which verb it means here, the question, what became of it."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from cockpit.actions.verbs.registry import verb_meant, verbs_on
from cockpit.actions.verbs.verb import Verb
from cockpit.errors import CockpitError
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.app_protocol import acting_in, cockpit_of
from cockpit.screens.key_rights import VerbPlace

if TYPE_CHECKING:
    from cockpit.actions.execute.run_verb import Asker, Done

Say = Callable[[str], None]
Then = Callable[[Outcome], None]


def begin(place: VerbPlace, key: str) -> None:
    """Do what the key means for what is marked, or under the cursor; what cannot be is said."""
    verbs = verbs_on(key, place.kinds)
    if place.mixed_marks and not verbs[0].finds_own:
        place.say(place.mixed_marks)
        return
    things = () if verbs[0].finds_own else place.meant(verbs[0].kind)
    if not things and not verbs[0].finds_own:
        what = " or ".join(dict.fromkeys(verb.words.infinitive for verb in verbs))
        place.say(f"no {verbs[0].kind} under the cursor to {what}")
        return
    verb = verb_meant(verbs, things)
    if len(things) > 1 and not verb.takes_many:
        place.say(f"one {verb.kind} at a time to {verb.words.infinitive}: unmark the others")
    elif verb.opener:
        place.acting.open_verb(place, verb, things)
    else:
        with acting_in(place.acting):
            act(place.app, verb, things, verb.planner.options(), say=place.say, then=place.acted)


def act(
    app: App[Any],
    verb: Verb,
    things: Sequence[Any],
    options: Any,
    *,
    say: Say,
    then: Then,
    begun: Callable[[], None] = lambda: None,
    shell: str = "",
) -> None:
    """Plan the verb for these, show it, on yes carry it out, and hand the outcome to `then`.

    A plan that cannot be is said. Where it would do something else by yes, nothing is done: it is shown again
    with what changed. `begun` is called once the first step of several is done. `shell` is the command line
    that finds what is meant by another way than by names.
    """
    cockpit = cockpit_of(app)

    async def carried(asker: "Asker") -> "Done | None":
        from cockpit.actions.execute.run_verb import Intent, carry_verb

        intent, fresh = Intent(verb, things, options, shell), cockpit.planner()

        def underway(sentence: str) -> None:
            app.notify(sentence)
            begun()

        return await carry_verb(intent, fresh, cockpit.audit, cockpit.clock, asker=asker, underway=underway)

    is_many = len(things) > 1 or bool(shell)
    work = partial(_to_the_end, app, carried, is_many=is_many, say=say, then=then, verb=verb)
    cockpit.spawn_foreground(work, verb.name)


def act_on_plan(app: App[Any], plan: Plan, *, say: Say, then: Then) -> None:
    """The same for the plan of a form."""
    cockpit = cockpit_of(app)

    async def carried(asker: "Asker") -> "Done | None":
        from cockpit.actions.execute.run_verb import carry_plan

        return await carry_plan(plan, cockpit.planner(), cockpit.audit, cockpit.clock, asker=asker)

    cockpit.spawn_foreground(partial(_to_the_end, app, carried, say=say, then=then), plan.verb)


async def _to_the_end(
    app: App[Any],
    carried: "Callable[[Asker], Awaitable[Done | None]]",
    *,
    say: Say,
    then: Then,
    is_many: bool = False,
    verb: Verb | None = None,
) -> None:
    """Hand in the dialog as the way to ask, and tell what became of it, of many also of each."""
    from cockpit.screens.plan_dialog import PlanDialog

    asker = PlanDialog(app, is_many=is_many)
    try:
        done = await carried(asker)
    except CockpitError as error:
        if asker.has_asked:
            tell(app, Outcome(state="refused", sentence=error.sentence), then)
        else:
            say(error.sentence)
        return
    if done is None:
        return
    tell(app, done.outcome, then)
    if done.gives_back:
        await cockpit_of(app).pool_watch.reclaimed(done.gives_back)
    for hold in done.holds:
        cockpit_of(app).pool_changes.follow(hold)
    for order in done.goes_on:
        cockpit_of(app).drains.begin(order)
    if verb is not None and done.results and (not done.outcome.is_done or done.left_out):
        cockpit_of(app).open_results(verb.words.infinitive, done.results, done.left_out)


def tell(app: App[Any], outcome: Outcome, then: Then) -> None:
    """Say the outcome and what it warns of, and hand it to `then`."""
    is_good = outcome.state in ("done", "unchanged")
    app.notify(outcome.sentence, severity="information" if is_good else "error")
    for sentence in outcome.warnings:
        app.notify(sentence, severity="warning")
    then(outcome)
