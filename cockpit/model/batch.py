"""What flows from a reflector to the store: compact values that could cross a process."""

import enum
from collections.abc import Sequence
from typing import Any

import msgspec


class Phase(enum.Enum):
    """Where a stream of one kind stands."""

    CONNECTING = "connecting"
    LISTING = "listing"
    LIVE = "live"  # a watch stands
    POLLED = "polled"  # read whole now and then, as it may not be watched: as old as `heard_seconds` says
    STALE = "stale"  # the last data stands, the stream is silent or cut
    BACKING_OFF = "backing off"
    DENIED = "denied"
    NOT_LOGGED_IN = "not logged in"  # a login expired or was refused (401): the last data stands
    ABSENT = "not served"  # the server does not know the kind


class StreamStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The state of one stream: shown where the data would stand."""

    kind: str
    scope: str = ""  # namespace, "" for all
    phase: Phase = Phase.CONNECTING
    message: str = ""  # one sentence; names verb and resource when denied
    objects: int = 0
    skipped: int = 0  # objects that could not be decoded
    since_seconds: float | None = None  # when this phase began, by the cluster's clock: shown beside its ages
    heard_seconds: float | None = None  # when the server last said anything, by this machine's clock
    retry_seconds: float | None = None  # when the next attempt is due, by this machine's clock
    is_partial: bool = False  # the source says that something may be missing in its answer
    clock_ahead_seconds: float = 0.0  # how far its clock is ahead of the cluster's (behind: negative)

    @property
    def is_current(self) -> bool:
        """True while what is shown is renewed: a watch stands, or it is polled."""
        return self.phase in (Phase.LIVE, Phase.POLLED)

    @property
    def is_whole(self) -> bool:
        """True when the table holds all objects of the cluster: every namespace, and listed once at least."""
        if self.scope or self.is_partial or self.phase in (Phase.CONNECTING, Phase.LISTING, Phase.DENIED):
            return False
        is_failing = self.phase in (Phase.BACKING_OFF, Phase.NOT_LOGGED_IN)
        return not is_failing or self.objects > 0


_WORST_FIRST = (
    Phase.NOT_LOGGED_IN,
    Phase.DENIED,
    Phase.BACKING_OFF,
    Phase.STALE,
    Phase.CONNECTING,
    Phase.LISTING,
    Phase.LIVE,
    Phase.ABSENT,
)


def status_of_several(statuses: Sequence[StreamStatus]) -> StreamStatus | None:
    """The state of a kind that several streams tell (namespaces, resources): the most troubled one.

    Where some are denied and others are not it is that of the others, marked partial, with the sentence of
    the denied one where there is no other. None without any.
    """
    if len(statuses) < 2:
        return statuses[0] if statuses else None
    denied = [status for status in statuses if status.phase is Phase.DENIED]
    rest = [status for status in statuses if status.phase not in (Phase.DENIED, Phase.ABSENT)] or statuses
    worst = min(rest, key=lambda one: _WORST_FIRST.index(one.phase))
    scopes = [item.scope for item in rest]
    heard = [item.heard_seconds for item in rest if item.heard_seconds is not None]
    return msgspec.structs.replace(
        worst,
        scope=",".join(scopes) if all(scopes) else "",
        message=worst.message or next((item.message for item in denied), ""),
        objects=sum(item.objects for item in rest),
        skipped=sum(item.skipped for item in rest),
        heard_seconds=min(heard, default=None),
        is_partial=worst.is_partial or (bool(denied) and worst.phase is not Phase.DENIED),
    )


class ListMark(enum.Enum):
    """Edges of a list inside the stream of batches."""

    NONE = ""
    BEGIN = "begin"  # a (re-)list starts: what it does not name again is gone
    END = "end"  # the list is complete: empty means empty
    DROP = "drop"  # the scope is not read any more: its records and its status are gone


class Batch(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Changes of one kind, in order; applied by the store in one step."""

    kind: str
    scope: str = ""
    mark: ListMark = ListMark.NONE
    changed: tuple[Any, ...] = ()  # records of that kind
    removed: tuple[str, ...] = ()  # uids
    status: StreamStatus | None = None
