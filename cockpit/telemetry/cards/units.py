"""Raw values as quantities in base units. Pure."""

from collections.abc import Iterable, Mapping

from cockpit.model.throttle import BIT_OF
from cockpit.telemetry.cards.plausible import MOST_DUTY

_MOST_BITS = float(1 << 16)


def scaled(value: float, factor: float) -> float:
    """The value in base units; 57 percent is 0.57, which a product with 0.01 is not."""
    parts = parts_of(factor)
    return value / parts if parts else value * factor


def parts_of(factor: float) -> int:
    """Into how many parts a factor below one cuts; 0 for any other."""
    return round(1.0 / factor) if factor < 1.0 else 0


def bits(value: float, labels: Mapping[str, str]) -> int:
    """NVML's bits: a series a reason (ours, DCGM's events), or all of them in one number (DCGM's field)."""
    reason = labels.get("reason", labels.get("clock_event"))
    if reason is not None:
        return BIT_OF.get(reason, 0) if value else 0
    return int(value) if 0 <= value < _MOST_BITS else 0


def percents_of(ratios: Iterable[tuple[str, str, float]]) -> set[tuple[str, str]]:
    """Nodes and names under which a `_RATIO` is an integer percent (DCGM 4.6), of (node, name, value): some
    value is more than any share and none has a fraction. 2.5 is neither a share nor such a percent."""
    above: set[tuple[str, str]] = set()
    broken: set[tuple[str, str]] = set()
    for node, name, value in ratios:
        if value > MOST_DUTY:
            above.add((node, name))
        if not value.is_integer():
            broken.add((node, name))
    return above - broken
