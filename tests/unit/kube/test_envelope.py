"""The opened envelope against the parser: the same answer, or none."""

from collections.abc import Callable

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.decode import wire
from cockpit.kube.decode.wire import MAGIC, PROTOBUF_WIRE, UndecodableError, opened_in_python
from cockpit.kube.proto import meta_pb2

# What the parser of the trimmed message passes over: contentEncoding = 3 and contentType = 4, both empty.
TAIL = b"\x1a\x00\x22\x00"
Opened = Callable[[bytes], tuple[str, bytes] | None]
both = pytest.mark.parametrize("opened", [opened_in_python, wire.opened], ids=["python", "in use"])
TYPE_META = meta_pb2.TypeMeta(api_version="v1", kind="Pod")


def frame(type_: str, raw: bytes, *, tail: bytes = TAIL) -> bytes:
    unknown = meta_pb2.Unknown(type_meta=TYPE_META, raw=raw).SerializeToString() + tail
    event = meta_pb2.WatchEvent(type=type_, object=meta_pb2.RawExtension(raw=MAGIC + unknown))
    return event.SerializeToString()


def parsed(data: bytes) -> tuple[str, bytes]:
    event = meta_pb2.WatchEvent.FromString(data)
    assert event.object.raw[:4] == MAGIC
    return event.type, meta_pb2.Unknown.FromString(event.object.raw[4:]).raw


@both
@settings(deadline=None, max_examples=60)
@given(
    type_=st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
    size=st.one_of(st.integers(0, 300), st.sampled_from([16_383, 16_384, 70_000])),
    tail=st.sampled_from([b"", TAIL]),
)
def test_an_event_as_the_server_writes_it_is_opened_as_the_parser_reads_it(
    opened: Opened, type_: str, size: int, tail: bytes
) -> None:
    raw = bytes(number * 7 & 0xFF for number in range(size))
    data = frame(type_, raw, tail=tail)
    assert opened(data) == parsed(data) == (type_, raw)


@both
@settings(deadline=None, max_examples=200)
@given(at=st.integers(0, 60), byte=st.integers(0, 255), cut=st.integers(0, 60))
def test_a_damaged_frame_is_never_read_otherwise_than_the_parser_reads_it(
    opened: Opened, at: int, byte: int, cut: int
) -> None:
    data = bytearray(frame("ADDED", b"pod bytes of no great length"))
    data[at % len(data)] = byte
    damaged = bytes(data[: len(data) - cut])
    found = opened(damaged)
    if found is None:
        return
    try:
        expected = parsed(damaged)
    except DecodeError:  # inside the type names, which nobody reads
        assert found == ("ADDED", b"pod bytes of no great length")
    else:
        assert found == expected


@both
def test_what_is_written_otherwise_is_left_to_the_parser(opened: Opened) -> None:
    bare = meta_pb2.WatchEvent(
        type="ADDED",
        object=meta_pb2.RawExtension(raw=MAGIC + meta_pb2.Unknown(raw=b"x").SerializeToString()),
    ).SerializeToString()
    assert opened(bare) is None
    assert PROTOBUF_WIRE.event(bare) == ("ADDED", b"x")


@both
def test_nonsense_is_undecodable(opened: Opened) -> None:
    for data in (b"", b"\x0a", b"\xff" * 40, frame("ADDED", b"x")[:-9]):
        assert opened(data) is None
        try:
            _, raw = PROTOBUF_WIRE.event(data)
        except UndecodableError:
            continue
        assert raw == b""
