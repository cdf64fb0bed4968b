"""What is known of a kind: all of its objects now, or which of them and why no more.

A conclusion from absence (*there is none*, *it does not exist*) is a method of `Complete`, which `Incomplete`
does not have: without asking which of the two it is, nothing can be called absent.
"""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.store_reader import StoreReader


class Gap(enum.Enum):
    """Why what is listed may not be all there is now: the worst first."""

    DENIED = "denied"
    UNREAD = "not listed yet"
    PARTIAL = "listed in part"
    STALE = "stale"
    POLLED = "polled"


class Complete(NamedTuple):
    """Every object of the kind (or of one namespace of it), renewed by a watch."""

    store: StoreReader
    kind: str

    @property
    def has_all(self) -> bool:
        """True: none is missing but those that came since the list was read."""
        return True

    def lacks(self, key: str) -> bool:
        """True where no object of that key (`namespace/name`, or `name`) exists."""
        return self.store.by_key(self.kind, key) is None


class Incomplete(NamedTuple):
    """What the store holds of the kind does not tell what there is. `namespaces` are those that are listed
    where the others are not."""

    kind: str
    gap: Gap
    namespaces: tuple[str, ...] = ()

    @property
    def has_all(self) -> bool:
        """True where the list was complete when it was read, and is old."""
        return self.gap in (Gap.STALE, Gap.POLLED)

    @property
    def words(self) -> str:
        """`nodes are denied`, `only pods of team-a are listed`."""
        if self.namespaces:
            return f"only {self.kind} of {', '.join(self.namespaces)} are listed"
        return f"{self.kind} are {self.gap.value}"


Listing = Complete | Incomplete

_GAPS: Final[Mapping[Phase, Gap]] = {
    Phase.DENIED: Gap.DENIED,
    Phase.CONNECTING: Gap.UNREAD,
    Phase.LISTING: Gap.UNREAD,
    Phase.STALE: Gap.STALE,
    Phase.POLLED: Gap.POLLED,
}


def listing(store: StoreReader, kind: str, namespace: str = "") -> Listing:
    """What is known of a kind, in one namespace or in all; all of it where no stream tells of the kind, or
    the server does not serve it."""
    streams = [status for status in store.statuses().values() if status.kind == kind]
    if not streams:
        return Complete(store, kind)
    wide = {
        stream.scope for stream in streams if not _namespace_of(stream)
    }  # beside which no namespace of it counts
    streams = [
        stream for stream in streams if stream.scope in wide or stream.scope.rpartition("/")[0] not in wide
    ]
    spaces = sorted({space for stream in streams if (space := _namespace_of(stream))})
    told = [stream for stream in streams if not namespace or _namespace_of(stream) in ("", namespace)]
    gaps = {gap for item in told if (gap := _gap_of(item)) is not None}
    denied = {_namespace_of(stream) for stream in streams if _gap_of(stream) is Gap.DENIED}
    readable = tuple(item for item in spaces if item not in denied)
    if not told or (readable and not namespace):
        return Incomplete(kind, Gap.PARTIAL, readable)
    if not gaps:
        return Complete(store, kind)
    worst = min(gaps, key=list(Gap).index)
    is_some = worst is Gap.DENIED and any(
        _gap_of(item) is not Gap.DENIED for item in told if _is_served(item)
    )
    return Incomplete(kind, Gap.PARTIAL if is_some else worst)


def _namespace_of(status: StreamStatus) -> str:
    """Of a scope, which may be a resource and a namespace in it; a resource has a dot, a namespace never."""
    last = status.scope.rpartition("/")[2]
    return "" if "." in last else last


def _is_served(status: StreamStatus) -> bool:
    return status.phase is not Phase.ABSENT


def _gap_of(status: StreamStatus) -> Gap | None:
    if status.phase in (Phase.BACKING_OFF, Phase.NOT_LOGGED_IN):
        return Gap.STALE if status.objects else Gap.UNREAD
    return _GAPS.get(status.phase) or (Gap.PARTIAL if status.is_partial else None)
