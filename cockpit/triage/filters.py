"""All filters that keep pods of a shape off every node, one behind the other: what comes next once the first
is mended."""

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from cockpit.catalogue import Cause, Permanence
from cockpit.fit.shape import Shape
from cockpit.gangs.draft import draft
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.finding import Finding
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.scheduling import Toleration
from cockpit.model.sureness import Sureness
from cockpit.pools.prospects import serving
from cockpit.triage import claims, shortage
from cockpit.triage.context import Context
from cockpit.triage.funnel import Sifted, amount

MOST_MENDED: Final = 4
"""So many lines of a shape are mended in thought: a template with more faults is rare."""


_OF_ROOM = (Cause.GPUS_SHORT, Cause.GPUS_IN_PIECES)
_OF_OTHERS = ("selector", "offers", "taints")
"""Filters that take out nodes which are not for such pods."""


def blockers(
    shape: Shape, context: Context, *, is_too_large: bool = False, most: int = MOST_MENDED
) -> Iterator[Finding]:
    """What the nodes say of the shape, then what they would say were that mended, and so on. `is_too_large`:
    the shape is of one that no node is large enough for, with fewer GPUs."""
    sifted = context.sifted(shape)
    found = shortage.computed(sifted, context) if most else None
    if found is None:
        return
    if not (is_too_large and found.cause in _OF_ROOM):  # of fewer GPUs than it asks for
        yield found
    yield from behind(found, sifted, context, is_too_large=is_too_large, most=most - 1)


def behind(
    found: Finding, sifted: Sifted, context: Context, *, is_too_large: bool = False, most: int = MOST_MENDED
) -> Iterator[Finding]:
    """What the nodes would say were that mended; of nodes in a state that passes, what none of them has."""
    mended = mended_by(sifted, found)
    if mended is None:
        if shortage.is_of_state(found, sifted) and not _may_come(sifted.shape, context):
            yield from shortage.beyond_nodes(sifted, context)
        return
    is_too_large |= found.cause == Cause.GPUS_SHORT
    yield from blockers(mended, context, is_too_large=is_too_large, most=most)


def of_pods(shape: Shape, count: int, context: Context) -> Iterator[Finding]:
    """What the nodes say of so many pods of the shape together: each may find a node, all of them never."""
    for found in blockers(shape, context):
        is_absent = found.cause in (Cause.SELECTOR, Cause.RESOURCE_NOT_OFFERED)
        yield (
            replace(found, permanence=Permanence.PASSES) if is_absent and _may_come(shape, context) else found
        )
    every: Collection[Node] = context.store.records(Kind.NODE).values()
    dropped = context.sifted(shape).dropped
    others = {look.node.name for step in _OF_OTHERS for look in dropped.get(step, ())}
    nodes = [node for node in every if node.name not in others]
    asked = count * shape.gpus
    offered = sum(amount(node, shape.gpu_resource) for node in nodes or every)
    if asked > offered:
        words = "needs {asked} " + resource_word(shape.gpu_resource, 2) + " in all, the nodes "
        words += "that suit it have {offered}" if 0 < len(nodes) < len(every) else "have {offered}"
        names = {"asked": asked, "offered": offered}
        yield draft(Cause.GPUS_SHORT, words, names, sureness=Sureness.INFERRED)


def _may_come(shape: Shape, context: Context) -> bool:
    """Whether a pool that may grow would serve such a pod: nothing is known to be absent from new nodes."""
    pools = serving(shape, context.store, context.now_seconds, context.around) or ()
    return any(one.may_grow for one in pools)


def mended_by(sifted: Sifted, found: Finding) -> Shape | None:
    """The shape without the lines that the blocker is about; None where it is not about lines of its own, so
    that nobody can tell what comes behind it."""
    shape = sifted.shape
    match found.cause:
        case Cause.SELECTOR:
            changed = _without_selector(sifted)
        case Cause.TAINT:
            changed = _tolerating(sifted)
        case Cause.CLAIM_MISSING:
            changed = claims.without(shape, [found])
        case Cause.CLAIM_UNBOUND | Cause.VOLUME_ELSEWHERE | Cause.VOLUME_NOT_ATTACHABLE:
            changed = replace(shape, claims=())
        case Cause.HOST_PORT:
            changed = replace(shape, host_ports=())
        case Cause.POD_AFFINITY:
            changed = replace(shape, near=(), keeps_away=())
        case Cause.TOPOLOGY_SPREAD:
            changed = replace(shape, spreads=(), spread_keys=())
        case Cause.RESOURCE_NOT_OFFERED | Cause.OTHER_GPU_UNIT:
            kept = tuple(pair for pair in shape.requests if pair[0] != found.fact("resource"))
            changed = replace(shape, requests=kept)
        case Cause.OTHER_RESOURCE_SHORT:
            changed = _with_what_nobody_offers(sifted)
        case Cause.GPUS_SHORT if found.permanence is not None:
            changed = _on_the_largest(sifted)
        case _:
            return None
    return None if changed == shape else changed


def _without_selector(sifted: Sifted) -> Shape:
    """Without the labels that no node has; where each is there, without all that selects nodes."""
    shape = sifted.shape
    there = {pair for look in sifted.dropped.get("selector", ()) for pair in look.node.labels}
    kept = tuple(pair for pair in shape.node_selector if pair in there)
    if kept != shape.node_selector:
        return replace(shape, node_selector=kept)
    if shape.node_name or shape.node_terms is not None:
        return replace(shape, node_name="", node_terms=None)
    return replace(shape, node_selector=())


def _with_what_nobody_offers(sifted: Sifted) -> Shape:
    """Without what nodes offer too little of."""
    nodes = [look.look.node for look in sifted.looks.values()]

    def stays(resource: str) -> bool:
        return resource == sifted.resource or not any(amount(node, resource) for node in nodes)

    return replace(sifted.shape, requests=tuple(one for one in sifted.shape.requests if stays(one[0])))


def _tolerating(sifted: Sifted) -> Shape:
    keys = {
        block.detail.partition(":")[0].partition("=")[0]
        for look in sifted.dropped.get("taints", ())
        for block in look.blocks
        if block.kind == "taint"
    }
    more = tuple(Toleration(key=key, operator="Exists") for key in sorted(keys))
    return replace(sifted.shape, tolerations=(*sifted.shape.tolerations, *more))


def _on_the_largest(sifted: Sifted) -> Shape:
    """With as many GPUs as the largest node has that suits it."""
    if not sifted.largest:
        return sifted.shape
    requests = {**dict(sifted.shape.requests), sifted.resource: sifted.largest}
    return replace(sifted.shape, requests=tuple(sorted(requests.items())))
