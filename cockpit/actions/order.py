"""Which call of a plan can be judged only once an earlier one is done."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit.model.plan import Call


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
