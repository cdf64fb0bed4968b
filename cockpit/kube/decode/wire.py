"""The two encodings of lists, watch events and statuses; which one a server chose is seen in its answer."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
from google.protobuf.message import DecodeError

from cockpit.kube.decode.frames import Frames, FramingError, LengthFrames, LineFrames
from cockpit.kube.decode.shapes import AnyObject, WireShape
from cockpit.kube.proto import meta_pb2
from cockpit.mask import clean_message
from cockpit.model.refusal import StatusCause
from cockpit.sanitise import SHORT, clean

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class UndecodableError(Exception):
    """One object or frame that cannot be read; costs one row."""


class ServerStatus(msgspec.Struct, frozen=True):
    """A meta/v1 Status, cleaned. `code` 0 and empty texts where the server did not say."""

    code: int = 0
    reason: str = ""
    message: str = ""
    retry_after_seconds: float | None = None
    causes: tuple[StatusCause, ...] = ()
    name: str = ""  # of the object that it speaks of
    group: str = ""
    kind: str = ""  # its plural resource, as Status.details has it
    is_status: bool = False  # the body was a Status: the API server wrote it, and no proxy


class ListPage(msgspec.Struct, frozen=True):
    """One page of a list: items still raw, so that each fails alone."""

    items: tuple[bytes, ...]
    version: str
    continue_token: str
    remaining: int = 0


class Wire(Protocol):
    """Reads one encoding."""

    def frames(self) -> Frames:
        """A fresh cutter for a watch stream."""

    def event(self, frame: bytes) -> tuple[str, bytes]:
        """Type and raw object of one watch event. Raises UndecodableError."""

    def version(self, raw: bytes) -> tuple[str, bool]:
        """resourceVersion of a bookmark, and whether it ends the initial events. Raises UndecodableError."""

    def identity(self, raw: bytes) -> tuple[str, str]:
        """metadata.uid and resourceVersion. Raises UndecodableError."""

    def status(self, raw: bytes) -> ServerStatus:
        """A Status object. Raises UndecodableError."""

    def page(self, body: bytes) -> ListPage:
        """A list. Raises UndecodableError."""


def _unwrap(raw: bytes) -> bytes:
    """The message inside `k8s\\0` and runtime.Unknown."""
    if raw[:4] != MAGIC:
        raise UndecodableError("the protobuf envelope is missing")
    inner: bytes = meta_pb2.Unknown.FromString(raw[4:]).raw
    return inner


def _guarded(read: Callable[[bytes], Any], raw: bytes) -> Any:
    try:
        return read(raw)
    except (DecodeError, UnicodeDecodeError) as error:
        raise UndecodableError(f"not readable as protobuf ({type(error).__name__})") from None


def _causes(told: Iterable[Any]) -> tuple[StatusCause, ...]:
    return tuple(
        StatusCause(clean(item.field), clean_message(item.message), clean(item.reason, SHORT))
        for item in told
    )


class ProtobufWire:
    """`application/vnd.kubernetes.protobuf`."""

    def frames(self) -> Frames:
        return LengthFrames()

    def event(self, frame: bytes) -> tuple[str, bytes]:
        found = opened(frame)
        if found is not None:
            return found
        event = _guarded(meta_pb2.WatchEvent.FromString, frame)
        return event.type, _guarded(_unwrap, event.object.raw)

    def version(self, raw: bytes) -> tuple[str, bool]:
        meta = _guarded(meta_pb2.AnyObject.FromString, raw).metadata
        return clean(meta.resource_version), meta.annotations.get(INITIAL_EVENTS_END) == "true"

    def identity(self, raw: bytes) -> tuple[str, str]:
        meta = _guarded(meta_pb2.AnyObject.FromString, raw).metadata
        return clean(meta.uid), clean(meta.resource_version)

    def status(self, raw: bytes) -> ServerStatus:
        status = _guarded(meta_pb2.Status.FromString, raw)
        details = status.details
        return ServerStatus(
            code=status.code,
            reason=clean(status.reason),
            message=clean_message(status.message),
            retry_after_seconds=float(details.retry_after_seconds) or None,
            causes=_causes(details.causes),
            name=clean(details.name, SHORT),
            group=clean(details.group, SHORT),
            kind=clean(details.kind, SHORT),
            is_status=True,
        )

    def page(self, body: bytes) -> ListPage:
        page = _guarded(meta_pb2.AnyList.FromString, _guarded(_unwrap, body))
        meta = page.metadata
        return ListPage(
            tuple(page.items), meta.resource_version, getattr(meta, "continue"), meta.remaining_item_count
        )


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _ListMeta(WireShape, frozen=True, gc=False):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int = 0


class _List(WireShape, frozen=True):
    """Without `items` it is no list: read as an empty one, an answer of a proxy would empty the screen."""

    items: tuple[msgspec.Raw, ...] | None
    metadata: _ListMeta = _ListMeta()


class _Cause(WireShape, frozen=True, gc=False):
    message: str = ""
    field: str = ""
    reason: str = ""


class _Details(WireShape, frozen=True, gc=False):
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[_Cause, ...] = ()
    retry_after_seconds: float | None = None


class _Status(WireShape, frozen=True, gc=False):
    kind: str = ""
    message: str = ""
    reason: str = ""
    details: _Details | None = None
    code: int = 0


_EVENT = msgspec.json.Decoder(_Event)
_LIST = msgspec.json.Decoder(_List)
_ANY = msgspec.json.Decoder(AnyObject)
_STATUS = msgspec.json.Decoder(_Status)


def read_json(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    """Decode with a fallback for what strict decoding refuses and servers still send.

    Nulls where Go writes a nil list or map, lone surrogates, numbers written as text: read the slow way.
    Raises UndecodableError.
    """
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass_two = raw
    try:
        tree = json.loads(pass_two.decode("utf-8", "replace"))
        return msgspec.convert(_without_nulls(tree, 0), decoder.type, strict=False)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise UndecodableError(clean(f"not readable as JSON ({error})", 200)) from None


def _without_nulls(tree: Any, depth: int) -> Any:
    if depth > 64:
        raise ValueError("nested too deep")
    if isinstance(tree, dict):
        return {key: _without_nulls(value, depth + 1) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(value, depth + 1) for value in tree if value is not None]
    return tree


class JsonWire:
    """`application/json`."""

    def frames(self) -> Frames:
        return LineFrames()

    def event(self, frame: bytes) -> tuple[str, bytes]:
        try:
            event = _EVENT.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._slow_event(frame)
        return event.type, bytes(event.object)

    def _slow_event(self, frame: bytes) -> tuple[str, bytes]:
        """The same for a frame that holds what strict decoding refuses, e.g. a lone surrogate."""
        try:
            tree = json.loads(frame.decode("utf-8", "replace"))
            return str(tree["type"]), json.dumps(tree["object"]).encode("utf-8", "replace")
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UndecodableError("a line is not a watch event") from None

    def version(self, raw: bytes) -> tuple[str, bool]:
        meta = read_json(_ANY, raw).metadata
        return clean(meta.resource_version), meta.annotations.get(INITIAL_EVENTS_END) == "true"

    def identity(self, raw: bytes) -> tuple[str, str]:
        meta = read_json(_ANY, raw).metadata
        return clean(meta.uid), clean(meta.resource_version)

    def status(self, raw: bytes) -> ServerStatus:
        status = read_json(_STATUS, raw)
        details = status.details or _Details()
        return ServerStatus(
            code=status.code,
            reason=clean(status.reason),
            message=clean_message(status.message),
            retry_after_seconds=details.retry_after_seconds or None,
            causes=_causes(details.causes),
            name=clean(details.name, SHORT),
            group=clean(details.group, SHORT),
            kind=clean(details.kind, SHORT),
            is_status=status.kind == "Status",
        )

    def page(self, body: bytes) -> ListPage:
        page = self._strict_page(body)
        items = tuple(bytes(item) for item in page.items or ())
        meta = page.metadata
        return ListPage(items, meta.resource_version, meta.continue_token, meta.remaining_item_count)

    def _strict_page(self, body: bytes) -> _List:
        try:
            return _LIST.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass_two = body
        try:
            tree = json.loads(pass_two.decode("utf-8", "replace"))
            items = tuple(
                msgspec.Raw(json.dumps(item).encode("utf-8", "replace")) for item in tree["items"] or ()
            )
            return _List(items, msgspec.convert(_without_nulls(tree["metadata"], 0), _ListMeta))
        except (ValueError, TypeError, KeyError, msgspec.ValidationError, RecursionError):
            raise UndecodableError("the answer is not a Kubernetes list") from None


PROTOBUF_WIRE = ProtobufWire()
JSON_WIRE = JsonWire()


def wire_of(content_type: str) -> Wire:
    """The wire that an answer's content type names. Raises FramingError for anything else."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return PROTOBUF_WIRE
    if kind == JSON:
        return JSON_WIRE
    said = clean(kind, 60) or "no content type"
    raise FramingError(f"the server answered with {said} instead of Kubernetes data; is a proxy in between?")


