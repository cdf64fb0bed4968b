"""What a reflector tells its sink: batches of bounded size, marks at the edges of a list, statuses."""

import asyncio
from collections.abc import Callable, Sequence

from cockpit.clock import Clock
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.record import Record

BATCH_OBJECTS = 500
SLICE_SECONDS = 0.006
"""Decoding holds the event loop at most this long at a time: a key must not wait for a list."""
WATCH_SLICE_SECONDS = 0.0015
"""The same while changes come, which no one waits for: a key takes a dozen turns of the loop to its frame."""
STATUS_SECONDS = 0.25
GATHER_OBJECTS = 256
GATHER_SECONDS = 0.02
"""A list comes in chunks of a dozen objects. They are handed on by this many, or as soon as this long has
passed: a step of the store costs as much as several pods, whatever it holds."""
OBJECTS_A_LOOK = 8
"""Objects between two readings of the clock: a pod takes a few microseconds, the clock one."""


class Batcher:
    """Collects records of one kind and scope, and knows where the stream stands."""

    def __init__(self, sink: Callable[[Batch], None], clock: Clock, kind: str, scope: str) -> None:
        self.objects = 0
        self._sink = sink
        self._clock = clock
        self._kind = kind
        self._scope = scope
        self._changed: list[Record] = []
        self._removed: dict[str, None] = {}
        self._skips = 0
        self._phase = Phase.CONNECTING
        self._message = ""
        self._since = clock.cluster_now()
        self._heard: float | None = None
        self._retry: float | None = None
        self._answered_at: float | None = None  # monotonic
        self._slice_at = clock.monotonic()
        self._unlooked = 0
        self._told_at = -STATUS_SECONDS
        self._is_listing = False
        self._has_listed = False
        self._due: asyncio.TimerHandle | None = None  # what a list has brought is handed over then

    # ---- records

    def changed(self, record: Record, *, is_new: bool) -> None:
        if record.uid in self._removed:
            self.flush()  # in a batch what is removed is gone, whatever else it names
        self._changed.append(record)
        if is_new:
            self.objects += 1

    def listing(self, records: Sequence[Record]) -> None:
        """Records of a list, many at once: the clock is due to be looked at."""
        if self._removed:
            self.flush()
        self._changed += records
        self.objects += len(records)
        self._unlooked = OBJECTS_A_LOOK

    def removed(self, uid: str) -> None:
        if uid:
            self._removed[uid] = None
            self.objects = max(self.objects - 1, 0)

    def skipped(self, count: int) -> None:
        """Count objects that could not be decoded."""
        self._skips += count

    def is_full(self) -> bool:
        """True when it is time to hand over and to let others run."""
        if len(self._changed) >= BATCH_OBJECTS or len(self._removed) >= BATCH_OBJECTS:
            return True
        self._unlooked += 1
        if self._unlooked < OBJECTS_A_LOOK:
            return False
        self._unlooked = 0
        longest = SLICE_SECONDS if self._is_listing else WATCH_SLICE_SECONDS
        return self._clock.monotonic() - self._slice_at >= longest

    def slice_begins(self) -> None:
        """The event loop has just been ours again."""
        self._slice_at = self._clock.monotonic()

    def chunk_begins(self) -> None:
        """Bytes came; what they are is seen when they are read."""
        self._slice_at = self._clock.monotonic()

    def chunk_ends(self) -> None:
        """All that came was read: hand it over, or while a list comes, soon, together with what follows."""
        if not self._is_listing or len(self._changed) >= GATHER_OBJECTS:
            self.flush()
        elif self._due is None and (self._changed or self._removed):
            self._due = asyncio.get_running_loop().call_later(GATHER_SECONDS, self.flush)

    def flush(self) -> None:
        """Hand over what was collected."""
        if self._changed or self._removed:
            self._hand_over(ListMark.NONE)
        self._slice_at = self._clock.monotonic()

    def falls_silent(self) -> None:
        """Cancel the delayed flush: it has run, or the listener is gone."""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    @property
    def has_listed(self) -> bool:
        """True where data stand: a list was complete once."""
        return self._has_listed

    # ---- edges of a list

    def begin(self) -> None:
        """A list starts: what it will not name is gone at its end."""
        self.flush()
        self._is_listing = True
        self.objects = 0
        self._skips = 0
        self._set(self.resting_phase(), "listing again" if self._has_listed else "", None)
        self._hand_over(ListMark.BEGIN, with_status=True)

    def end(self, phase: Phase) -> None:
        """The list is complete; `phase` is LIVE where a watch goes on behind it."""
        self._is_listing = False
        self._has_listed = True
        self._set(phase, "", None)
        self._hand_over(ListMark.END, with_status=True)

    def interrupted(self) -> None:
        """End the attempt in any phase."""
        self._is_listing = False
        self._answered_at = None
        self.flush()

    # ---- status

    def phase(self, phase: Phase, message: str = "", retry_in_seconds: float | None = None) -> None:
        """Where the stream stands now; told at once when it is news."""
        retry = None if retry_in_seconds is None else self._clock.now() + retry_in_seconds
        if phase is self._phase and message == self._message and retry is None and self._retry is None:
            return
        self._set(phase, message, retry)
        self._tell()

    def resting_phase(self) -> Phase:
        """The phase of a stream that lists again while its old data stands."""
        return Phase.STALE if self._has_listed else Phase.LISTING

    def heard(self) -> None:
        """The server said something of this kind."""
        self._heard = self._clock.now()

    def answered(self) -> None:
        """A stream or list was accepted: from now on it lives."""
        self._answered_at = self._clock.monotonic()

    def lived(self) -> float:
        """Seconds since the answer's head, 0 where there was none."""
        return 0.0 if self._answered_at is None else self._clock.monotonic() - self._answered_at

    def heartbeat(self) -> None:
        """Nothing changed, and the server says so."""
        self.heard()
        self._tell()

    def _set(self, phase: Phase, message: str, retry: float | None) -> None:
        if phase is not self._phase:
            self._since = self._clock.cluster_now()
        self._phase, self._message, self._retry = phase, message, retry

    def _status(self) -> StreamStatus:
        return StreamStatus(
            kind=self._kind,
            scope=self._scope,
            phase=self._phase,
            message=self._message,
            objects=self.objects,
            skipped=self._skips,
            since_seconds=self._since,
            heard_seconds=self._heard,
            retry_seconds=self._retry,
        )

    def _tell(self) -> None:
        self._told_at = self._clock.monotonic()
        self._sink(Batch(kind=self._kind, scope=self._scope, status=self._status()))

    def _hand_over(self, mark: ListMark, *, with_status: bool = False) -> None:
        self.falls_silent()
        self.heard()
        now = self._clock.monotonic()
        is_due = with_status or now - self._told_at >= STATUS_SECONDS
        if is_due:
            self._told_at = now
        changed, removed = tuple(self._changed), tuple(self._removed)
        self._changed, self._removed = [], {}
        self._sink(
            Batch(
                kind=self._kind,
                scope=self._scope,
                mark=mark,
                changed=changed,
                removed=removed,
                status=self._status() if is_due else None,
            )
        )
