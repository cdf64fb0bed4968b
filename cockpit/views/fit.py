"""What the fit says of a manifest, as lines: the form and the command line print the same."""

from collections.abc import Mapping, Sequence
from typing import Any

from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.pod_sets import pods_asked
from cockpit.fit.reasons import fit_lines, push_words, unknown_words
from cockpit.fit.remedies import DROPPED_BY
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.topology_placement import MOST_DOMAINS, TogetherAnswer, fit_together
from cockpit.gangs.registry import required_levels
from cockpit.jobs.planned import planned_gang
from cockpit.jobs.render import queue_of
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.truth import is_use_known


def fit_report(
    manifest: Mapping[str, Any], store: StoreReader, surroundings: Surroundings = UNKNOWN, namespace: str = ""
) -> list[str]:
    """Fits now and where, or what is missing and what would help, or why that is unknown; () for no pods."""
    asked = pods_asked(manifest)
    if asked.unknown is not None:
        return [f"cannot tell whether it fits now: {unknown_words(asked)}"]
    gang = planned_gang(manifest, namespace)
    if not gang:
        return []
    if not is_use_known(store):
        return ["cannot tell whether it fits now: not all pods are visible"]
    queue = queue_of(manifest)
    levels = required_levels(manifest) if queue else ()
    if any(levels) and len(levels) == len(gang):
        return _together(store, gang, levels, queue, surroundings)
    answer = fit(store, gang, queue=queue, surroundings=surroundings)
    lines = fit_lines(answer)
    claimable = claimable_nodes(store, answer) if answer.missing else 0
    if not claimable:
        return lines
    nodes = f"{claimable} node{'s' * (claimable != 1)}"
    unknown = f"cannot tell whether it fits now: {nodes} may serve this request through claims (DRA)"
    return [unknown, f"  without these: {lines[0]}", *lines[1:]]


def fit_on_node(
    manifest: Mapping[str, Any],
    store: StoreReader,
    name: str,
    surroundings: Surroundings = UNKNOWN,
    namespace: str = "",
) -> list[str]:
    """The same of a pod that is for that node alone: what is missing is told of this node, and no other one
    would help."""
    gang, snapshot = planned_gang(manifest, namespace), ClusterSnapshot(store, surroundings)
    node = snapshot.nodes.get(name)
    if node is None or len(gang) != 1 or not is_use_known(store):
        return fit_report(manifest, store, surroundings, namespace)
    answer = fit(store, gang, surroundings=surroundings)
    resource, offered = answer.shape.gpu_resource, dict(node.allocatable).get(answer.shape.gpu_resource)
    if not answer.missing or node.gpus_by_claim is not None or offered is None:
        return fit_report(manifest, store, surroundings, namespace)
    free = max(0, snapshot.free(node, (resource,))[0])
    if free < answer.shape.gpus:
        advice = f"ask for at most {free}, or wait" if free else "wait until some are"
        has = f"node {name} has {free} of {offered} {resource_word(resource, offered)} free"
        pushed = [] if answer.push is None else [f"  {push_words(answer.push)}"]
        return [f"pending: {has}: {advice}", *pushed]
    kept = tuple(item for item in answer.remedies if item.kind != DROPPED_BY["selector"])
    return fit_lines(answer._replace(remedies=kept))


def claimable_nodes(store: StoreReader, answer: FitAnswer) -> int:
    """Nodes that show no such GPU and offer some to claims: a DeviceClass may stand for the resource there
    (extendedResourceName), and only the scheduler knows."""
    resources = {part.part.shape.gpu_resource for part in answer.parts if part.missing}
    return sum(
        node.gpus_by_claim is not None
        and node.gpu_resource in resources
        and node.gpu_resource not in dict(node.allocatable)
        for node in store.records(Kind.NODE).values()
    )


def _together(
    store: StoreReader, gang: Sequence[Part], levels: Sequence[str], queue: str, surroundings: Surroundings
) -> list[str]:
    """The fit of a gang that its engine places inside one domain of its topology."""
    key = next(level for level in levels if level)
    bound = [at for at, one in enumerate(levels) if one == key]
    found = fit_together(store, gang, key, queue=queue, surroundings=surroundings, bound_parts=bound)
    if found.answer is None:
        return [f"pending: all members must be in one {key} domain, and no node has that label"]
    first, *rest = fit_lines(found.answer)
    return [first, f"  {together_note(found, key)}", *rest]


def together_note(found: TogetherAnswer, key: str) -> str:
    """Which domain has room for all, or else most room."""
    if found.answer is None or found.answer.missing:
        note = f"none of {found.domains} domains of {key} has room for all; shown is the best, {found.domain}"
        if found.domains > MOST_DOMAINS:
            note += f" (the {MOST_DOMAINS} with most free GPUs were tried)"
        return note
    return f"all inside {key} {found.domain}"
