"""What waits and runs in a queue: as its engine tells it, or by the groups of pods that name it.

An engine with a scheduler of its own tells no order. It is estimated: groups that it has let in, then by
priority, then by age, as the known ones order jobs of one queue; shares between queues come before that and
are in no object.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from cockpit.gangs import pod_group, registry
from cockpit.gangs.engine import Engine, Queue
from cockpit.gangs.standing import QueueDay, WaitingView
from cockpit.model.gang import ClusterQueue, PodGroup, SchedulerQueue
from cockpit.model.job import JobObject
from cockpit.model.listing import listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

_ENDED = ("Finished", "Completed", "Failed", "Succeeded")


class QueuedGroup(NamedTuple):
    """A group of pods in a queue, with its pods. `is_counted` False: not all pods are known."""

    group: PodGroup
    pods: tuple[Pod, ...]
    is_counted: bool

    @property
    def is_waiting(self) -> bool:
        """True until as many of its pods as it needs have a node; by its phase where pods are not known."""
        if self.is_counted:
            return pod_group.is_in_line(self.group, pod_group.bound(self.pods))
        return bool(self.group.phase) and pod_group.is_in_line(self.group)

    @property
    def is_running(self) -> bool:
        """True from then on until it ends."""
        group, pods = self.group, self.pods
        is_over = group.phase in _ENDED or (bool(pods) and all(pod.is_finished for pod in pods))
        is_known = self.is_counted or bool(group.phase)
        return is_known and not is_over and group.deleting_seconds is None and not self.is_waiting

    @property
    def job(self) -> str:
        """ "namespace/name" of the job that it was made for, else its own."""
        owner = self.group.owner
        return f"{self.group.namespace}/{owner.name}" if owner is not None else self.group.key


def waiting(store: StoreReader, queue: Queue) -> tuple[WaitingView, ...]:
    """What waits in the queue, next first."""
    engine = registry.engine_of_queue(queue)
    if not isinstance(queue, SchedulerQueue):
        quota = engine.quota_queues
        return () if quota is None else quota.waiting(store, queue)
    inside = [one for one in _groups(engine, store).get(queue.name, ()) if one.is_waiting]
    ordered = sorted(inside, key=_turn)
    return tuple(_view(one, store, place) for place, one in enumerate(ordered, start=1))


def running(store: StoreReader, queue: Queue) -> tuple[str, ...]:
    """Jobs that run in a scheduler's queue, as "namespace/name"; () for other queues."""
    if not isinstance(queue, SchedulerQueue):
        return ()
    groups = _groups(registry.engine_of_queue(queue), store).get(queue.name, ())
    return tuple(sorted(one.job for one in groups if one.is_running))


def lately(store: StoreReader, queue: ClusterQueue, now_seconds: float) -> QueueDay | None:
    """How its last day was; None where its engine keeps nothing that tells, or not all of it was read."""
    order = registry.engine_of_queue(queue).line
    if order is None or not listing(store, Kind.WORKLOAD).has_all:
        return None
    return order.lately(store, queue.name, now_seconds)


def counted_queues(engine: Engine, store: StoreReader) -> list[ClusterQueue]:
    """The queues behind those that jobs are submitted to; with their jobs counted where the engine does not
    count them itself and where all groups and pods are known."""
    queues: list[ClusterQueue] = list(store.records(engine.queues.cluster).values())
    if not any(isinstance(queue, SchedulerQueue) for queue in queues):
        return queues
    if not (listing(store, Kind.POD_GROUP).has_all and listing(store, Kind.POD).has_all):
        return queues
    groups = _groups(engine, store)
    return [
        msgspec.structs.replace(
            queue,
            pending=sum(one.is_waiting for one in groups.get(queue.name, ())),
            admitted=sum(one.is_running for one in groups.get(queue.name, ())),
        )
        for queue in queues
    ]


def member_of(store: StoreReader, group: PodGroup) -> Pod | None:
    """A pod that names the group, None where none does."""
    pods: Iterable[Pod] = store.records(Kind.POD).values()
    named = registry.groups_named(pod for pod in pods if pod.namespace == group.namespace)
    return next((pod for pod, name in named if name == group.name), None)


def _groups(engine: Engine, store: StoreReader) -> dict[str, list[QueuedGroup]]:
    """The engine's groups by the name of their queue."""
    every: Iterable[PodGroup] = store.records(Kind.POD_GROUP).values()
    mine = [group for group in every if group.engine == engine.name]
    if not mine:
        return {}
    pods: dict[str, list[Pod]] = {}
    scheduler = engine.scheduling.scheduler
    for pod, name in registry.groups_named(store.records(Kind.POD).values()):
        if not scheduler or pod.scheduler == scheduler:
            pods.setdefault(f"{pod.namespace}/{name}", []).append(pod)
    found: dict[str, list[QueuedGroup]] = {}
    is_counted = listing(store, Kind.POD).has_all
    for group in mine:
        members = tuple(pods.get(group.key, ()))
        queue = group.queue or engine.queues.default
        found.setdefault(queue, []).append(QueuedGroup(group, members, is_counted))
    return found


def _turn(one: QueuedGroup) -> tuple[bool, int, float, str]:
    created = one.group.created_seconds
    return (
        one.group.phase in ("", "Pending"),
        -(_priority(one.pods) or 0),
        float("inf") if created is None else created,
        one.group.key,
    )


def _priority(pods: Sequence[Pod]) -> int | None:
    return max((pod.priority for pod in pods if pod.priority is not None), default=None)


def _view(one: QueuedGroup, store: StoreReader, place: int) -> WaitingView:
    group = one.group
    return WaitingView(
        workload_uid=group.uid,
        namespace=group.namespace,
        job=one.job,
        position=place,
        is_estimate=True,
        gpus=_gpus(one, store),
        priority=_priority(one.pods),
        created_seconds=group.created_seconds,
        reason=pod_group.reason_of(group, one.pods).sentence,
    )


def _gpus(one: QueuedGroup, store: StoreReader) -> int | None:
    """What its job asks for as a whole, else what its pods do; None where neither is known."""
    owner = one.group.owner
    for table in registry.controller_tables() if owner is not None else ():
        job = store.get(table, owner.uid) if owner is not None else None
        if (
            isinstance(job, JobObject)
            and job.replicas
            and all(one.replicas is not None for one in job.replicas)
        ):
            return sum((part.replicas or 0) * part.gpus_each for part in job.replicas)
    return sum(pod.gpus for pod in one.pods) if one.pods else None
