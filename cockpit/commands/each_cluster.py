"""Commands on several clusters, each attached for itself: one that does not answer stops no other."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cockpit.attach import AttachOptions
from cockpit.clock import Clock
from cockpit.commands.attached import Live, attached
from cockpit.commands.output import note
from cockpit.commands.patience import limited
from cockpit.errors import BadInput, CockpitError, NotFound, Refused
from cockpit.terminal import own_terminal

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterAnswer(Generic[T]):
    """What came of one cluster: `found` with notes about it, or the error that ended it."""

    context: str
    found: T | None = None
    notes: tuple[str, ...] = ()
    error: CockpitError | None = None


Noted = tuple[T, tuple[str, ...]]
"""What the work at one cluster found, and what is to be noted about that cluster."""


async def ask_each(
    chosen: Sequence[AttachOptions],
    timeout_seconds: float,
    clock: Clock,
    work: Callable[[Live], Awaitable[Noted[T]]],
) -> list[ClusterAnswer[T]]:
    """The work at every cluster side by side, each within the time; the answers in the order of `chosen`."""
    lender = own_terminal()

    async def ask(options: AttachOptions) -> ClusterAnswer[T]:
        context = options.context or ""
        try:
            async with limited(timeout_seconds), attached(options, clock, lender) as live:
                found, notes = await work(live)
        except CockpitError as error:
            return ClusterAnswer(context, error=error)
        return ClusterAnswer(context, found, notes)

    return list(await asyncio.gather(*map(ask, chosen)))


def noted(answers: Iterable[ClusterAnswer[Any]]) -> int:
    """Note what there is to note about each cluster. The exit code: 1 where one did not answer.

    Raises the error of the first where none answered.
    """
    answers = tuple(answers)
    failed = [answer for answer in answers if answer.error is not None]
    for answer in answers:
        sentences = answer.notes if answer.error is None else answer.error.sentences
        note(f"{answer.context}: {sentence}" for sentence in sentences)
    if failed and len(failed) == len(answers):
        error = CockpitError("none of the clusters answered")
        error.exit_code = max(answer.error.exit_code for answer in failed if answer.error is not None)
        raise error
    return 1 if failed else 0


def unanswered(answers: Iterable[ClusterAnswer[Any]]) -> dict[str, str]:
    """Why clusters did not answer, by context."""
    return {answer.context: answer.error.sentence for answer in answers if answer.error is not None}


def only_context(what: str, answers: Iterable[ClusterAnswer[str]], *, is_write: bool = False) -> str:
    """The one context in which the thing was found; `found` of an answer is its name there.

    Raises BadInput where it is in none or in several; for a write also Refused where a cluster did not
    answer, for it may be there, too. Otherwise that is noted.
    """
    answers = tuple(answers)
    here = [answer for answer in answers if answer.found]
    silent = [answer for answer in answers if answer.error is not None and not _is_absent(answer.error)]
    if len(here) > 1:
        names = ", ".join(f"{answer.found} in {answer.context}" for answer in here)
        raise BadInput(f"{what} is in {len(here)} clusters: {names}; name one with --context")
    if silent and (is_write or not here):
        told = "; ".join(f"{answer.context}: {answer.error.sentence}" for answer in silent if answer.error)
        where = f"{what} is in {here[0].context}" if here else f"{what} was not found"
        raise Refused(f"{where}, but not every cluster answered ({told}); name one with --context")
    if not here:
        first = next(answer.error for answer in answers if answer.error is not None)
        contexts = ", ".join(answer.context for answer in answers)
        hint = first.hint if isinstance(first, NotFound) else first.sentence
        raise BadInput(f"there is no {what} in {contexts}; {hint}")
    note(f"{answer.context}: {answer.error.sentence}" for answer in silent if answer.error)
    return here[0].context


def act_in(options: argparse.Namespace, context: str) -> None:
    """Have the command go on in that one cluster, as if `--context` had named it; tell which it is."""
    note([f"found in {context}"])
    options.contexts, options.context = None, context


def _is_absent(error: CockpitError) -> bool:
    """Whether the cluster answered that nothing has the name."""
    return isinstance(error, BadInput)
