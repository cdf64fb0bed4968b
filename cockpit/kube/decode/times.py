"""Times of the two wires to seconds since the Unix epoch; both give the same float for the same instant."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

_MICRO = 1_000_000


@lru_cache(maxsize=8192)
def from_text(text: str | None) -> float | None:
    """RFC 3339 text to epoch seconds (microseconds kept); None for null, the zero time and nonsense."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


@lru_cache(maxsize=8192)
def _whole(seconds: int) -> float:
    # the pods of a job start together: one float for all of them instead of two for each
    return float(seconds)


def from_message(time: Any) -> float | None:
    """A protobuf Time (seconds, nanos) to epoch seconds; None where it is not set or zero.

    apimachinery writes the zero time as an empty message (pkg/apis/meta/v1/time_proto.go).
    """
    seconds = time.seconds
    if seconds <= 0:
        return None
    nanos = time.nanos
    if not nanos:
        return _whole(seconds)
    return float(seconds * _MICRO + nanos // 1000) / _MICRO
