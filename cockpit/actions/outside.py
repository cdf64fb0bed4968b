"""Calls that do not go to the API server: what marks them, and what refused them as data."""

import msgspec

from cockpit.actions.refusals import recreated
from cockpit.clouds.errors import Moved, OutsideError
from cockpit.errors import OutcomeUnknown, Refused
from cockpit.model.plan import Call
from cockpit.model.refusal import Refusal
from cockpit.pools.failure_classes import classed


def marked(call: Call, audit_id: str) -> Call:
    """The call with the mark by which a cloud knows the same request when it comes twice."""
    return msgspec.structs.replace(call, body={**call.body, "token": audit_id})


def outside_trouble(call: Call, error: OutsideError) -> Refused | OutcomeUnknown:
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
