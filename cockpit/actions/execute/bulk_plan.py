"""One verb on many things: one confirmation, then each by a plan of its own.

Every plan is made anew right before it is sent, so that a job that changed while a person read is told and
left alone, and the others go on. A gang is one plan, whole or not at all.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cockpit.actions.execute.call_outcome import AT_ONCE, Perform
from cockpit.actions.execute.execute_plan import real_perform
from cockpit.actions.execute.replan import carry_replanned, rehearse_replanned, same_change
from cockpit.actions.planning import Make
from cockpit.actions.shell import words_line
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.verb import Verb
from cockpit.clock import Clock
from cockpit.errors import BadInput, CockpitError, NoConnection, Unchanged
from cockpit.gangs.sentence import counted, listed
from cockpit.model.plan import Call, Outcome, Plan
from cockpit.model.session import Session
from cockpit.model.store_reader import StoreReader

TRY_ALL_SECONDS = 30.0
"""So long the dry runs of one bulk plan may take together."""
MOST_UNTYPED = 10
"""Of more objects than these the end is confirmed by typing their number."""
_MOST_BRIEFS = 12
_MOST_SHOWN = 400  # characters of a line of names
_REASONS = 2  # told before one says yes; all of them are told afterwards


@dataclass(frozen=True, slots=True)
class Item:
    """One of many: its plan as it was shown, and how it is made anew."""

    name: str
    shown: Plan
    make: Make
    thing: Any


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one of them."""

    name: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """Many plans under one confirmation. `face` is what a person reads before yes; its calls are those of all
    items. `left_out` tells, by name, who cannot be part of it and why. `faced` makes the face of fewer."""

    verb: Verb
    items: tuple[Item, ...]
    face: Plan
    left_out: tuple[str, ...] = ()
    faced: Callable[[Sequence[Item], Sequence[str]], Plan] | None = None

    def without(self, refused: Mapping[int, str]) -> "BulkPlan":
        """The same without some of its items, by their place: why they are left out is told."""
        items = tuple(one for at, one in enumerate(self.items) if at not in refused)
        left_out = (*self.left_out, *(refused[at] for at in sorted(refused)))
        if not refused or not items or self.faced is None:
            return self
        return replace(self, items=items, left_out=left_out, face=self.faced(items, left_out))


async def make_bulk_plan(
    verb: Verb,
    things: Sequence[Any],
    make: Callable[[Any], Make],
    store: StoreReader,
    *,
    context: str = "",
    more: Sequence[str] = (),
    shell: str = "",
) -> BulkPlan:
    """Plan the verb for each; `more` are the words of its options on the command line.

    Raises BadInput when it can be done to none, with the first reason; Unchanged where all are so already.
    """
    kind = KINDS[verb.kind]
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(thing: Any) -> Item | CockpitError:
        again = make(thing)
        async with slots:
            try:
                return Item(kind.shell_name(thing), await again(), again, thing)
            except CockpitError as error:
                return error

    made = await asyncio.gather(*map(one, kind.distinct(things, store)))
    items = tuple(one for one in made if isinstance(one, Item))
    errors = [one for one in made if isinstance(one, CockpitError)]
    left_out = tuple(one.sentence for one in errors)
    if not items:
        is_so = bool(errors) and all(isinstance(one, Unchanged) for one in errors)
        told = _first(left_out) if left_out else f"no {kind.word} to {verb.words.infinitive}"
        raise (Unchanged if is_so else BadInput)(told)

    def faced(items: Sequence[Item], left_out: Sequence[str]) -> Plan:
        names = [one.name for one in items]
        words = [*verb.subcommand, *names, *more]
        return _face(verb, items, left_out, store, shell or words_line(words, context))

    return BulkPlan(verb, items, faced(items, left_out), left_out, faced)


async def try_all(
    bulk: BulkPlan, session: Session, *, perform: Perform | None = None, seconds: float = TRY_ALL_SECONDS
) -> tuple[BulkPlan, Outcome]:
    """Try each plan dry, eight calls at a time, `seconds` at most. Whom it would refuse is left out.

    The verdict is `refused` where nobody is left, `untried` or `failed` where it is not known of some.
    """
    plans, calls = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)
    said: dict[int, Outcome] = {}
    send = perform or real_perform()

    async def bounded(session: Session, call: Call, /, *, dry_run: bool = False) -> object:
        async with calls:
            return await send(session, call, dry_run=dry_run)

    async def one(at: int, item: Item) -> None:
        async with plans:
            try:
                _, said[at] = await rehearse_replanned(item.shown, item.make, session, perform=bounded)
            except CockpitError as error:
                said[at] = Outcome(state="refused", sentence=error.sentence)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(one(at, item) for at, item in enumerate(bulk.items)))
    late = Outcome(state="failed", sentence=f"no answer to the dry run within {seconds:g} s")
    found = [said.get(at, late) for at in range(len(bulk.items))]
    refused = {at: one.sentence for at, one in enumerate(found) if one.state in ("refused", "unchanged")}
    if len(refused) == len(found):
        state = "refused" if any(one.state == "refused" for one in found) else "unchanged"
        return bulk, Outcome(state=state, sentence=_first([*refused.values()]))
    left = bulk.without(refused)
    for state in ("failed", "untried"):
        if unknown := [one.sentence for one in found if one.state == state]:
            sentence = f"{len(unknown)} of {counted(len(found), KINDS[bulk.verb.kind].word)}: {unknown[0]}"
            return left, Outcome(state=state, sentence=sentence)
    return left, Outcome(state="done", sentence="the cluster would accept it")


