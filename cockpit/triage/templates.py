"""What would hold pods that nobody has made yet: their templates do exist."""

from collections.abc import Collection

from cockpit.catalogue.cause import Cause
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import sees_all
from cockpit.model.sureness import Sureness
from cockpit.triage import filters
from cockpit.triage.blocker import Blocker, draft
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.placement_context import PlacementContext
from cockpit.triage.room import amount
from cockpit.triage.verdict import Subject
from cockpit.triage.wanted import wanted_of


def of_templates(job: Job, view: ClusterView) -> list[Blocker]:
    """A blocker for each part of the job that the nodes would not take; [] where its object was not read, or
    where nodes are not known."""
    if not view.trees or not sees_all(view.store, Kind.NODE):
        return []
    wanted = wanted_of(Subject("job", job.namespace, job.name), view)
    if wanted is None or wanted.pods:
        return []
    found: list[Blocker] = []
    nodes: Collection[Node] = view.store.records(Kind.NODE).values()
    for part in wanted.parts:
        context = PlacementContext(
            store=view.store,
            now_seconds=view.now_seconds,
            around=view.around,
            trees=view.trees,
            waiting=part.count,
        )
        found += filters.blockers(part.shape, context)
        offered = sum(amount(node, part.shape.gpu_resource) for node in nodes)
        if part.count * part.shape.gpus > offered:  # each pod may find a node, all of them never
            names = {"asked": part.count * part.shape.gpus, "offered": offered}
            words = (
                "needs {asked} "
                + resource_word(part.shape.gpu_resource, 2)
                + " in all, the nodes have {offered}"
            )
            found.append(draft(Cause.GPUS_SHORT, words, names=names, sureness=Sureness.INFERRED))
    return found
