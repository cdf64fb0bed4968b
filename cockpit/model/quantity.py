"""Values that may be missing for a reason."""

import enum


class Absent(enum.Enum):
    """Why a number is not there. None of these is zero, and none is drawn as a number."""

    NOT_COLLECTED = "not collected"
    DENIED = "denied"
    STALE = "stale"
    IMPLAUSIBLE = "implausible"  # told, but no card can have it


Reading = float | Absent
"""A measured number in its base unit, or the reason why there is none."""


def is_number(value: Reading) -> bool:
    """True where the reading holds a number."""
    return not isinstance(value, Absent)
