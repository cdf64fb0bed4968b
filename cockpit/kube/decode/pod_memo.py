"""Pods that are alike: the members of a job differ in a handful of fields, so their record is made once.

`_gist` (C, optional) spells out what a pod's record is made of as one key, and finds beside it what differs
between members: names, times, node, address, rank. A pod with a known key is a copy of the first one with
those replaced; any other pod, and any that is out of the ordinary, goes through the parser. Where `_gist`
was not compiled, all of them do: the records are the same (`tests/unit/kube/test_pod_memo.py`).

In a list C goes on from frame to frame (`Remembering.run`), and Python is asked for the first of each kind.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from cockpit.kube.decode import times
from cockpit.kube.decode.pods import (
    NOTED_ANNOTATIONS,
    RANK_ANNOTATIONS,
    STAY_ANNOTATIONS,
    akin_record,
    seat_of,
)
from cockpit.kube.decode.reading import PROTOBUF
from cockpit.kube.decode.traits import MEMBER_LABELS, remounted
from cockpit.kube.decode.wishes import volumes_of
from cockpit.kube.proto import core_pb2, meta_pb2
from cockpit.model.pod import Pod
from cockpit.sanitise import WORDS

try:
    from cockpit.kube.decode._gist import Members
except ImportError:  # no compiler where the cockpit was installed
    Members = None  # type: ignore[assignment, misc]

IS_FAST = Members is not None

KEPT = 4096
"""Jobs come together in a list, so that few kinds of pods are enough to remember: some MiB at most."""

Parse = Callable[[bytes], Pod]
"""Raw bytes of one pod to its record. Raises UndecodableError."""


def names_of(names: Any) -> bytes:
    """Names as `_gist` takes them: each ends with a line feed."""
    return b"".join(name.encode() + b"\n" for name in sorted(names))


_NAMES = (
    names_of(MEMBER_LABELS),
    names_of(RANK_ANNOTATIONS),
    names_of((*NOTED_ANNOTATIONS, *STAY_ANNOTATIONS)),
    b"",
)


class Memo(dict[bytes, Any]):
    """Answers of a pure function of bytes; forgets all of them when they are too many."""

    def __init__(self, read: Callable[[bytes], Any], kept: int = KEPT) -> None:
        super().__init__()
        self._read = read
        self._kept = kept

    def __missing__(self, raw: bytes) -> Any:
        if len(self) >= self._kept:
            self.clear()
        found = self[raw] = self._read(raw)
        return found


def moment(raw: bytes) -> float | None:
    """Epoch seconds of a meta/v1 Time on the wire. Raises DecodeError."""
    return times.from_message(meta_pb2.Time.FromString(raw))


def _seat(raw: bytes) -> tuple[int | None, int | None]:
    return seat_of(meta_pb2.ObjectMeta.FromString(raw))


class Remembering:
    """`parse` for pods, called only for those that are like none of the last few thousand.

    The first member of a job mostly has spec and status of another job's, but for names in its volumes: then
    only these and its metadata are parsed.
    """

    def __init__(self, parse: Parse) -> None:
        self._moments = Memo(moment)
        self._members = Members(_NAMES, Pod, WORDS, self._moments, Memo(_seat), KEPT)
        self._parse = parse
        self._akin: dict[bytes, Pod] = {}  # by spec and status
        self._shapes: dict[bytes, Pod] = {}  # by the same without the volumes

    def __call__(self, raw: bytes) -> Pod:
        found: Pod | None = self._members.one(raw, self._first)
        return self._parse(raw) if found is None else found

    def run(self, data: bytes, at: int, most: int, longest_bytes: int) -> tuple[Sequence[Pod], int]:
        """Records of the watch events that stand at `at` behind their lengths, `most` at most, and where they
        end: before the first that is anything but an added pod, that is not whole, or that only the parser
        can read. Nothing is skipped."""
        return self._members.run(data, at, most, longest_bytes, self._first)

    def _first(self, raw: bytes, parts: tuple[bytes | None, bytes, bytes, str, str, bytes]) -> Pod:
        """The record of a pod that is the first of its kind."""
        key, volumes, meta, node, address, started = parts  # the key is of spec and status
        if key is None:
            return self._parse(raw)
        try:
            akin = self._akin.get(key) or self._remounted(key, volumes)
            if akin is not None:
                return akin_record(
                    akin,
                    meta_pb2.ObjectMeta.FromString(meta),
                    PROTOBUF,
                    node=WORDS[node],
                    started_seconds=self._moments[started],
                    pod_ip=address,
                )
        except (DecodeError, ValueError, TypeError, AttributeError):
            return self._parse(raw)  # the parser says what is wrong
        made = self._parse(raw)
        if not made.traits.keeps_away and not made.traits.wishes.near:
            _remember(self._shapes, key.removesuffix(volumes), made)
            _remember(self._akin, key, made)
        return made

    def _remounted(self, key: bytes, volumes: bytes) -> Pod | None:
        """A record of that spec and status, made from one with other volumes. Raises what a parser raises."""
        shape = self._shapes.get(key.removesuffix(volumes))
        if shape is None:
            return None
        named = volumes_of(core_pb2.PodSpec.FromString(volumes), PROTOBUF)
        made = msgspec.structs.replace(shape, traits=remounted(shape.traits, named))
        _remember(self._akin, key, made)
        return made


def _remember(memo: dict[bytes, Pod], key: bytes, made: Pod) -> None:
    if len(memo) >= KEPT:
        memo.clear()
    memo[key] = made


def remembering(parse: Parse) -> Parse:
    """`Remembering` where `_gist` was compiled, else `parse` itself."""
    return parse if Members is None else Remembering(parse)
