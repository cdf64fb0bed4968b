"""Show a plan and ask; carry it out; tell what became of it."""

import argparse
import asyncio
import getpass
import socket
import sys
from typing import TYPE_CHECKING, Any

from cockpit.actions.anew import carry_anew, rehearse_anew
from cockpit.actions.kubectl import kubectl_lines
from cockpit.actions.perform import READ_ONLY
from cockpit.actions.same import NOTHING_DONE, Differs
from cockpit.actions.sweep import Result, Sweep, carry_all, summary
from cockpit.clock import Clock
from cockpit.commands.paper import put
from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.keep.audit import Audit
from cockpit.model.plan import Outcome, Plan

if TYPE_CHECKING:
    from cockpit.actions.ground import Make

MOST_KUBECTL = 6
CODES = {"done": 0, "unchanged": 0, "refused": 1, "failed": 2}


def refuse_without_right(options: argparse.Namespace, *, may_write: bool) -> None:
    """Stop before anything is asked of the cluster: no `--write`, or nobody there to say yes."""
    if options.dry_run:
        return
    if not may_write:
        raise BadInput(f"{READ_ONLY} (or set write = true for this context in the configuration)")
    if not options.yes and not sys.stdin.isatty():
        raise BadInput("nobody to ask, standard input is no terminal: give --yes to do it without asking")


def plan_lines(plan: Plan) -> list[str]:
    """The plan as a person reads it before "yes"."""
    lines = [plan.title, *(f"  {line}" for line in plan.lines)]
    lines += [f"  ! {warning}" for warning in plan.warnings]
    if plan.shell:
        lines.append(f"  $ {plan.shell}")
    lines += [f"  # {line}" for line in kubectl_lines(plan)[:MOST_KUBECTL]]
    return lines


async def confirm_and_carry(
    plan: Plan,
    options: argparse.Namespace,
    session: Any,
    clock: Clock,
    again: "Make | None" = None,
) -> int:
    """Rehearse on the server, show, ask, make the plan anew, carry out; the answer is the exit code.

    With `--dry-run` it ends after the rehearsal. Where it would do something else after "yes", nothing is
    done: it is shown and asked for again. Raises Refused when the server would refuse, and with `--yes` when
    it would do something else.
    """
    first = plan
    plan, verdict = await rehearse_anew(plan, again, session)
    if options.dry_run:
        put([*plan_lines(plan), f"  server: {verdict.sentence}"])
        return CODES[verdict.state]
    if not verdict.is_done:
        raise (Refused if verdict.state == "refused" else NoConnection)(verdict.sentence)
    reads = plan is not first
    changes: tuple[str, ...] = ()
    while True:
        if not options.yes:
            put([*changes, *plan_lines(plan)])
            if not await _yes():
                put(["nothing was changed"])
                return 0
        try:
            outcome = await carry_anew(
                plan, again, session, Audit(), clock, reads=reads, local_user=local_user()
            )
        except Differs as error:
            if options.yes:
                raise
            plan, reads = error.now, True
            changes = tuple(f"! {line}" for line in (NOTHING_DONE, *error.changes))
            continue
        return tell(outcome)


async def confirm_and_carry_all(sweep: Sweep, options: argparse.Namespace, session: Any, clock: Clock) -> int:
    """Show one verb on many jobs, ask once, carry it out, tell each result; the answer is the exit code."""
    told = [f"  - left out: {sentence}" for sentence in sweep.left_out]
    if options.dry_run:
        put([*plan_lines(sweep.face), *told, "  server: the cluster would accept it"])
        return 0
    if not options.yes:
        put([*plan_lines(sweep.face), *told])
        if not await _yes():
            put(["nothing was changed"])
            return 0

    def tell_one(result: Result) -> None:
        put([f"{result.name}: {result.outcome.sentence}"])

    results = await carry_all(sweep, session, Audit(), clock, local_user=local_user(), told=tell_one)
    return tell(summary(sweep.verb, results, len(sweep.left_out)))


def tell(outcome: Outcome) -> int:
    """Print the outcome; failures are raised so that they end on standard error with their code."""
    code = CODES[outcome.state]
    if code:
        raise (Refused if code == 1 else NoConnection)(outcome.sentence)
    put([f"{outcome.sentence} (audit {outcome.audit_id})" if outcome.audit_id else outcome.sentence])
    return code


async def _yes() -> bool:
    sys.stdout.write("Do it? [y/N] ")
    sys.stdout.flush()
    # In a thread: the watches that keep the plan fresh go on while the person reads.
    answer = await asyncio.to_thread(sys.stdin.readline)
    return answer.strip().lower() in ("y", "yes")


def local_user() -> str:
    """Who sits here, for audit lines: `name@host`, "" where the system does not say."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):
        return ""