def read_status(body: bytes, content_type: str = "") -> ServerStatus:
    """The Status in an answer's body; an empty one where the body holds none."""
    try:
        if body[:4] == MAGIC:
            return PROTOBUF_WIRE.status(_guarded(_unwrap, body))
        if "html" in content_type.lower() or body[:1] == b"<":
            return ServerStatus()
        return JSON_WIRE.status(body)
    except UndecodableError:
        return ServerStatus()


# ---- envelope


MAGIC = b"k8s\x00"
_FIELD_1, _FIELD_2 = 0x0A, 0x12  # field number << 3 | 2: a length follows


def opened_in_python(frame: bytes) -> tuple[str, bytes] | None:
    """Type and raw object of an event; None where the frame looks otherwise: then the parser decides."""
    try:
        type_end = 2 + frame[1]
        if frame[0] != _FIELD_1 or frame[1] > 0x7F or frame[type_end] != _FIELD_2:
            return None
        size, at = _length(frame, type_end + 1)
        if at + size != len(frame) or frame[at] != _FIELD_1:
            return None
        size, at = _length(frame, at + 1)
        if at + size != len(frame) or frame[at : at + 4] != MAGIC or frame[at + 4] != _FIELD_1:
            return None
        size, at = _length(frame, at + 5)
        at += size
        if frame[at] != _FIELD_2:
            return None
        size, at = _length(frame, at + 1)
        end = at + size
        # contentEncoding and contentType follow, which the server leaves empty
        if end > len(frame) or frame[end:] not in (b"", b"\x1a\x00\x22\x00"):
            return None
        return frame[2:type_end].decode("ascii"), frame[at:end]
    except (IndexError, UnicodeDecodeError):
        return None


def _length(frame: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends. Raises IndexError when the frame ends inside it."""
    byte = frame[at]
    size = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        at += 1
        byte = frame[at]
        size |= (byte & 0x7F) << shift
        shift += 7
    return size, at + 1


try:
    from cockpit.kube.decode._gist import opened
except ImportError:  # no compiler where the cockpit was installed: a microsecond more for each event
    opened = opened_in_python

__all__ = ["MAGIC", "opened", "opened_in_python"]
