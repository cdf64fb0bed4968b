"""Fixtures of what no component here can be brought to: autoscalers, an ill scheduler, more of Kueue."""

from collections.abc import Mapping
from typing import Any

from cockpit.model.finding import Subject
from tests.triage.builders import pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage, fixture
from tests.triage.scripts.gangs import refusal
from tests.triage.scripts.queues import API, cluster_queue, door, flavor
from tests.triage.stage import Expected

FULL = (
    "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: 2 "
    "No preemption victims found for incoming pod."
)


def pending(
    stage: FixtureStage, message: str = FULL, *, reason: str = "Unschedulable", age: float = 600, **spec: Any
) -> tuple[Subject, Tree]:
    """A Job whose pod the scheduler refused for want of GPUs, on two full nodes."""
    where = stage.pool(2)
    for name in where.nodes:
        held = pod_spec(gpus=8)
        other = stage.job(stage.draw.job(), held, status={"ready": 1})
        stage.job_pod(other, held, on=name, phase="Running", status=stage.running())
    name, wanted = stage.draw.job(), pod_spec(gpus=stage.draw.one_of(4, 8), **spec)
    made = stage.job(name, wanted)
    status = refusal(stage, message, reason=reason) if message else {}
    pod = stage.job_pod(made, wanted, status=status, age=age)
    if message:
        stage.event(pod, "FailedScheduling", message, by="default-scheduler", count=2, ago=400)
    return Subject("job", stage.space, name), pod


@fixture("scheduler-failed", "scheduler-error")
def scheduler_error(stage: FixtureStage) -> Expected:
    """The scheduler itself failed at it."""
    said = stage.draw.one_of(
        'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
        "binding rejected: Operation cannot be fulfilled",
    )
    subject, _ = pending(stage, said, reason="SchedulerError")
    return Expected(subject, ("scheduler",))


@fixture("pool-at-maximum", "pool-at-its-maximum")
def pool_at_maximum(stage: FixtureStage) -> Expected:
    """cluster-autoscaler would, and may not."""
    subject, pod = pending(stage)
    said = stage.draw.one_of(
        "pod didn't trigger scale-up: 1 max node group size reached",
        "pod didn't trigger scale-up: 1 max node group size reached, 2 Insufficient nvidia.com/gpu",
        "max total nodes in cluster reached",
    )
    stage.event(pod, "NotTriggerScaleUp", said, by="cluster-autoscaler", is_warning=False, count=20)
    return Expected(subject, ("max",), ("gpus-short",))


@fixture("node-coming", "growing")
def growing(stage: FixtureStage) -> Expected:
    """An autoscaler is making a node for it."""
    subject, pod = pending(stage)
    if stage.draw.chance(0.5):
        said = "pod triggered scale-up: [{gpu-pool-h100 2->3 (max: 8)}]"
        stage.event(pod, "TriggeredScaleUp", said, by="cluster-autoscaler", is_warning=False, ago=90)
        return Expected(subject, ("gpu-pool-h100",), ("gpus-short",))
    claim = f"{stage.draw.word('gpu-pool')}-x2fpk"
    stage.event(
        pod,
        "Nominated",
        f"Pod should schedule on: nodeclaim/{claim}",
        by="karpenter",
        is_warning=False,
        ago=90,
    )
    return Expected(subject, (claim,), ("gpus-short",))


@fixture("no-machine", "cloud-has-none")
def cloud_has_none(stage: FixtureStage) -> Expected:
    """The autoscaler tried, and the cloud has no such machine, or no pool takes the pod."""
    subject, pod = pending(stage)
    said, named = stage.draw.one_of(
        (
            "Failed to schedule pod, incompatible requirements, "
            "key pool, pool In [nosuch] not in pool In [elastic]",
            "nosuch",
        ),
        (
            "Failed to schedule pod, no instance type has enough resources, requirements=pool In [gpu], "
            'resources={"nvidia.com/gpu":"16"}',
            "instance type|machine type|16",
        ),
    )
    stage.event(pod, "FailedScheduling", said, by="karpenter", count=9, ago=30)
    return Expected(subject, (named,), ("gpus-short",))


@fixture("held-before-queue", "held-before-the-queue")
def held_before_the_queue(stage: FixtureStage) -> Expected:
    """A plugin holds it before the scheduler's queue."""
    said = 'waiting for pod\'s pod group "ddp" to appear in scheduling queue'
    subject, pod = pending(stage, said, reason="NotReadyForScheduling")
    pod["spec"]["schedulingGroup"] = {"podGroupName": "ddp"}
    stage.serve("podgroups.scheduling.k8s.io")
    return Expected(subject, ("ddp",), ("held-before-queue",), top="gang-missing")


