"""A list read in runs (where `_gist` was compiled) is the list read frame by frame, however it is cut."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cockpit.kube.decode import pod_memo
from cockpit.kube.decode.decoders import Decode, _protobuf
from cockpit.kube.decode.frames import FramingError, LengthFrames
from cockpit.kube.decode.pods import pod_record
from cockpit.kube.decode.wire import PROTOBUF_WIRE, ServerStatus, UndecodableError, Wire
from cockpit.kube.event_dispatch import BAD_FRAMES_IN_A_ROW, RUN_OBJECTS, EventDispatcher
from cockpit.kube.proto import core_pb2, meta_pb2
from cockpit.kube.stream_end import Ended, How
from tests.unit.kube.test_envelope import frame
from tests.unit.kube.variants import ODD, edited, edits, needs_gist

PARSER = _protobuf(core_pb2.Pod, pod_record)
LONGEST_BYTES = 2000


class Noting:
    """Who is told, and what. Full after every `room` objects."""

    def __init__(self, room: int = 10**9) -> None:
        self.told: list[Any] = []
        self.turns = 0
        self._room = self._left = room

    def decoded(self, decode: Decode, raw: bytes, *, is_new: bool, is_listing: bool) -> None:
        try:
            self.told.append(("record", decode(raw), is_new, is_listing))
        except ODD:
            self.told.append("skipped")
        self._left -= 1

    def listing(self, records: Sequence[Any]) -> None:
        assert records
        assert len(records) <= RUN_OBJECTS
        self.told += [("record", record, True, True) for record in records]
        self._left -= len(records)

    def is_full(self) -> bool:
        if self._left > 0:
            return False
        self._left = self._room
        self.turns += 1
        return True

    def removed(self, wire: Wire, raw: bytes) -> Ended | None:
        try:
            self.told.append(("removed", wire.identity(raw)))
        except UndecodableError:
            self.told.append("skipped")
        return None

    def bookmark(self, version: str) -> None:
        self.told.append(("bookmark", version))

    def listed(self, version: str) -> None:
        self.told.append(("listed", version))

    def skipped_frame(self) -> None:
        self.told.append("bad frame")

    def error_event(self, status: ServerStatus) -> Ended:
        return Ended(How.CUT, status.message)


def pod(number: int, *, phase: str = "Running", size: int = 0) -> bytes:
    made = core_pb2.Pod()
    made.metadata.name = f"worker-{number}"
    made.metadata.uid = f"uid-{number}"
    made.metadata.resource_version = str(number)
    made.metadata.labels["training.kubeflow.org/replica-index"] = str(number)
    made.spec.node_name = f"gpu-{number}"
    made.status.phase = phase
    made.status.start_time.seconds = 1_700_000_000 + number
    made.status.message = "x" * size
    raw: bytes = made.SerializePartialToString()
    return raw


def bookmark(*, ends_list: bool) -> bytes:
    made = meta_pb2.AnyObject()
    made.metadata.resource_version = "77"
    if ends_list:
        made.metadata.annotations["k8s.io/initial-events-end"] = "true"
    raw: bytes = made.SerializePartialToString()
    return frame("BOOKMARK", raw)


PIECES: tuple[bytes, ...] = (
    *(frame("ADDED", pod(number)) for number in range(4)),
    frame("ADDED", pod(5, phase="Failed")),
    frame("MODIFIED", pod(1, phase="Succeeded")),
    frame("DELETED", pod(2)),
    frame("ADDED", pod(6, size=LONGEST_BYTES)),  # above the limit
    frame("ADDED", pod(7, phase="Bo\x1b[31mld")),
    frame("ADDED", b"\xff no pod"),
    frame("ADDED", core_pb2.Pod().SerializePartialToString()),  # no uid
    frame("STRANGE", pod(3)),
    frame("ERROR", meta_pb2.Status(message="too old", code=410).SerializePartialToString()),
    bookmark(ends_list=False),
    bookmark(ends_list=True),
    b"",
    b"no event",
)


def joined(frames: Sequence[bytes]) -> bytes:
    return b"".join(len(one).to_bytes(4, "big") + one for one in frames)


def outcome(decode: Decode, chunks: Sequence[bytes], room: int = 10**9) -> tuple[list[Any], str, int, int]:
    """What was told, how it ended, bytes left over and frames passed over."""
    noting = Noting(room)
    dispatcher = EventDispatcher(noting, PROTOBUF_WIRE, decode, is_listing=True)
    frames = LengthFrames(LONGEST_BYTES)
    end = ""
    try:
        for chunk in chunks:
            frames.add(chunk)
            while ended := dispatcher.work(frames):
                if isinstance(ended, Ended):
                    return noting.told, f"ended: {ended.message}", 0, frames.oversized
            assert noting.turns <= len(noting.told)
    except FramingError as error:
        end = error.reason
    return noting.told, end, frames.leftover() if not end else 0, frames.oversized


def cut_at(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(min(one, len(data)) for one in cuts), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


def whole(frames: Sequence[bytes]) -> tuple[list[Any], str, int, int]:
    """The reference: no memory, one frame after the other."""
    return outcome(PARSER, [len(one).to_bytes(4, "big") + one for one in frames])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=25),
    st.lists(st.integers(0, 6000), max_size=12),
    st.sampled_from([1, 3, 10**9]),
)
def test_a_list_read_in_runs_is_told_as_frame_by_frame(
    frames: list[bytes], cuts: list[int], room: int
) -> None:
    expected = whole(frames)
    for decode in (pod_memo.remembering(PARSER), PARSER):
        for _ in range(2):  # the second time all kinds are known
            assert outcome(decode, cut_at(joined(frames), cuts), room) == expected


def test_a_list_may_be_cut_at_every_byte() -> None:
    frames = [PIECES[0], PIECES[1], PIECES[7], PIECES[4], PIECES[2], bookmark(ends_list=True), PIECES[3]]
    data = joined(frames)
    expected = whole(frames)
    assert expected[3] == 1
    fast = pod_memo.remembering(PARSER)
    for at in range(len(data) + 1):
        assert outcome(fast, [data[:at], data[at:]]) == expected
    assert outcome(fast, [bytes([byte]) for byte in data]) == expected


@pytest.mark.parametrize("count", [RUN_OBJECTS - 1, RUN_OBJECTS, 3 * RUN_OBJECTS + 1])
def test_long_runs_are_read_to_their_end(count: int) -> None:
    frames = [frame("ADDED", pod(number)) for number in range(count)]
    told, end, left, _ = outcome(pod_memo.remembering(PARSER), [joined(frames)])
    assert [one[1].name for one in told] == [f"worker-{number}" for number in range(count)]
    assert (end, left) == ("", 0)


def test_others_are_let_in_between_runs() -> None:
    noting = Noting(room=RUN_OBJECTS)
    dispatcher = EventDispatcher(noting, PROTOBUF_WIRE, pod_memo.remembering(PARSER), is_listing=True)
    frames = LengthFrames()
    frames.add(joined([frame("ADDED", pod(number)) for number in range(5 * RUN_OBJECTS)]))
    turns = 0
    while dispatcher.work(frames):
        turns += 1
        assert len(noting.told) <= (turns + 1) * 2 * RUN_OBJECTS
    assert turns >= 2
    assert len(noting.told) == 5 * RUN_OBJECTS


@needs_gist
def test_a_run_breaks_a_row_of_bad_frames() -> None:
    good, bad = frame("ADDED", pod(1)), b"no event"
    fast = pod_memo.remembering(PARSER)
    outcome(fast, [joined([good])])
    row = [bad] * (BAD_FRAMES_IN_A_ROW - 1)
    told, end, _, _ = outcome(fast, [joined([*row, good, *row, good])])
    assert (told.count("bad frame"), end) == (2 * len(row), "")
    _, end, _, _ = outcome(fast, [joined([good, *row, bad])])
    assert "cannot be read" in end


@needs_gist
def test_the_parser_is_asked_for_the_first_of_its_kind_only() -> None:
    asked: list[bytes] = []

    def parse(raw: bytes) -> Any:
        asked.append(raw)
        return PARSER(raw)

    frames = [frame("ADDED", pod(number)) for number in range(200)]
    outcome(pod_memo.remembering(parse), [joined(frames)])
    assert len(asked) == 1


LIST = joined([*PIECES[:5], bookmark(ends_list=True), *PIECES[5:7]])


@example([("put", 912, 128)], [])  # a uid that is not UTF-8
@settings(max_examples=500, deadline=None)
@given(edits(len(LIST)), st.lists(st.integers(0, len(LIST)), max_size=3))
def test_a_damaged_stream_is_told_as_frame_by_frame(
    damage: list[tuple[str, int, int]], cuts: list[int]
) -> None:
    data = edited(LIST, damage)
    fast = pod_memo.remembering(PARSER)
    outcome(fast, [LIST])
    assert outcome(fast, cut_at(data, cuts)) == outcome(PARSER, [data])


@needs_gist
@pytest.mark.parametrize("given_", [(b"x", -1, 1, 1), (b"x", 2, 1, 1), (b"x", 0, 1, -1)])
def test_a_run_outside_of_the_bytes_is_refused(given_: tuple[bytes, int, int, int]) -> None:
    fast = pod_memo.remembering(PARSER)
    assert isinstance(fast, pod_memo.Remembering)
    with pytest.raises(ValueError, match="outside"):
        fast.run(*given_)
    with pytest.raises(TypeError):
        fast.run("text", 0, 1, 1)  # type: ignore[arg-type]
