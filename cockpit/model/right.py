"""A right on the cluster, as its authorizer knows it: who may do what to which resource, where."""

import enum
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec


class Permission(enum.Enum):
    """What is known of a right."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNKNOWN = "not known"  # not asked yet, no answer, or an answer that leaves it open


class Right(msgspec.Struct, frozen=True):
    """One verb on one resource: what an access review asks for and what a role grants.

    `group` is "" for core, `namespace` "" for a cluster-scoped resource. `name` matters to a role that is
    limited to some names; "" asks for any of them.
    """

    verb: str  # create, delete, get, patch, ...: the authorizer's words, not those of HTTP
    group: str
    resource: str  # plural: jobs
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def label(self) -> str:
        """The resource as kubectl writes it: `pods/exec`, `jobs.batch`, `things.x.y/scale`."""
        whole = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{whole}/{self.subresource}" if self.subresource else whole

    @property
    def words(self) -> str:
        """`create pods/exec in team-a`, `patch nodes`."""
        return f"{self.verb} {self.label}" + (f" in {self.namespace}" if self.namespace else "")

    @property
    def question(self) -> str:
        """The kubectl command that checks it."""
        plain = f"{self.resource}.{self.group}" if self.group else self.resource
        found = f"kubectl auth can-i {self.verb} {plain}{'/' * bool(self.name)}{self.name}"
        if self.subresource:
            found += f" --subresource={self.subresource}"
        return f"{found} -n {self.namespace}" if self.namespace else found


def cannot(what: Right | str) -> str:
    """`you cannot delete jobs.batch in team-a`: a missing right, in kubectl's words. `what` is the right, or
    `list queues` where it is not a value."""
    return f"you cannot {what.words if isinstance(what, Right) else what}"


class RightsReader(Protocol):
    """What is known of rights, and how more is asked for."""

    def verdict(self, right: Right, /) -> Permission:
        """What is known of the right now."""

    @property
    def answers(self) -> int:
        """How often the server has answered: where it is the same, no verdict is another one."""

    def want(self, rights: Iterable[Right], /) -> None:
        """Ask for these from now on; what was wanted before no longer is."""

    def doubt(self, rights: Iterable[Right], /) -> None:
        """Check these again: they may have been granted or revoked."""


Ways = tuple[tuple[Right, ...], ...]
"""What something needs: all rights of one of its ways. () is nothing at all, or not known what."""


def lacking(ways: Ways, verdict: Callable[[Right], Permission]) -> tuple[Right, ...]:
    """The rights for want of which no way is open, one of each way; () where a way may be open."""
    found = [_first_denied(way, verdict) for way in ways]
    return tuple(dict.fromkeys(item for item in found if item is not None)) if None not in found else ()


def worth_asking(ways: Ways, verdict: Callable[[Right], Permission]) -> Iterable[Right]:
    """What has to be known to tell whether a way is open: the rights of one that is, else all."""
    for way in ways:
        if all(verdict(item) is Permission.ALLOWED for item in way):
            return way
    return dict.fromkeys(right for way in ways for right in way)


def _first_denied(way: Iterable[Right], verdict: Callable[[Right], Permission]) -> Right | None:
    return next((item for item in way if verdict(item) is Permission.DENIED), None)
