"""Who starts before the subject does: those that wait before it in its queue take quota and seats first, pods
that no node has room for take seats."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from cockpit.fit.quota import quota_left
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import WhatIf, changed_store
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload
from cockpit.model.job import JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import Toleration
from cockpit.model.store_reader import StoreReader
from cockpit.triage.changes.offer import ChangeOffer, Desk

_HAVE_WAITING_PODS: Final = (JobState.PENDING, JobState.DEGRADED)
_Quota = Mapping[tuple[str, str], int]
"""(flavor, resource) -> amount in base units."""


def after_others(desk: Desk, offer: ChangeOffer, waiting: "WaitingPods | None" = None) -> WhatIf | None:
    """The cluster after the change and after all who are let in by it before the subject; None where one of
    these would hold it up."""
    then = offer.then
    rivals = [] if waiting is None else [*waiting.parts(then.without)]
    seen = changed_store(desk.view.store, then.records, then.without)
    local: LocalQueue | None = seen.by_key(Kind.LOCAL_QUEUE, f"{desk.wanted.namespace}/{then.queue}")
    queue: ClusterQueue | None = (
        None if local is None else seen.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    )
    if queue is None:
        return msgspec.structs.replace(then, rivals=tuple(rivals))
    is_last = desk.is_anew or offer.tree is not None or offer.change.verb == "job.clone"
    left = {(row.flavor, row.resource): quota_left(seen, queue, row) for row in queue.quotas}
    taken: dict[tuple[str, str], int] = {}
    for one in ahead(desk, queue, seen, is_last=is_last):
        reserved = _reserved(one, left)
        if reserved is None and queue.strategy == "StrictFIFO":
            return None
        for place, amount in (reserved or {}).items():
            left[place] -= amount
            taken[place] = taken.get(place, 0) + amount
        if reserved is not None:
            rivals += [_part(each, one.namespace) for each in one.pod_sets if each.count]
    records = then.records
    if taken:
        records = (*records, (Kind.CLUSTER_QUEUE, _with_more_used(queue, taken)))
    return msgspec.structs.replace(then, records=records, rivals=tuple(rivals))


def ahead(
    desk: Desk, queue: ClusterQueue, store: StoreReader | None = None, *, is_last: bool = False
) -> list[Workload]:
    """Those that wait in the queue before the subject, the first one first; `is_last` where it is made anew
    and stands at the end of its priority."""
    seen, job = store or desk.view.store, desk.wanted.job
    own: Workload | None = seen.get(Kind.WORKLOAD, job.workload_uid) if job and job.workload_uid else None
    turn = _order(own) if own is not None else (0, float("inf"))
    if is_last:
        turn = (turn[0], float("inf"))
    found: list[Workload] = []
    for one in seen.records(Kind.WORKLOAD).values():
        waits = one.is_active and not one.is_finished and not one.cluster_queue
        # of the same second either may come first
        if not waits or _order(one) > turn or (own is not None and one.uid == own.uid):
            continue
        local: LocalQueue | None = seen.by_key(Kind.LOCAL_QUEUE, f"{one.namespace}/{one.queue}")
        if local is not None and local.cluster_queue == queue.name:
            found.append(one)
    return sorted(found, key=_order)


def _order(one: Workload) -> tuple[int, float]:
    return -one.priority, one.created_seconds or 0.0


def asked_by(one: Workload, resource: str) -> int:
    """How much of the resource all its pods ask for."""
    return sum(amount for part in one.pod_sets for name, amount in part.resources if name == resource)


def _reserved(one: Workload, left: _Quota) -> dict[tuple[str, str], int] | None:
    """The quota that it would get, each resource of the flavor with most left; None where it gets none."""
    found: dict[tuple[str, str], int] = {}
    for resource in {name for part in one.pod_sets for name, _ in part.resources}:
        asked = asked_by(one, resource)
        places = [place for place in left if place[1] == resource]
        if not places:
            if is_gpu_resource(resource) or resource in ("cpu", "memory"):
                return None
            continue
        best = max(places, key=lambda place: (left[place], place))
        if left[best] < asked:
            return None
        found[best] = asked
    return found


def _with_more_used(queue: ClusterQueue, taken: _Quota) -> ClusterQueue:
    rows = tuple(less_used(row, -taken.get((row.flavor, row.resource), 0)) for row in queue.quotas)
    return msgspec.structs.replace(queue, quotas=rows)


def less_used(row: QuotaRow, amount: int) -> QuotaRow:
    """A row with that much less in use."""
    used = None if row.used is None else max(0, row.used - amount)
    reserved = None if row.reserved is None else max(0, row.reserved - amount)
    return msgspec.structs.replace(row, used=used, reserved=reserved)


def _part(one: PodSet, namespace: str) -> Part:
    each = tuple(sorted((name, amount // one.count) for name, amount in one.resources if amount))
    pairs = (pair.partition("=") for pair in one.selector.split(",") if pair)
    selector = tuple((key, value) for key, _, value in pairs)
    # what it tolerates is not told: it may go anywhere
    any_taint = (Toleration(operator="Exists"),)
    shape = Shape(namespace=namespace, requests=each, node_selector=selector, tolerations=any_taint)
    return Part(one.name, one.count, shape)


# ---- seats


class WaitingPods:
    """Pods of others that found no node and may be tried again before the subject's: the scheduler goes by
    priority, and among equals whoever it comes to."""

    def __init__(self, desk: Desk) -> None:
        own, snapshot = desk.wanted.job, ClusterSnapshot(desk.view.store, desk.view.around)
        least = min(snapshot.priority(one.shape) or 0 for one in desk.wanted.parts)
        self._shapes: dict[str, Shape] = {}
        for job in desk.view.jobs.jobs.values():
            if job.state not in _HAVE_WAITING_PODS or (own is not None and job.key == own.key):
                continue
            for pod in desk.view.jobs.members(job.key):
                if _waits(pod) and (pod.priority or 0) >= least and pod.key != desk.wanted.subject.key:
                    self._shapes[pod.uid] = _shape(pod)
        self._parts = _counted(self._shapes.values())

    def parts(self, gone: Collection[str]) -> tuple[Part, ...]:
        """All of them, or all but those that are gone (uids)."""
        if self._shapes.keys().isdisjoint(gone):
            return self._parts
        return _counted(shape for uid, shape in self._shapes.items() if uid not in gone)


def _counted(shapes: Iterable[Shape]) -> tuple[Part, ...]:
    return tuple(Part("pod", count, shape) for shape, count in Counter(shapes).items())


def _waits(pod: Pod) -> bool:
    is_there = not pod.node and not pod.is_finished and pod.deleting_seconds is None
    return is_there and not pod.is_gated and pod.scheduled_reason == "Unschedulable"


def _shape(pod: Pod) -> Shape:
    """What it takes of a node, and which nodes it may go to; not which pods it minds."""
    wishes = pod.traits.wishes
    return Shape(
        requests=tuple(sorted(_amounts(pod))),
        node_selector=wishes.node_selector,
        node_terms=wishes.node_terms,
        tolerations=wishes.tolerations,
    )


def _amounts(pod: Pod) -> Iterator[tuple[str, int]]:
    given = {"cpu": pod.cpu_millicores, "memory": pod.memory_bytes}
    given.update(pod.traits.resources or ((pod.gpu_resource, pod.gpus),))
    yield from ((name, amount) for name, amount in given.items() if name and amount)
