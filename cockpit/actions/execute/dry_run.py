"""Ask the server of a plan without doing anything: a dry run of each call that can be judged by itself."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from cockpit.actions.execute.call_outcome import (
    AT_ONCE,
    Perform,
    refused_outcome,
    sentence_of,
    target_of,
)
from cockpit.actions.refusals import explain
from cockpit.errors import NoConnection, NotTried, Refused
from cockpit.model.plan import Call, Outcome, Plan
from cockpit.model.session import Session

TRY_SECONDS = 10.0
"""Timeout for a dry run, all calls of a plan together."""


async def rehearse(
    plan: Plan, session: Session, *, perform: Perform, seconds: float = TRY_SECONDS
) -> Outcome:
    """Ask the server what it would say (dryRun=All), a few calls at a time, `seconds` at most.

    Allowed in read-only mode, changes nothing. What is judged only once an earlier call is done is not tried.
    `refused` tells what the plan would meet; `untried` that the server cannot tell; `failed` that no answer
    came; `unchanged` that what it deletes is already gone.
    """
    slots = asyncio.Semaphore(AT_ONCE)
    steps = (*plan.calls, *plan.later)
    alone = [call for at, call in enumerate(steps) if not needs_earlier(call, steps[:at])]
    later = () if plan.goes_on is None else plan.goes_on.evictions
    said: dict[int, Outcome] = {}

    async def one(at: int, call: Call) -> None:
        async with slots:
            one_said = await _tried(call, session, perform)
            said[at] = moved_hold(plan, call, one_said)
        if at >= len(alone) and not _is_barred(said[at]):
            said[at] = Outcome(state="done", sentence="")

    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(one(at, call) for at, call in enumerate((*alone, *later))))
    except TimeoutError:
        said[len(alone) + len(later)] = Outcome(
            state="failed", sentence=f"no answer to the dry run within {seconds:g} s"
        )
    told = [said[at] for at in sorted(said)]
    for state in ("refused", "failed", "untried"):
        found = [it for it in told if it.state == state]
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            return msgspec.structs.replace(found[0], sentence=f"{found[0].sentence}{more}")
    if told and all(it.state == "unchanged" for it in told) and len(alone) == len(steps):
        return told[0]
    rest = len(steps) - len(alone)
    more = f"; {rest} of {len(steps)} steps depend on the others and cannot be tried first" if rest else ""
    own = "; ".join(dict.fromkeys(it.sentence for it in told if it.sentence))
    return Outcome(state="done", sentence=f"{own or 'the cluster would accept it'}{more}")


def _is_barred(said: Outcome) -> bool:
    """Whether an eviction of a drain would be refused also later: not so while a budget or the server's load
    holds it, nor where the pod is gone by then."""
    if said.state == "failed":
        return True
    status = 0 if said.refusal is None else said.refusal.status
    return bool(status) and status not in (404, 409, 429) and status < 500


async def _tried(call: Call, session: Session, send: Perform) -> Outcome:
    """What the server says to one call without doing it."""
    try:
        answer = await send(session, call, dry_run=True)
    except NotTried as error:
        return Outcome(state="untried", sentence=explain(target_of(call), error), refusal=error.said)
    except Refused as error:
        if call.replaces and error.said.is_taken:
            return Outcome(state="done", sentence="")
        return refused_outcome(call, error)
    except NoConnection as error:
        return Outcome(state="failed", sentence=error.sentence)
    return Outcome(state="done", sentence=sentence_of(answer))


def moved_hold(plan: Plan, call: Call, said: Outcome) -> Outcome:
    """A hold that somebody took between read and write is a newer object: it is read, and told by whom."""
    is_taken = said.refusal is not None and said.refusal.is_taken
    if plan.hold is None or not plan.hold.path or call is not plan.calls[0] or not is_taken:
        return said
    return msgspec.structs.replace(said, is_moved=True)


class _Object(NamedTuple):
    group: str
    resource: str
    namespace: str
    name: str


def needs_earlier(call: Call, earlier: Sequence[Call]) -> bool:
    """True where an earlier call changes, deletes or creates the same object, or creates its namespace.

    A dry run keeps nothing, so the server would judge `call` by a state that will not be there by then: it
    would refuse a name that is to be free, or a namespace that is to be made.
    """
    if call.replaces:  # that its name is taken is what its dry run is to say
        return False
    own = _object(call)
    made = {_object(one).name for one in earlier if one.method == "POST" and _is_namespace(_object(one))}
    return own.namespace in made or any(_object(one) == own for one in earlier)


def _is_namespace(what: _Object) -> bool:
    return (what.group, what.resource) == ("", "namespaces")


def _object(call: Call) -> _Object:
    """The object of a call, whatever version or subresource of it the path names."""
    if call.via:
        return _Object(call.via, "", "", call.path)
    parts = call.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    if not name and isinstance(call.body, dict):
        name = str((call.body.get("metadata") or {}).get("name") or "")
    return _Object(group, rest[0] if rest else "", namespace, name)
