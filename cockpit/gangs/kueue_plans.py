"""Hold and release one workload, stop and resume one queue: calls as data.

A job is held through its Workload's `spec.active`: Kueue un-suspends at once a job that somebody else
suspends, and all its pods start anew. Source: kueue site/content/en/docs/concepts/workload.md.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.kueue_verdict import gang_state, gpus_asked
from cockpit.gangs.sentence import counted, freed, listed
from cockpit.gangs.verdict import GangState
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.plan import Call, Plan

API = "/apis/kueue.x-k8s.io"
VERSION = "v1beta1"  # served by every release in use; v1beta2 by those from 0.15 on
_MERGE = "application/merge-patch+json"


def plan_hold(workload: Workload, version: str = VERSION) -> Plan:
    """Take the job off (its pods end) or out of the line, until it is released; `version` is the API's."""
    _refuse_finished(workload)
    if not workload.is_active:
        raise BadInput(f"job {_job(workload)} is held already; release it to let it queue again")
    state = gang_state(workload)
    runs = state in (GangState.ADMITTED, GangState.STARTED, GangState.EVICTED)
    gpus = counted(gpus_asked(workload), "GPU")
    line = (
        f"its pods end now and give back {gpus}; progress since the last checkpoint is lost"
        if runs
        else "it leaves the line; no pod runs now, so nothing is lost"
    )
    return Plan(
        verb="suspend",
        title=f"Hold job {_job(workload)}",
        calls=(_patch_active(workload, False, version),),
        lines=(f"Workload {workload.key}: spec.active becomes false", line),
        warnings=("the job runs",) if runs else (),
        shell=_shell(workload, False),
        is_destructive=runs,
    )


def plan_release(workload: Workload, version: str = VERSION) -> Plan:
    """Let a held job queue again."""
    _refuse_finished(workload)
    if workload.is_active:
        raise BadInput(f"job {_job(workload)} is not held; there is nothing to release")
    return Plan(
        verb="resume",
        title=f"Release job {_job(workload)}",
        calls=(_patch_active(workload, True, version),),
        lines=(
            f"Workload {workload.key}: spec.active becomes true",
            f"it asks {workload.queue or 'its queue'} for {counted(gpus_asked(workload), 'GPU')} again",
        ),
        shell=_shell(workload, True),
    )


def admitted_through(queue: LocalQueue | ClusterQueue, workloads: Iterable[Workload]) -> tuple[Workload, ...]:
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
    return tuple(sorted(found, key=_job))


def plan_stop_queue(
    queue: LocalQueue | ClusterQueue,
    *,
    drain: bool = False,
    version: str = VERSION,
    holders: Sequence[Workload] | None = None,
) -> Plan:
    """Stop a queue for new jobs; with `drain` also take off what it admitted.

    `holders` are the workloads that it admitted (`admitted_through`), named in the confirmation; None where
    they are not known and only the queue's own count is.
    """
    policy = "HoldAndDrain" if drain else "Hold"
    if queue.stop_policy == policy:
        raise BadInput(f"queue {queue.key} is stopped already ({policy})")
    admitted = len(holders) if holders is not None else queue.admitted or 0
    effect = (
        f"{counted(admitted, 'admitted job')} will be taken off and queue again"
        if drain
        else f"{counted(admitted, 'admitted job')} will run on; new ones wait"
    )
    return Plan(
        verb="stop",
        title=f"Stop queue {queue.key}",
        calls=(_patch_policy(queue, policy, version),),
        lines=(
            f"{_kind(queue)} {queue.key}: spec.stopPolicy becomes {policy}",
            effect,
            *_holders(holders or (), drain=drain),
        ),
        warnings=(f"{counted(admitted, 'job')} will lose progress since the last checkpoint",)
        if drain and admitted
        else (),
        shell=f"cockpit queue stop {queue.key}" + (" --drain" if drain else "") + " --write",
        is_destructive=drain,
    )


def _holders(holders: Sequence[Workload], *, drain: bool) -> tuple[str, ...]:
    if not holders:
        return ()
    gpus = sum(gpus_asked(one) for one in holders)
    names = listed("taken off: " if drain else "they are: ", [_job(one) for one in holders])
    stay = f"{counted(gpus, 'GPU')} {'stays' if gpus == 1 else 'stay'} held"
    return (freed(gpus) if drain else stay, names)


def plan_resume_queue(queue: LocalQueue | ClusterQueue, version: str = VERSION) -> Plan:
    """Let a stopped queue admit again."""
    if queue.stop_policy in ("", "None"):
        raise BadInput(f"queue {queue.key} is not stopped; there is nothing to resume")
    waiting = queue.pending
    line = "" if waiting is None else f"{counted(waiting, 'pending job')} may be admitted as quota allows"
    return Plan(
        verb="resume",
        title=f"Resume queue {queue.key}",
        calls=(_patch_policy(queue, "None", version),),
        lines=tuple(
            one for one in (f"{_kind(queue)} {queue.key}: spec.stopPolicy becomes None", line) if one
        ),
        shell=f"cockpit queue resume {queue.key} --write",
    )


def _refuse_finished(workload: Workload) -> None:
    if gang_state(workload) == GangState.FINISHED:
        raise BadInput(f"job {_job(workload)} has finished; it can be neither held nor released")


def _job(workload: Workload) -> str:
    name = workload.owner.name if workload.owner is not None else workload.name
    return f"{workload.namespace}/{name}"


def _shell(workload: Workload, active: bool) -> str:
    verb = "resume" if active else "suspend"
    return f"cockpit job {verb} {_job(workload)} --write"


def _patch_active(workload: Workload, active: bool, version: str) -> Call:
    path = f"{API}/{version}/namespaces/{workload.namespace}/workloads/{workload.name}"
    return _patch(
        path, workload.uid, workload.resource_version, {"active": active}, f"workload {workload.key}"
    )


def _kind(queue: LocalQueue | ClusterQueue) -> str:
    return "LocalQueue" if isinstance(queue, LocalQueue) else "ClusterQueue"


def queue_path(queue: LocalQueue | ClusterQueue, version: str = VERSION) -> str:
    """Where the queue lives below the API server."""
    place = f"namespaces/{queue.namespace}/localqueues" if isinstance(queue, LocalQueue) else "clusterqueues"
    return f"{API}/{version}/{place}/{queue.name}"


def _patch_policy(queue: LocalQueue | ClusterQueue, policy: str, version: str) -> Call:
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
