"""What a round asks of a large fleet: for the whole reading, and for less than that in between. Pure.

One quantity comes with all its labels: it tells index, model and who holds the card, which may change at any
time. The others come with no more labels than tell cards apart. A whole reading asks for every quantity;
for `WHOLE_SECONDS` after one a round leaves out what stands still (memory in all) or says nothing (XIDs that
are 0). A card that the whole reading did not know ends its time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent
from cockpit.telemetry import promql
from cockpit.telemetry.names import GpuMetric, names_of

WHOLE_SECONDS = 600.0
"""How long what stands still is taken from one whole reading."""

_ALWAYS = (GpuMetric.DUTY, GpuMetric.TEMPERATURE, GpuMetric.POWER, GpuMetric.SM_CLOCK)
WAYS = ((GpuMetric.MEMORY_USED,), (GpuMetric.MEMORY_USED, GpuMetric.TEMPERATURE))
"""What may be asked for with all labels. Every exporter tells memory of cards and MIG instances alike; a card
whose memory cannot be read (a sick one) has its labels from its temperature."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What a whole reading told. `is_placed`: host labels name the node of every card."""

    at_seconds: float
    cards: Mapping[str, Gpu]
    labelled: tuple[GpuMetric, ...]
    is_placed: bool
    needs_engine: bool
    has_holders: bool

    def is_good(self, now_seconds: float) -> bool:
        """False when it is time for another one."""
        return 0.0 <= now_seconds - self.at_seconds < WHOLE_SECONDS


def whole(
    cards: Iterable[Gpu],
    at_seconds: float,
    labelled: tuple[GpuMetric, ...],
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


def labelled(known: Whole | None, way: tuple[GpuMetric, ...] = WAYS[0]) -> list[str]:
    """What a round asks for with all labels: it tells who holds which card, last those that share one."""
    asked = way if known is None else known.labelled
    holders = (GpuMetric.HOLDER,) if known is None or known.has_holders else ()
    return [promql.instant(names_of((item,))) for item in (*asked, *holders)]


def trimmed(known: Whole | None, way: tuple[GpuMetric, ...] = WAYS[0]) -> list[str]:
    """What it asks for with labels that tell cards apart, for a whole reading or, with `known`, for less."""

    def of(quantity: GpuMetric) -> str:
        return promql.trimmed(names_of((quantity,)), is_placed=known is not None and known.is_placed)

    if known is None:
        left = (*way, GpuMetric.HOLDER, GpuMetric.THROTTLE)
        return [*(of(item) for item in GpuMetric if item not in left), promql.throttle_told()]
    always = (item for item in _ALWAYS if item not in known.labelled)
    some = [*always, *((GpuMetric.ENGINE,) if known.needs_engine else ())]
    return [*(of(item) for item in some), f"{of(GpuMetric.XID)} != 0", promql.throttled()]


def _has_duty(card: Gpu) -> bool:
    return not isinstance(card.duty_ratio, Absent)
