"""Numbers and times as short words. What is unknown reads as a word, never as zero or a bare dash.

`n/c` not collected, `stale` the last number is too old to show, `impl.` implausible: told, but no GPU can
have it, `denied` no right to read it, `?` the API server has not said. Every function returns one line
without control characters.
"""

import math
from datetime import UTC, datetime

from cockpit_widgets.types import Cell, Tone

from cockpit.model.quantity import Absent, Reading

UNKNOWN = Cell("?", "dim")
"""The API server has not said."""

NOTHING = Cell("", "")
"""The field does not apply to this row (a pod without a queue)."""

ABSENT_CELLS = {
    Absent.NOT_COLLECTED: Cell("n/c", "dim"),
    Absent.STALE: Cell("stale", "warn"),
    Absent.DENIED: Cell("denied", "warn"),
    Absent.IMPLAUSIBLE: Cell("impl.", "warn"),
}

DUTY_IDLE_RATIO = 0.05
"""An allocated card below this share of time is idle (own choice, the reference's idle rule 5.4)."""

TEMPERATURE_WARN_CELSIUS = 75.0
TEMPERATURE_BAD_CELSIUS = 85.0
"""Display scale where the card's own thresholds are unknown (own choice, reference 6.2)."""

BARS = "▁▂▃▄▅▆▇█"
FREE, LOST, NOT_COLLECTED, STALE, IMPLAUSIBLE = "·", "×", "?", "~", "!"

ABSENT_GLYPHS = {
    Absent.NOT_COLLECTED: NOT_COLLECTED,
    Absent.STALE: STALE,
    Absent.DENIED: NOT_COLLECTED,
    Absent.IMPLAUSIBLE: IMPLAUSIBLE,
}

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3_600, 86_400, 31_536_000
_BINARY_UNITS = ("B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def age(seconds: float) -> str:
    """A duration in at most five characters: 41s, 2m10s, 12m, 5h12m, 3d4h, 120d, 3y. Negative (skew) is 0s.

    Seconds below a minute, ten-second steps below ten minutes, then minutes: an age that ticks is sent over
    the line at every tick, for every row.
    """
    if not math.isfinite(seconds):
        return "?"
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return f"{whole // _MINUTE}m{whole % _MINUTE // 10}0s"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 10 * _HOUR:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE}m"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 10 * _DAY:
        return f"{whole // _DAY}d{whole % _DAY // _HOUR}h"
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    return f"{whole // _YEAR}y"


def sample_age(seconds: float) -> str:
    """The age of a number that is measured every few seconds: `live` below ten, then in steps of ten."""
    if math.isfinite(seconds) and seconds < _MINUTE:
        return f"{int(seconds) // 10}0s" if seconds >= 10 else "live"
    return age(seconds)


def span(seconds: float) -> str:
    """A duration between two moments, to the second below ten hours: 41s, 2m05s, 1h02m30s, then as an age."""
    if not math.isfinite(seconds) or seconds >= 10 * _HOUR:
        return age(seconds)
    minutes, left = divmod(max(0, int(seconds)), _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes}m{left:02}s" if minutes else f"{left}s"
    return f"{minutes // _MINUTE}h{minutes % _MINUTE:02}m{left:02}s"


def moment(seconds: float, now_seconds: float) -> str:
    """`14:40`, on another day `Tue 14:40`, in UTC."""
    then, now = (datetime.fromtimestamp(item, UTC) for item in (seconds, now_seconds))
    return then.strftime("%H:%M" if then.date() == now.date() else "%a %H:%M")


def since(then_seconds: float | None, now_seconds: float) -> str:
    """Age of a moment, `?` where the moment is unknown."""
    return UNKNOWN.text if then_seconds is None else age(now_seconds - then_seconds)


