"""Nodes and cards: what is wrong with them, the worst first."""

from collections.abc import Iterator

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.gangs.sentence import counted
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.record import Kind, condition, label
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.model.xid import xid_class, xid_meaning
from cockpit.pools.ladder import GPUS_LIMIT_SECONDS
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage import node_signs
from cockpit.triage.cause_found import CauseFound, draft, finished
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.verdict import Evidence, Subject, Verdict

JOINING_SECONDS = 900.0
"""So long after it was made a node may take to get ready, or to show again the GPUs that pods hold."""

_PRESENT = "nvidia.com/gpu.present"
PRESSURE = {"DiskPressure": "disk", "MemoryPressure": "memory", "PIDPressure": "process ids"}


def of_node(subject: Subject, view: ClusterView) -> Verdict:
    """What is wrong with a node."""
    node: Node | None = view.store.by_key(Kind.NODE, subject.name)
    if node is None:
        return Verdict(subject=subject, sentence="no node of that name is known here")
    found = judge(node, view.store, view.now_seconds) or node_signs.judge(
        node, view.store, view.now_seconds, view.around.budgets, view.ended_drains
    )
    if found is None:
        return Verdict(subject=subject, sureness=Sureness.SAID)
    return finished(found, subject, gpus=gpus_expected(node))


def of_card(subject: Subject, view: ClusterView) -> Verdict:
    """What is wrong with a card: its own error, else what is wrong with its node, which is the root then."""
    name, _, index = subject.name.rpartition("/")
    for card in view.store.gpus_on(name):
        if str(card.index) == index and card.xid and xid_class(card.xid).is_bad:
            return finished(_of_xid([card], name), subject, gpus=1)
    found = of_node(Subject("node", "", name), view)
    if found.is_trouble:
        return by_node(found, subject, gpus=1)
    return msgspec.structs.replace(found, subject=subject)


def by_node(found: Verdict, subject: Subject, *, gpus: int) -> Verdict:
    """The trouble of a node as that of what belongs to it: the sentence begins with the node's name."""
    why = draft("", "node {node}: {why}", names={"node": found.subject.name, "why": found.sentence})
    made = CauseFound(
        cause=found.cause,
        sentence=why.sentence,
        sureness=found.sureness,
        evidence=found.evidence,
        root=found.subject,
        since_seconds=found.since_seconds,
    )
    return finished(made, subject, gpus=gpus)


def troubles(view: ClusterView) -> list[Verdict]:
    """A verdict for each node with GPUs that is in trouble."""
    return list(_troubles(view))


def _troubles(view: ClusterView) -> Iterator[Verdict]:
    for node in view.store.records(Kind.NODE).values():
        found = judge(node, view.store, view.now_seconds)
        if found is not None and found.cause:
            yield finished(found, Subject("node", "", node.name), gpus=gpus_expected(node))


def judge(node: Node, store: StoreReader, now_seconds: float) -> CauseFound | None:
    """The worst that is wrong with a node, None where nothing is."""
    if node.deleting_seconds is not None:
        return None
    name = f"Node {node.name}"
    if node.ready != "True":
        return _not_ready(node, store, now_seconds)
    errors = [card for card in store.gpus_on(node.name) if card.xid and xid_class(card.xid).is_bad]
    expected, shown = gpus_expected(node), node.gpu_allocatable or 0
    if expected and shown < expected:
        if not shown:
            return _dark(node, store, now_seconds, expected)
        said = Evidence(name, f"allocatable {node.gpu_resource}", f"{shown} of {expected}")
        lost = expected - shown
        names: dict[str, object] = {"lost": lost, "expected": expected}
        text = "{lost} of {expected} GPUs are unhealthy"
        if errors:
            text += ": " + _error_words(errors)
        return draft(Cause.GPUS_UNHEALTHY, text, names=names, sureness=Sureness.PROVED, evidence=(said,))
    if not expected and not shown and is_labelled(node):
        return _dark(node, store, now_seconds, 0)
    if errors:
        return _of_xid(errors, node.name)
    for one in node.conditions:
        if one.type in PRESSURE and one.status == "True":
            said = Evidence(name, f"condition {one.type}", one.message or one.reason, one.changed_seconds)
            return draft(
                Cause.NODE_PRESSURE,
                "short of {what}: {why}",
                names={"what": PRESSURE[one.type], "why": one.message or one.reason},
                evidence=(said,),
                since_seconds=one.changed_seconds,
            )
    return None


