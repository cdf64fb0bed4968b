"""What one request asks for, and the sentence with which it is refused."""

import json

import msgspec

from cockpit.sim.port import PortError
from cockpit.sim.server.request import User

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"


NOBODY_AT_ALL = User(ANONYMOUS, (UNAUTHENTICATED,))
"""A request without a token, as kube-apiserver sees it."""


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a service account's token stands for."""
    return User(
        f"system:serviceaccount:{namespace}:{name}",
        ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED),
        uid,
    )


class Attributes(msgspec.Struct, frozen=True):
    """What is asked for. `path` is set for what is no resource (`/healthz`), with `verb` alone.

    Verbs are those of RBAC: get, list, watch, create, update, patch, delete, deletecollection; for a path
    the HTTP method in lower case. `namespace` and `name` are "" where the request names none.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def is_resource(self) -> bool:
        """True for a request for a resource of the API."""
        return not self.path

    @property
    def combined(self) -> str:
        """`pods`, or `pods/log`: how rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class AccessDecision(msgspec.Struct, frozen=True):
    """Allowed, or no opinion (which ends as a refusal); `reason` in the words of kube-apiserver."""

    allowed: bool
    reason: str = ""


def quoted(text: str) -> str:
    """As Go's %q writes it."""
    return json.dumps(text, ensure_ascii=False)


def group_resource(group: str, resource: str) -> str:
    """`pods`, `jobs.batch`."""
    return f"{resource}.{group}" if group else resource


def refusal(group: str, resource: str, name: str, why: str) -> PortError:
    """A 403 about an object, as apimachinery's NewForbidden words it."""
    what = group_resource(group, resource)
    if not what:
        return PortError(403, "Forbidden", f"forbidden: {why}")
    if not name:
        return PortError(403, "Forbidden", f"{what} is forbidden: {why}")
    return PortError(403, "Forbidden", f"{what} {quoted(name)} is forbidden: {why}")


def forbidden(user: User, asked: Attributes, reason: str = "") -> PortError:
    """The 403 for a request that no rule allows. Markup in names is made harmless, as in the real one."""
    if not asked.is_resource:
        why = f"User {quoted(user.name)} cannot {asked.verb} path {quoted(asked.path)}"
    else:
        why = (
            f"User {quoted(user.name)} cannot {asked.verb} resource {quoted(asked.combined)}"
            f" in API group {quoted(asked.group)}"
        )
        if asked.namespace:
            why += f" in the namespace {quoted(asked.namespace)}"
        else:
            why += " at the cluster scope"
    why = why.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if reason:
        why += f": {reason}"
    return refusal(asked.group, asked.resource, asked.name, why)