def _first(reasons: Sequence[str]) -> str:
    return reasons[0] + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")


def _left_out(word: str, reasons: Sequence[str]) -> list[str]:
    """Who cannot be part of it: two of the reasons, and how many have others."""
    found = Counter(reasons).most_common()
    told = [f"{counted(count, word)} left out: {reason}" for reason, count in found[:_REASONS]]
    if more := sum(count for _, count in found[_REASONS:]):
        told.append(f"{counted(more, f'more {word}')} left out: reasons are listed afterwards")
    return told


def _face(verb: Verb, items: Sequence[Item], left_out: Sequence[str], store: StoreReader, shell: str) -> Plan:
    kind, plans = KINDS[verb.kind], [one.shown for one in items]
    things = [one.thing for one in items]
    warnings = [*dict.fromkeys(line for one in plans for line in one.warnings)]
    warnings[:0] = _left_out(kind.word, left_out)
    lines = [*kind.many(things), *((verb.planner.many_lines or kind.many_lines)(things, store))]
    names = [one.name.partition("/")[2] if kind.is_namespaced else one.name for one in items]
    is_destructive = any(one.is_destructive for one in plans)
    typed = {one.typed for one in plans if one.typed}
    is_counted = len(typed) > 1 or (is_destructive and len(items) > MOST_UNTYPED)
    briefs = [one.brief for one in plans if one.brief]
    if len(briefs) < len(plans) or len(briefs) > _MOST_BRIEFS:
        lines.append(listed(f"{kind.word}s: ", names, _MOST_SHOWN))
    expects = briefs[:_MOST_BRIEFS]
    if more := len(briefs) - len(expects):
        expects.append(f"and {counted(more, f'more {kind.word}')}")
    return Plan(
        verb=verb.name,
        title=f"{verb.words.infinitive.capitalize()} {counted(len(items), kind.word)}",
        calls=tuple(call for one in plans for call in one.calls),
        lines=tuple(lines),
        expects=tuple(expects),
        warnings=tuple(warnings if typed else warnings[:6]),
        shell=shell,
        is_destructive=is_destructive,
        typed=f"{verb.name} {len(items)}" if is_counted else "".join(typed),
    )


async def carry_all(
    bulk: BulkPlan,
    session: Session,
    audit: Any,
    clock: Clock,
    *,
    perform: Perform | None = None,
    told: Callable[[Result], None] = lambda _result: None,
) -> tuple[Result, ...]:
    """Carry the plans out, a few at a time; `told` is called with each result as it comes.

    The results are in the order of the items. Once the connection is lost nothing further is begun.
    """
    slots = asyncio.Semaphore(AT_ONCE)
    is_lost = False

    async def one(item: Item) -> Result:
        nonlocal is_lost
        async with slots:
            if is_lost:
                outcome = Outcome(state="failed", sentence="not tried: the connection was lost before")
            else:
                outcome = await _one(item)
        is_lost = is_lost or outcome.is_cut
        result = Result(item.name, outcome)
        told(result)
        return result

    async def _one(item: Item) -> Outcome:
        try:
            return await carry_replanned(
                item.shown,
                item.make,
                session,
                audit,
                clock,
                same=same_change,
                perform=perform,
            )
        except CockpitError as error:
            is_cut = isinstance(error, NoConnection)
            return Outcome(state="failed" if is_cut else "refused", sentence=error.sentence, is_cut=is_cut)

    return tuple(await asyncio.gather(*map(one, bulk.items)))


def summary(verb: Verb, results: Sequence[Result], left_out: int = 0) -> Outcome:
    """One outcome for all: `48 of 50 jobs killed; 1 was gone already; 1 refused: ...`."""
    word = KINDS[verb.kind].word
    states = Counter(one.outcome.state for one in results)
    total = len(results) + left_out
    done = states["done"] + states["unchanged"]
    of = f" of {total}" if done != total else ""
    sentence = f"{done}{of} {word}{'s' * (total != 1)} {verb.words.past}"
    if states["unchanged"]:
        sentence += f"; {states['unchanged']} {'already gone' if verb.is_destructive else 'unchanged'}"
    for state in ("refused", "failed", "unknown"):
        if states[state]:
            first = next(one for one in results if one.outcome.state == state)
            sentence += f"; {states[state]} {state}: {first.outcome.sentence}"
    if left_out:
        sentence += f"; {left_out} left out"
    worst = next((state for state in ("failed", "unknown", "refused") if states[state]), "done")
    return Outcome(state=worst, sentence=sentence)
