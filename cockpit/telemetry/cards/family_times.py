"""When the cards of a round were sampled: rows that were met before lead to their card by their bytes. Pure.

All series of one exporter's family that speak of one card were sampled at once, as a rule; a series that was
not has a time of its own (`cockpit.telemetry.cards.stamps` finds it).
"""

from collections.abc import Sequence

from cockpit.telemetry.cards.card_accumulator import UNKNOWN_TIME
from cockpit.telemetry.cards.register import Register
from cockpit.telemetry.cards.stamps import ANY_FAMILY, Key, card_of
from cockpit.telemetry.names import FAMILY_LABEL, MEANINGS
from cockpit.telemetry.rows import Row, labels_of
from cockpit.telemetry.sample import is_reading
from cockpit.telemetry.staleness import OLD_SECONDS


class FamilyTimes:
    """Sample times (epoch seconds) by card or by node, and by family."""

    def __init__(self, register: Register, rows: Sequence[Row]) -> None:
        known = register.stamps
        self._own: dict[tuple[Key, int], float] = {}  # as the samples themselves tell
        found = self._sampled = dict[tuple[Key, int], float]()
        for row in rows:
            series, value = bytes(row.metric), float(row.value[1])
            if series in known:
                whose = known[series]
            else:
                whose = known[series] = _whose(series, register)
            if whose is not None and is_reading(value) and value > found.get(whose, 0.0):
                found[whose] = value

    def tell(self, key: Key, trust: int, at_seconds: float) -> float:
        """A sample of this card and family has this time; the answer is the time that counts for the family,
        which is its first sample's."""
        return self._own.setdefault((key, trust), at_seconds)

    def at(self, key: Key, trust: int) -> float:
        """When series of this family were sampled: the card's own, the whole card's, or the node's."""
        if self._own and (own := self._own.get((key, trust))) is not None:
            return own
        node, uuid, instance = key
        sampled = self._sampled
        card, host = (node, uuid, ""), (node, "", "")
        for item in (key, card, host) if instance else (card, host):
            at = max(sampled.get((item, trust), UNKNOWN_TIME), sampled.get((item, ANY_FAMILY), UNKNOWN_TIME))
            if at >= 0.0:
                return at
        return UNKNOWN_TIME

    def newest(self, key: Key, families: int) -> tuple[float, bool]:
        """The newest of the card's samples (of families, a bit each), and whether one family is so much
        older that what it told, and of whom, does not count any more."""
        times = [self.at(key, trust) for trust in range(families.bit_length()) if families >> trust & 1]
        newest = max(times)
        return newest, any(0.0 <= time < newest - OLD_SECONDS for time in times)


def _whose(series: bytes, register: Register) -> tuple[Key, int] | None:
    try:
        labels = labels_of(series)
    except ValueError:
        return None
    meaning = MEANINGS.get(labels.get(FAMILY_LABEL, ""))
    return card_of(labels, register.places), ANY_FAMILY if meaning is None else meaning.trust
