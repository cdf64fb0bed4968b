"""From frames of a watch stream to what they mean."""

from collections.abc import Sequence
from typing import Any, Protocol

from cockpit.kube.decode.decoders import Decode
from cockpit.kube.decode.frames import Frames, FramingError
from cockpit.kube.decode.pod_memo import Remembering
from cockpit.kube.decode.wire import PROTOBUF_WIRE, ServerStatus, UndecodableError, Wire
from cockpit.kube.stream_end import Ended

BAD_FRAMES_IN_A_ROW = 3
"""Frames without an event after which the response is no watch stream."""
RUN_OBJECTS = 64
"""Objects with a known key per step: a tenth of a millisecond."""


class RecordSink(Protocol):
    """Who gets the objects of a stream."""

    def decoded(self, decode: Decode, raw: bytes, *, is_new: bool, is_listing: bool) -> None: ...
    def listing(self, records: Sequence[Any]) -> None: ...
    def is_full(self) -> bool: ...
    def removed(self, wire: Wire, raw: bytes) -> Ended | None: ...


class EventSink(RecordSink, Protocol):
    """The reflector of the stream."""

    def bookmark(self, version: str) -> None: ...
    def listed(self, version: str) -> None: ...
    def skipped_frame(self) -> None: ...
    def error_event(self, status: ServerStatus) -> Ended: ...


class EventDispatcher:
    """Turns the frames of one stream into what its reflector is sink."""

    def __init__(self, sink: EventSink, wire: Wire, decode: Decode, *, is_listing: bool) -> None:
        self.is_listing = is_listing
        self.frames = 0
        """Whole frames so far: bytes that make none are no sign of life."""
        self._sink = sink
        self._wire = wire
        self._decode = decode
        self._run = decode.run if isinstance(decode, Remembering) and wire is PROTOBUF_WIRE else None
        self._bad_in_a_row = 0

    def work(self, frames: Frames) -> Ended | bool:
        """Work until no frame is left (False) or the time slice is used up (True); an Ended when the stream
        is over. Raises FramingError where it cannot be cut, and after three bad frames in a row."""
        sink = self._sink
        while True:
            # A watch moves the version on with each object; a list does not, so that many are one step.
            if self.is_listing and self._run is not None:
                records = frames.run(self._run, RUN_OBJECTS)
                if records:
                    self.frames += len(records)
                    self._bad_in_a_row = 0
                    sink.listing(records)
                    if sink.is_full():
                        return True
                    if len(records) == RUN_OBJECTS:
                        continue
            frame = frames.take()
            if frame is None:
                return False
            self.frames += 1
            ended = self.take(frame)
            if ended is not None:
                return ended
            if sink.is_full():
                return True

    def take(self, frame: bytes) -> Ended | None:
        """One frame; an Ended when the stream is over. Raises FramingError after three bad ones in a row."""
        try:
            type_, raw = self._wire.event(frame)
            if type_ in ("ADDED", "MODIFIED"):
                self._sink.decoded(self._decode, raw, is_new=type_ == "ADDED", is_listing=self.is_listing)
            elif type_ == "DELETED":
                if (ended := self._sink.removed(self._wire, raw)) is not None:
                    return ended
            elif type_ == "BOOKMARK":
                self._bookmark(raw)
            elif type_ == "ERROR":
                return self._sink.error_event(self._wire.status(raw))
            self._bad_in_a_row = 0
        except UndecodableError as error:
            self._bad_in_a_row += 1
            self._sink.skipped_frame()
            if self._bad_in_a_row >= BAD_FRAMES_IN_A_ROW:
                raise FramingError(f"the stream cannot be read ({error})") from None
        return None

    def _bookmark(self, raw: bytes) -> None:
        version, is_end = self._wire.version(raw)
        if self.is_listing and is_end:
            self.is_listing = False
            self._sink.listed(version)
        elif not self.is_listing:
            self._sink.bookmark(version)
