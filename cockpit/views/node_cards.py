"""Cards of a node as far as they can be believed: of a node that is not ready nothing is known any more."""

import msgspec

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.quantity import Absent
from cockpit.model.record import condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.xid import xid_class


def is_dead(node: Node) -> bool:
    """True for a node whose kubelet says that it is not ready, or is silent."""
    return node.ready in ("False", "Unknown")


def cards_of(node: Node, store: StoreReader) -> tuple[Gpu, ...]:
    """Its cards by index. Of a dead node what was sampled before its end is stale, no card is free, and none
    is well; a bad Xid stays."""
    cards = store.gpus_on(node.name)
    if not cards or not is_dead(node):
        return cards
    ready = condition(node.conditions, "Ready")
    since = None if ready is None else ready.changed_seconds
    return tuple(card if _is_newer(card, since) else _stale(card) for card in cards)


def _is_newer(card: Gpu, since: float | None) -> bool:
    return since is not None and card.sampled_seconds is not None and card.sampled_seconds > since


def _stale(card: Gpu) -> Gpu:
    is_bad = bool(card.xid) and xid_class(card.xid or 0).is_bad
    return msgspec.structs.replace(
        card,
        duty_ratio=Absent.STALE,
        memory_used_bytes=Absent.STALE,
        temperature_celsius=Absent.STALE,
        power_watts=Absent.STALE,
        xid=card.xid if is_bad else None,
        mark=Mark.NOT_COLLECTED if card.mark is Mark.UNALLOCATED else card.mark,
    )
