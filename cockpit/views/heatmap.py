"""The fleet as a heatmap: a group per pool, a block per node, a cell per GPU."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Literal
from weakref import WeakKeyDictionary

from cockpit_widgets.glyphs import TOP_LEVEL, heat_glyph
from cockpit_widgets.types import HeatBlock, HeatGroup

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.throttle import HARMFUL
from cockpit.model.xid import xid_class
from cockpit.pools.truth import is_use_known
from cockpit.views import cards, physical
from cockpit.views import format as fmt
from cockpit.views.clusters import joined_key
from cockpit.views.order import natural

FREE, LOST, NOT_COLLECTED, STALE, IMPLAUSIBLE = -1, -2, -3, -4, -5
ABSENT_LEVELS = {Absent.STALE: STALE, Absent.IMPLAUSIBLE: IMPLAUSIBLE}
"""Levels of missing numbers; of others NOT_COLLECTED."""

NO_POOL = "no pool"


class Metric(Enum):
    """What the shade says; `m` cycles in this order."""

    DUTY = "duty"
    MEMORY = "memory"
    TEMPERATURE = "temperature"
    POWER = "power"
    HEALTH = "health"
    OWNER = "owner"
    PRIORITY = "priority"

    @property
    def next(self) -> "Metric":
        """The metric after this one, the first after the last."""
        every = list(Metric)
        return every[(every.index(self) + 1) % len(every)]

    @property
    def ramp(self) -> Literal["calm", "alarm"]:
        """How the shades are coloured: where much is bad, as an alarm."""
        return "alarm" if self in (Metric.TEMPERATURE, Metric.HEALTH) else "calm"


_LEGEND = {
    Metric.DUTY: "shade: share of time in use, _ 0% to █ 100%",
    Metric.MEMORY: "shade: share of GPU memory in use, _ 0% to █ 100%",
    Metric.TEMPERATURE: "shade: _ 25°C to █ 90°C, not the card's own limits",
    Metric.POWER: "shade: _ 0 W to █ the highest power draw in this pool",
    Metric.HEALTH: "shade: last Xid none ▁, warning or throttled ▅, needs replacement █",
}
CELLS = f"{fmt.FREE} free  {fmt.LOST} lost  {fmt.NOT_COLLECTED} n/c  {fmt.STALE} stale"


def cells(found: Sequence[HeatGroup]) -> str:
    """What the glyphs that are no shade mean; the rare one only where it is drawn."""
    levels = (level for group in found for block in group.blocks for level in block.levels)
    return f"{CELLS}  {fmt.IMPLAUSIBLE} implausible" if IMPLAUSIBLE in levels else CELLS


_NAMES_TOLD = 6
"""Names that the legend has room for; a fleet of more owners or classes tells how many more."""

_COLD_CELSIUS, _HOT_CELSIUS = 25.0, 90.0


def legend(store: StoreReader, metric: Metric) -> str:
    """What the shades mean: the ends of a scale, or who has which."""
    if metric not in _NAMED:
        return _LEGEND[metric]
    names = _named(store, metric)
    said = [f"{heat_glyph(level)} {name}" for name, level in names.items()][:_NAMES_TOLD]
    more = f" and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else ""
    what = "owner" if metric is Metric.OWNER else "priority, lowest first"
    return f"{what}: {'  '.join(said)}{more}" if said else f"{what}: no GPU is allocated"


def groups_of_clusters(found: Mapping[str, Sequence[HeatGroup]]) -> tuple[HeatGroup, ...]:
    """The groups of several clusters, each called by its own, its blocks keyed by cluster and node."""
    return tuple(
        HeatGroup(
            f"{cluster} {group.name}",
            tuple(HeatBlock(joined_key(cluster, block.key), block.levels) for block in group.blocks),
        )
        for cluster, groups_ in found.items()
        for group in groups_
    )


def legend_of_clusters(stores: Mapping[str, StoreReader], metric: Metric) -> str:
    """What the shades mean where several clusters are drawn: who has which is another in each of them."""
    if metric not in _NAMED:
        return _LEGEND[metric]
    return "   ".join(f"{cluster}: {legend(store, metric)}" for cluster, store in stores.items())


def _named(store: StoreReader, metric: Metric) -> dict[str, int]:
    """Namespaces by name, or priorities from low to high, that hold GPUs now: each with its shade."""
    if metric is Metric.OWNER:
        allocated = {card.pod_namespace for card in store.records(Kind.GPU).values() if card.pod_name}
        names = sorted(allocated, key=natural)
    else:
        pods = [pod for pod in store.gpu_pods() if pod.gpus_allocated and pod.node]
        by_number = {pod.priority or 0: _class_of(pod) for pod in sorted(pods, key=lambda one: one.key)}
        names = list(dict.fromkeys(by_number[number] for number in sorted(by_number)))
    step = TOP_LEVEL / max(1, len(names))
    return {name: max(1, min(TOP_LEVEL, round((place + 1) * step))) for place, name in enumerate(names)}


def _class_of(pod: Pod) -> str:
    return pod.priority_class or str(pod.priority or 0)


def groups(
    store: StoreReader, metric: Metric = Metric.DUTY, namespaces: Namespaces = EVERY
) -> tuple[HeatGroup, ...]:
    """Pools by name, each with its GPU nodes by name. With namespaces, cards of others keep their place and
    are drawn as free. Rebuilt only when the store changed."""
    asked = (store.revision, metric, namespaces)
    memo = _MEMOS.get(store)
    if memo is None or memo[0] != asked:
        memo = _MEMOS[store] = (asked, _groups(store, metric, namespaces))
    return memo[1]


_MEMOS: "WeakKeyDictionary[StoreReader, tuple[tuple[int, Metric, Namespaces], tuple[HeatGroup, ...]]]" = (
    WeakKeyDictionary()
)


def _groups(store: StoreReader, metric: Metric, namespaces: Namespaces) -> tuple[HeatGroup, ...]:
    by_pool: dict[str, list[Node]] = {}
    for node in store.records(Kind.NODE).values():
        if node.has_gpus:
            by_pool.setdefault(node.pool or NO_POOL, []).append(node)
    made: list[HeatGroup] = []
    for name in sorted(by_pool, key=lambda one: (one == NO_POOL, natural(one))):
        nodes = sorted(by_pool[name], key=lambda node: natural(node.name))
        shades = _Shades(metric, store, nodes, namespaces)
        made.append(HeatGroup(name, tuple(HeatBlock(node.name, shades.levels(node)) for node in nodes)))
    return tuple(made)


class _Shades:
    """Levels of one pool's cards under one metric."""

    def __init__(
        self, metric: Metric, store: StoreReader, nodes: Sequence[Node], namespaces: Namespaces
    ) -> None:
        self._metric = metric
        self._store = store
        self._namespaces = namespaces
        self._sees_all = is_use_known(store)
        self._most_watts = 0.0
        self._names = _named(store, metric) if metric in _NAMED else {}
        if metric is Metric.POWER:
            every = [card for node in nodes for card in store.gpus_on(node.name)]
            self._most_watts = max(cards.numbers(every, cards.power), default=0.0)

    def levels(self, node: Node) -> tuple[int, ...]:
        """One level a card by index, whatever it is cut into; cards without telemetry at the end."""
        found = self._store.gpus_on(node.name)
        known = physical.whole_cards(found)
        promised = physical.cards_promised(node, found)
        if node.ready != "True" and node.gpu_capacity is not None:
            return (LOST,) * max(len(known), promised)
        levels = [self._level(card) for card in known]
        usable = promised if node.gpu_allocatable is not None else 0
        if not physical.is_split(node, found):
            usable = node.gpu_allocatable or 0
        levels += [self._without_telemetry(node, place) for place in range(len(levels), usable)]
        coming = LOST if node.gpu_capacity else NOT_COLLECTED
        levels += [coming] * max(0, promised - len(levels))
        return tuple(levels)

    def _without_telemetry(self, node: Node, place: int) -> int:
        """An unmeasured device: free where the API server shows fewer allocated, else not collected."""
        if not self._sees_all:
            return NOT_COLLECTED
        allocated = self._store.requests_on(node.name).gpus
        return NOT_COLLECTED if place < allocated else FREE  # shares: as many cards at the most

    def _level(self, card: Gpu) -> int:
        if self._metric in _NAMED:
            return self._named_level(card)
        if card.pod_namespace and card.pod_namespace not in self._namespaces:
            return FREE
        value = self._ratio(card)
        if isinstance(value, Absent):
            return ABSENT_LEVELS.get(value, NOT_COLLECTED)
        is_idle = not isinstance(card.duty_ratio, Absent) and card.duty_ratio < fmt.DUTY_IDLE_RATIO
        if card.mark is Mark.UNALLOCATED and is_idle and self._metric in _OF_USE:
            return FREE
        return fmt.level(value)

    def _named_level(self, card: Gpu) -> int:
        """The shade of who holds the card: free where no pod does, not collected where it is unknown."""
        if card.pod_namespace and card.pod_namespace not in self._namespaces:
            return FREE
        if not card.pod_name:
            return FREE if card.mark is Mark.UNALLOCATED else NOT_COLLECTED
        if self._metric is Metric.OWNER:
            return self._names.get(card.pod_namespace, NOT_COLLECTED)
        pod = self._store.by_key(Kind.POD, f"{card.pod_namespace}/{card.pod_name}")
        return self._names.get(_class_of(pod), NOT_COLLECTED) if isinstance(pod, Pod) else NOT_COLLECTED

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
        return _health(card)


_NAMED = (Metric.OWNER, Metric.PRIORITY)
"""Metrics whose shades stand for names."""

_OF_USE = (Metric.DUTY, Metric.MEMORY)
"""Metrics of what a holder does: a free card has none. Heat, power and health every card has."""


def _scaled(value: Reading, low: float, high: float) -> Reading:
    if isinstance(value, Absent):
        return value
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def _health(card: Gpu) -> Reading:
    is_throttled = bool((card.throttle or 0) & HARMFUL)
    if card.xid is None:
        return 0.6 if is_throttled else Absent.NOT_COLLECTED
    if card.xid and xid_class(card.xid).is_bad:
        return 1.0
    return 0.6 if card.xid or is_throttled else 0.1
