"""What is worth knowing of a node that is not broken: the cloud takes it back, its drain is blocked, a
session that broke off left marks, its cards are slow or silent. None of it keeps a job from starting."""

from collections.abc import Iterator, Mapping
from statistics import median
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from cockpit.catalogue import Mender
from cockpit.fit.scheduling_context import Budget
from cockpit.gangs.draft import draft
from cockpit.gangs.sentence import counted, listed
from cockpit.k8s.labels import RECLAIM_TAINTS
from cockpit.k8s.selectors import selects
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.model.throttle import WARM_CELSIUS
from cockpit.model.throttle import sentence as sentence_of
from cockpit.pools.drain_mark import mark_of, still_there
from cockpit.pools.idle import RECLAIM, RECLAIM_AT
from cockpit.pools.idle import is_tainted as is_closed_for_removal
from cockpit.pools.index import pool_keyed, pools_of
from cockpit.pools.registry import marking_machines
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage.judgement import of_event, of_pod
from cockpit.triage.on_demand import left_on
from cockpit.triage.recurrence import LASTS_SECONDS, of_card

RECLAIMED, LEFT, BLOCKED, HOT, SILENT = "reclaimed", "left-over", "drain-blocked", "hot", "silent"
"""The signs, as the fact "sign" names them."""

SIGN_REMEDIES = {
    RECLAIMED: ("Let its jobs save and end, or drain it: what runs on it is lost soon.", Mender.ADMIN),
    BLOCKED: ("Ask the owner to delete the pods, or to raise replicas or the budget.", Mender.ADMIN),
    LEFT: ("Uncordon it: cordon, taint and marks are taken off; or begin it again.", Mender.ADMIN),
    HOT: ("Cordon it and look after cooling and power limits.", Mender.INFRA),
    SILENT: ("Look after the exporter's pod on it; where that runs, after the card.", Mender.INFRA),
}
"""What helps with each, and who can."""

BUSY_RATIO = 0.5
SLOW_RATIO = 0.8
LEFT_SECONDS = 600.0
"""Marks that are younger may be of a removal on its way: the Lease of its pool lasts as long."""
NEWS_SECONDS = 900.0
"""An event is a sign for so long; who emits it says it again well before."""

_RECLAIM_EVENTS = frozenset(
    {
        # karpenter pkg/controllers/interruption/events, aws-node-termination-handler, AKS
        *("SpotInterrupted", "InstanceTerminating", "SpotInterruption", "PreemptScheduled")
    }
)
_RECLAIM_CONDITION = ("VMEventScheduled", ("PreemptScheduled", "TerminateScheduled"))
_BLOCKED_EVENTS = frozenset({"DisruptionBlocked", "FailedDraining", "ScaleDownFailed"})
"""Sources: karpenter pkg/events/reason.go; cluster-autoscaler core/scaledown/actuation."""


Budgets = tuple[Budget, ...] | None
"""None: not read, or denied."""


def judge(
    node: Node,
    store: StoreReader,
    now_seconds: float,
    budgets: Budgets = None,
    ended_drains: frozenset[str] = frozenset(),
) -> Finding | None:
    """The sign that matters most, None where there is none."""
    return (
        reclaimed(node, store, now_seconds)
        or left_on_node(node, store, now_seconds, ended_drains)
        or _blocked(node, store, now_seconds)
        or _kept(node, store, budgets)
        or _of_cards(store.gpus_on(node.name), store)
    )


def is_remarkable(cards: tuple[Gpu, ...], store: StoreReader) -> bool:
    """False for the cards of nearly all nodes: said before anything is computed."""
    for card in cards:
        if store.slowdown(card.uuid) is not None or store.warm_since(card.uuid) is not None:
            return True
        if card.duty_ratio is Absent.STALE:
            return True
    return False


def _events(node: Node, store: StoreReader, now_seconds: float) -> Iterator[Event]:
    """What was said of the node of late; a kubelet names it as the uid, too."""
    for uid in (node.uid, node.name):
        for event in store.events_of(uid):
            if event.last_seconds is not None and now_seconds - event.last_seconds <= NEWS_SECONDS:
                yield event