@fixture("not-looked-at", "just-made")
def just_made(stage: FixtureStage) -> Expected:
    """Five seconds old: the scheduler has not come to it."""
    subject, _ = pending(stage, "", age=5)
    made = stage.one("jobs.batch", subject.name)
    made["metadata"]["creationTimestamp"] = stage.ago(5)
    made["status"]["startTime"] = stage.ago(5)
    return Expected(subject, ("scheduler",), later_seconds=0)


# ---- Kueue


def queued(
    stage: FixtureStage,
    conditions: list[Tree],
    *,
    status: Tree | None = None,
    spec: Tree | None = None,
    marks: Mapping[str, str] | None = None,
) -> tuple[Subject, str]:
    """A Job in a queue and its Workload with these conditions; the ClusterQueue's name."""
    where = stage.pool(2)
    entry, queue, kind = stage.draw.word("main"), stage.draw.word("research"), stage.draw.word("flavor")
    moment = {"lastTransitionTime": stage.ago(86_400), "observedGeneration": 1}
    active = {"type": "Active", "status": "True", "reason": "Ready", "message": "Can admit new workloads"}
    door_of = {**active, "message": "Can submit new workloads to localQueue"}
    stage.make(
        flavor(kind, nodeLabels={"pool": where.word}),
        {
            **cluster_queue(queue, kind, 16),
            "status": {"conditions": [{**active, **moment}], "pendingWorkloads": 1},
        },
        {**door(entry, queue), "status": {"conditions": [{**door_of, **moment}], "pendingWorkloads": 1}},
    )
    name = stage.draw.job()
    made = stage.job(
        name,
        pod_spec(gpus=8),
        suspend=True,
        labels={"kueue.x-k8s.io/queue-name": entry},
        status={"active": 0},
    )
    del made["status"]["startTime"]
    mark = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    made["status"]["conditions"] = [
        {**mark, "lastTransitionTime": stage.ago(600), "lastProbeTime": stage.ago(600)}
    ]
    sets = [{"name": "main", "count": 1, "template": {"spec": pod_spec(gpus=8)}}]
    asks = [{"name": "main", "resources": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "8"}}]
    at = {"lastTransitionTime": stage.ago(580), "observedGeneration": 1}
    stage.make(
        {
            "apiVersion": API,
            "kind": "Workload",
            "metadata": {
                "name": f"job-{name}-1a2b3",
                "labels": {"kueue.x-k8s.io/job-uid": made["metadata"]["uid"]},
                "ownerReferences": stage.owner(made),
                **({"annotations": dict(marks)} if marks else {}),
            },
            "spec": {"active": True, "queueName": entry, "podSets": sets, "priority": 0, **(spec or {})},
            "status": {
                "conditions": [{**at, **one} for one in conditions],
                "resourceRequests": asks,
                **(status or {}),
            },
        }
    )
    return Subject("job", stage.space, name), queue


def _waits(reason: str, message: str) -> Tree:
    return {"type": "QuotaReserved", "status": "False", "reason": reason, "message": message}


@fixture("not-admitted-yet", "held-unseen")
def held_unseen(stage: FixtureStage) -> Expected:
    """Kueue holds the job and has not said anything of it."""
    subject, queue = queued(stage, [])
    return Expected(subject, (queue,), later_seconds=0)


@fixture("others-not-ready", "somebody-not-ready")
def somebody_not_ready(stage: FixtureStage) -> Expected:
    """Kueue admits nobody until the pods of another one are ready."""
    said = "waiting for all admitted workloads to be in PodsReady condition"
    reason = stage.draw.one_of("Waiting", "WaitingForPodsReady")
    subject, queue = queued(stage, [_waits(reason, said)])
    other = stage.job(stage.draw.job(), pod_spec(gpus=8))
    reserved = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": f"Quota reserved in ClusterQueue {queue}",
    }
    admitted = {
        "type": "Admitted",
        "status": "True",
        "reason": "Admitted",
        "message": "The workload is admitted",
    }
    ready = {
        "type": "PodsReady",
        "status": "False",
        "reason": "WaitForStart",
        "message": "Not all pods are ready or succeeded",
    }
    at = {"lastTransitionTime": stage.ago(1500), "observedGeneration": 1}
    entry = stage.get("localqueues.kueue.x-k8s.io")[0]["metadata"]["name"]
    sets = [{"name": "main", "count": 1, "template": {"spec": pod_spec(gpus=8)}}]
    stage.make(
        {
            "apiVersion": API,
            "kind": "Workload",
            "metadata": {
                "name": f"job-{other['metadata']['name']}-9f8e7",
                "ownerReferences": stage.owner(other),
            },
            "spec": {"active": True, "queueName": entry, "podSets": sets},
            "status": {
                "conditions": [{**one, **at} for one in (reserved, admitted, ready)],
                "admission": {"clusterQueue": queue, "podSetAssignments": []},
            },
        }
    )
    return Expected(subject, (other["metadata"]["name"],))


