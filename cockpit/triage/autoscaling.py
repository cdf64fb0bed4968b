"""What an autoscaler says of a pod for which no node has room, and what has come of the machine it makes.

Its word is newer than the shortage that it answers: a machine is on its way, a pool is at its maximum, the
cloud has none. A machine that has joined counts before all words: then the pod waits for its GPU driver.
"""

from typing import Final

import msgspec

from cockpit.catalogue import TextPlace, understand
from cockpit.catalogue.cause import Cause
from cockpit.fit.node_filters import Block
from cockpit.model.event import Event
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.pools import registry
from cockpit.pools.ladder import GPUS_LIMIT_SECONDS
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage.cause_found import CauseFound, draft, followed, of_event, without_empty
from cockpit.triage.funnel import Sifted
from cockpit.triage.node_walk import JOINING_SECONDS, gpus_expected
from cockpit.triage.placement_context import PlacementContext
from cockpit.triage.room import amount_words
from cockpit.triage.verdict import Evidence

NEWS_SECONDS: Final = 900.0
"""A word that a node is on its way is old after so long: machines that do not join by then are given up."""

_SAYING = frozenset(
    {"NotTriggerScaleUp", "TriggeredScaleUp", "Nominated", "FailedScheduling", "FailedToScaleUpGroup"}
)
_OF_ROOM = frozenset(
    {
        Cause.GPUS_SHORT,
        Cause.RESOURCE_NOT_OFFERED,
        Cause.OTHER_RESOURCE_SHORT,
        Cause.NO_VICTIMS,
        Cause.NO_NODES,
        Cause.GPUS_IN_PIECES,
    }
)
_OF_OTHER_NODES = frozenset({Cause.TAINT, Cause.NODES_NOT_READY, Cause.CORDONED, Cause.SELECTOR})
"""Causes that a new node of another kind than those there would mend: only what the autoscaler does for the
pod counts there, and not that it finds no pool either."""
_IN_SHORT: Final[dict[str, str]] = {
    Cause.POOL_AT_MAXIMUM: "; the autoscaler adds no node",
    Cause.NODE_COMING: "; a node is on its way",
    Cause.NO_MACHINE: "; the autoscaler cannot add a node",
}
_NO_CAPACITY = "InsufficientCapacityError"
_MOST_NODES = 3
_NOT_READY = "node.kubernetes.io/not-ready"


def answered(pod: Pod, found: CauseFound, sifted: Sifted, context: PlacementContext) -> CauseFound:
    """The cause with what the autoscaler says, or with the new node whose GPUs the pod waits for."""
    if found.cause not in _OF_ROOM and found.cause not in _OF_OTHER_NODES:
        return found
    return _without_gpus_yet(found, sifted, context) or said(pod, found, context)


def said(pod: Pod, found: CauseFound, context: PlacementContext) -> CauseFound:
    """The cause with the autoscaler's newest word behind it, where there is one."""
    for event in context.store.events_of(pod.uid):
        if event.reason not in _SAYING:
            continue
        known = understand(TextPlace.POD, event.message)
        if known is None or known.cause not in _IN_SHORT:
            continue
        if found.cause in _OF_OTHER_NODES and (
            known.cause == Cause.NO_MACHINE or not _is_news(event, context)
        ):
            return found
        if known.cause == Cause.NODE_COMING and (
            none := _sold_out(known.names.get("node", ""), event, context)
        ):
            pool = none.object_name.rpartition("-")[0]
            words, cause, names = "the cloud has no machine for pool {pool}", Cause.NO_MACHINE, {"pool": pool}
            return _with(found, cause, words, names, none, event)
        names = {key: value for key, value in known.names.items() if value}
        return _with(found, known.cause, without_empty(known.wording.words, known.names), names, event)
    return found