def reclaimed(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    """The cloud said that it takes the node back: by taint, condition or event; None where it did not."""
    taint = next((one.key for one in node.taints if one.key in RECLAIM_TAINTS), "")
    name = f"Node {node.name}"
    said: Evidence | None = Evidence(name, "spec.taints", taint) if taint else None
    by = f"taint {taint}"
    kind, reasons = _RECLAIM_CONDITION
    for one in node.conditions:
        if said is None and one.type == kind and one.status == "True" and one.reason in reasons:
            said, by = Evidence(name, kind, one.message, one.changed_seconds), f"condition {kind}"
    for event in _events(node, store, now_seconds):
        if said is None and event.reason in _RECLAIM_EVENTS:
            said, by = of_event(event), f"event {event.reason}"
    if said is None:
        return None
    held = store.requests_on(node.name).gpus
    words = "the cloud takes the node back soon ({by})" + ("; {gpus} in use" if held else "")
    return _sign(RECLAIMED, words, {"by": by, "gpus": counted(held, "GPU")}, said, since=said.since_seconds)


def _sign(
    sign: str, words: str, names: Mapping[str, object], *said: Evidence, since: float | None = None
) -> Finding:
    return draft("", words, names, *said, facts=(("sign", sign),), since_seconds=since)


def _blocked(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    if not node.unschedulable and node_stage(node, store) != NodeStage.DRAINING:
        return None
    for event in _events(node, store, now_seconds):
        if event.reason in _BLOCKED_EVENTS:
            names, since = {"why": event.message or event.reason}, event.first_seconds
            return _sign(BLOCKED, "its drain is blocked: {why}", names, of_event(event), since=since)
    return None


def _kept(node: Node, store: StoreReader, budgets: Budgets) -> Finding | None:
    """To be emptied, and every pod left is kept by a budget that allows nobody to go: an eviction is refused,
    and leaves no event. Where others are left too nobody drains it."""
    is_going = node_stage(node, store) == NodeStage.DRAINING
    if not budgets or not (node.unschedulable or is_going):
        return None
    left = left_on(node, store)
    kept = [_keeper(pod, budgets) for pod in left]
    first = kept[0] if kept else None
    if first is None or None in kept:
        return None
    budget, what = f"{first.namespace}/{first.name}", "its drain" if is_going else "cordoned, a drain"
    said = [Evidence(f"PodDisruptionBudget {budget}", "status.disruptionsAllowed", "0")]
    said += [of_pod(pod, "spec.nodeName", node.name) for pod in left[:_MOST_PODS]]
    names = {"budget": budget, "pods": counted(len(left), "pod")}
    made = _sign(BLOCKED, f"{what} is blocked: budget {{budget}} lets no pod go, {{pods}} left", names, *said)
    return replace(made, sureness=Sureness.PROVED)


_MOST_PODS = 4


def _keeper(pod: Pod, budgets: tuple[Budget, ...]) -> Budget | None:
    labels = dict(pod.traits.labels)
    for one in budgets:
        if one.allowed <= 0 and one.namespace == pod.namespace and selects(one.selector, labels):
            return one
    return None


def _of_cards(cards: tuple[Gpu, ...], store: StoreReader) -> Finding | None:
    if (slow := _slowed(cards, store)) is not None:
        return slow
    if heat := _slow_by_heat(cards, store):
        return _sign(HOT, "{heat}", {"heat": heat})
    silent = [card for card in cards if card.duty_ratio is Absent.STALE]
    if not silent:
        return None
    oldest = min((card.sampled_seconds for card in cards if card.sampled_seconds), default=None)
    status = store.status(Kind.GPU)
    is_partial = status is not None and status.is_partial
    why = "the metrics server answered only in part" if is_partial else "the exporter or the card is gone"
    made = _sign(SILENT, f"{counted(len(silent), 'GPU')} stopped reporting: {why}", {}, since=oldest)
    return replace(made, facts=(*made.facts, ("silent", str(len(silent)))))


def _celsius(card: Gpu) -> float:
    return 0.0 if isinstance(card.temperature_celsius, Absent) else card.temperature_celsius


def _clock(card: Gpu) -> float:
    """SM clock of a card at work, 0 where it rests or nobody tells."""
    if isinstance(card.duty_ratio, Absent) or isinstance(card.sm_clock_hertz, Absent):
        return 0.0
    return card.sm_clock_hertz if card.duty_ratio >= BUSY_RATIO else 0.0


def _slowed(cards: tuple[Gpu, ...], store: StoreReader) -> Finding | None:
    """`GPU 2: too hot: the hardware slows it, 3 times in 9 min` of the first card that was throttled or hot
    again and again of late, or for long."""
    for card in cards:
        came, slow = of_card(card.uuid, store), store.slowdown(card.uuid)
        if came is None or slow is None:
            continue
        heat = f" at {_celsius(card):.0f}°C" if _celsius(card) >= WARM_CELSIUS else ""
        words, names = f"GPU {card.index}{heat}: {{why}}, {{times}}", {"why": sentence_of(slow.bits)}
        return _sign(HOT, words, {**names, "times": came.words}, since=came.first_seconds)
    return None


def _slow_by_heat(cards: tuple[Gpu, ...], store: StoreReader) -> str:
    """A card that has been warm for a while, with a clock far below that of its neighbours at work."""
    for card in cards:
        since, at = store.warm_since(card.uuid), card.sampled_seconds
        if since is None or at is None or at - since < LASTS_SECONDS or not _clock(card):
            continue
        others = [_clock(one) for one in cards if one is not card and one.model == card.model and _clock(one)]
        usual = median(others) if others else 0.0
        if _clock(card) < SLOW_RATIO * usual:
            clock = f"{_clock(card) / 1e6:.0f} MHz where its neighbours run at {usual / 1e6:.0f}"
            return f"GPU {card.index} at {_celsius(card):.0f}°C is slowed down, most likely by heat: {clock}"
    return ""


# ---- what sessions that were broken off left on nodes and machines


def marked_nodes(store: StoreReader) -> frozenset[str]:
    """Nodes whose machines have our mark to go before others."""
    revision, kept = store.revision_of(Kind.MACHINE), _MARKED.get(store)
    if kept is None or kept[0] != revision:
        kept = _MARKED[store] = revision, _marked_nodes(store)
    return kept[1]


_MARKED: WeakKeyDictionary[StoreReader, tuple[int, frozenset[str]]] = WeakKeyDictionary()
"""Of each store, as its machines last moved."""


def _marked_nodes(store: StoreReader) -> frozenset[str]:
    return frozenset(
        machine.node
        for machine in store.records(Kind.MACHINE).values()
        if machine.node and machine.annotations
        if any(owner.unmark_calls(machine) for owner in marking_machines())
    )


def left_on_node(
    node: Node, store: StoreReader, now_seconds: float, ended_drains: frozenset[str] = frozenset()
) -> Finding | None:
    """What a removal or a drain that did not go on left on the node, None where it left nothing."""
    if node.deleting_seconds is not None:
        return None
    return _of_removal(node, store, now_seconds) or _of_drain(node, store, ended_drains)


def _of_removal(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    mark = label(node.annotations, RECLAIM)
    is_marked_machine = node.name in marked_nodes(store)
    is_closed = is_closed_for_removal(node)
    if not (mark or is_closed or is_marked_machine):
        return None
    since = _seconds(label(node.annotations, RECLAIM_AT))
    if (since is not None and now_seconds - since < LEFT_SECONDS) or _shrinks(mark, node, store):
        return None
    signs = {"a cordon" if node.unschedulable else "a mark": mark, "a taint": is_closed}
    signs["a mark on its machine"] = is_marked_machine
    left = listed("", [sign for sign, is_there in signs.items() if is_there], 60)
    field = "metadata.annotations" if mark else "spec.taints" if is_closed else "Machine metadata.annotations"
    said, words = (
        Evidence(f"Node {node.name}", field, left, since),
        "a removal of it was begun and did not go on",
    )
    facts = (("sign", LEFT),)
    return draft("", words + "; it left {left}", {"left": left}, said, facts=facts, since_seconds=since)


def _shrinks(mark: str, node: Node, store: StoreReader) -> bool:
    """Whether the owner of its pool has yet to take nodes away: the removal is on its way."""
    pool = pool_keyed(store, mark) if mark else None
    pool = pool or next((it for it in pools_of(store) if node.name in it.node_names), None)
    return pool is not None and pool.target is not None and pool.nodes_now > pool.target


def _of_drain(node: Node, store: StoreReader, ended_drains: frozenset[str]) -> Finding | None:
    mark = mark_of(node)
    if mark is None or node.name not in ended_drains:
        return None
    left = still_there(node.name, store)
    if not left:
        return None  # drained all the same
    words = "its drain, begun {by}, ended with the cockpit that ran it: {pods} left, cordoned"
    names = {"by": mark.begun or "earlier", "pods": counted(len(left), "pod")}
    said = Evidence(f"Node {node.name}", "metadata.annotations", mark.id)
    return draft("", words, names, said, facts=(("sign", LEFT),))


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
