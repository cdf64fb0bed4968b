"""When a number is too old to be shown as one. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent

STALE_INTERVALS = 3
"""Samples older than this many sampling intervals are not shown as numbers (reference 5.4)."""

FORGET_SECONDS = 3_600.0
"""A card that was not heard of for this long is dropped: it left with its node or was replaced."""


def stale(card: Gpu) -> Gpu:
    """The card with its numbers gone stale. What was never collected stays so; the XID does not age."""
    readings = {
        name: Absent.STALE
        for name in (
            "duty_ratio",
            "memory_used_bytes",
            "temperature_celsius",
            "power_watts",
            "sm_clock_hertz",
        )
        if not isinstance(getattr(card, name), Absent)
    }
    return msgspec.structs.replace(card, throttle=0, **readings) if readings else card


def is_forgotten(card: Gpu, now_seconds: float) -> bool:
    """True for a card that was not heard of for so long that it is not shown any more."""
    return card.sampled_seconds is None or now_seconds - card.sampled_seconds > FORGET_SECONDS


def aged(
    seen: Iterable[Gpu], before: Mapping[str, Gpu], now_seconds: float, interval_seconds: float
) -> tuple[list[Gpu], list[str]]:
    """The cards to show, and the uuids to drop. `interval_seconds` is the time between two samples of a card.

    A card that is missing now but was there before keeps its row with stale numbers, until it was silent for
    FORGET_SECONDS.
    """
    limit = STALE_INTERVALS * interval_seconds
    shown: dict[str, Gpu] = {}
    for card in seen:
        at = card.sampled_seconds
        shown[card.uuid] = stale(card) if at is not None and now_seconds - at > limit else card
    gone: list[str] = []
    for uuid, card in before.items():
        if uuid in shown:
            continue
        if is_forgotten(card, now_seconds):
            gone.append(uuid)
        else:
            shown[uuid] = stale(card)
    return list(shown.values()), gone
