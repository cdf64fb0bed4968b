"""The fleet in a few numbers: nodes, and what became of every GPU."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from weakref import WeakKeyDictionary

from cockpit.model.gpu import DoubtKind, Gpu
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.truth import is_use_known
from cockpit.views import cards, physical
from cockpit.views import format as fmt
from cockpit.views.node_cards import is_dead


@dataclass(frozen=True, slots=True)
class Fleet:
    """Physical cards: `gpus` = busy + idle_allocated + allocated_unknown + free + unseen + lost. `unseen` are
    allocated or free, which is unknown: not all pods of the cluster may be read (or were read yet). `joining`
    are promised ones of nodes that do not show theirs yet and are not part of `gpus`. `duty` is the mean over
    allocated cards that telemetry knows; `sampled_seconds` the time of the newest sample. `shares` are MIG
    instances and time-sliced replicas, which pods ask for instead of cards; their cards are part of `gpus`,
    they are not. `watts` sums the cards that tell their power, None where none does. `implausible` cards tell
    a number that no card can have and that is in none of these sums; of `contradicted` ones two series
    disagree. `nodes_in_trouble` are GPU nodes that are not ready or have lost cards."""

    nodes: int = 0
    gpu_nodes: int = 0
    nodes_in_trouble: int = 0
    gpus: int = 0
    busy: int = 0
    idle_allocated: int = 0
    allocated_unknown: int = 0
    free: int = 0
    unseen: int = 0
    lost: int = 0
    joining: int = 0
    shares: int = 0
    shares_allocated: int = 0
    duty: Reading = Absent.NOT_COLLECTED
    watts: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    sampled_seconds: float | None = None
    implausible: int = 0
    contradicted: int = 0

    @property
    def allocated(self) -> int:
        return self.busy + self.idle_allocated + self.allocated_unknown


@dataclass(frozen=True, slots=True)
class Share:
    """What became of one node's cards, and of the shares of them where it offers such."""

    busy: int = 0
    idle_allocated: int = 0
    allocated_unknown: int = 0
    free: int = 0
    lost: int = 0
    joining: int = 0
    shares: int = 0
    shares_allocated: int = 0


def share(node: Node, allocated: int, gpus: Sequence[Gpu]) -> Share:
    """Cards of one node; `allocated` counts devices or shares, as the scheduler does.

    Lost are devices that the node showed or was promised and that nothing can be put on: no longer
    allocatable, or on a node whose kubelet is not Ready, as far as no pod holds them.
    """
    if node.gpu_capacity is None or (node.gpu_capacity == 0 and node.gpus_expected):
        return Share(joining=node.gpus_expected or 0)
    if physical.is_split(node, gpus):
        return _split_share(node, allocated, gpus)
    total = max(node.gpu_capacity, node.gpus_expected or 0)
    usable = min(node.gpu_allocatable or 0, total)
    # pods keep devices that fell out of allocatable until they end
    allocated = min(allocated, total)
    free = max(0, usable - allocated) if node.ready == "True" else 0
    if not gpus:
        return Share(allocated_unknown=allocated, free=free, lost=total - allocated - free)
    known = [card for card in gpus if not isinstance(card.duty_ratio, Absent)]
    named = [card for card in known if cards.is_allocated(card)]
    if not named and allocated >= usable > 0:
        named = (
            known  # every device is allocated, so every card is, whether or not the exporter names the pod
        )
    idle = min(allocated, sum(1 for card in named if _duty(card) < fmt.DUTY_IDLE_RATIO))
    busy = min(allocated - idle, len(named) - idle) if len(named) > idle else 0
    return Share(
        busy=busy,
        idle_allocated=idle,
        allocated_unknown=allocated - idle - busy,
        free=free,
        lost=total - allocated - free,
    )


def _split_share(node: Node, allocated: int, gpus: Sequence[Gpu]) -> Share:
    """Cards of which pods hold shares: a card is allocated where telemetry names a pod on it or sees it work,
    in between what the number of allocated shares allows."""
    total = physical.cards_promised(node, gpus)
    shares = node.gpu_capacity or 0
    allocated = min(allocated, shares)
    usable = physical.usable_cards(node, total) if node.ready == "True" else 0
    whole = physical.whole_cards(gpus)
    taken = [item for item in whole if cards.is_allocated(item) or _duty(item) >= fmt.DUTY_IDLE_RATIO]
    least = math.ceil(allocated / node.gpu_replicas) if node.gpu_replicas > 1 else min(1, allocated)
    allocated_cards = min(max(len(taken), least), allocated, total)
    known = [item for item in taken if not isinstance(item.duty_ratio, Absent)][:allocated_cards]
    busy = sum(1 for item in known if _duty(item) >= fmt.DUTY_IDLE_RATIO)
    free = max(0, usable - allocated_cards)
    return Share(
        busy=busy,
        idle_allocated=len(known) - busy,
        allocated_unknown=allocated_cards - len(known),
        free=free,
        lost=total - allocated_cards - free,
        shares=shares,
        shares_allocated=allocated,
    )


def _duty(card: Gpu) -> float:
    return 0.0 if isinstance(card.duty_ratio, Absent) else card.duty_ratio


