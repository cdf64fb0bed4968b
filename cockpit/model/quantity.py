"""Kubernetes quantities to whole numbers in base units, and values that may be missing for a reason."""

import enum
import math
from functools import lru_cache

_DECIMAL = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


class Absent(enum.Enum):
    """Why a number is not there. None of these is zero, and none is drawn as a number."""

    NOT_COLLECTED = "not collected"
    DENIED = "denied"
    STALE = "stale"


Reading = float | Absent
"""A measured number in its base unit, or the reason why there is none."""


def is_number(value: Reading) -> bool:
    """True where the reading holds a number."""
    return not isinstance(value, Absent)


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> float:
    """The number behind a `resource.Quantity` in base units: "500m" is 0.5, "16Gi" is 17179869184.0.

    Raises ValueError for anything the API server would refuse. Source: apimachinery
    pkg/api/resource/quantity.go (suffix grammar, exponent form).
    """
    text = text.strip()
    for suffix, factor in _BINARY.items():
        if text.endswith(suffix):
            return _finite(text[: -len(suffix)], text) * factor
    if text and text[-1] in _DECIMAL and not text[-1].isdigit():
        head = text[:-1]
        return _finite(head, text) * _DECIMAL[text[-1]]
    return _finite(text, text)


def _finite(number: str, whole: str) -> float:
    try:
        value = float(number)
    except ValueError:
        raise ValueError(f"not a quantity: {whole!r}") from None
    if not math.isfinite(value) or number.strip() != number or "_" in number:
        raise ValueError(f"not a quantity: {whole!r}")
    return value


def whole(text: str) -> int:
    """A quantity rounded up to a whole base unit (bytes, devices), as the scheduler counts it."""
    return math.ceil(parse_quantity(text) - 1e-9)


def millicores(text: str) -> int:
    """A CPU quantity in thousandths of a core, rounded up: "0.5" and "500m" are both 500."""
    return math.ceil(parse_quantity(text) * 1000 - 1e-9)
