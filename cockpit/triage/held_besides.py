"""What would hold a job besides, were its cause mended: its pods do not exist yet, its templates do."""

from collections.abc import Collection

import msgspec

from cockpit.catalogue import Cause, Gate, gate_of
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import sees_all
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.funnel import sift
from cockpit.triage.room import amount
from cockpit.triage.shortage import all_causes
from cockpit.triage.verdict import Verdict
from cockpit.triage.wanted import wanted_of


def with_further(verdict: Verdict, view: ClusterView) -> Verdict:
    """The verdict with the causes that the nodes tell of pods that nobody has made, where its own cause is
    that they are not made or not admitted. Only where the job's object was read."""
    if (
        gate_of(verdict.cause) not in (Gate.CREATION, Gate.QUEUE)
        or not view.trees
        or verdict.funnel is not None
    ):
        return verdict
    wanted = wanted_of(verdict.subject, view)
    if wanted is None or wanted.pods or not sees_all(view.store, Kind.NODE):
        return verdict
    found: dict[str, None] = dict.fromkeys(verdict.also)
    nodes: Collection[Node] = view.store.records(Kind.NODE).values()
    for part in wanted.parts:
        sifted = sift(view.store, part.shape, view.around)
        if sifted.stopped:
            found |= dict.fromkeys(all_causes(sifted))
        offered = sum(amount(node, part.shape.gpu_resource) for node in nodes)
        if part.count * part.shape.gpus > offered:  # each pod may find a node, all of them never
            found[Cause.GPUS_SHORT] = None
    return msgspec.structs.replace(verdict, also=tuple(one for one in found if one != verdict.cause))
