"""Cards that can be touched, where Kubernetes counts shares of them: MIG instances and time-sliced replicas.

A share is what a pod asks for: a whole card, a MIG instance, a replica. Sums of GPUs count cards; shares are
told apart. With replicas, capacity is cards times replicas; with the MIG strategy `mixed` each profile is a
resource of its own, with `single` capacity and labels count instances
(NVIDIA/k8s-device-plugin README.md, docs/gpu-feature-discovery/README.md).
"""

import math
from collections.abc import Sequence

import msgspec

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading

_FULL_SLICES = 7
"""Compute slices of the full profile on A100, H100 and later; an A30 has four."""
_A30_SLICES = 4


def is_split(node: Node, gpus: Sequence[Gpu] = ()) -> bool:
    """True where what pods ask for are shares of cards."""
    return node.gpu_replicas > 1 or node.has_mig or any(card.mig_profile for card in gpus)


def card_key(card: Gpu) -> str:
    """The same for every MIG instance of one card."""
    return card.uuid.rsplit("/", 1)[0] if card.mig_profile or "/" in card.uuid else card.uuid


def cards_promised(node: Node, gpus: Sequence[Gpu] = ()) -> int:
    """Physical cards of a node, seen or promised: the count label, else capacity by replicas, else telemetry.

    With the MIG strategy `single` labels and capacity count instances; then only telemetry knows the cards.
    """
    seen = len({card_key(card) for card in gpus})
    if "-MIG-" in node.gpu_model and seen:
        return seen
    if node.has_mig:
        return max(node.gpus_expected or 0, seen) or (node.gpu_capacity or 0)
    by_capacity = math.ceil((node.gpu_capacity or 0) / max(1, node.gpu_replicas))
    return max(node.gpus_expected or 0, by_capacity)


def usable_cards(node: Node, promised: int) -> int:
    """Cards on which at least one share can still be placed."""
    capacity, usable = node.gpu_capacity or 0, node.gpu_allocatable or 0
    return min(promised, math.ceil(promised * usable / capacity)) if capacity else 0


def slices(profile: str) -> int:
    """Compute slices of a MIG profile: 3 of `3g.20gb`; 1 where it tells none."""
    head = profile.partition("g")[0]
    return int(head) if head.isascii() and head.isdigit() and head != "0" else 1


def whole_cards(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """One record a physical card: MIG instances of a card become one by their shares of it."""
    if not any(card.mig_profile or "/" in card.uuid for card in gpus):
        return tuple(gpus)
    parts: dict[str, list[Gpu]] = {}
    for card in gpus:
        parts.setdefault(card_key(card), []).append(card)
    return tuple(
        part[0] if len(part) == 1 and not part[0].mig_profile else _joined(key, part)
        for key, part in parts.items()
    )


def _joined(key: str, parts: Sequence[Gpu]) -> Gpu:
    allocated = [part for part in parts if part.pod_name and part.mark is not Mark.UNALLOCATED]
    names = {(item.pod_namespace, item.pod_name) for item in allocated}
    worst_xid = max((part.xid for part in parts if part.xid is not None), default=None)
    first = allocated[0] if allocated else parts[0]
    return msgspec.structs.replace(
        first,
        uuid=key,
        mig_profile=f"{len(parts)} MIG",
        duty_ratio=_duty(parts),
        memory_used_bytes=_sum([part.memory_used_bytes for part in parts]),
        memory_total_bytes=_sum([part.memory_total_bytes for part in parts]),
        temperature_celsius=_most([part.temperature_celsius for part in parts]),
        power_watts=_most([part.power_watts for part in parts]),
        xid=worst_xid,
        doubts=tuple(sorted({doubt for part in parts for doubt in part.doubts})),
        mark=_mark(parts, len(names)),
    )


def _mark(parts: Sequence[Gpu], holders: int) -> Mark:
    if holders > 1:
        return Mark.SHARED
    if holders == 1:
        return next(part.mark for part in parts if part.pod_name and part.mark is not Mark.UNALLOCATED)
    every = {part.mark for part in parts}
    return Mark.UNALLOCATED if every == {Mark.UNALLOCATED} else Mark.NOT_COLLECTED


def _duty(parts: Sequence[Gpu]) -> Reading:
    """Each instance's duty by its share of the card: `3g` at 100% is 3/7 of an A100."""
    known = [
        (part.duty_ratio, slices(part.mig_profile))
        for part in parts
        if not isinstance(part.duty_ratio, Absent)
    ]
    if not known:
        return _reason([part.duty_ratio for part in parts])
    full = _A30_SLICES if "A30" in parts[0].model.split("-") else _FULL_SLICES
    return min(1.0, sum(duty * share for duty, share in known) / max(full, sum(share for _, share in known)))


def _sum(values: Sequence[Reading]) -> Reading:
    """A sum over some instances only would pass for one over all."""
    missing = [value for value in values if isinstance(value, Absent)]
    return _reason(missing) if missing else sum(value for value in values if not isinstance(value, Absent))


def _most(values: Sequence[Reading]) -> Reading:
    known = [value for value in values if not isinstance(value, Absent)]
    return max(known) if known else _reason(values)


def _reason(values: Sequence[Reading]) -> Reading:
    worst_first = (Absent.IMPLAUSIBLE, Absent.STALE)
    return next((reason for reason in worst_first if reason in values), Absent.NOT_COLLECTED)
