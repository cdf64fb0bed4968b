"""The right that a call needs, read from the path that the call is sent to."""

from typing import TYPE_CHECKING

from cockpit.actions.kubectl import place_of
from cockpit.model.right import Right

if TYPE_CHECKING:
    from cockpit.model.plan import Call, Plan

_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update", "GET": "get"}


def right_on(verb: str, path: str) -> Right:
    """The right to `verb` what lives at `path` below the API server."""
    place = place_of(path)
    return Right(verb, place.group, place.resource, place.subresource, place.namespace, place.name)


def right_of(call: "Call") -> Right:
    """The right without which this call is refused."""
    return right_on(_VERBS[call.method], call.path)


def rights_of(plan: "Plan") -> tuple[Right, ...]:
    """Those that the whole plan needs of the cluster, each once."""
    later = () if plan.goes_on is None else plan.goes_on.evictions
    return tuple(dict.fromkeys(right_of(call) for call in (*plan.calls, *plan.later, *later) if not call.via))
