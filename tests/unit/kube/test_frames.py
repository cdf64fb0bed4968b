"""Frames survive being cut anywhere."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.decode.frames import Frames, FramingError, LengthFrames, LineFrames, feed


def lengths(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def lines(frames: list[bytes]) -> bytes:
    return b"".join(frame + b"\n" for frame in frames)


FRAMES = [b'{"a":1}', b"x", b"yy" * 100, b'{"type":"ADDED"}']


@pytest.mark.parametrize(("make", "join"), [(LineFrames, lines), (LengthFrames, lengths)])
def test_every_cut_gives_the_same_frames(make: type[Frames], join: type) -> None:
    data = join(FRAMES)
    for at in range(len(data) + 1):
        cutter = make()
        assert feed(cutter, data[:at]) + feed(cutter, data[at:]) == FRAMES
        assert cutter.leftover() == 0
        assert cutter.oversized == 0


@pytest.mark.parametrize(("make", "join"), [(LineFrames, lines), (LengthFrames, lengths)])
def test_byte_by_byte(make: type[Frames], join: type) -> None:
    cutter = make()
    out = [frame for byte in join(FRAMES) for frame in feed(cutter, bytes([byte]))]
    assert out == FRAMES


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.binary(min_size=1, max_size=40).filter(lambda b: b"\n" not in b and not b.isspace()), max_size=12
    ),
    st.lists(st.integers(1, 30), max_size=40),
    st.booleans(),
)
def test_any_chunks(frames: list[bytes], sizes: list[int], by_length: bool) -> None:
    cutter: Frames = LengthFrames() if by_length else LineFrames()
    data = lengths(frames) if by_length else lines(frames)
    out: list[bytes] = []
    for size in [*sizes, len(data)]:
        out += feed(cutter, data[:size])
        data = data[size:]
    assert out == frames
    assert cutter.leftover() == 0


def test_a_cut_stream_leaves_something_over() -> None:
    for cutter, data in ((LineFrames(), lines(FRAMES)), (LengthFrames(), lengths(FRAMES))):
        feed(cutter, data[:-3])
        assert cutter.leftover() > 0


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_an_oversized_frame_is_passed_over(chunk: int) -> None:
    long = b"z" * 300
    for cutter, data in (
        (LineFrames(100), lines([b"a", long, b"b"])),
        (LengthFrames(100), lengths([b"a", long, b"b"])),
    ):
        out = [frame for at in range(0, len(data), chunk) for frame in feed(cutter, data[at : at + chunk])]
        assert out == [b"a", b"b"]
        assert cutter.oversized == 1


def test_nonsense_instead_of_a_length_loses_the_framing() -> None:
    with pytest.raises(FramingError, match="not a protobuf watch stream"):
        feed(LengthFrames(), b"<html><body>please log in")
