"""Numbers as glyphs: sparklines, meters, heat cells. Pure and without Textual, so that views can use them."""

import math
from collections.abc import Sequence

from cockpit_widgets.text import ELLIPSIS

SHADES = "▁▂▃▄▅▆▇█"
"""From the least to the most, in eighths."""

FREE_LEVEL = -1
LOST_LEVEL = -2
UNCOLLECTED_LEVEL = -3
STALE_LEVEL = -4
IMPLAUSIBLE_LEVEL = -5
TOP_LEVEL = 8

BARRED_GLYPH = "×"
"""Stands beside a key that cannot be used now: colour alone says nothing to many."""
HEAT_GLYPHS: dict[int, str] = {
    FREE_LEVEL: "·",
    LOST_LEVEL: "×",
    UNCOLLECTED_LEVEL: "?",
    STALE_LEVEL: "~",
    IMPLAUSIBLE_LEVEL: "!",
    0: "_",
    **{level: SHADES[level - 1] for level in range(1, TOP_LEVEL + 1)},
}
"""One glyph per level of a `HeatBlock`. Level 0 (held, idle) has its own, lower than any shade."""

BAR_FULL = "━"
BAR_HALF = "╸"
BAR_EMPTY = "─"
BAR_UNKNOWN = "┄"
_GAP = " "


def worst_level(levels: Sequence[int]) -> int:
    """The one level that stands for many: the worst.

    Lost, then implausible, not collected, stale, the highest shade, free. Nothing at all reads as not
    collected.
    """
    if not levels:
        return UNCOLLECTED_LEVEL
    if min(levels) >= FREE_LEVEL:
        return max(levels)
    worst_first = (LOST_LEVEL, IMPLAUSIBLE_LEVEL, UNCOLLECTED_LEVEL)
    return next((level for level in worst_first if level in levels), STALE_LEVEL)


def heat_glyph(level: int) -> str:
    """The glyph of a level; levels above the top read as the top, unknown negative ones as not collected."""
    return HEAT_GLYPHS.get(min(level, TOP_LEVEL), HEAT_GLYPHS[UNCOLLECTED_LEVEL])


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def bounds(values: Sequence[float | None]) -> tuple[float, float]:
    """Least and greatest of the known values; (0, 1) when nothing is known, and never an empty span."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return 0.0, 1.0
    lo, hi = min(known), max(known)
    return (lo, hi) if hi > lo else (min(lo, 0.0), max(hi, 1.0) if hi >= 0 else 0.0)


def bucketed(values: Sequence[float | None], width: int) -> list[float | None]:
    """The values in exactly `width` buckets: means where there are more values, gaps at the left where fewer.

    A bucket without any known value is None: a gap is not a zero.
    """
    if width <= 0:
        return []
    count = len(values)
    if count <= width:
        padding: list[float | None] = [None] * (width - count)
        return padding + [value if _known(value) else None for value in values]
    out: list[float | None] = []
    for bucket in range(width):
        part = values[bucket * count // width : (bucket + 1) * count // width]
        known = [value for value in part if value is not None and math.isfinite(value)]
        out.append(sum(known) / len(known) if known else None)
    return out


def _step(value: float, lo: float, hi: float, steps: int) -> int:
    """On which of `steps` steps from `lo` to `hi` the value stands, from 0."""
    if value <= lo or hi <= lo:
        return 0
    # Clamped before it becomes an int: a span near nothing would overflow.
    return min(steps - 1, int(min(1.0, (value - lo) / (hi - lo)) * steps))


def spark(
    values: Sequence[float | None],
    width: int,
    lo: float | None = None,
    hi: float | None = None,
) -> str:
    """A sparkline of exactly `width` cells; None is a gap. Without `lo` or `hi` the values' own are used.

    Values outside the bounds are drawn at the nearer bound.
    """
    least, most = bounds(values)
    lo = least if lo is None else lo
    hi = most if hi is None else hi
    out: list[str] = []
    for value in bucketed(values, width):
        if value is None:
            out.append(_GAP)
            continue
        out.append(SHADES[_step(value, lo, hi, len(SHADES))])
    return "".join(out)


_BRAILLE = 0x2800
_LEFT_DOTS = (0x00, 0x40, 0x44, 0x46, 0x47)
_RIGHT_DOTS = (0x00, 0x80, 0xA0, 0xB0, 0xB8)


def braille(
    values: Sequence[float | None],
    width: int,
    lo: float | None = None,
    hi: float | None = None,
) -> str:
    """Like `spark`, two values in a cell, four steps of height; a known value is never an empty column."""
    least, most = bounds(values)
    lo = least if lo is None else lo
    hi = most if hi is None else hi
    steps = [
        0 if value is None else 1 + _step(value, lo, hi, len(_LEFT_DOTS) - 1)
        for value in bucketed(values, width * 2)
    ]
    pairs = zip(steps[::2], steps[1::2], strict=True)
    return "".join(chr(_BRAILLE + _LEFT_DOTS[left] + _RIGHT_DOTS[right]) for left, right in pairs)


def bar(part: float | None, width: int) -> str:
    """A bar of exactly `width` cells filled to `part` (0 to 1, clamped) in half cells; None is a dashed line.

    Anything above nothing shows at least its first half cell, anything below all leaves its last one open.
    """
    if width <= 0:
        return ""
    if part is None or not math.isfinite(part):
        return BAR_UNKNOWN * width
    most = width * 2
    halves = int(max(0.0, min(1.0, part)) * most)
    if 0.0 < part < 1.0:
        halves = max(1, min(most - 1, halves))
    full, half = divmod(halves, 2)
    return (BAR_FULL * full + BAR_HALF * half).ljust(width, BAR_EMPTY)


def meter_text(used: float | None, total: float | None, width: int) -> str:
    """`used` of `total` as a bar and numbers in exactly `width` cells: `━━━━━╸─── 22/40`.

    Unknown numbers read `?`. Without room for a bar of three cells only the numbers stand, cut if need be.
    """
    if width <= 0:
        return ""
    numbers = f"{_number(used)}/{_number(total)}"
    room = width - len(numbers) - 1
    if room < 3:
        return numbers.rjust(width) if len(numbers) <= width else numbers[: width - 1] + ELLIPSIS
    part = None if used is None or total is None else (used / total if total > 0 else 0.0)
    return f"{bar(part, room)} {numbers}"


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
