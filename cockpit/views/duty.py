"""How busy several cards are, for programs: ratios, of how many cards they are, and why some are missing."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pool import Pool
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import cards as views_of
from cockpit.views.jobs import JobRow, known_gpus
from cockpit.views.node_cards import cards_of


class Duty(msgspec.Struct, frozen=True, kw_only=True):
    """Mean and least duty (0..1) of the `gpus_reporting` cards that tell theirs, of `gpus` that are allocated
    (None if unknown). Where none does both are None, never 0, for `reason`; `missing`
    counts the cards that are in neither number, by reason.
    """

    mean_ratio: float | None = None
    min_ratio: float | None = None
    gpus_reporting: int = 0
    gpus: int | None = None
    reason: str | None = None
    missing: dict[str, int] = {}


def of_cards(found: Sequence[Gpu], allocated: int | None) -> Duty:
    """Of cards, where `allocated` GPUs should tell theirs."""
    known = views_of.numbers(found, views_of.duty)
    missing = Counter(card.duty_ratio.value for card in found if isinstance(card.duty_ratio, Absent))
    if allocated is not None and allocated > len(found):
        missing[Absent.NOT_COLLECTED.value] += allocated - len(found)
    if known:
        reason = None
    elif allocated == 0 and not found:
        reason = "no GPU allocated"
    else:
        reason = views_of.worst_of([card.duty_ratio for card in found]).value
    return Duty(
        mean_ratio=views_of.mean(known) if known else None,
        min_ratio=min(known, default=None),
        gpus_reporting=len(known),
        gpus=None if allocated is None else max(allocated, len(found)),
        reason=reason,
        missing=dict(sorted(missing.items())),
    )


def of_job(row: JobRow) -> Duty:
    """Of the cards that telemetry gives to the job's pods."""
    return of_cards(row.gpus, known_gpus(row.job))


def of_pool(pool: Pool, store: StoreReader) -> Duty:
    """Of the pool's cards that pods hold; free ones are idle by design."""
    nodes = (store.by_key(Kind.NODE, name) for name in pool.node_names)
    known = (card for node in nodes if isinstance(node, Node) for card in cards_of(node, store))
    found = [card for card in known if views_of.is_allocated(card)]
    return of_cards(found, pool.gpus_allocated if pool.is_use_known else None)


def of_node(node: Node, store: StoreReader, allocated: int | None) -> Duty:
    """Of the node's cards that pods hold, `allocated` in all (None if unknown)."""
    return of_cards([card for card in cards_of(node, store) if views_of.is_allocated(card)], allocated)
