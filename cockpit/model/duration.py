"""Spans of time as people type them: 90s, 12h, 1d12h."""

import re

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhdwy])")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+", re.ASCII)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_536_000.0}


def parse_duration(text: str) -> float:
    """Seconds; a bare number counts as such. Raises ValueError for what is neither."""
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a valid duration: write 90s, 12h or 1d12h")
    return float(text)
