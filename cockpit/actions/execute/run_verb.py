"""From a verb to its outcome: plan, dry run, question, carrying out. Keys and commands go this one way.

Who asks (a dialog, a prompt, `--yes`) is handed in. The dry run is under way while the question is put, so a
dialog stands at once; what the server would refuse is never confirmed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from cockpit.actions.execute.bulk_plan import BulkPlan, Result, carry_all, make_bulk_plan, summary, try_all
from cockpit.actions.execute.call_outcome import Perform
from cockpit.actions.execute.dry_run import TRY_SECONDS
from cockpit.actions.execute.execute_plan import AuditLog
from cockpit.actions.execute.replan import Differs, carry_replanned, reads_the_same, rehearse_replanned
from cockpit.actions.execute.replan import changes as changes_of
from cockpit.actions.execute.two_phase_removal import Back, Settling
from cockpit.actions.named_objects import refuse_absent
from cockpit.actions.others import with_others, with_others_of
from cockpit.actions.planning import FreshPlanning, Make, Planning
from cockpit.actions.read import read_tree
from cockpit.actions.shell import words_line
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.verb import Verb
from cockpit.clock import Clock
from cockpit.errors import CockpitError, Refused, Unchanged
from cockpit.k8s.field_owners import FieldOwners, Path
from cockpit.model.plan import Call, DrainOrder, Outcome, Plan, PoolLeaseHandle
from cockpit.model.remembered import Reclaim
from cockpit.model.session import Session
from cockpit.sanitise import clean

What = TypeVar("What")


@dataclass(frozen=True, slots=True)
class Tried(Generic[What]):
    """What the server was asked about, as it was made by then, and its verdict.

    `face` is what a person reads of it, `news` what of that is new, `left_out` who is no longer part of it.
    """

    what: What
    face: Plan
    verdict: Outcome
    news: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def may_go_on(self) -> bool:
        """False where yes would only meet what the dry run met."""
        return self.verdict.state not in ("refused", "unchanged")


class Asker(Protocol):
    """Shows a plan and asks."""

    @property
    def asks_again(self) -> bool:
        """False where nobody is there to read a plan that has become another one."""

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        """What the person said yes to, None for no.

        `changes` tells what became of the plan that was confirmed before. `trial` ends with the verdict; a
        refusal leaves nothing to say yes to.
        """


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a verb: one outcome, and that of each where they were many."""

    outcome: Outcome
    results: tuple[Result, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def holds(self) -> tuple[PoolLeaseHandle, ...]:
        """What is to be kept until what was begun is over."""
        return tuple(one.hold for one in self._each if one.hold is not None)

    @property
    def goes_on(self) -> tuple[DrainOrder, ...]:
        """What is not over with it."""
        return tuple(one.goes_on for one in self._each if one.goes_on is not None)

    @property
    def gives_back(self) -> tuple[Reclaim, ...]:
        """What was reclaimed."""
        return tuple(back for one in self._each for back in one.gives_back)

    @property
    def _each(self) -> list[Outcome]:
        return [one.outcome for one in self.results] or [self.outcome]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a person wants: the verb, on what, told how. `shell` is as for `prepare`."""

    verb: Verb
    things: Sequence[Any]
    options: Any
    shell: str = ""


async def carry_verb(
    intent: Intent,
    fresh: FreshPlanning,
    audit: Callable[[], AuditLog],
    clock: Clock,
    *,
    asker: Asker,
    told: Callable[[Result], None] = lambda _result: None,
    underway: Callable[[str], None] = lambda _sentence: None,
) -> Done | None:
    """A verb on one thing or on many, from its plans to the outcome; None for no.

    `told` is called with what became of each of many, `underway` with how far it has come. Raises as
    `prepare` before anything is asked, and as `conduct` after.
    """
    prepared = await prepare(intent.verb, intent.things, intent.options, fresh, shell=intent.shell)
    session = fresh().session
    if isinstance(prepared, Single):
        outcome = await conduct(
            prepared.plan,
            prepared.again,
            session,
            audit,
            clock,
            asker=asker,
            back=prepared.back,
            underway=underway,
        )
        return None if outcome is None else Done(outcome)
    many = await conduct_all(prepared, session, audit, clock, asker=asker, told=told)
    if many is None:
        return None
    bulk, results = many
    ended = summary(intent.verb, results, len(bulk.left_out))
    return Done(ended, results, bulk.left_out)


async def carry_plan(
    plan: Plan, fresh: FreshPlanning, audit: Callable[[], AuditLog], clock: Clock, *, asker: Asker
) -> Done | None:
    """The same for the plan of a form: what is created carries no version, so it is the same."""
    planning = fresh()
    await refuse_absent(planning.session, planning.lookup, plan.calls[0].body, "default")
    outcome = await conduct_made(plan, fresh, audit, clock, asker=asker)
    return None if outcome is None else Done(outcome)


async def conduct_made(
    plan: Plan, fresh: FreshPlanning, audit: Callable[[], AuditLog], clock: Clock, *, asker: Asker
) -> Outcome | None:
    """The same, with the outcome itself. What it does to others is computed again after yes."""

    async def made(*, reads: bool = False) -> Plan:
        return plan

    again = _weighed(made, fresh)
    return await conduct(await again(), again, fresh().session, audit, clock, asker=asker)


# ---- plans


def maker(verb: Verb, options: Any, fresh: FreshPlanning) -> Callable[[Any], Make]:
    """For each thing how its plan is made anew, from the thing as it is by then."""
    kind = KINDS[verb.kind]

    def of(thing: Any) -> Make:
        async def now(*, reads: bool = False) -> Plan:
            planning = fresh(reads=reads)
            found = kind.now(planning, thing)
            if found is None:
                raise Refused(f"{kind.target(thing)} is gone")
            return await plan_of(verb, planning, found, options)

        return now

    return of


def _with_appliers(of: Callable[[Any], Make], fresh: FreshPlanning) -> Callable[[Any], Make]:
    """The same plans, each with who else holds the fields that it changes."""

    def guarded(thing: Any) -> Make:
        make = of(thing)

        async def now(*, reads: bool = False) -> Plan:
            return await with_appliers(fresh(reads=reads), await make(reads=reads))

        return now

    return guarded


def _weighed(make: Make, fresh: FreshPlanning) -> Make:
    """The same plan each time with what it does to others by then."""

    async def now(*, reads: bool = False) -> Plan:
        return await with_others(fresh(reads=reads), await make(reads=reads))

    return now


def _backer(verb: Verb, thing: Any, fresh: FreshPlanning) -> Back | None:
    """How what a plan has cordoned is taken back."""
    plan = verb.planner.back
    if plan is None:
        return None

    async def now(shown: Plan, /, *, reads: bool = False) -> Plan:
        return await plan(fresh(reads=reads), thing, shown)

    return now


def picking_line(
    verb: Verb, options: Any, context: str, names: Sequence[str] = (), filter_text: str = ""
) -> str:
    """`cockpit job prune --older-than 7d --write`: of a verb that picks what it is done to."""
    words = [*verb.subcommand, *names, *verb.option_words(options)]
    return words_line([*words, *(("--filter", filter_text) if filter_text else ())], context)


async def plan_of(verb: Verb, planning: Planning, thing: Any, options: Any) -> Plan:
    """The plan, named by the verb's words where it has no own. Raises what the verb's plan raises."""
    plan = await verb.planner.plan(planning, thing, options)
    return named(plan, verb, thing, options, planning.context)


def named(plan: Plan, verb: Verb, thing: Any, options: Any, context: str) -> Plan:
    """The plan with title, outcome and command line by the verb's words where it has no own."""
    kind = KINDS[verb.kind]
    what = kind.target(thing)
    title = plan.title or f"{verb.words.infinitive.capitalize()} {what}"
    done = plan.done or f"{verb.words.past.capitalize()} {what}"
    name = kind.shell_name(thing)
    words = (*verb.subcommand, name, *verb.option_words(options))
    shell = plan.shell or words_line(words, context)
    back = verb.undo_words(name, plan.former)
    undo = words_line(back, context) if back else ""
    return msgspec.structs.replace(plan, title=title, done=done, shell=shell, undo=undo)


@dataclass(frozen=True, slots=True)
class Single:
    """One plan, and how it is made anew (None: what is created carries no version)."""

    plan: Plan
    again: Make | None = None
    back: Back | None = None


async def prepare(
    verb: Verb,
    things: Sequence[Any],
    options: Any,
    fresh: FreshPlanning,
    *,
    shell: str = "",
) -> Single | BulkPlan:
    """The plan for one thing, or one of many under one confirmation.

    With `shell`, a line that tells them by another way than their names (an age), they are many even where
    there is one. Raises BadInput with the first reason where it can be done to none, Unchanged where
    all is so.
    """
    planning, of = fresh(), _with_appliers(maker(verb, options, fresh), fresh)
    reached = KINDS[verb.kind].distinct(things, planning.store)
    if len(reached) == 1 and not shell:
        again = _weighed(of(things[0]), fresh)
        return Single(await again(), again, _backer(verb, things[0], fresh))
    more = verb.option_words(options)
    bulk = await make_bulk_plan(
        verb, reached, of, planning.store, context=planning.context, more=more, shell=shell
    )
    return await with_others_of(fresh(), bulk)


# ---- dry run, question, carrying out


async def conduct(
    plan: Plan,
    again: Make | None,
    session: Session,
    audit: Callable[[], AuditLog],
    clock: Clock,
    *,
    asker: Asker,
    perform: Perform | None = None,
    seconds: float = TRY_SECONDS,
    back: Back | None = None,
    underway: Callable[[str], None] = lambda _sentence: None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Outcome | None:
    """Try the plan dry, ask, and carry it out as `again` makes it by then; None where the person said no.

    Where it would do something else by then it is shown again, or Differs is raised where nobody reads it.
    Where it has a `later` that follows in time; where nothing can go what it did to nodes is taken `back`.
    `audit` is called after yes.
    Raises what it and `again` raise: then nothing was done.
    """
    changes: tuple[str, ...] = ()
    while True:

        async def trial(shown: Plan = plan) -> Tried[Plan]:
            return await _try(shown, again, session, perform=perform, seconds=seconds)

        confirmed = await _answered(asker, plan, changes, trial())
        if confirmed is None:
            return None
        try:
            reads = bool(changes) or confirmed.what is not plan
            log = audit()
            outcome = await carry_replanned(
                confirmed.what, again, session, log, clock, reads=reads, perform=perform
            )
            if again is None or back is None:
                return outcome
            if outcome.is_done and confirmed.what.later:
                underway(outcome.sentence)
            rest = Settling(
                shown=confirmed.what,
                again=again,
                back=back,
                session=session,
                audit=log,
                clock=clock,
                sleep=sleep,
                perform=perform,
            )
            return await rest.go(outcome)
        except Unchanged as error:
            return Outcome(state="unchanged", sentence=error.sentence)
        except Differs as error:
            if not asker.asks_again:
                raise
            plan, changes = error.now, error.changes


async def conduct_all(
    bulk: BulkPlan,
    session: Session,
    audit: Callable[[], AuditLog],
    clock: Clock,
    *,
    asker: Asker,
    perform: Perform | None = None,
    told: Callable[[Result], None] = lambda _result: None,
) -> tuple[BulkPlan, tuple[Result, ...]] | None:
    """The same for one verb on many jobs: whom the server would refuse is left out before yes.

    The answer is the bulk plan as it was confirmed and what became of each of its jobs; None for no.
    """

    async def trial() -> Tried[BulkPlan]:
        left, verdict = await try_all(bulk, session, perform=perform)
        return Tried(left, left.face, verdict, left_out=left.left_out)

    confirmed = await _answered(asker, bulk.face, (), trial())
    if confirmed is None:
        return None
    return confirmed.what, await carry_all(
        confirmed.what, session, audit(), clock, perform=perform, told=told
    )


async def _try(
    plan: Plan, again: Make | None, session: Session, *, perform: Perform | None, seconds: float
) -> Tried[Plan]:
    try:
        made, verdict = await rehearse_replanned(plan, again, session, perform=perform, seconds=seconds)
    except Unchanged as error:
        return Tried(plan, plan, Outcome(state="unchanged", sentence=error.sentence))
    except CockpitError as error:
        return Tried(plan, plan, Outcome(state="refused", sentence=error.sentence))
    return Tried(made, made, verdict, () if reads_the_same(plan, made) else changes_of(plan, made))


async def _answered(asker: Asker, face: Plan, changes: tuple[str, ...], trial: Any) -> Tried[Any] | None:
    task = asyncio.ensure_future(trial)
    try:
        return await asker.ask(face, changes, task)
    finally:
        task.cancel()


def verdict_words(verdict: Outcome) -> str:
    """What the dry run said, as one line of a preview or a dialog."""
    if verdict.state == "refused":
        return f"refused: {verdict.sentence}"
    if verdict.state in ("failed", "untried"):
        return f"could not be tried: {verdict.sentence}"
    return verdict.sentence


# ---- whose fields it takes


_OURS: Final = "gpu-cockpit"
_MOST_READS: Final = 16
_LONGEST_NAME: Final = 60


async def with_appliers(planning: Planning, plan: Plan) -> Plan:
    """The plan, with a warning for each field that it takes from a manager. What may not be read is not
    told."""
    warnings: list[str] = []
    names: list[str] = []
    for call in [one for one in plan.calls if _is_merge(one)][:_MOST_READS]:
        try:
            tree = await read_tree(planning.session, call.path.removesuffix("/scale"), call.target)
        except CockpitError:
            continue
        owners = FieldOwners(tree)
        for path in _changed(call.body, tree):
            field = ".".join(map(str, path))
            for name in (clean(one, _LONGEST_NAME) for one in owners.appliers(path) if one != _OURS):
                warnings.append(f"{field} is held by {name} (apply): it is taken, or {name} sets it back")
                names.append(name)
    if not names:
        return plan
    told = tuple(dict.fromkeys((*plan.warnings, *warnings)))
    return msgspec.structs.replace(plan, warnings=told, typed=plan.typed or names[0])


def _is_merge(call: Call) -> bool:
    return call.method == "PATCH" and isinstance(call.body, dict) and not call.via


def _changed(body: Mapping[str, Any], tree: Any, at: Path = ()) -> Iterator[Path]:
    """The fields of a merge patch whose values differ from those that are there, without the guard."""
    for key, value in body.items():
        path = (*at, key)
        if path in (("metadata", "uid"), ("metadata", "resourceVersion")):
            continue
        now = tree.get(key) if isinstance(tree, Mapping) else None
        if isinstance(value, Mapping):
            yield from _changed(value, now, path)
        elif value != now:
            yield path