@fixture("quota-victims-ending", "waits-for-victims")
def waits_for_victims(stage: FixtureStage) -> Expected:
    """Kueue waits for those whom it preempted to go."""
    count = stage.draw.number(1, 3)
    said = (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in "
        f"flavor h100, 8 more needed. Pending the preemption of {count} workload(s)"
    )
    reason = stage.draw.one_of("Pending", "WaitingForPreemptedWorkloads")
    subject, _ = queued(stage, [_waits(reason, said)])
    return Expected(subject, (str(count),))


@fixture("admission-gated", "admission-gated")
def admission_gated(stage: FixtureStage) -> Expected:
    """An annotation holds it until its owner takes it away."""
    gate = stage.draw.one_of("example.com/budget", "acme.io/data-ready")
    marks = {"kueue.x-k8s.io/admission-gated-by": gate}
    subject, _ = queued(stage, [_waits("AdmissionGated", f"Admission is gated by: {gate}")], marks=marks)
    stage.one("jobs.batch", subject.name)["metadata"]["annotations"] = marks
    return Expected(subject, (gate,))


@fixture("backs-off", "back-off")
def back_off(stage: FixtureStage) -> Expected:
    """It was evicted and comes back at a given time."""
    said = "Exceeded the PodsReady timeout"
    evicted = {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "message": said}
    requeued = {"type": "Requeued", "status": "False", "reason": "PodsReadyTimeout", "message": said}
    state = {"requeueState": {"count": 1, "requeueAt": stage.ago(-stage.draw.number(3, 9) * 60)}}
    subject, _ = queued(stage, [_waits("Pending", said), evicted, requeued], status=state)
    return Expected(subject, ("min",), later_seconds=0)


@fixture("evicted-in-a-loop", "evicted-in-a-loop")
def evicted_in_a_loop(stage: FixtureStage) -> Expected:
    """Its pods are never ready in time: it was evicted again and again."""
    count = stage.draw.number(3, 9)
    said = "Exceeded the PodsReady timeout"
    evicted = {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "message": said}
    requeued = {
        "type": "Requeued",
        "status": "True",
        "reason": "BackoffFinished",
        "message": "The workload backoff was finished",
    }
    stats = {
        "schedulingStats": {
            "evictions": [{"reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart", "count": count}]
        }
    }
    subject, _ = queued(
        stage,
        [_waits("Pending", said), evicted, requeued],
        status={"requeueState": {"count": count}, **stats},
    )
    return Expected(subject, (str(count),))


@fixture("lost-with-node", "node-lost-under-kueue")
def node_lost(stage: FixtureStage) -> Expected:
    """Topology-aware: a node of the admitted workload failed."""
    said = "Workload was evicted as there was no replacement for a failed node: "
    node = "gpu-node-07"
    evicted = {"type": "Evicted", "status": "True", "reason": "NodeFailures", "message": f"{said}{node}"}
    subject, _ = queued(
        stage, [_waits("Pending", f"{said}{node}"), evicted], status={"unhealthyNodes": [{"name": node}]}
    )
    return Expected(subject, (node,))


@fixture("namespace-going", "namespace-going")
def namespace_going(stage: FixtureStage) -> Expected:
    """The namespace is being deleted and hangs on somebody's finalizer."""
    stage.pool()
    stage.patch(
        "namespaces",
        stage.space,
        {"status": {"phase": "Terminating"}, "metadata": {"deletionTimestamp": stage.ago(900)}},
    )
    name = stage.draw.job()
    made = stage.job(name, pod_spec(gpus=4), status={"active": 0})
    said = (
        f'Error creating: pods "{name}-x1" is forbidden: unable to create new content in namespace '
        f"{stage.space} because it is being terminated"
    )
    stage.event(made, "FailedCreate", said, by="job-controller", count=7)
    return Expected(Subject("job", stage.space, name), (stage.space,))
