"""What a card can measure at all, and when two exporters' numbers contradict each other. Pure.

Bounds are generous on purpose: they are for numbers that no card could have, not for alarms. A number outside
reads *implausible*, is shown as such and is part of no sum or mean.
"""

from typing import NamedTuple

from cockpit.model.quantity import Absent, Reading
from cockpit.telemetry.names import SLOTS, GpuMetric

MOST_DUTY = 1.05
"""A little over one is rounding (shown as 1); more is no share of time."""

MOST_BYTES = 4 * 2.0**40
MOST_XID = 9_999.0

USED_OVER_TOTAL = 1.001
"""Memory used may exceed the total by what rounding to MiB makes of three parts, not by more."""


class Bounds(NamedTuple):
    """Least and most in base units, both included; two readings contradict each other when they differ by
    more than `apart` and by more than a tenth of the larger. `why` is where the bound comes from."""

    least: float
    most: float
    apart: float
    why: str


_SHARE = Bounds(0.0, MOST_DUTY, 0.25, "a share of time")
_MEMORY = Bounds(0.0, MOST_BYTES, 2.0**30, "B300 and MI355X have 288 GB, announced cards 1 TB")

BOUNDS: dict[int, Bounds] = {
    SLOTS[quantity]: bounds
    for quantity, bounds in (
        (GpuMetric.DUTY, _SHARE),
        (GpuMetric.ENGINE, _SHARE),
        (GpuMetric.MEMORY_USED, _MEMORY),
        (GpuMetric.MEMORY_FREE, _MEMORY),
        (GpuMetric.MEMORY_RESERVED, _MEMORY),
        (GpuMetric.MEMORY_TOTAL, _MEMORY),
        (GpuMetric.TEMPERATURE, Bounds(0.1, 150.0, 15.0, "cards shut themselves down at 90 to 110 °C")),
        (GpuMetric.POWER, Bounds(0.0, 10_000.0, 100.0, "boards draw 1.4 kW, announced ones less than 4 kW")),
        (GpuMetric.SM_CLOCK, Bounds(0.0, 1e10, 3e8, "no card is clocked at 4 GHz")),
        (GpuMetric.XID, Bounds(0.0, MOST_XID, 0.0, "NVIDIA's list ends below 200")),
    )
}
"""What is plausible, by quantity."""

_TEMPERATURE, _TOTAL = SLOTS[GpuMetric.TEMPERATURE], SLOTS[GpuMetric.MEMORY_TOTAL]
_XID = SLOTS[GpuMetric.XID]
_ZERO_IS_NOTHING = frozenset({_TEMPERATURE, _TOTAL})
"""Quantities of which drivers say 0 when they do not know."""


def judged(slot: int, value: float) -> Reading:
    """The value, or what it is instead: *implausible*, or *not collected* for a 0 by which drivers say so."""
    bounds = BOUNDS.get(slot)
    if value == 0.0 and slot in _ZERO_IS_NOTHING:
        return Absent.NOT_COLLECTED
    if bounds is None or bounds.least <= value <= bounds.most:
        return value
    return Absent.IMPLAUSIBLE


def contradict(slot: int, one: float, other: float) -> bool:
    """True where two plausible readings of one quantity, taken at about the same time, cannot both hold."""
    bounds = BOUNDS.get(slot)
    if bounds is None:
        return False
    difference = abs(one - other)
    if slot == _XID:
        return one != other  # a code, no amount
    return difference > bounds.apart and difference > 0.1 * max(abs(one), abs(other))


def is_too_much_used(used_bytes: float, total_bytes: float) -> bool:
    """True where more memory is said to be used than the card has."""
    return used_bytes > total_bytes * USED_OVER_TOTAL
