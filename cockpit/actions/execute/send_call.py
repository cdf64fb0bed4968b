"""One call of a plan, sent to the API server or to a cloud; what was answered, or refused, as an outcome."""

from collections.abc import Awaitable
from typing import Any, Final, Protocol, cast, runtime_checkable

import msgspec

from cockpit.actions.execute.read_back import is_eviction
from cockpit.actions.execute.read_back import marked as marked_object
from cockpit.actions.refusals import explain, recreated
from cockpit.clouds import sending
from cockpit.clouds.errors import Moved, OutsideError
from cockpit.errors import OutcomeUnknown, Refused
from cockpit.kube import calls
from cockpit.model.plan import Call, Outcome
from cockpit.model.refusal import Refusal
from cockpit.model.session import Session
from cockpit.pools.failure_classes import classed

AT_ONCE: Final = 8
"""Dry runs and actions under way at once; an API server shares its patience among all who ask."""


@runtime_checkable
class _Telling(Protocol):
    """An answer from outside the cluster."""

    sentence: str
    """What a person should know besides that it is done; "" nothing."""


class Perform(Protocol):
    """What sends one call (cockpit.kube.calls.perform); raises Refused and NoConnection."""

    def __call__(self, session: Session, call: Call, /, *, dry_run: bool = ...) -> Awaitable[object]: ...


def real_perform() -> Perform:
    """How calls are sent where nothing else is handed in: to the API server, or outside where they say so."""
    kube = cast(Perform, calls.perform)  # every session of the program is one of cockpit.kube
    outside = outside_perform()

    async def send(session: Session, call: Call, /, *, dry_run: bool = False) -> object:
        way = outside if call.via else kube
        return await way(session, call, dry_run=dry_run)

    return send


def outside_perform(**ways: Any) -> Perform:
    """How calls outside the cluster are sent; `ways` as for `cockpit.clouds.sending.send`."""

    async def send(session: Session, call: Call, /, *, dry_run: bool = False) -> object:
        try:
            return await sending.send(call, read_only=session.read_only, dry_run=dry_run, **ways)
        except OutsideError as error:
            raise _outside_trouble(call, error) from None

    return send


def _outside_trouble(call: Call, error: OutsideError) -> Refused | OutcomeUnknown:
    """What kept a call from being done: a refusal, or it is not known whether it was done.

    Another version is a refusal that a plan is made anew for, as that of the API server.
    """
    if error.is_lost:
        unknown = f"{call.target}: unknown: {error.who}: {error.message}"
        return OutcomeUnknown(unknown, Refusal(message=error.message))
    if isinstance(error, Moved):
        moved = Refusal(status=409, reason="Conflict", message=error.message)
        return recreated(call.target) if error.is_another else Refused(error.sentence, moved)
    if error.code == "ReadOnly":
        return Refused(error.message)
    told = classed(error.code, error.message, who=error.who)
    return Refused(told.whole, Refusal(reason=told.kind.value, message=error.message))


def marked(call: Call, audit_id: str) -> Call:
    """The call with the mark by which its object, or a cloud, tells this request from another one."""
    if not call.via:
        return marked_object(call, audit_id)
    return msgspec.structs.replace(call, body={**call.body, "token": audit_id})


def refused_outcome(call: Call, error: Refused) -> Outcome:
    """`unchanged` where what it removes is already gone, else `refused`."""
    if (call.method == "DELETE" or is_eviction(call)) and error.said.is_gone:
        return Outcome(state="unchanged", sentence=f"{call.target} is already gone", refusal=error.said)
    return Outcome(
        state="refused",
        sentence=explain(target_of(call), error),
        refusal=error.said,
        is_moved=error.said.is_changed,
    )


def target_of(call: Call) -> str:
    """What it is done to, in words; else its path."""
    return call.target or call.path


def sentence_of(answer: object) -> str:
    """What a cloud said besides that it is done; "" for an API server."""
    return answer.sentence if isinstance(answer, _Telling) else ""
