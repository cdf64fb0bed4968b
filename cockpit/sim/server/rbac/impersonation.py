"""Acting as another user: what the headers ask for, and whether the one who asks may.

Facts: apiserver 1.36 pkg/endpoints/filters/impersonation. First the constrained way of KEP-5284 is tried
(rights to impersonate, and to do just this as another), then the older one. A pod that acts as its own node
is not told apart.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

import msgspec

from cockpit.sim.port import PortError
from cockpit.sim.server.rbac.attributes import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Attributes,
    forbidden,
    service_account,
)
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.refusals import bad_request
from cockpit.sim.server.request import User

_ACCOUNT = "system:serviceaccount:"
_NODE = "system:node:"
_AUTHENTICATION = "authentication.k8s.io"
_USER, _UID, _GROUP = "impersonate-user", "impersonate-uid", "impersonate-group"
_EXTRA = "impersonate-extra-"


def impersonated(
    authoriser: Authoriser, user: User, headers: Iterable[tuple[str, str]], asked: Attributes
) -> User:
    """The user that a request acts as: `user` itself where no header asks for another.

    `headers` are all of the request, in their order, `asked` is what it asks for. Raises PortError 400 where
    groups, a uid or extra fields are asked for without a user, 403 where `user` may not impersonate.
    """
    wanted = _wanted(headers)
    if wanted is None:
        return user
    mode = _mode(wanted)
    constrained = [
        msgspec.structs.replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"),
        *_needed(wanted, f"impersonate:{mode}", _AUTHENTICATION),
    ]
    refusal = _refusal(authoriser, user, constrained)
    if refusal is not None and _refusal(authoriser, user, _needed(wanted, "impersonate", "")) is not None:
        raise refusal
    return _completed(wanted)


def _refusal(authoriser: Authoriser, user: User, needed: Iterable[Attributes]) -> PortError | None:
    """About the first right that is missing; None where there is none."""
    for one in needed:
        decision = authoriser.decide(user, one)
        if not decision.allowed:
            return forbidden(user, one, decision.reason)
    return None


def _mode(wanted: User) -> str:
    is_plain = not (wanted.groups or wanted.uid or wanted.extra)
    if is_plain and wanted.name.startswith(_NODE):
        return "arbitrary-node"
    return "serviceaccount" if is_plain and _account_of(wanted.name)[1] else "user-info"


def _wanted(headers: Iterable[tuple[str, str]]) -> User | None:
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    for header, value in headers:
        key = header.lower()
        if key == _USER:
            name = name or value
        elif key == _UID:
            uid = uid or value
        elif key == _GROUP:
            groups.append(value)
        elif key.startswith(_EXTRA):
            extra.setdefault(unquote(key.removeprefix(_EXTRA)), []).append(value)
    if not name:
        if groups or uid or extra:
            told = f"groups {groups}, uid {uid!r}, extra {extra}"
            raise bad_request(f"requested {told} without impersonating a user name")
        return None
    return User(name, tuple(groups), uid, tuple((key, tuple(values)) for key, values in extra.items()))


def _needed(wanted: User, verb: str, group_of_users: str) -> Iterator[Attributes]:
    """A right for each thing that is taken on."""
    namespace, account = _account_of(wanted.name)
    if account:
        yield Attributes(verb, group_of_users, "serviceaccounts", namespace=namespace, name=account)
    else:
        yield Attributes(verb, group_of_users, "users", name=wanted.name)
    if wanted.uid:
        yield Attributes(verb, _AUTHENTICATION, "uids", name=wanted.uid)
    for group in wanted.groups:
        yield Attributes(verb, group_of_users, "groups", name=group)
    for key, values in wanted.extra:
        for value in values:
            yield Attributes(verb, _AUTHENTICATION, "userextras", key, name=value)


def _account_of(name: str) -> tuple[str, str]:
    """Namespace and name of a service account's user; ("", "") for any other."""
    namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
    if not name.startswith(_ACCOUNT) or not namespace or not account or ":" in account:
        return "", ""
    return namespace, account


def _completed(wanted: User) -> User:
    """With the groups that come with the name, as authentication would have given them."""
    groups = wanted.groups
    namespace, account = _account_of(wanted.name)
    if account and not groups:
        groups = service_account(namespace, account).groups
    told = (UNAUTHENTICATED,) if wanted.name == ANONYMOUS else (AUTHENTICATED, UNAUTHENTICATED)
    if not any(one in groups for one in told):
        groups = (*groups, told[0])
    return User(wanted.name, groups, wanted.uid, wanted.extra)
