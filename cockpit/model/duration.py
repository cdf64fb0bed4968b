"""Spans of time as people type them: 90s, 12h, 1d12h."""

import re

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhdwy])")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+", re.ASCII)
LONGEST_SECONDS = 100 * 31_536_000.0
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_536_000.0}


def parse_duration(text: str) -> float:
    """Seconds; a bare number counts as such. Raises ValueError for what is neither, and for more than a
    hundred years: counted from now that is no date."""
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    elif _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{_short(text)} is not a valid duration: write 90s, 12h or 1d12h")
    else:
        found = float(text)
    if found > LONGEST_SECONDS:
        raise ValueError(f"{_short(text)} is more than 100 years: write 90s, 12h or 1d12h")
    return found


def _short(text: str) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}…"
