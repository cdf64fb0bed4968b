"""What a round asks of a large fleet: for the whole reading, and for less than that in between. Pure.

One quantity comes with all its labels: it tells index, model and who holds the card, which may change at any
time. The others come with no more labels than tell cards apart. A whole reading asks for every quantity;
for `WHOLE_SECONDS` after one a round leaves out what stands still (memory in all) or says nothing (XIDs that
are 0). A card that the whole reading did not know ends its time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent
from cockpit.telemetry import promql
from cockpit.telemetry.names import Quantity, names_of

WHOLE_SECONDS = 600.0
"""How long what stands still is taken from one whole reading."""

_ALWAYS = (Quantity.DUTY, Quantity.TEMPERATURE, Quantity.POWER, Quantity.SM_CLOCK)
WAYS = ((Quantity.MEMORY_USED,), (Quantity.MEMORY_USED, Quantity.TEMPERATURE))
"""What may be asked for with all labels. Every exporter tells memory of cards and MIG instances alike; a card
whose memory cannot be read (a sick one) has its labels from its temperature."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What a whole reading told. `is_placed`: host labels name the node of every card."""

    at_seconds: float
    cards: Mapping[str, Gpu]
    labelled: tuple[Quantity, ...]
    is_placed: bool
    needs_engine: bool
    has_holders: bool

    def is_good(self, now_seconds: float) -> bool:
        """False when it is time for another one."""
        return 0.0 <= now_seconds - self.at_seconds < WHOLE_SECONDS


def whole(
    cards: Iterable[Gpu],
    at_seconds: float,
    labelled: tuple[Quantity, ...],
    *,
    is_placed: bool,
    has_holders: bool,
) -> Whole | None:
    """What is to be kept of a whole reading; None where some card's labels are not known: the quantities that
    brought them (`labelled`) do not tell of it."""
    by_uuid = {card.uuid: card for card in cards}
    if not all(card.source for card in by_uuid.values()):
        return None
    return Whole(
        at_seconds=at_seconds,
        cards=by_uuid,
        labelled=labelled,
        is_placed=is_placed,
        needs_engine=any(
            not _has_duty(card) or card.mig_profile or "/" in card.uuid for card in by_uuid.values()
        ),
        has_holders=has_holders,
    )


def labelled(known: Whole | None, way: tuple[Quantity, ...] = WAYS[0]) -> list[str]:
    """What a round asks for with all labels: it tells who holds which card, last those that share one."""
    asked = way if known is None else known.labelled
    holders = (Quantity.HOLDER,) if known is None or known.has_holders else ()
    return [promql.instant(names_of((one,))) for one in (*asked, *holders)]


def trimmed(known: Whole | None, way: tuple[Quantity, ...] = WAYS[0]) -> list[str]:
    """What it asks for with labels that tell cards apart, for a whole reading or, with `known`, for less."""

    def of(quantity: Quantity) -> str:
        return promql.trimmed(names_of((quantity,)), is_placed=known is not None and known.is_placed)

    if known is None:
        left = (*way, Quantity.HOLDER, Quantity.THROTTLE)
        return [*(of(one) for one in Quantity if one not in left), promql.held_down()]
    always = (one for one in _ALWAYS if one not in known.labelled)
    some = [*always, *((Quantity.ENGINE,) if known.needs_engine else ())]
    return [*(of(one) for one in some), f"{of(Quantity.XID)} != 0", promql.held_down()]


def completed(cards: Iterable[Gpu], known: Whole) -> list[Gpu] | None:
    """The cards of a round with what stands still; None where one was not known or tells less than it did."""
    found: list[Gpu] = []
    for card in cards:
        before = known.cards.get(card.uuid)
        if before is None or not card.source or (_has_duty(before) and not _has_duty(card)):
            return None
        xid = 0 if card.xid is None and before.xid is not None else card.xid
        found.append(msgspec.structs.replace(card, memory_total_bytes=before.memory_total_bytes, xid=xid))
    return found


def _has_duty(card: Gpu) -> bool:
    return not isinstance(card.duty_ratio, Absent)
