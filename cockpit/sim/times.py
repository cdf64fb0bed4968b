"""Times as Kubernetes writes them: RFC 3339 in UTC, of the cluster's clock."""

from datetime import UTC, datetime
from functools import lru_cache


def rfc3339(seconds: float) -> str:
    """`2026-09-21T14:13:20Z`: seconds since the Unix epoch, cut to whole seconds (metav1.Time)."""
    return _whole(int(seconds))


@lru_cache(1024)
def _whole(seconds: int) -> str:
    """Much is written within one second, all with the same time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(seconds: float) -> str:
    """`2026-09-21T14:13:20.250000Z`: with microseconds (metav1.MicroTime)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@lru_cache(8192)
def seconds_of(text: str) -> float:
    """Seconds since the Unix epoch of either form. Raises ValueError for what is no such time."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return found.timestamp()
