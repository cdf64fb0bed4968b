"""What becomes of one queued job: its Workload is made, it starts when admitted and stops when evicted.

Facts: kueue v0.15 pkg/controller/jobframework/reconciler.go. A running job whose template or parallelism no
longer matches its Workload is left alone here; Kueue stops it and makes its Workload anew.
"""

from cockpit.k8s.admission.admission_specs import pod_set_asks
from cockpit.kube.resource import WORKLOADS
from cockpit.sim.actors.queue.conditions import condition_of, has_quota, is_admitted, is_finished
from cockpit.sim.actors.queue.context import QueueContext
from cockpit.sim.actors.queue.jobs import STOPPING, Conflict, Injection, JobKind, workload_name
from cockpit.sim.actors.queue.reading import Key, key_of
from cockpit.sim.actors.queue.spec import (
    IN_USE,
    JOB_UID_LABEL,
    MAX_SECONDS_LABEL,
    PRIORITY_LABEL,
    QUEUE_LABEL,
)
from cockpit.sim.actors.queue.workload_steps import drop_finalizer
from cockpit.sim.port import Tree
from cockpit.sim.resources import PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES

_NOT_READY = "Not all pods are ready or succeeded"
_RECOVERING = "At least one pod has failed, waiting for recovery"
_READY = "All pods reached readiness and the workload is running"
_REQUEUED_AT_ONCE = ("Preempted", "NodeFailures")


def label(job: Tree, name: str) -> str:
    """One label of a job, "" without it."""
    return str((job["metadata"].get("labels") or {}).get(name) or "")


async def settle_job(context: QueueContext, kind: JobKind, key: Key, workload: Key | None) -> None:
    """One step for a job and its Workload. `workload` is the key of the one it owns, if any.

    Raises PortError as the port does.
    """
    job = context.cache(kind.resource).get(*key)
    tree = None if workload is None else context.queue_cache.workload(workload)
    if job is None or job["metadata"].get("deletionTimestamp"):
        if tree is not None:
            await drop_finalizer(context, tree)
        return
    if not label(job, QUEUE_LABEL):
        return
    if tree is not None and is_finished(tree):
        await _told_finished(context, kind, job, tree)
        await drop_finalizer(context, tree)
        return
    if tree is not None and tree["metadata"].get("deletionTimestamp"):
        await _stop(context, kind, job, tree, "Workload is deleted")
        await drop_finalizer(context, tree)
        return
    finished = kind.finished(job)
    if finished is not None:
        if tree is not None:
            message, is_good = finished
            edit = context.edit(tree)
            edit.finish("Succeeded" if is_good else "Failed", message)
            await context.write(tree, edit)
            await _told_finished(context, kind, job, tree)
        return
    if tree is None:
        await _without_workload(context, kind, job)
        return
    await _with_workload(context, kind, job, tree)


async def _told_finished(context: QueueContext, kind: JobKind, job: Tree, tree: Tree) -> None:
    message = f"Workload '{'/'.join(key_of(tree))}' is declared finished"
    await context.event(kind.component, job, "Normal", "FinishedWorkload", message)


async def _without_workload(context: QueueContext, kind: JobKind, job: Tree) -> None:
    if not kind.is_suspended(job):
        message = "Missing Workload; unable to restore pod templates"
        await _stop(context, kind, job, None, message)
        return
    if kind.is_running(job):
        return
    tree = await new_workload(context, kind, job)
    if tree is None:
        return
    namespace = tree["metadata"]["namespace"]
    made = await context.port.create(WORKLOADS, tree, namespace)
    message = f"Created Workload: {'/'.join(key_of(made))}"
    await context.event(kind.component, job, "Normal", "CreatedWorkload", message)


async def new_workload(context: QueueContext, kind: JobKind, job: Tree) -> Tree | None:
    """The Workload of a job; None while the priority class that it names is not there."""
    metadata = job["metadata"]
    spec: Tree = {
        "active": True,
        "queueName": label(job, QUEUE_LABEL),
        "podSets": kind.pod_sets(job),
    }
    priority = _priority(context, kind, job)
    if priority is None:
        return None
    spec.update(priority)
    if label(job, MAX_SECONDS_LABEL).isdigit():
        spec["maximumExecutionTimeSeconds"] = int(label(job, MAX_SECONDS_LABEL))
    owner = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": workload_name(kind.resource, metadata["name"], metadata["uid"]),
            "namespace": metadata["namespace"],
            "labels": {JOB_UID_LABEL: metadata["uid"]},
            "finalizers": [IN_USE],
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _priority(context: QueueContext, kind: JobKind, job: Tree) -> Tree | None:
    """`priority` and `priorityClassRef`; None when the class is missing."""
    name = label(job, PRIORITY_LABEL)
    resource, group = WORKLOAD_PRIORITY_CLASSES, "kueue.x-k8s.io"
    if not name:
        name, resource, group = kind.priority_class(job), PRIORITY_CLASSES, "scheduling.k8s.io"
    if not name:
        usual = [one for one in context.cache(PRIORITY_CLASSES) if one.get("globalDefault")]
        if not usual:
            return {"priority": 0}
        name = usual[0]["metadata"]["name"]
    found = context.cache(resource).get("", name)
    if found is None:
        return None
    reference = {"group": group, "kind": resource.kind, "name": name}
    return {"priority": int(found.get("value") or 0), "priorityClassRef": reference}


