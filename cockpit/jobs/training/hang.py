"""A run whose GPUs spin and whose steps do not come: probably a collective that some rank never entered.

While NCCL waits its kernel runs on, so duty is full; it computes nothing, so little power is drawn.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

FULL_DUTY_RATIO: Final = 0.95
LOW_POWER_RATIO: Final = 0.5
"""Of the card's limit. Training draws most of it; a waiting kernel a fifth to a third."""
LEAST_SILENT_SECONDS: Final = 60.0
USUAL_INTERVALS: Final = 5.0
"""Usual intervals without a step that are longer than a checkpoint."""


class CardUse(NamedTuple):
    """Of one card, None if unknown: duty 0..1, and power of its limit 0..1."""

    duty_ratio: float | None
    power_ratio: float | None


class NoProgress(NamedTuple):
    """No step for longer than usual. `is_hang`: and the GPUs wait in a collective, as it seems;
    `power_ratio` is the highest of theirs."""

    seconds: float
    usual_seconds: float
    is_hang: bool
    cards: int
    power_ratio: float | None


def no_progress(
    moved_seconds: float | None, usual_seconds: float | None, now_seconds: float, cards: Sequence[CardUse]
) -> NoProgress | None:
    """None while steps come as they use to, or where their usual interval is unknown.

    `moved_seconds` is when the last step was told, `usual_seconds` how long after each other they are.
    """
    if moved_seconds is None or usual_seconds is None:
        return None
    silent = now_seconds - moved_seconds
    if silent < max(LEAST_SILENT_SECONDS, USUAL_INTERVALS * usual_seconds):
        return None
    duties = [card.duty_ratio for card in cards if card.duty_ratio is not None]
    powers = [card.power_ratio for card in cards if card.power_ratio is not None]
    is_known = bool(cards) and len(duties) == len(powers) == len(cards)
    is_hang = is_known and min(duties) >= FULL_DUTY_RATIO and max(powers) <= LOW_POWER_RATIO
    return NoProgress(silent, usual_seconds, is_hang, len(cards), max(powers) if is_known else None)
