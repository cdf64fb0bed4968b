"""Bearer tokens: which user one stands for, and until when."""

from collections.abc import Iterable
from random import Random

import msgspec

from cockpit.clock import Clock
from cockpit.sim.port import PortError
from cockpit.sim.server.rbac.attributes import AUTHENTICATED, MASTERS, NOBODY_AT_ALL
from cockpit.sim.server.request import User

_TOKEN_BITS = 192


class Shipped(msgspec.Struct, frozen=True):
    """A user that comes with the embedded cluster; `context` names it in the kubeconfig."""

    context: str
    user: User
    token_is_known: bool = True


def shipped_users() -> tuple[Shipped, ...]:
    """The four users, and one whose token has run out (it is refused with 401)."""

    def person(context: str, *groups: str, is_known: bool = True) -> Shipped:
        return Shipped(context, User(context, (*groups, AUTHENTICATED), f"uid-{context}"), is_known)

    return (
        person("admin", MASTERS),
        person("engineer", "cockpit:engineers"),
        person("viewer", "cockpit:viewers"),
        person("nobody"),
        person("expired", is_known=False),
    )


class _Entry(msgspec.Struct, frozen=True):
    user: User
    expires: float | None


class Tokens:
    """The token table. New tokens come from `random`: give a `SystemRandom` where they must be secret."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._entries: dict[str, _Entry] = {}

    def issue(self, user: User, token: str = "", *, lifetime_seconds: float | None = None) -> str:
        """A token for `user`: `token` itself where given, else a new one; it runs out after its lifetime."""
        text = token or f"{self._random.getrandbits(_TOKEN_BITS):0{_TOKEN_BITS // 4}x}"
        expires = None if lifetime_seconds is None else self._clock.now() + lifetime_seconds
        self._entries[text] = _Entry(user, expires)
        return text

    def issue_all(self, people: Iterable[Shipped]) -> dict[str, str]:
        """Context to token; a token that is not known is made up and never accepted."""
        tokens = {}
        for person in people:
            tokens[person.context] = self.issue(person.user)
            if not person.token_is_known:
                self.revoke(tokens[person.context])
        return tokens

    def revoke(self, token: str) -> None:
        """The token is refused from now on."""
        self._entries.pop(token, None)

    def user_of(self, token: str) -> User | None:
        """The user, or None when the token is unknown or has run out."""
        entry = self._entries.get(token)
        if entry is None or (entry.expires is not None and self._clock.now() >= entry.expires):
            return None
        return entry.user

    def authenticate(self, authorization: str | None) -> User:
        """The user of an `Authorization` header; without one the anonymous user.

        Raises PortError 401 for a token that is not known (any more), as kube-apiserver answers.
        """
        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return NOBODY_AT_ALL
        user = self.user_of(token.strip())
        if user is None:
            raise PortError(401, "Unauthorized", "Unauthorized")
        return user
