"""When a number is too old to be shown as one. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent

STALE_INTERVALS = 3
"""Samples older than this many sampling intervals are not shown as numbers (reference 5.4)."""

OLD_SECONDS = 90.0
"""Of one card's readings one that is so much older than the newest is not shown as a number: who told it fell
silent, another exporter goes on."""

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
    return msgspec.structs.replace(card, throttle=None, **readings) if readings else card


def is_forgotten(card: Gpu, now_seconds: float, forget_seconds: float = FORGET_SECONDS) -> bool:
    """True for a card whose last sample is too old to show."""
    return card.sampled_seconds is not None and now_seconds - card.sampled_seconds > forget_seconds


def aged(
    seen: Iterable[Gpu],
    before: Mapping[str, Gpu],
    now_seconds: float,
    interval_seconds: float,
    *,
    seen_seconds: float | None = None,
    before_seconds: float | None = None,
) -> tuple[list[Gpu], list[str]]:
    """The cards to show, and the uuids to drop. `interval_seconds` is the time between two samples of a card;
    `seen_seconds` when the source told of `seen`, `before_seconds` when it told of `before` (None: now): a
    sample whose age is unknown cannot be newer.

    A card that is missing now but was there before keeps its row with stale numbers, until it was silent for
    FORGET_SECONDS.
    """
    limit = STALE_INTERVALS * interval_seconds
    shown: dict[str, Gpu] = {}
    for card in seen:
        at = seen_seconds if card.sampled_seconds is None else card.sampled_seconds
        shown[card.uuid] = stale(card) if at is not None and now_seconds - at > limit else card
    gone: list[str] = []
    for uuid, card in before.items():
        if uuid in shown:
            continue
        last = card
        if card.sampled_seconds is None:
            at = now_seconds if before_seconds is None else before_seconds
            last = msgspec.structs.replace(card, sampled_seconds=at)
        if is_forgotten(last, now_seconds):
            gone.append(uuid)
        else:
            shown[uuid] = stale(last)
    return list(shown.values()), gone