def is_labelled(node: Node) -> bool:
    """Whether a label promises GPUs."""
    return label(node.labels, _PRESENT) == "true"


def _of_xid(cards: list[Gpu], node: str) -> CauseFound:
    said = Evidence(f"Node {node}", "DCGM_FI_DEV_XID_ERRORS", ", ".join(str(one.xid) for one in cards))
    advice = xid_class(cards[0].xid or 0).value
    return draft(Cause.GPUS_UNHEALTHY, f"{_error_words(cards)}: {advice}", evidence=(said,))


def _error_words(cards: list[Gpu]) -> str:
    """`a double-bit memory error on GPU 3 (Xid 48)`."""
    first = cards[0]
    code = first.xid or 0
    more = f" and {len(cards) - 1} more" if len(cards) > 1 else ""
    meaning = xid_meaning(code)
    return (
        f"{meaning} on GPU {first.index} (Xid {code}){more}"
        if meaning
        else f"Xid {code} on GPU {first.index}{more}"
    )


def _not_ready(node: Node, store: StoreReader, now_seconds: float) -> CauseFound | None:
    ready = condition(node.conditions, "Ready")
    age = float("inf") if node.created_seconds is None else now_seconds - node.created_seconds
    if node_stage(node, store) == NodeStage.JOINED and age < JOINING_SECONDS:
        return None
    held = store.requests_on(node.name).gpus
    why = "" if ready is None else (ready.message or ready.reason).rstrip(".")
    is_silent = ready is not None and ready.status == "Unknown"
    words = "its kubelet is silent" if is_silent else "not ready: {why}" if why else "not ready"
    if held:
        words += "; pods on it occupy {gpus}"
    said = Evidence(
        f"Node {node.name}", "condition Ready", why, None if ready is None else ready.changed_seconds
    )
    return draft(
        Cause.NODE_NOT_READY,
        words,
        names={"why": why, "gpus": counted(held, "GPU")},
        evidence=(said,),
        since_seconds=None if ready is None else ready.changed_seconds,
    )


def _dark(node: Node, store: StoreReader, now_seconds: float, expected: int) -> CauseFound | None:
    """Ready, and no GPU offered although labels promise some."""
    age = float("inf") if node.created_seconds is None else now_seconds - node.created_seconds
    if age < (JOINING_SECONDS if store.requests_on(node.name).gpus else GPUS_LIMIT_SECONDS):
        return None  # nobody has had GPUs of it yet: its driver is being installed
    said = Evidence(f"Node {node.name}", "allocatable", "no GPU", node.created_seconds)
    plugin = _broken_plugin(node, store)
    names: dict[str, object] = {"gpus": f"its {expected} GPUs" if expected > 1 else "its GPUs"}
    text = "ready, but offers none of {gpus}: driver or device plugin is down"
    if plugin:
        names["pod"] = plugin
        text = "ready, but offers none of {gpus}: {pod} does not run"
    return draft(Cause.GPU_STACK_DOWN, text, names=names, sureness=Sureness.INFERRED, evidence=(said,))


def _broken_plugin(node: Node, store: StoreReader) -> str:
    for pod in store.pods_on(node.name):
        if pod.is_ready or pod.is_finished:
            continue
        if any(
            word in pod.name
            for word in ("device-plugin", "driver-daemonset", "operator-validator", "toolkit")
        ):
            return pod.name
    return ""


def gpus_expected(node: Node) -> int:
    """Devices the node ought to offer, as the scheduler counts them (time-slicing multiplies)."""
    promised = (node.gpus_expected or 0) * max(1, node.gpu_replicas)
    return max(promised, node.gpu_capacity or 0)
