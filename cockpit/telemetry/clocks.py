"""Clocks that disagree: a metrics server's against the cluster's, and samples from the future. Pure."""

from collections.abc import Iterable

import msgspec

from cockpit.model.gpu import Doubt, DoubtKind, Gpu

TOLD_SECONDS = 5.0
"""Clocks that are less apart are taken for one: answers take their time, and NTP keeps hosts far closer."""

MOST_SKEW_SECONDS = 1e9
"""What is further off is no time at all."""


class Skew:
    """How far a server's clock is ahead of the cluster's (behind: negative), as its answers tell.

    Each answer bounds it from both sides: the server said its time after we asked and before we heard. What
    lies within the bounds stays, so clocks that agree are never corrected and sample times do not tremble.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._least = TOLD_SECONDS

    @property
    def seconds(self) -> float:
        """0 where it is not worth a word."""
        return self._seconds if abs(self._seconds) > self._least else 0.0

    def hear(
        self, said_seconds: float, asked_seconds: float, heard_seconds: float, pace: float = 1.0
    ) -> None:
        """The server's time, which it said between these two moments of the cluster's. `pace`: how many of
        the cluster's seconds pass in one of ours."""
        self._least = TOLD_SECONDS * max(1.0, pace)
        least, most = said_seconds - heard_seconds, said_seconds - asked_seconds
        if heard_seconds < asked_seconds or abs(least) > MOST_SKEW_SECONDS:
            return
        self._seconds = min(max(self._seconds, least), most)


def clock_sentences(who: str, skew_seconds: float, cards: Iterable[Gpu]) -> tuple[str, str]:
    """What is to be said of the server's clock and of samples from the future, "" for nothing."""
    return _skew_sentence(who, skew_seconds), _future_sentence(cards)


def _skew_sentence(who: str, seconds: float) -> str:
    if not seconds:
        return ""
    way = "ahead of" if seconds > 0 else "behind"
    return f"{who}: its clock is {abs(seconds):,.0f} s {way} the cluster's; ages are corrected for it."


def without_future(cards: Iterable[Gpu], now_seconds: float) -> list[Gpu]:
    """The cards; of those sampled later than now the age is unknown, and they are marked."""
    found: list[Gpu] = []
    for card in cards:
        at = card.sampled_seconds
        if at is not None and at - now_seconds > TOLD_SECONDS:
            # to the ten: a record that changes with every second would be painted with every second
            doubt = Doubt("sampled_seconds", DoubtKind.FUTURE, max(10.0, round(at - now_seconds, -1)))
            doubts = tuple(sorted({*card.doubts, doubt}))
            found.append(msgspec.structs.replace(card, sampled_seconds=None, doubts=doubts))
        else:
            found.append(card)
    return found


def _future_sentence(cards: Iterable[Gpu]) -> str:
    ahead = [float(item.told) for card in cards for item in card.doubts if item.kind is DoubtKind.FUTURE]
    if not ahead:
        return ""
    gpus = "1 GPU" if len(ahead) == 1 else f"{len(ahead):,} GPUs"
    return (
        f"Samples of {gpus} are from the future, by up to {max(ahead):,.0f} s; "
        "check the clocks of the nodes and of Prometheus."
    )


def shifted(cards: Iterable[Gpu], skew_seconds: float) -> tuple[Gpu, ...]:
    """The cards with their sample times by the cluster's clock."""
    if not skew_seconds:
        return tuple(cards)
    return tuple(
        card
        if card.sampled_seconds is None
        else msgspec.structs.replace(card, sampled_seconds=card.sampled_seconds - skew_seconds)
        for card in cards
    )
