"""When each series of a card was sampled. Pure.

The API stamps every row of an instant vector with the time of the query, so the times come from a query of
their own (`promql.sample_times`), with a row for few of the series: a series has the time of the row that
speaks of the same card, is of the same exporter's family and contradicts none of its labels. Two scrapes of
one card (replicas of a Prometheus, a replaced exporter) differ in some label, so each has its own time.
"""

from collections.abc import Iterable, Sequence

from cockpit.telemetry.labels import Labels, NodeNames, instance_of, node_of, uuid_of
from cockpit.telemetry.names import FAMILY_LABEL, MEANINGS
from cockpit.telemetry.sample import Sample, is_reading

Key = tuple[str, str, str]
"""Node, card UUID, MIG instance ("" for the whole card)."""

NOT_OF_A_SCRAPE = frozenset(
    {
        *("__name__", FAMILY_LABEL, "clock_type", "location", "type", "sub_dev", "reason", "source"),
        *("clock_event", "window_size_in_ms", "neuroncore"),
    }
)
"""Labels in which two series of one scrape of one card may differ."""

ANY_FAMILY = -1


_Row = tuple[dict[str, str], int, float]
"""Labels, family and sample time."""


class Stamps:
    """Sample times (epoch seconds) as the rows of a `timestamp(...)` query tell them."""

    def __init__(self) -> None:
        self._rows: dict[Key, list[_Row]] = {}

    def add(self, key: Key, labels: Labels, at_seconds: float) -> None:
        """A row; a card of "" speaks of all cards of its node."""
        meaning = MEANINGS.get(labels.get(FAMILY_LABEL, ""))
        told = {name: of for name, of in labels.items() if name not in NOT_OF_A_SCRAPE}
        trust = ANY_FAMILY if meaning is None else meaning.trust
        self._rows.setdefault(key, []).append((told, trust, at_seconds))

    def of(self, key: Key, labels: Labels, trust: int) -> float | None:
        """When the series with these labels, of the family of this rank of trust, was sampled; None where no
        row tells. A cut card is stamped once for all its instances."""
        node, uuid, instance = key
        rows = self._rows
        for place in (key, (node, uuid, "")) if instance else (key,):
            if place in rows and (found := _newest(rows[place], labels, trust)) is not None:
                return found
        whole = rows.get((node, "", ""))
        return None if whole is None else _newest(whole, labels, trust)


def _newest(rows: Sequence[_Row], labels: Labels, trust: int) -> float | None:
    """Of the rows that may be the series' own the one with the most labels in common, of these the newest."""
    found = [
        (told, at)
        for told, family, at in rows
        if family in (ANY_FAMILY, trust)
        and (told.items() <= labels.items() or all(labels.get(name, of) == of for name, of in told.items()))
    ]
    if len(found) < 2:
        return found[0][1] if found else None
    # where one scrape has a label that the other lacks, neither contradicts the other
    return max((sum(1 if name in labels else -1 for name in told), at) for told, at in found)[1]


def card_of(labels: Labels, places: NodeNames) -> Key:
    """The card that labels speak of."""
    return (node_of(labels, places), uuid_of(labels), instance_of(labels))


def stamps_of(samples: Iterable[Sample], places: NodeNames | None = None) -> Stamps:
    """The answer of a `timestamp(...)` query, whose values are epoch seconds."""
    places = places or NodeNames()
    found = Stamps()
    for sample in samples:
        if is_reading(sample.value) and sample.value > 0.0:
            found.add(card_of(sample.labels, places), sample.labels, sample.value)
    return found
