"""Durations as people write them: `90`, `90s`, `2m30s`, `1.5h`."""

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def seconds(value: float | str) -> float:
    """Seconds. Raises ValueError for what is no duration or below 0."""
    if isinstance(value, str):
        parts = _PART.findall(value.strip())
        if not parts or "".join(number + unit for number, unit in parts) != value.strip():
            raise ValueError(f"{value!r} is no duration; write 90, 90s or 2m30s")
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if value < 0:
        raise ValueError(f"{value} is below 0")
    return float(value)
