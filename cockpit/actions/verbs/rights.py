"""The right that a call needs, read from the path that the call is sent to."""

from typing import TYPE_CHECKING

from cockpit.actions.kubectl import place_of
from cockpit.model.right import Right

if TYPE_CHECKING:
    from cockpit.model.plan import Call

_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update", "GET": "get"}


def right_on(verb: str, path: str) -> Right:
    """The right to `verb` what lives at `path` below the API server."""
    place = place_of(path)
    return Right(verb, place.group, place.resource, place.subresource, place.namespace, place.name)


def right_of(call: "Call") -> Right:
    """The right without which this call is refused."""
    return right_on(_VERBS[call.method], call.path)
