"""GPU nodes that need a human, as the engine judges them: broken ones, and those worth a look."""

from typing import NamedTuple

from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.model.finding import Finding, Subject
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.record import label
from cockpit.model.store_reader import StoreReader
from cockpit.model.xid import xid_class
from cockpit.pools.idle import RECLAIM
from cockpit.pools.promise import GpuPromise, gpus_promised
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage import node_signs, node_walk
from cockpit.triage.evidence import finished
from cockpit.triage.left_over import CLEAN, LEFT
from cockpit.triage.node_signs import Budgets
from cockpit.triage.recurrence import of_readiness
from cockpit.triage.remedies import DRAIN, OPEN, WHY

_FINDING: dict[str, str] = {
    Cause.NODE_NOT_READY: "node-not-ready",
    Cause.GPU_STACK_DOWN: "node-gpus-lost",
    Cause.NODE_PRESSURE: "node-pressure",
}
_BAD_SIGNS = (node_signs.RECLAIMED, node_signs.BLOCKED)


class NodeReads(NamedTuple):
    """What findings of nodes rest on beside the node. `named` are nodes that are looked at whether they have
    GPUs or not, `marked` those whose machines have our mark to go."""

    named: frozenset[str]
    marked: frozenset[str]
    budgets: Budgets
    ended_drains: frozenset[str]


def gpu_node_finding(node: Node, store: StoreReader, now_seconds: float, reads: NodeReads) -> Finding | None:
    """The worst that needs a human about a node with GPUs, or one that `reads` names."""
    cards = store.gpus_on(node.name)
    is_marked = node.name in reads.marked or bool(label(node.annotations, RECLAIM))
    promise = gpus_promised(node, store)
    if not (promise is not None or cards or is_marked or node.name in reads.named):
        return None
    is_plain = _is_plain(node, cards, promise, store) and not is_marked
    if is_plain and of_readiness(node, store, now_seconds) is None:
        return None  # by far the most nodes: say so before anything is computed
    return node_finding(node, store, now_seconds, reads.budgets, reads.ended_drains)


def node_finding(
    node: Node,
    store: StoreReader,
    now_seconds: float,
    budgets: Budgets = None,
    ended_drains: frozenset[str] = frozenset(),
) -> Finding | None:
    """What needs a human about a node, whether it has GPUs or not."""
    stage = node_stage(node, store)
    if stage == NodeStage.LEAVING:
        return None
    if stage != NodeStage.DRAINING:
        found = node_walk.judge(node, store, now_seconds)
        if found is not None:
            return _broken(node, found, store)
    sign = node_signs.judge(node, store, now_seconds, budgets, ended_drains)
    return None if sign is None else _sign(node, sign, store)


def _is_plain(node: Node, cards: tuple[Gpu, ...], promise: GpuPromise | None, store: StoreReader) -> bool:
    if node.ready != "True" or node.unschedulable or node_signs.is_tainted(node):
        return False
    shown = node.gpu_allocatable or 0
    if promise is not None and (shown < promise.gpus or not shown):
        return False
    for one in node.conditions:
        if one.status == "True" and one.type != "Ready":
            return False
    return not any(card.xid and xid_class(card.xid).is_bad for card in cards) and not (
        node_signs.is_remarkable(cards, store)
    )


def _broken(node: Node, found: Finding, store: StoreReader) -> Finding:
    expected, shown = node_walk.gpus_expected(node, store), node.gpu_allocatable or 0
    gpus = max(1, expected - shown) if found.cause == Cause.GPUS_UNHEALTHY else expected
    own = "node-gpus-lost" if shown < expected else "node-xid"
    drains = node.ready == "True" and store.requests_on(node.name).gpus > 0  # a dead kubelet ends no pod
    return _about(node, _FINDING.get(found.cause, own), found, gpus=gpus, drains=drains)


def _sign(node: Node, found: Finding, store: StoreReader) -> Finding:
    facts = dict(found.facts)
    sign = facts["sign"]
    held = store.requests_on(node.name).gpus if sign in _BAD_SIGNS else int(facts.get("silent", "1"))
    made = _about(node, f"node-{sign}", found, gpus=held, is_bad=sign == node_signs.RECLAIMED)
    if sign != LEFT:
        return made
    shown = node.gpu_allocatable or 0  # what pods have of it works; the rest is kept from everybody
    return replace(made, remedies=(CLEAN, WHY), gpus=max(0, shown - store.requests_on(node.name).gpus))


def _about(
    node: Node, finding: str, found: Finding, *, gpus: int, is_bad: bool = True, drains: bool = False
) -> Finding:
    return replace(
        finished(found, Subject("node", "", node.name), gpus=gpus),
        finding=finding,
        row=node.name,
        is_bad=is_bad,
        remedies=(DRAIN, WHY) if drains and not node.unschedulable else (OPEN, WHY),
    )
