"""One verb on many jobs: one confirmation, then each job by a plan of its own.

Every job's plan is made anew right before it is sent, so that a job that changed while a person read is told
and left alone, and the others go on. A gang is one plan, whole or not at all.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cockpit.actions.anew import carry_anew
from cockpit.actions.ground import Make
from cockpit.actions.hold import lost_words
from cockpit.actions.kill import REMAINS, Truth, gang_key, members_of
from cockpit.actions.perform import AT_ONCE, Perform
from cockpit.actions.same import same_change
from cockpit.actions.shell import jobs_line
from cockpit.clock import Clock
from cockpit.errors import BadInput, CockpitError, NoConnection
from cockpit.gangs.sentence import counted, freed, listed
from cockpit.model.job import Job
from cockpit.model.plan import Outcome, Plan

VERBS = ("kill", "suspend", "resume", "retry", "prune", "scale", "prioritise")
_DONE = {
    "kill": "killed",
    "suspend": "suspended",
    "resume": "resumed",
    "retry": "retried",
    "prune": "deleted",
    "scale": "resized",
    "prioritise": "prioritised",
}
Check = Callable[[Plan, Make], Awaitable[Outcome]]
_MOST_SHOWN = 400  # characters of a line of names
_REASONS = 2  # told before one says yes; all of them are told afterwards


@dataclass(frozen=True, slots=True)
class Item:
    """One job of a sweep: its plan as it was shown, and how it is made anew."""

    name: str
    shown: Plan
    make: Make


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one job."""

    name: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Sweep:
    """Many plans under one confirmation. `face` is what a person reads before yes; its calls are those of all
    items. `left_out` tells, by name, who cannot be part of it and why."""

    verb: str
    items: tuple[Item, ...]
    face: Plan
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Sorting:
    items: list[Item] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def reached(jobs: Iterable[Job], store: Truth) -> list[Job]:
    """The jobs, each gang of bare pods once, by namespace and name."""
    found: dict[str, Job] = {}
    for job in sorted(jobs, key=lambda one: (one.namespace, one.name, one.kind)):
        found.setdefault(gang_key(job, store), job)
    return list(found.values())


async def make_sweep(
    verb: str,
    jobs: Sequence[Job],
    make: Callable[[Job], Make],
    store: Truth,
    *,
    context: str = "",
    shell: str = "",
    check: Check | None = None,
) -> Sweep:
    """Plan the verb for each job; with `check` the server is asked of each plan, and what it would refuse is
    left out. Raises BadInput when it can be done to none, with the first reason.
    """
    sorting = _Sorting()
    slots = asyncio.Semaphore(AT_ONCE)
    chosen = reached(jobs, store)

    async def one(job: Job) -> Item | str:
        again = make(job)
        async with slots:
            try:
                item = Item(_name(job), await again(), again)
                said = await check(item.shown, again) if check is not None else None
            except CockpitError as error:
                return error.sentence
        return item if said is None or said.is_done else said.sentence

    took: list[Job] = []
    for job, made in zip(chosen, await asyncio.gather(*map(one, chosen)), strict=True):
        if isinstance(made, str):
            sorting.left_out.append(made)
        else:
            sorting.items.append(made)
            took.append(job)
    if not sorting.items:
        more = f" (and {len(sorting.left_out) - 1} more)" if len(sorting.left_out) > 1 else ""
        raise BadInput(f"{sorting.left_out[0]}{more}" if sorting.left_out else f"no job to {verb}")
    face = _face(verb, took, sorting, store, shell or jobs_line(verb, map(_name, took), context))
    return Sweep(verb, tuple(sorting.items), face, tuple(sorting.left_out))


def _name(job: Job) -> str:
    return f"{job.kind.lower()}/{job.namespace}/{job.name}"


def _left_out(reasons: Sequence[str]) -> list[str]:
    """Who cannot be part of it: two of the reasons, and how many jobs have others."""
    found = Counter(reasons).most_common()
    told = [f"{counted(count, 'job')} left out: {reason}" for reason, count in found[:_REASONS]]
    if more := sum(count for _, count in found[_REASONS:]):
        told.append(f"{counted(more, 'more job')} left out: why is told when it is done")
    return told