async def _with_workload(context: QueueContext, kind: JobKind, job: Tree, tree: Tree) -> None:
    if await _brought_in_line(context, kind, job, tree):
        return
    reclaimable = kind.reclaimable(job)
    edit = context.edit(tree)
    if reclaimable != (edit.status.get("reclaimablePods") or []):
        edit.status["reclaimablePods"] = reclaimable
    if context.settings.pods_ready_seconds is not None:
        edit.put("PodsReady", *pods_ready(tree, kind.pods_ready(job)))
    tree = await context.write(tree, edit)
    evicted = condition_of(tree, "Evicted")
    if evicted is not None and evicted["status"] == "True":
        await _evicted(context, kind, job, tree, evicted)
    elif kind.is_suspended(job):
        if is_admitted(tree):
            await _start(context, kind, job, tree)
    elif not is_admitted(tree):
        await _stop(context, kind, job, tree, "Not admitted by cluster queue")


def pods_ready(workload: Tree, is_ready: bool) -> tuple[bool, str, str]:
    """Status, reason and message of PodsReady as they are to be (waitForPodsReady)."""
    before = condition_of(workload, "PodsReady")
    recovers = before is not None and before["reason"] == "WaitForRecovery"
    if not is_admitted(workload):
        return False, "WaitForStart", _NOT_READY
    if is_ready:
        has_recovered = recovers or (before is not None and before["reason"] == "Recovered")
        return True, "Recovered" if has_recovered else "Started", _READY
    if before is not None and (before["status"] == "True" or recovers):
        return False, "WaitForRecovery", _RECOVERING
    return False, "WaitForStart", _NOT_READY


async def _brought_in_line(context: QueueContext, kind: JobKind, job: Tree, tree: Tree) -> bool:
    """A suspended job may change its queue, priority or pods: its Workload follows."""
    if not kind.is_suspended(job) or has_quota(tree):
        return False
    wanted = await new_workload(context, kind, job)
    if wanted is None:
        return False
    spec, old = wanted["spec"], tree["spec"]
    names = ("queueName", "priority", "priorityClassRef", "maximumExecutionTimeSeconds")
    patch = {name: spec.get(name) for name in names if spec.get(name) != old.get(name)}
    is_other = _shape(wanted) != _shape(tree)
    if is_other:
        patch["podSets"] = spec["podSets"]
    if not patch:
        return False
    await context.port.patch(WORKLOADS, *key_of(tree), {"spec": patch})
    if is_other or "priority" in patch:
        what = "not matching Workload for suspended job" if is_other else "workload priority class"
        message = f"Updated {what}: {'/'.join(key_of(tree))}"
        await context.event(kind.component, job, "Normal", "UpdatedWorkload", message)
    return True


def _shape(workload: Tree) -> list[object]:
    """What of the pod sets counts for quota and flavors."""
    return [
        (
            part.name,
            part.count,
            part.requests,
            [part.pod_spec.get(key) or None for key in ("nodeSelector", "affinity", "tolerations")],
        )
        for part in pod_set_asks({"spec": workload["spec"]})
    ]


async def _evicted(context: QueueContext, kind: JobKind, job: Tree, tree: Tree, evicted: Tree) -> None:
    await _stop(context, kind, job, tree, evicted["message"])
    if not has_quota(tree) or kind.is_running(context.cache(kind.resource).get(*key_of(job)) or job):
        return
    edit = context.edit(tree)
    edit.requeued(evicted["reason"] in _REQUEUED_AT_ONCE, evicted["reason"], evicted["message"])
    edit.unreserve("Pending", evicted["message"])
    await context.write(tree, edit)


async def _start(context: QueueContext, kind: JobKind, job: Tree, tree: Tree) -> None:
    admission = tree["status"]["admission"]
    injections = []
    for part in admission.get("podSetAssignments") or ():
        selector: dict[str, str] = {}
        tolerations: list[Tree] = []
        for name in dict.fromkeys((part.get("flavors") or {}).values()):
            flavor = context.queue_cache.flavors.get(name)
            if flavor is None:
                return
            selector.update(flavor.labels)
            tolerations.extend(flavor.tolerations)
        injections.append(Injection(part["name"], selector, tuple(tolerations)))
    try:
        patch = kind.start_patch(job, tree["metadata"]["name"], injections)
    except Conflict as error:  # Kueue does not try again: it declares the Workload finished
        edit = context.edit(tree)
        edit.finish("FailedToStart", str(error))
        await context.write(tree, edit)
        return
    patch["metadata"] = {"resourceVersion": job["metadata"]["resourceVersion"]}
    await context.port.patch(kind.resource, *key_of(job), patch)
    message = f"Admitted by clusterQueue {admission['clusterQueue']}"
    await context.event(kind.component, job, "Normal", "Started", message)


async def _stop(context: QueueContext, kind: JobKind, job: Tree, tree: Tree | None, message: str) -> None:
    """Suspend a job and give its templates back what they were. A batch Job takes three writes: its
    template may change only while it is suspended and has no start time."""
    key = key_of(job)
    is_batch = not kind.suspension(True).get("runPolicy")
    is_stopped = kind.is_suspended(job)
    restored = {} if tree is None else kind.restore_patch(job, tree)
    if not is_batch:
        if not is_stopped:
            await context.port.patch(kind.resource, *key, {"spec": {**kind.suspension(True), **restored}})
            await context.event(kind.component, job, "Normal", "Stopped", message)
        return
    if not is_stopped:
        patch = {"spec": {"suspend": True}, "metadata": {"annotations": {STOPPING: "true"}}}
        job = await context.port.patch(kind.resource, *key, patch)
    if (job.get("status") or {}).get("startTime"):
        await context.port.patch(kind.resource, *key, {"status": {"startTime": None}}, subresource="status")
    if not is_stopped or restored:
        last: Tree = {"metadata": {"annotations": {STOPPING: None}}}
        if restored:
            last["spec"] = restored
        await context.port.patch(kind.resource, *key, last)
    if not is_stopped:
        await context.event(kind.component, job, "Normal", "Stopped", message)
