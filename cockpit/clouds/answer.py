"""What was read of a pool outside the cluster, and how its facts are spelt as records."""

from datetime import datetime
from typing import Any

import msgspec

from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Condition

STATUS = "Status"  # type of the condition whose reason is the owner's own word for how the pool stands
UPDATE = "Update"  # of one change under way or the last one: reason its status, message id and errors
HEALTH = "Health"  # of what the owner finds wrong: reason its code
LAUNCH = "Launch"  # of a machine that did not come
UNITS = "Units"  # of a pool whose capacity is not counted in machines: message in what


class PoolAnswer(msgspec.Struct, frozen=True):
    """Pools (several, where machines of one are of several groups) and machines on their way into them."""

    pools: tuple[PoolObject, ...]
    machines: tuple[Machine, ...] = ()


def seconds_of(stamp: Any) -> float | None:
    """Epoch seconds of a time that boto3 read."""
    return stamp.timestamp() if isinstance(stamp, datetime) else None


def count_of(value: Any) -> int | None:
    """A whole number from outside; None for anything else. True is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


def version_of(desired: int | None, minimum: int | None, maximum: int | None) -> str:
    """What guards a write: a change planned on other sizes than these is planned again."""
    return f"desired={_word(desired)},min={_word(minimum)},max={_word(maximum)}"


def _word(count: int | None) -> str:
    return "?" if count is None else str(count)


def finding(
    kind: str, reason: str, message: str = "", at_seconds: float | None = None, *, is_good: bool = False
) -> Condition:
    """One fact about the pool, dated where its owner dates it."""
    return Condition(kind, "True" if is_good else "False", reason, message, at_seconds)
