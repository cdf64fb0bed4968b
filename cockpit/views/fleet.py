"""The fleet in a few numbers: nodes, and what became of every GPU."""

from collections.abc import Sequence
from dataclasses import dataclass

from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.views import cards
from cockpit.views import format as fmt
from cockpit.views.source import StoreReader


@dataclass(frozen=True, slots=True)
class Fleet:
    """Devices sum up: `gpus` = busy + idle_held + held_unknown + free + lost. `joining` are promised ones of
    nodes that do not show theirs yet and are not part of `gpus`. `duty` is the mean over held cards that
    telemetry knows; `sampled_seconds` the time of the newest sample."""

    nodes: int = 0
    gpu_nodes: int = 0
    gpus: int = 0
    busy: int = 0
    idle_held: int = 0
    held_unknown: int = 0
    free: int = 0
    lost: int = 0
    joining: int = 0
    duty: Reading = Absent.NOT_COLLECTED
    sampled_seconds: float | None = None

    @property
    def held(self) -> int:
        return self.busy + self.idle_held + self.held_unknown


@dataclass(frozen=True, slots=True)
class Share:
    """What became of one node's devices."""

    busy: int = 0
    idle_held: int = 0
    held_unknown: int = 0
    free: int = 0
    lost: int = 0
    joining: int = 0


def share(node: Node, held: int, gpus: Sequence[Gpu]) -> Share:
    """Devices of one node. Time-sliced capacity is counted as the scheduler counts it.

    Lost are devices that the node showed or was promised and that nothing can be put on: no longer
    allocatable, or on a node whose kubelet is not Ready, as far as no pod holds them.
    """
    if node.gpu_capacity is None or (node.gpu_capacity == 0 and node.gpus_expected):
        return Share(joining=node.gpus_expected or 0)
    replicas = max(1, node.gpu_replicas)
    total = max(node.gpu_capacity, (node.gpus_expected or 0) * replicas)
    usable = min(node.gpu_allocatable or 0, total)
    # pods keep devices that fell out of allocatable until they end
    held = min(held, total)
    free = max(0, usable - held) if node.ready == "True" else 0
    known = [card for card in gpus if not isinstance(card.duty_ratio, Absent)]
    named = [card for card in known if cards.is_held(card)]
    if not named and held >= usable > 0:
        named = known  # every device is held, so every card is, whether or not the exporter names the pod
    idle = min(held, sum(1 for card in named if _duty(card) < fmt.DUTY_IDLE_RATIO))
    busy = min(held - idle, len(named) - idle) if len(named) > idle else 0
    return Share(
        busy=busy,
        idle_held=idle,
        held_unknown=held - idle - busy,
        free=free,
        lost=total - held - free,
    )


def _duty(card: Gpu) -> float:
    return 0.0 if isinstance(card.duty_ratio, Absent) else card.duty_ratio


def fleet(store: StoreReader) -> Fleet:
    """The whole cluster, whatever the namespace: nodes belong to none."""
    nodes: list[Node] = list(store.records(Kind.NODE).values())
    shares: list[Share] = []
    duties: list[float] = []
    sampled: list[float] = []
    for node in nodes:
        if not node.has_gpus:
            continue
        gpus = store.gpus_on(node.name)
        held = store.requests_on(node.name).gpus
        shares.append(share(node, held, gpus))
        sampled.extend(card.sampled_seconds for card in gpus if card.sampled_seconds is not None)
        duties.extend(
            card.duty_ratio
            for card in gpus
            if not isinstance(card.duty_ratio, Absent) and (cards.is_held(card) or held >= len(gpus))
        )
    total = Share(
        *(sum(getattr(one, name) for one in shares) for name in Share.__slots__)  # the fields in order
    )
    return Fleet(
        nodes=len(nodes),
        gpu_nodes=len(shares),
        gpus=total.busy + total.idle_held + total.held_unknown + total.free + total.lost,
        busy=total.busy,
        idle_held=total.idle_held,
        held_unknown=total.held_unknown,
        free=total.free,
        lost=total.lost,
        joining=total.joining,
        duty=cards.mean(duties) if duties else _why_none(store),
        sampled_seconds=max(sampled, default=None),
    )


def _why_none(store: StoreReader) -> Reading:
    gpus: list[Gpu] = list(store.records(Kind.GPU).values())
    return Absent.STALE if any(card.duty_ratio is Absent.STALE for card in gpus) else Absent.NOT_COLLECTED