def _with(found: CauseFound, cause: str, words: str, names: dict[str, str], *events: Event) -> CauseFound:
    return msgspec.structs.replace(
        followed(found, f"; {words}", _IN_SHORT[cause], **names),
        cause=cause,
        sureness=Sureness.SAID,
        facts=(*names.items(), *found.facts),
        evidence=(*(of_event(one) for one in events), *found.evidence),
        also=(found.cause, *found.also),
    )


def _is_news(event: Event, context: PlacementContext) -> bool:
    last, now = event.last_seconds, context.now_seconds
    return last is not None and now is not None and now - last <= NEWS_SECONDS


def _sold_out(nominated: str, said: Event, context: PlacementContext) -> Event | None:
    """The newest stockout of the pool of a machine `kind/name` that the pod was nominated to.

    A machine that could not be launched is deleted and the pod nominated to another one, so a machine that
    follows counts as failed until it has been launched.
    """
    kinds = {one.api_kind.lower(): one.api_kind for one in registry.watched() if one.kind == Kind.MACHINE}
    word, _, machine = nominated.partition("/")
    kind, pool = kinds.get(word), machine.rpartition("-")[0]
    newest: Event | None = None
    for event in context.store.records(Kind.EVENT).values() if kind else ():
        if event.object_kind != kind or event.object_name.rpartition("-")[0] != pool:
            continue
        if event.reason == "Launched" and event.object_name == machine:
            return None
        is_later = newest is None or (event.last_seconds or 0.0) > (newest.last_seconds or 0.0)
        if event.reason == _NO_CAPACITY and is_later:
            newest = event
    if newest is None or (newest.last_seconds or 0.0) < (said.last_seconds or 0.0) - NEWS_SECONDS:
        return None
    return newest


# ---- machines that have joined


def _without_gpus_yet(found: CauseFound, sifted: Sifted, context: PlacementContext) -> CauseFound | None:
    """C28 where a new node would take the pod as soon as it is ready, its driver and device plugin are up."""
    resource, now = sifted.resource, context.now_seconds
    if not resource or now is None:
        return None
    each = dict(sifted.shape.requests)[resource]
    looks = [*sifted.dropped.get("offers", ()), *sifted.dropped.get("ready", ())]
    new = [
        look.node
        for look in looks
        if all(map(_is_of_a_start, look.blocks))
        and is_starting(look.node, context.store, now)
        and (gpus_expected(look.node) or each) >= each
    ]
    waiting = [node for node in new if node.ready == "True"] or new
    if not waiting or (waiting[0].ready != "True" and found.cause not in _OF_ROOM):
        return None  # that a node is not ready yet has a cause of its own
    what = "waits for the GPU driver on {node}"
    if waiting[0].ready != "True":
        what = "waits for node {node} to get ready" if len(waiting) == 1 else "waits for {node} to get ready"
    whom = waiting[0].name if len(waiting) == 1 else f"{len(waiting)} new nodes"
    return draft(
        Cause.NODE_COMING,
        f"needs {{asked}}: {what}",
        names={"asked": amount_words(resource, each), "node": whom},
        sureness=Sureness.INFERRED,
        evidence=(*(_no_gpu_yet(one) for one in waiting[:_MOST_NODES]), *found.evidence),
        funnel=found.funnel,
        since_seconds=found.since_seconds,
        also=(found.cause, *found.also),
    )


def _is_of_a_start(block: Block) -> bool:
    """Whether it goes by itself when the node is ready."""
    return block[0] == "not ready" or (block[0] == "taint" and block[1].startswith(_NOT_READY))


def _no_gpu_yet(node: Node) -> Evidence:
    return Evidence(f"Node {node.name}", "allocatable", "no GPU yet", node.created_seconds)


def is_starting(node: Node, store: StoreReader, now_seconds: float) -> bool:
    """On its way to its GPUs, and not for so long that something must be wrong."""
    limit = {NodeStage.JOINED: JOINING_SECONDS, NodeStage.NOT_ADVERTISED: GPUS_LIMIT_SECONDS}
    allowed = limit.get(node_stage(node, store), 0.0)
    return node.created_seconds is not None and now_seconds - node.created_seconds < allowed
