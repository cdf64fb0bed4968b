"""How GPU numbers moved lately, for those who draw it."""

from typing import Protocol

Line = tuple[float | None, ...]
"""The oldest first; None where nothing was measured."""


class TrendReader(Protocol):
    """The reading side of `cockpit.store.trends.Trends`: duty is 0..1, power is in watts."""

    def fleet(self, what: str = "duty", /) -> Line:
        """Of all GPUs: `duty` of the allocated ones, or `watts`."""

    def pool(self, name: str, what: str = "duty", /) -> Line:
        """Of one pool's GPUs."""

    def card(self, uuid: str, /) -> Line:
        """Duty of one GPU, while its node is on screen."""

    def job(self, key: str, /) -> Line:
        """Mean duty of a job's GPUs, () without history."""
