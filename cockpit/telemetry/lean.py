"""Reading a large fleet again at a fraction of the cost of reading it for the first time. Pure.

A whole reading asks for every quantity with every label. Most of that does not move: memory in all, model,
index, and which exporters there are. So for `WHOLE_SECONDS` after one, a round asks for one quantity with all
labels (who holds the card may change at any time) and for the others with no more labels than tell cards
apart; what stands still is filled in from the whole reading. A card that it did not know ends its time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent
from cockpit.telemetry import promql
from cockpit.telemetry.labels import Places, is_placed
from cockpit.telemetry.names import MEANINGS, SLOTS, Quantity, names_of
from cockpit.telemetry.sample import Sample

WHOLE_SECONDS = 600.0
"""How long what stands still is taken from one whole reading."""

_ALWAYS = (Quantity.DUTY, Quantity.MEMORY_USED, Quantity.POWER, Quantity.SM_CLOCK)
_WITH_ALL_LABELS = Quantity.TEMPERATURE  # every card has one, MIG instances by way of their card
_HOLDER, _TEMPERATURE = SLOTS[Quantity.HOLDER], SLOTS[Quantity.TEMPERATURE]


@dataclass(frozen=True, slots=True)
class Whole:
    """What a whole reading told. `is_placed`: host labels name the node of every card."""

    at_seconds: float
    cards: Mapping[str, Gpu]
    is_placed: bool
    needs_engine: bool
    has_holders: bool

    def is_good(self, now_seconds: float) -> bool:
        """False when it is time for another one."""
        return 0.0 <= now_seconds - self.at_seconds < WHOLE_SECONDS


def whole(cards: Iterable[Gpu], samples: Iterable[Sample], places: Places, at_seconds: float) -> Whole | None:
    """What is to be kept of a whole reading; None where some card has no temperature: the query that brings
    all labels might miss it, and such a fleet is read whole every time."""
    by_uuid = {card.uuid: card for card in cards}
    if any(isinstance(card.temperature_celsius, Absent) for card in by_uuid.values()):
        return None
    placed, has_holders = True, False
    for one in samples:
        meaning = MEANINGS.get(one.name)
        if meaning is None:
            continue
        has_holders = has_holders or meaning.slot == _HOLDER
        if placed and meaning.slot == _TEMPERATURE:
            placed = is_placed(one.labels, places)
    return Whole(
        at_seconds=at_seconds,
        cards=by_uuid,
        is_placed=placed,
        needs_engine=any(
            not _has_duty(card) or card.mig_profile or "/" in card.uuid for card in by_uuid.values()
        ),
        has_holders=has_holders,
    )


def labelled(known: Whole) -> list[str]:
    """What a round asks for with all labels: it tells who holds which card."""
    holders = (Quantity.HOLDER,) if known.has_holders else ()
    return [promql.instant(names_of((one,))) for one in (_WITH_ALL_LABELS, *holders)]


def trimmed(known: Whole) -> list[str]:
    """What it asks for with labels that tell cards apart; of XIDs and reasons those that say something."""

    def of(quantity: Quantity) -> str:
        return promql.trimmed(names_of((quantity,)), is_placed=known.is_placed)

    some = [*_ALWAYS, *((Quantity.ENGINE,) if known.needs_engine else ())]
    return [*(of(one) for one in some), f"{of(Quantity.XID)} != 0", promql.held_down()]


def completed(cards: Iterable[Gpu], known: Whole) -> list[Gpu] | None:
    """The cards of a round with what stands still; None where one was not known or tells less than it did."""
    found: list[Gpu] = []
    for card in cards:
        before = known.cards.get(card.uuid)
        if before is None or (_has_duty(before) and not _has_duty(card)):
            return None
        xid = 0 if card.xid is None and before.xid is not None else card.xid
        found.append(msgspec.structs.replace(card, memory_total_bytes=before.memory_total_bytes, xid=xid))
    return found


def _has_duty(card: Gpu) -> bool:
    return not isinstance(card.duty_ratio, Absent)
