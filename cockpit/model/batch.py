"""What flows from a reflector to the store: compact values that could cross a process."""

import enum
from typing import Any

import msgspec


class Phase(enum.Enum):
    """Where a stream of one kind stands."""

    CONNECTING = "connecting"
    LISTING = "listing"
    LIVE = "live"
    STALE = "stale"  # the last data stands, the stream is silent or cut
    BACKING_OFF = "backing off"
    DENIED = "denied"
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
    def is_whole(self) -> bool:
        """True when the table holds all objects of the cluster: every namespace, and listed once at least."""
        if self.scope or self.phase in (Phase.CONNECTING, Phase.LISTING, Phase.DENIED):
            return False
        return self.phase is not Phase.BACKING_OFF or self.objects > 0


class ListMark(enum.Enum):
    """Edges of a list inside the stream of batches."""

    NONE = ""
    BEGIN = "begin"  # a (re-)list starts: what it does not name again is gone
    END = "end"  # the list is complete: empty means empty


class Batch(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Changes of one kind, in order; applied by the store in one step."""

    kind: str
    scope: str = ""
    mark: ListMark = ListMark.NONE
    changed: tuple[Any, ...] = ()  # records of that kind
    removed: tuple[str, ...] = ()  # uids
    status: StreamStatus | None = None
