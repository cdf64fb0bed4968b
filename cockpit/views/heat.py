"""The fleet as a heatmap: a group per pool, a block per node, a cell per GPU."""

from collections.abc import Sequence
from enum import Enum
from weakref import WeakKeyDictionary

from cockpit_widgets.types import HeatBlock, HeatGroup

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.xid import xid_class
from cockpit.views import cards
from cockpit.views import format as fmt
from cockpit.views.fleet import sees_all_pods
from cockpit.views.order import natural
from cockpit.views.source import StoreReader

FREE, LOST, NOT_COLLECTED, STALE = -1, -2, -3, -4
NO_POOL = "no pool"


class Metric(Enum):
    """What the shade says; `m` cycles in this order."""

    DUTY = "duty"
    MEMORY = "memory"
    TEMPERATURE = "temperature"
    POWER = "power"
    HEALTH = "health"
    OWNER = "owner"

    @property
    def next(self) -> "Metric":
        """The metric after this one, the first after the last."""
        every = list(Metric)
        return every[(every.index(self) + 1) % len(every)]

    @property
    def legend(self) -> str:
        """What the darkest and the lightest shade mean."""
        return _LEGEND[self]


_LEGEND = {
    Metric.DUTY: "shade: share of time in use, 0 to 100%",
    Metric.MEMORY: "shade: share of GPU memory in use, 0 to 100%",
    Metric.TEMPERATURE: "shade: 25°C to 90°C (display scale, not the card's own limits)",
    Metric.POWER: "shade: 0 W to the most drawn by a card of this pool",
    Metric.HEALTH: "shade: last Xid none, to watch, to be taken out",
    Metric.OWNER: "shade: one a namespace",
}
CELLS = f"{fmt.FREE} free  {fmt.LOST} lost  {fmt.NOT_COLLECTED} not collected  {fmt.STALE} stale"

_COLD_CELSIUS, _HOT_CELSIUS = 25.0, 90.0


def groups(store: StoreReader, metric: Metric = Metric.DUTY, namespace: str = "") -> tuple[HeatGroup, ...]:
    """Pools by name, each with its GPU nodes by name. With a namespace, cards of others keep their place and
    are drawn as free. Made anew only when the store moved."""
    asked = (store.revision, metric, namespace)
    memo = _MEMOS.get(store)
    if memo is None or memo[0] != asked:
        memo = _MEMOS[store] = (asked, _groups(store, metric, namespace))
    return memo[1]


_MEMOS: "WeakKeyDictionary[StoreReader, tuple[tuple[int, Metric, str], tuple[HeatGroup, ...]]]" = (
    WeakKeyDictionary()
)


def _groups(store: StoreReader, metric: Metric, namespace: str) -> tuple[HeatGroup, ...]:
    by_pool: dict[str, list[Node]] = {}
    for node in store.records(Kind.NODE).values():
        if node.has_gpus:
            by_pool.setdefault(node.pool or NO_POOL, []).append(node)
    made: list[HeatGroup] = []
    for name in sorted(by_pool, key=lambda one: (one == NO_POOL, natural(one))):
        nodes = sorted(by_pool[name], key=lambda node: natural(node.name))
        shades = _Shades(metric, store, nodes, namespace)
        made.append(HeatGroup(name, tuple(HeatBlock(node.name, shades.levels(node)) for node in nodes)))
    return tuple(made)


class _Shades:
    """Levels of one pool's cards under one metric."""

    def __init__(self, metric: Metric, store: StoreReader, nodes: Sequence[Node], namespace: str) -> None:
        self._metric = metric
        self._store = store
        self._namespace = namespace
        self._sees_all = sees_all_pods(store)
        self._most_watts = 0.0
        if metric is Metric.POWER:
            every = [card for node in nodes for card in store.gpus_on(node.name)]
            self._most_watts = max(cards.numbers(every, cards.power), default=0.0)

    def levels(self, node: Node) -> tuple[int, ...]:
        """One level a device of the node, cards by index; devices without telemetry at the end."""
        known = self._store.gpus_on(node.name)
        if node.ready != "True" and node.gpu_capacity is not None:
            return (LOST,) * max(len(known), node.gpu_capacity, node.gpus_expected or 0)
        levels = [self._level(card) for card in known]
        usable = node.gpu_allocatable if node.gpu_allocatable is not None else 0
        levels += [self._without_telemetry(node, place) for place in range(len(levels), usable)]
        shown = node.gpu_capacity or 0
        promised = max(shown, node.gpus_expected or 0)
        coming = LOST if node.gpu_capacity else NOT_COLLECTED
        levels += [coming] * max(0, promised - len(levels))
        return tuple(levels)

    def _without_telemetry(self, node: Node, place: int) -> int:
        """A device nobody measures: free when the API server says that fewer are held, else not collected."""
        if not self._sees_all:
            return NOT_COLLECTED
        held = self._store.requests_on(node.name).gpus
        return NOT_COLLECTED if place < held else FREE

    def _level(self, card: Gpu) -> int:
        if self._namespace and card.pod_namespace not in ("", self._namespace):
            return FREE
        value = self._ratio(card)
        if isinstance(value, Absent):
            return STALE if value is Absent.STALE else NOT_COLLECTED
        is_idle = not isinstance(card.duty_ratio, Absent) and card.duty_ratio < fmt.DUTY_IDLE_RATIO
        if card.mark is Mark.UNALLOCATED and is_idle and self._metric in _OF_USE:
            return FREE
        return fmt.level(value)

    def _ratio(self, card: Gpu) -> Reading:
        metric = self._metric
        if metric is Metric.DUTY:
            return card.duty_ratio
        if metric is Metric.MEMORY:
            return cards.memory_ratio(card)
        if metric is Metric.TEMPERATURE:
            return _scaled(card.temperature_celsius, _COLD_CELSIUS, _HOT_CELSIUS)
        if metric is Metric.POWER:
            return _scaled(card.power_watts, 0.0, self._most_watts)
        if metric is Metric.HEALTH:
            return _health(card)
        return _owner(card)


_OF_USE = (Metric.DUTY, Metric.MEMORY, Metric.OWNER)
"""Metrics of what a holder does: a free card has none. Heat, power and health every card has."""


def _scaled(value: Reading, low: float, high: float) -> Reading:
    if isinstance(value, Absent):
        return value
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def _health(card: Gpu) -> Reading:
    if card.xid is None:
        return Absent.NOT_COLLECTED
    if card.xid == 0:
        return 0.1
    return 1.0 if xid_class(card.xid).is_bad else 0.6


def _owner(card: Gpu) -> Reading:
    if not card.pod_namespace:
        return 0.0 if card.mark is Mark.UNALLOCATED else Absent.NOT_COLLECTED
    # a shade that stays the same from one start to the next: no salted hash()
    return (sum(card.pod_namespace.encode()) % 8 + 1) / 8
