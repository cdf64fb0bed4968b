"""Pods that are alike: the members of a job differ in a handful of fields, so their record is made once.

`_gist` (C, optional) spells out what a pod's record is made of as one key, and hands over beside it what
differs between members: names, times, node, address, rank. A pod with a known key is a copy of the first
one with those replaced; any other pod, and any that is out of the ordinary, goes through the parser. Where
`_gist` was not compiled, all of them do: the records are the same (`tests/unit/kube/test_alike.py`).

Measured on 50,000 pods of 8.7 kB: 5 us a pod instead of 20, which was a third of all that a load costs.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from cockpit.kube.decode import times
from cockpit.kube.decode.clean import WORDS
from cockpit.kube.decode.pods import GANG_ANNOTATIONS, RANK_ANNOTATIONS, rank_of
from cockpit.kube.decode.traits import MEMBER_LABELS
from cockpit.kube.proto import meta_pb2
from cockpit.model.pod import Pod

try:
    from cockpit.kube.decode._gist import gist
except ImportError:  # no compiler where the cockpit was installed
    gist = None  # type: ignore[assignment]

IS_FAST = gist is not None

_KEPT = 4096
"""Jobs come together in a list, so that few kinds of pods are enough to remember: some MiB at most."""

Parse = Callable[[bytes], Pod]
"""Raw bytes of one pod to its record. Raises UndecodableError."""

_Read = Callable[[bytes], Any]


def _names(names: Any) -> bytes:
    return b"".join(name.encode() + b"\n" for name in sorted(names))


_MEMBER_LABELS = _names(MEMBER_LABELS)
_RANK_NOTES = _names(RANK_ANNOTATIONS)
_NOTES = _names(GANG_ANNOTATIONS)


class _Memo(dict[bytes, Any]):
    """Answers of a pure function of bytes; forgets all of them when they are too many."""

    def __init__(self, read: _Read) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, raw: bytes) -> Any:
        if len(self) >= _KEPT:
            self.clear()
        found = self[raw] = self._read(raw)
        return found


def _moment(raw: bytes) -> float | None:
    return times.from_message(meta_pb2.Time.FromString(raw))


def _rank(raw: bytes) -> int | None:
    return rank_of(meta_pb2.ObjectMeta.FromString(raw))


def remembering(parse: Parse) -> Parse:
    """`parse` for pods, called only for those that are like none of the last few thousand."""
    if gist is None:
        return parse
    like: dict[bytes, Pod] = {}
    moments, ranks = _Memo(_moment), _Memo(_rank)
    copied, words, look = msgspec.structs.replace, WORDS, gist

    def decode(raw: bytes) -> Pod:
        found = look(raw, _MEMBER_LABELS, _RANK_NOTES, _NOTES)
        if found is None:
            return parse(raw)
        key, name, uid, version, node, ip, created, started, members = found
        first = like.get(key)
        if first is None:
            made = parse(raw)
            if len(like) >= _KEPT:
                like.clear()
            like[key] = made
            return made
        try:
            return copied(
                first,
                uid=uid,
                name=name,
                resource_version=version,
                created_seconds=moments[created],
                node=words[node],
                started_seconds=moments[started],
                rank=ranks[members],
                pod_ip=ip,
            )
        except (DecodeError, ValueError, TypeError, AttributeError):
            return parse(raw)  # the parser says what is wrong

    return decode
