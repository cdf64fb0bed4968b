"""Durations as Go writes and reads them (`720h`, `1h30m0s`, `1.5h`). Source: Go time.ParseDuration."""

import re

_LONGEST = 40
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PART = r"(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s|us|ns)"
_WHOLE = re.compile(f"(?:{_PART})+", re.ASCII)
_EACH = re.compile(_PART, re.ASCII)


def go_seconds(text: str) -> float | None:
    """Seconds; None for what is no duration, or a negative one."""
    if len(text) > _LONGEST or _WHOLE.fullmatch(text) is None:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _EACH.findall(text))