class _Node:
    """What is remembered of one node: valid while record, cards and requests stay the same."""

    __slots__ = (
        "allocated",
        "contradicted",
        "duties",
        "duty_sum",
        "gpus",
        "implausible",
        "is_in_trouble",
        "memory",
        "node",
        "sampled",
        "share",
        "watts",
    )

    def __init__(self, node: Node, allocated: int, gpus: tuple[Gpu, ...]) -> None:
        self.node = node
        self.allocated = allocated
        self.gpus = gpus
        self.share = share(node, allocated, gpus)
        self.is_in_trouble = self.share.lost > 0 or (is_dead(node) and not self.share.joining)
        self.duties, self.duty_sum = 0, 0.0
        self.implausible = self.contradicted = 0
        self.sampled: float | None = None
        self.watts: float | None = None
        self.memory: tuple[float, float] | None = None
        if gpus:
            self._read(allocated, physical.whole_cards(gpus))

    def _read(self, allocated: int, gpus: tuple[Gpu, ...]) -> None:
        watts = cards.numbers(gpus, cards.power)
        self.watts = sum(watts) if watts else None
        memory = [
            (card.memory_used_bytes, card.memory_total_bytes)
            for card in gpus
            if not isinstance(card.memory_used_bytes, Absent)
            and not isinstance(card.memory_total_bytes, Absent)
        ]
        self.memory = (sum(item[0] for item in memory), sum(item[1] for item in memory)) if memory else None
        duties = [
            card.duty_ratio
            for card in gpus
            if not isinstance(card.duty_ratio, Absent)
            and (cards.is_allocated(card) or (allocated >= len(gpus) and self.node.gpu_replicas == 1))
        ]
        self.duties = len(duties)
        self.duty_sum = sum(duties)
        sampled = [card.sampled_seconds for card in gpus if card.sampled_seconds is not None]
        self.sampled = max(sampled, default=None)
        kinds = [{doubt.kind for doubt in card.doubts} for card in gpus if card.doubts]
        self.implausible = sum(DoubtKind.IMPLAUSIBLE in kind for kind in kinds)
        self.contradicted = sum(DoubtKind.CONTRADICTED in kind for kind in kinds)

    def is_of(self, node: Node, allocated: int, gpus: tuple[Gpu, ...]) -> bool:
        return (
            self.node is node
            and self.allocated == allocated
            and len(self.gpus) == len(gpus)
            and all(map(is_, self.gpus, gpus))
        )


class _Memo:
    """The fleet of one store: the whole by revision, the parts by node."""

    __slots__ = ("fleet", "nodes", "revision")

    def __init__(self) -> None:
        self.revision = -1
        self.fleet = Fleet()
        self.nodes: dict[str, _Node] = {}


_MEMOS: "WeakKeyDictionary[StoreReader, _Memo]" = WeakKeyDictionary()


def fleet(store: StoreReader) -> Fleet:
    """The whole cluster, in all namespaces: nodes belong to none.

    Recounted only for nodes that changed; the header of every place asks several times a second.
    """
    memo = _MEMOS.get(store)
    if memo is None:
        memo = _MEMOS[store] = _Memo()
    if memo.revision != store.revision:
        memo.fleet = _count(store, memo)
        memo.revision = store.revision
    return memo.fleet


def _count(store: StoreReader, memo: _Memo) -> Fleet:
    nodes: Mapping[str, Node] = store.records(Kind.NODE)
    parts: list[_Node] = []
    before, memo.nodes = memo.nodes, {}
    for uid, node in nodes.items():
        if not node.has_gpus:
            continue
        gpus = store.gpus_on(node.name)
        allocated = store.requests_on(node.name).gpus
        part = before.get(uid)
        if part is None or not part.is_of(node, allocated, gpus):
            part = _Node(node, allocated, gpus)
        memo.nodes[uid] = part
        parts.append(part)
    busy = sum(part.share.busy for part in parts)
    idle = sum(part.share.idle_allocated for part in parts)
    unknown = sum(part.share.allocated_unknown for part in parts)
    free = sum(part.share.free for part in parts)
    lost = sum(part.share.lost for part in parts)
    duties = sum(part.duties for part in parts)
    watts = [part.watts for part in parts if part.watts is not None]
    memory = [part.memory for part in parts if part.memory is not None]
    unseen = 0 if is_use_known(store) else free
    return Fleet(
        nodes=len(nodes),
        gpu_nodes=len(parts),
        nodes_in_trouble=sum(part.is_in_trouble for part in parts),
        gpus=busy + idle + unknown + free + lost,
        busy=busy,
        idle_allocated=idle,
        allocated_unknown=unknown,
        free=free - unseen,
        unseen=unseen,
        lost=lost,
        joining=sum(part.share.joining for part in parts),
        shares=sum(part.share.shares for part in parts),
        shares_allocated=sum(part.share.shares_allocated for part in parts),
        watts=sum(watts) if watts else None,
        memory_used_bytes=sum(item[0] for item in memory) if memory else None,
        memory_total_bytes=sum(item[1] for item in memory) if memory else None,
        duty=sum(part.duty_sum for part in parts) / duties if duties else _why_none(store),
        implausible=sum(part.implausible for part in parts),
        contradicted=sum(part.contradicted for part in parts),
        sampled_seconds=max((part.sampled for part in parts if part.sampled is not None), default=None),
    )


def _why_none(store: StoreReader) -> Reading:
    gpus: Mapping[str, Gpu] = store.records(Kind.GPU)
    return cards.worst_of([card.duty_ratio for card in gpus.values()])