def age_cell(then_seconds: float | None, now_seconds: float) -> Cell:
    """Age of a moment as a cell; unknown is dim. From ten seconds to a minute it ticks in steps of ten: each
    tick of each row is sent over the line."""
    if then_seconds is None:
        return UNKNOWN
    seconds = now_seconds - then_seconds
    return Cell(age(seconds // 10 * 10 if 10 <= seconds < _MINUTE else seconds))


def count(number: int | None) -> str:
    """A whole number with thousands apart: 2,496; `?` where unknown."""
    return UNKNOWN.text if number is None else f"{number:,}"


def count_cell(number: int | None) -> Cell:
    return UNKNOWN if number is None else Cell(f"{number:,}")


def of(have: int | None, wanted: int | None) -> str:
    """`6/8`; an unknown side is `?`."""
    left = UNKNOWN.text if have is None else str(have)
    right = UNKNOWN.text if wanted is None else str(wanted)
    return f"{left}/{right}"


def byte_size(size_bytes: float) -> str:
    """Bytes in powers of 1024 with three digits that count: 512B, 1.5Gi, 37Gi, 640Gi."""
    value = abs(size_bytes)
    unit = 0
    while value >= 999.5 and unit < len(_BINARY_UNITS) - 1:
        value /= 1024
        unit += 1
    text = f"{value:.1f}" if unit and value < 9.95 else f"{value:.0f}"
    sign = "-" if size_bytes < 0 and float(text) else ""
    return f"{sign}{text.removesuffix('.0')}{_BINARY_UNITS[unit]}"


def watts(power_watts: float) -> str:
    """412W, from 10 kW on 12.4kW, from 10 MW on 12.4MW."""
    for factor, unit in ((1e6, "MW"), (1e3, "kW")):
        if abs(power_watts) >= 10 * factor:
            return f"{power_watts / factor:.1f}{unit}"
    return f"{power_watts:.0f}W"


def celsius(temperature_celsius: float) -> str:
    return f"{temperature_celsius:.0f}°C"


def percent(ratio: float) -> str:
    """71%. What is more than nothing never reads 0%, what is less than all never reads 100%."""
    whole = round(ratio * 100)
    if whole == 0 and ratio > 0:
        return "<1%"
    if whole == 100 and ratio < 1:
        return "99%"
    return f"{whole}%"


def hertz(frequency_hertz: float) -> str:
    return f"{frequency_hertz / 1e6:.0f}MHz"


def cores(millicores: int) -> str:
    """CPU as cores: 500m reads 0.5, 8000m reads 8."""
    return f"{millicores / 1000:.3f}".rstrip("0").rstrip(".")


def quantity(resource: str, amount: int) -> str:
    """An amount of a Kubernetes resource in base units (cpu in millicores) as a person writes it."""
    if resource == "cpu":
        return cores(amount)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return byte_size(amount)
    return f"{amount:,}"


def absent_cell(reason: Absent) -> Cell:
    """The word for a number that is not there."""
    return ABSENT_CELLS[reason]


def duty_cell(duty_ratio: Reading, *, is_allocated: bool = True) -> Cell:
    """Duty of a card or the mean of several; an allocated card that does nothing warns."""
    if isinstance(duty_ratio, Absent):
        return ABSENT_CELLS[duty_ratio]
    if not is_allocated:
        return Cell(percent(duty_ratio), "dim")
    return Cell(percent(duty_ratio), "warn" if duty_ratio < DUTY_IDLE_RATIO else "good")


def memory_cell(used_bytes: Reading, total_bytes: Reading = Absent.NOT_COLLECTED) -> Cell:
    """37Gi/80Gi, or 37Gi where the total is not known."""
    if isinstance(used_bytes, Absent):
        return ABSENT_CELLS[used_bytes]
    if isinstance(total_bytes, Absent) or total_bytes <= 0:
        return Cell(byte_size(used_bytes))
    return Cell(f"{byte_size(used_bytes)}/{byte_size(total_bytes)}")


def temperature_cell(temperature_celsius: Reading) -> Cell:
    if isinstance(temperature_celsius, Absent):
        return ABSENT_CELLS[temperature_celsius]
    return Cell(celsius(temperature_celsius), temperature_tone(temperature_celsius))


def temperature_tone(temperature_celsius: float) -> Tone:
    if temperature_celsius > TEMPERATURE_BAD_CELSIUS:
        return "bad"
    return "warn" if temperature_celsius >= TEMPERATURE_WARN_CELSIUS else ""


def power_cell(power_watts: Reading) -> Cell:
    return ABSENT_CELLS[power_watts] if isinstance(power_watts, Absent) else Cell(watts(power_watts))


def clock_cell(frequency_hertz: Reading) -> Cell:
    return (
        ABSENT_CELLS[frequency_hertz] if isinstance(frequency_hertz, Absent) else Cell(hertz(frequency_hertz))
    )


def bar(ratio: Reading) -> str:
    """One glyph for a share 0..1; a missing number has its own glyph."""
    if isinstance(ratio, Absent):
        return ABSENT_GLYPHS[ratio]
    return BARS[level(ratio, len(BARS)) - 1] if ratio > 0 else BARS[0]


def level(ratio: float, steps: int = 8) -> int:
    """A share as a step 0..steps: 0 only for nothing, `steps` only near all."""
    if ratio <= 0:
        return 0
    return min(steps, max(1, math.ceil(min(ratio, 1.0) * steps)))
