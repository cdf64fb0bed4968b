"""GPU nodes that need a human: not ready, fewer GPUs than promised, errors, cards that fell silent."""

from collections.abc import Iterator
from statistics import median

from cockpit.gangs.sentence import counted, one_line
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.throttle import HARMFUL
from cockpit.model.throttle import sentence as sentence_of
from cockpit.model.xid import xid_class
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage.finding import OPEN, Attention, KeyRemedy

JOINING_SECONDS = 900.0
"""Driver, toolkit and device plugin may take this long after the node joined before it is strange."""

WARM_CELSIUS = 80.0
"""From here on a low clock is put down to heat; slowdown begins at 83 to 93 degrees on data centre cards."""
HOT_CELSIUS = 90.0
"""Told without any other sign: above the slowdown of nearly all cards."""
BUSY_RATIO = 0.5
SLOW_RATIO = 0.8


def node_findings(store: StoreReader, now_seconds: float) -> Iterator[Attention]:
    """What needs a human about nodes with GPUs; at most one finding a node, the worst cause first."""
    for node in store.records(Kind.NODE).values():
        if not node.has_gpus and not store.gpus_on(node.name):
            continue
        found = _finding(node, store, now_seconds)
        if found is not None:
            yield found


def _finding(node: Node, store: StoreReader, now_seconds: float) -> Attention | None:
    cards = store.gpus_on(node.name)
    expected, shown = _expected(node), node.gpu_allocatable or 0
    if node.ready == "True" and shown >= expected and not any(_is_remarkable(card) for card in cards):
        return None  # by far the most nodes: say so before anything is computed
    stage = node_stage(node, store)
    if stage in (NodeStage.LEAVING, NodeStage.DRAINING):
        return None
    if stage == NodeStage.NOT_READY:
        return _not_ready(node, store)
    if stage == NodeStage.JOINED:
        return _joining(node, "has not become ready since it joined", now_seconds)
    errors = _errors(cards)
    if expected and shown < expected:
        if stage == NodeStage.NOT_ADVERTISED and _age(node, now_seconds) < JOINING_SECONDS:
            return None
        sentence = f"{shown} of {expected} GPUs advertised" + (f", {errors}" if errors else "")
        return _about(node, "node-gpus-lost", sentence, (OPEN,), since=None, gpus=expected - shown)
    if errors:
        return _about(node, "node-xid", errors, (OPEN,), since=None, gpus=1)
    if heat := _throttled(cards):
        return _about(node, "node-hot", heat, (OPEN,), since=None, gpus=1, is_bad=False)
    silent = sum(1 for card in cards if card.duty_ratio is Absent.STALE)
    if silent:
        oldest = min((card.sampled_seconds for card in cards if card.sampled_seconds), default=None)
        status = store.status(Kind.GPU)
        is_partial = status is not None and status.is_partial
        why = "the metrics server answered only in part" if is_partial else "the exporter or the card is gone"
        sentence = f"{counted(silent, 'GPU')} stopped reporting: {why}"
        return _about(node, "node-silent", sentence, (OPEN,), since=oldest, gpus=silent, is_bad=False)
    return None


def _is_remarkable(card: Gpu) -> bool:
    return (
        bool(card.xid)
        or card.duty_ratio is Absent.STALE
        or bool(card.throttle & HARMFUL)
        or _celsius(card) >= WARM_CELSIUS
    )


def _celsius(card: Gpu) -> float:
    return 0.0 if isinstance(card.temperature_celsius, Absent) else card.temperature_celsius


def _clock(card: Gpu) -> float:
    """SM clock of a card at work, 0 where it rests or nobody tells."""
    if isinstance(card.duty_ratio, Absent) or isinstance(card.sm_clock_hertz, Absent):
        return 0.0
    return card.sm_clock_hertz if card.duty_ratio >= BUSY_RATIO else 0.0


def _throttled(cards: tuple[Gpu, ...]) -> str:
    """ "GPU 2 at 88°C: too hot: the hardware slows it" for the first card that is throttled: its own
    word where that is collected, else heat together with a clock far below that of its neighbours at work.
    """
    for card in cards:
        if card.throttle & HARMFUL:
            heat = f" at {_celsius(card):.0f}°C" if _celsius(card) else ""
            return f"GPU {card.index}{heat}: {sentence_of(card.throttle & HARMFUL)}"
    hot = [card for card in cards if _celsius(card) >= WARM_CELSIUS and _clock(card)]
    for card in hot:
        others = [_clock(one) for one in cards if one is not card and one.model == card.model and _clock(one)]
        usual = median(others) if others else 0.0
        if _clock(card) < SLOW_RATIO * usual:
            clock = f"{_clock(card) / 1e6:.0f} MHz where its neighbours run at {usual / 1e6:.0f}"
            return f"GPU {card.index} at {_celsius(card):.0f}°C is slowed down, most likely by heat: {clock}"
    too_hot = [card for card in cards if _celsius(card) >= HOT_CELSIUS]
    return f"GPU {too_hot[0].index} is hot: {_celsius(too_hot[0]):.0f}°C" if too_hot else ""


def _not_ready(node: Node, store: StoreReader) -> Attention:
    allocated = store.requests_on(node.name).gpus
    ready = condition(node.conditions, "Ready")
    return _about(
        node,
        "node-not-ready",
        f"not ready{_detail(node)}"
        + (f"; pods on it occupy {counted(allocated, 'GPU')}" if allocated else ""),
        (OPEN,),
        since=None if ready is None else ready.changed_seconds,
        gpus=node.gpu_capacity or node.gpus_expected or 0,
    )


def _about(
    node: Node,
    finding: str,
    sentence: str,
    remedies: tuple[KeyRemedy, ...],
    *,
    since: float | None,
    gpus: int,
    is_bad: bool = True,
) -> Attention:
    return Attention(
        finding=finding,
        subject_key=node.name,
        is_bad=is_bad,
        subject=f"node {node.name}",
        sentence=one_line(sentence),
        remedies=remedies,
        since_seconds=since,
        gpus=gpus,
    )


def _detail(node: Node) -> str:
    ready = condition(node.conditions, "Ready")
    if ready is None or not (ready.message or ready.reason):
        return ""
    return f": {(ready.message or ready.reason).rstrip('.')}"


def _age(node: Node, now_seconds: float) -> float:
    return float("inf") if node.created_seconds is None else now_seconds - node.created_seconds


def _joining(node: Node, sentence: str, now_seconds: float) -> Attention | None:
    if node.created_seconds is None or _age(node, now_seconds) < JOINING_SECONDS:
        return None
    gpus = node.gpus_expected or 0
    return _about(node, "node-joining", sentence, (OPEN,), since=node.created_seconds, gpus=gpus)


def _expected(node: Node) -> int:
    """Devices the node ought to offer, as the scheduler counts them (time-slicing multiplies)."""
    promised = (node.gpus_expected or 0) * max(1, node.gpu_replicas)
    return max(promised, node.gpu_capacity or 0)


def _errors(cards: tuple[Gpu, ...]) -> str:
    """ "Xid 79 on GPU 3" for the cards whose last code asks to take them out of use, "" where none does."""
    bad = [(card.xid, card.index) for card in cards if card.xid and xid_class(card.xid).is_bad]
    if not bad:
        return ""
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return f"Xid {bad[0][0]} on GPU {bad[0][1]}{more}"