def _face(verb: str, jobs: Sequence[Job], sorting: _Sorting, store: Truth, shell: str) -> Plan:
    plans = [one.shown for one in sorting.items]
    warnings = [*dict.fromkeys(line for one in plans for line in one.warnings)]
    warnings[:0] = _left_out(sorting.left_out)
    return Plan(
        verb=verb,
        title=f"{verb.capitalize()} {counted(len(jobs), 'job')}",
        calls=tuple(call for one in plans for call in one.calls),
        lines=tuple(_lines(verb, jobs, store)),
        warnings=tuple(warnings[:6]),
        shell=shell,
        is_destructive=any(one.is_destructive for one in plans),
    )


def _lines(verb: str, jobs: Sequence[Job], store: Truth) -> Iterable[str]:
    spaces = Counter(one.namespace for one in jobs)
    kinds = Counter(one.kind for one in jobs)
    states = Counter(one.state for one in jobs)
    yield ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) + (
        " in " + ", ".join(f"{space} ({number})" for space, number in spaces.most_common(6))
    )
    yield "now: " + ", ".join(f"{number} {state}" for state, number in states.most_common())
    if verb in ("kill", "suspend", "prune"):
        pods = {one.uid: one for job in jobs for one in members_of(job, store)}
        alive = [one for one in pods.values() if not one.is_finished]
        gpus = sum(one.holds_gpus for one in alive)
        nodes = {one.node for one in alive if one.holds_gpus}
        yield f"{counted(len(alive), 'pod')} end{'s' * (len(alive) == 1)}"
        yield f"{freed(gpus)} on {counted(len(nodes), 'node')}" if gpus else "no GPU is held"
        yield REMAINS if verb != "suspend" else f"{lost_words(alive)}; objects, queues and claims stay"
    elif wanted := sum(one.gpus_wanted or 0 for one in jobs):
        yield f"{counted(wanted, 'GPU')} are asked for"
    yield listed("jobs: ", [f"{one.namespace}/{one.name}" for one in jobs], _MOST_SHOWN)


async def carry_all(
    sweep: Sweep,
    session: Any,
    audit: Any,
    clock: Clock,
    *,
    perform: Perform | None = None,
    local_user: str = "",
    told: Callable[[Result], None] = lambda _result: None,
) -> tuple[Result, ...]:
    """Carry the plans out, a few at a time; `told` is called with each result as it comes.

    The results are in the order of the items. Once the connection is lost no further job is begun.
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
        is_lost = is_lost or outcome.state == "failed"
        result = Result(item.name, outcome)
        told(result)
        return result

    async def _one(item: Item) -> Outcome:
        try:
            return await carry_anew(
                item.shown,
                item.make,
                session,
                audit,
                clock,
                same=same_change,
                perform=perform,
                local_user=local_user,
            )
        except CockpitError as error:
            is_lost_now = isinstance(error, NoConnection)
            return Outcome(state="failed" if is_lost_now else "refused", sentence=error.sentence)

    return tuple(await asyncio.gather(*map(one, sweep.items)))


def summary(verb: str, results: Sequence[Result], left_out: int = 0) -> Outcome:
    """One outcome for all: `48 of 50 jobs killed; 1 was gone already; 1 refused: ...`."""
    states = Counter(one.outcome.state for one in results)
    total = len(results) + left_out
    done = states["done"] + states["unchanged"]
    of = f" of {total}" if done != total else ""
    sentence = f"{done}{of} job{'s' * (total != 1)} {_DONE.get(verb, verb)}"
    if states["unchanged"]:
        sentence += f"; {states['unchanged']} gone already"
    for state in ("refused", "failed"):
        if states[state]:
            first = next(one for one in results if one.outcome.state == state)
            sentence += f"; {states[state]} {state}: {first.outcome.sentence}"
    if left_out:
        sentence += f"; {left_out} left out"
    worst = "failed" if states["failed"] else "refused" if states["refused"] else "done"
    return Outcome(state=worst, sentence=sentence)
