"""What would hold pods that nobody has made yet: their templates do exist."""

from collections.abc import Sequence

from msgspec import structs

from cockpit.fit.shape import Part
from cockpit.model.finding import Finding, Subject
from cockpit.model.job import JobObject
from cockpit.model.listing import listing
from cockpit.model.record import Kind
from cockpit.triage import claims, filters
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.pod_shape import parts_of_job
from cockpit.triage.walk import Walk
from cockpit.triage.wanted import wanted_of


def of_templates(walk: Walk, view: ClusterView) -> list[Finding]:
    """A blocker for each part of the job that the nodes would not take; [] where its templates are not known,
    or where nodes or its pods are not."""
    sees_pods = listing(view.store, Kind.POD, walk.job.namespace).has_all
    if not sees_pods or not listing(view.store, Kind.NODE).has_all or not view.store.records(Kind.NODE):
        return []
    found: list[Finding] = []
    job = walk.job
    for part in _parts(walk, view):
        whose = f"{job.kind} {job.namespace}/{job.name}"
        absent = list(claims.missing(whose, part.shape.claims, view.around))
        found += absent
        found += _of_part(structs.replace(part, shape=claims.without(part.shape, absent)), view)
    return found


def _of_part(part: Part, view: ClusterView) -> Sequence[Finding]:
    if view.told is not None:
        return view.told(part.shape, part.count, view.now_seconds)
    return list(filters.of_pods(part.shape, part.count, structs.replace(view, waiting=part.count)))


def _parts(walk: Walk, view: ClusterView) -> Sequence[Part]:
    """By the record, as rows and pages know it; of a kind whose templates are not decoded by its object,
    where that was read."""
    job, record = walk.job, walk.object_
    if isinstance(record, JobObject) and (parts := parts_of_job(record)):
        return parts
    wanted = wanted_of(Subject("job", job.namespace, job.name), view) if view.trees else None
    return () if wanted is None or wanted.pods else wanted.parts
