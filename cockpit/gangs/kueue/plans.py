"""Suspend and resume one job, stop and resume one queue: calls as data.

A job is suspended through its Workload's `spec.active`: Kueue un-suspends at once a job that somebody else
suspends, and all its pods start anew. Source: kueue site/content/en/docs/concepts/workload.md.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.engine import Queue, SuspendChange
from cockpit.gangs.kueue.standing import gang_state
from cockpit.gangs.kueue.texts import kueue_words
from cockpit.gangs.sentence import counted, freed, listed
from cockpit.gangs.standing import GangState
from cockpit.k8s.gpu_resources import gpus_asked
from cockpit.model.gang import LocalQueue, Workload
from cockpit.model.plan import Call, Plan
from cockpit.model.record import condition

API = "/apis/kueue.x-k8s.io"
_MERGE = "application/merge-patch+json"


def is_through_workload(workload: Workload | None, is_served: bool, target: str) -> bool:
    """Whether the job is suspended through its Workload: not where its queue's label has no Kueue behind it.

    Raises BadInput, which names `target`, where Kueue has yet to make the Workload.
    """
    if workload is None and is_served:
        raise BadInput(f"{target}: Kueue has not made a Workload for it yet; look again in a moment")
    return workload is not None


def suspend_workload(workload: Workload, suspend: bool, version: str) -> SuspendChange:
    """Take the job off (its pods end) or out of the line, or let it queue again; `version` is the API's.

    Raises BadInput for a job that has finished, or is so already.
    """
    state = gang_state(workload)
    if state == GangState.FINISHED:
        raise BadInput(_finished(workload))
    if suspend and not workload.is_active:
        raise BadInput(f"job {workload.job_key} is suspended already; resume it to let it queue again")
    if not suspend and workload.is_active:
        raise BadInput(f"job {workload.job_key} is not suspended; there is nothing to resume")
    call = _patch_active(workload, not suspend, version)
    line = f"Workload {workload.key}: spec.active becomes {'false' if suspend else 'true'}"
    if not suspend:
        asked = counted(gpus_asked(workload.pod_sets), "GPU")
        return SuspendChange((call,), (line, f"it asks {workload.queue or 'its queue'} for {asked} again"))
    if state in (GangState.ADMITTED, GangState.STARTED, GangState.EVICTED):
        return SuspendChange((call,), (line,), is_destructive=True)
    return SuspendChange((call,), (line, "it leaves the line"))


def _finished(workload: Workload) -> str:
    mark = condition(workload.conditions, "Finished")
    words = kueue_words().finished.get(mark.reason) if mark is not None else None
    if words is not None:  # it has not run
        return f"job {workload.job_key}: {words}: it never starts; clone or recreate it"
    return f"job {workload.job_key} has finished; it can be neither suspended nor resumed"


def admitted_through(queue: Queue, workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """The workloads that hold quota through this queue, by name: what draining it takes off."""
    is_local = isinstance(queue, LocalQueue)
    found = (
        one
        for one in workloads
        if gang_state(one) in (GangState.ADMITTED, GangState.STARTED)
        and (
            (one.namespace, one.queue) == (queue.namespace, queue.name)
            if is_local
            else one.cluster_queue == queue.name
        )
    )
    return tuple(sorted(found, key=lambda one: one.job_key))


def plan_stop_queue(queue: Queue, drain: bool, version: str, workloads: Iterable[Workload]) -> Plan:
    """Stop a queue for new jobs; with `drain` also take off what it admitted of `workloads`.

    Where none of those may be read, the queue's own count is told.
    """
    policy = "HoldAndDrain" if drain else "Hold"
    if queue.stop_policy == policy:
        raise BadInput(f"queue {queue.key} is stopped already ({policy})")
    holders = admitted_through(queue, workloads)
    admitted = len(holders) or queue.admitted or 0
    effect = (
        f"{counted(admitted, 'admitted job')} will be taken off and queue again"
        if drain
        else f"{counted(admitted, 'admitted job')} will run on; new ones wait"
    )
    return Plan(
        verb="stop",
        title=f"Stop queue {queue.key}",
        done=f"Stopped queue {queue.key}",
        calls=(_patch_policy(queue, policy, version),),
        lines=(
            f"{_kind(queue)} {queue.key}: spec.stopPolicy becomes {policy}",
            effect,
            *_holders(holders, drain=drain),
        ),
        warnings=(f"{counted(admitted, 'job')} will lose progress since the last checkpoint",)
        if drain and admitted
        else (),
        is_destructive=drain,
    )


def _holders(holders: Sequence[Workload], *, drain: bool) -> tuple[str, ...]:
    if not holders:
        return ()
    gpus = sum(gpus_asked(one.pod_sets) for one in holders)
    names = listed("taken off: " if drain else "they are: ", [one.job_key for one in holders])
    stay = f"{counted(gpus, 'GPU')} {'stays' if gpus == 1 else 'stay'} allocated"
    return (freed(gpus) if drain else stay, names)


def plan_resume_queue(queue: Queue, version: str) -> Plan:
    """Let a stopped queue admit again."""
    if not queue.is_stopped:
        raise BadInput(f"queue {queue.key} is not stopped; there is nothing to resume")
    waiting = queue.pending
    line = "" if waiting is None else f"{counted(waiting, 'pending job')} may be admitted as quota allows"
    return Plan(
        verb="resume",
        title=f"Resume queue {queue.key}",
        done=f"Resumed queue {queue.key}",
        calls=(_patch_policy(queue, "None", version),),
        lines=tuple(
            one for one in (f"{_kind(queue)} {queue.key}: spec.stopPolicy becomes None", line) if one
        ),
    )


def _patch_active(workload: Workload, active: bool, version: str) -> Call:
    path = f"{API}/{version}/namespaces/{workload.namespace}/workloads/{workload.name}"
    return _patch(
        path, workload.uid, workload.resource_version, {"active": active}, f"workload {workload.key}"
    )


def _kind(queue: Queue) -> str:
    return "LocalQueue" if isinstance(queue, LocalQueue) else "ClusterQueue"


def queue_path(queue: Queue, version: str) -> str:
    """Where the queue lives below the API server."""
    place = f"namespaces/{queue.namespace}/localqueues" if isinstance(queue, LocalQueue) else "clusterqueues"
    return f"{API}/{version}/{place}/{queue.name}"


def _patch_policy(queue: Queue, policy: str, version: str) -> Call:
    path = queue_path(queue, version)
    target = f"{_kind(queue).lower()} {queue.key}"
    return _patch(path, queue.uid, queue.resource_version, {"stopPolicy": policy}, target)


def _patch(path: str, uid: str, resource_version: str, spec: dict[str, Any], target: str) -> Call:
    """A merge patch that the API server refuses (409) when the object is another or newer one than shown."""
    return Call(
        method="PATCH",
        path=path,
        body={"metadata": {"uid": uid, "resourceVersion": resource_version}, "spec": spec},
        content_type=_MERGE,
        target=target,
    )
