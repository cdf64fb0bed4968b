"""Growths as they pass: which are over, and how long each step took; whoever asked for them."""

from collections.abc import Iterable

from cockpit.model.pool import Pool
from cockpit.model.remembered import Growth
from cockpit.model.store_reader import StoreReader
from cockpit.pools.ladder import Ladder, Rung, growth
from cockpit.pools.sightings import Sightings


class GrowthLog:
    """Looks at all pools now and then. A growth that was over when it was first seen counts where its objects
    date when it began; one that came while we looked began, at the latest, when it was first seen."""

    def __init__(self, seen: Sightings) -> None:
        """`seen` tells when GPUs were there; whoever hears of nodes notes it."""
        self._seen = seen
        self._begun: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def look(self, pools: Iterable[Pool], store: StoreReader, now_seconds: float) -> tuple[Growth, ...]:
        """Growths that are over since the last look."""
        found = (self._ended(one, store, now_seconds) for one in pools)
        return tuple(one for one in found if one is not None)

    def _ended(self, pool: Pool, store: StoreReader, now_seconds: float) -> Growth | None:
        ladder = growth(pool, store, now_seconds, seen=self._seen)
        if ladder is None:
            self._begun.pop(pool.key, None)
            return None
        if not ladder.is_over:
            self._begun.setdefault(pool.key, now_seconds)
            return None
        asked = _asked(ladder, self._begun.pop(pool.key, None))
        if asked is None or self._told.get(pool.key) == asked:
            return None
        self._told[pool.key] = asked
        return _growth(pool, ladder, asked)


def _asked(ladder: Ladder, first_seen: float | None) -> float | None:
    """When the first of its machines was asked for, None where nobody knows."""
    if ladder.asked_seconds is not None:
        return ladder.asked_seconds
    dated = [one.at(Rung.ACCEPTED) for one in ladder.machines]
    known = [one for one in (*dated, first_seen) if one is not None]
    return min(known, default=None)


def _growth(pool: Pool, ladder: Ladder, asked: float) -> Growth | None:
    """None where no step of it is dated."""
    stages = tuple(
        (str(one.step), max(0.0, one.at_seconds - asked))
        for one in ladder.stamps
        if one.is_reached and one.at_seconds is not None and one.step is not Rung.ASKED
    )
    if not stages:
        return None
    return Growth(
        pool_key=pool.key,
        asked_seconds=asked,
        machine_type=pool.machine,
        nodes=ladder.wanted,
        stages=stages,
    )
