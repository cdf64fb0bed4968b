"""Show a plan and ask; carry it out; tell what became of it."""

import argparse
import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence

from cockpit.actions.execute.bulk_plan import Result
from cockpit.actions.execute.execute_plan import READ_ONLY
from cockpit.actions.execute.replan import NOTHING_DONE
from cockpit.actions.execute.run_verb import Intent, Tried, What, carry_verb, conduct_made, verdict_words
from cockpit.actions.kubectl import MOST_KUBECTL, kubectl_lines
from cockpit.actions.planning import FreshPlanning
from cockpit.clock import Clock
from cockpit.commands.output import note, put
from cockpit.commands.patience import wait_on
from cockpit.commands.settings import audit_log, remember_reclaims
from cockpit.errors import BadInput, NoConnection, Refused, Unchanged
from cockpit.model.plan import DrainOrder, Outcome, Plan, PoolLeaseHandle

CODES = {"done": 0, "unchanged": 0, "refused": 1, "failed": 2, "untried": 2, "unknown": 2}


def refuse_without_right(options: argparse.Namespace, *, may_write: bool) -> None:
    """Stop before anything is asked of the cluster: no `--write`, or no terminal to confirm on."""
    if options.dry_run:
        return
    if not may_write:
        raise BadInput(f"{READ_ONLY} (or set write = true for this context in the configuration)")
    if not options.yes and not sys.stdin.isatty():
        raise BadInput("stdin is not a terminal; use --yes")


def plan_lines(plan: Plan, context: str = "") -> list[str]:
    """The plan as a person reads it before "yes"; `context` is the one it is for."""
    lines = [plan.title, *(f"  {line}" for line in plan.told)]
    lines += [f"  ! {warning}" for warning in plan.warnings]
    if plan.shell:
        lines.append(f"  $ {plan.shell}")
    lines += [f"  # {line}" for line in kubectl_lines(plan, context)[:MOST_KUBECTL]]
    return lines


class Prompt:
    """Asks in this terminal; `--yes` skips the question, `--dry-run` the execution.

    `code` is the exit code of a dry run. Without one a refusal is raised before anything is shown.
    """

    def __init__(self, options: argparse.Namespace, context: str = "") -> None:
        self._options = options
        self._context = context
        self.code = 0

    @property
    def asks_again(self) -> bool:
        return not self._options.yes

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        """Raises Refused with what the server would say, NoConnection where it said nothing."""
        tried = await trial
        verdict = tried.verdict
        if self._options.dry_run:
            told = f"  server: {verdict_words(verdict)}"
            put([*plan_lines(tried.face, self._context), *_left_out(tried.left_out), told])
            self.code = CODES[verdict.state]
            return None
        if verdict.state in ("refused", "failed"):
            raise (Refused if verdict.state == "refused" else NoConnection)(verdict.sentence)
        if verdict.state == "unchanged":
            put([verdict.sentence])
            return None
        if verdict.state == "untried":
            note([verdict_words(verdict)])
        wait_on()
        if self._options.yes:
            self._refuse_untyped(tried.face)
            return tried
        first = [f"! {line}" for line in (NOTHING_DONE, *changes)] if changes else []
        put([*first, *plan_lines(tried.face, self._context), *_left_out(tried.left_out)])
        if await (_types(tried.face.typed) if tried.face.typed else _yes()):
            return tried
        put(["nothing was changed"])
        return None

    def _refuse_untyped(self, face: Plan) -> None:
        """Without a terminal the confirmation text has to be in the command line."""
        if face.typed and getattr(self._options, "verb_confirm", "") != face.typed:
            lost = next(iter(face.warnings), face.title)
            raise BadInput(f"{lost}: to do it all the same add --confirm {shlex.quote(face.typed)}")


async def confirm_and_carry(
    intent: Intent,
    fresh: FreshPlanning,
    options: argparse.Namespace,
    clock: Clock,
    *,
    context: str,
    goes_on: Callable[[Sequence[DrainOrder]], Awaitable[int]] | None = None,
    then: Callable[[PoolLeaseHandle], Awaitable[int]] | None = None,
) -> int:
    """Plan, dry-run on the server, show, ask, plan again, execute; returns the exit code.

    With `--dry-run` it ends after the dry run. If the second plan differs from the confirmed one, nothing is
    sent: the new plan is shown and asked for again. A drain that continues is passed to `goes_on` and a Lease
    to `then`; both follow it to its end and return the exit code. Raises Refused when the server would
    refuse, and with `--yes` when the second plan differs.
    """

    def tell_one(result: Result) -> None:
        put([f"{result.name}: {result.outcome.sentence}"])

    prompt = Prompt(options, context)
    try:
        done = await carry_verb(
            intent,
            fresh,
            audit_log,
            clock,
            asker=prompt,
            told=tell_one,
            underway=lambda sentence: put([sentence]),
        )
    except Unchanged as error:
        put([error.sentence])
        return 0
    if done is not None and done.goes_on and goes_on is not None:
        put([done.outcome.sentence])
        return await goes_on(done.goes_on)
    if done is not None and done.gives_back:
        note([said] if (said := await remember_reclaims(fresh().session, done.gives_back)) else [])
    code = _code(prompt, None if done is None else done.outcome)
    hold = None if done is None else done.outcome.hold
    return code if then is None or hold is None else await then(hold)


async def confirm_plan(plan: Plan, options: argparse.Namespace, fresh: FreshPlanning, clock: Clock) -> int:
    """The same for what is created: of it only what it does to others may have moved on."""
    prompt = Prompt(options, fresh().session.context)
    return _code(prompt, await conduct_made(plan, fresh, audit_log, clock, asker=prompt))


def _code(prompt: Prompt, ended: Outcome | None) -> int:
    return prompt.code if ended is None else tell(ended)


def _left_out(reasons: Sequence[str]) -> list[str]:
    return [f"  - left out: {sentence}" for sentence in reasons]


def tell(outcome: Outcome) -> int:
    """Print the outcome; failures are raised so that they end on standard error with their code."""
    code = CODES[outcome.state]
    if code:
        raise (Refused if code == 1 else NoConnection)(outcome.sentence)
    put([f"{outcome.sentence} (audit {outcome.audit_id})" if outcome.audit_id else outcome.sentence])
    note([f"warning: {sentence}" for sentence in outcome.warnings])
    return code


async def _yes() -> bool:
    return (await _answer("Proceed? [y/N] ")).lower() in ("y", "yes")


async def _types(name: str) -> bool:
    return await _answer(f"Type {name} to go on: ") == name


async def _answer(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    # In a thread: the watches that keep the plan fresh go on while the person reads.
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()
