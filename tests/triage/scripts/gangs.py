"""Volcano, coscheduling, KAI, JobSet, Trainer hold a group or have not made it. Fixtures, by their sources.

A consequence (a group that waits for one of its pods) has the cause of that pod as its top cause.
"""

from collections.abc import Sequence
from typing import Any

from cockpit.model.finding import Subject
from tests.triage.builders import pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage, fixture
from tests.triage.scripts.admission import mpijob
from tests.triage.stage import Expected, Lasts

VOLCANO = "scheduling.volcano.sh/v1beta1"
COSCHEDULING = "scheduling.x-k8s.io/v1alpha1"
BUSY = "3 Insufficient nvidia.com/gpu"


def refusal(stage: FixtureStage, message: str, *, reason: str = "Unschedulable") -> Tree:
    """What a scheduler writes into a pod that it refuses."""
    mark = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"conditions": [{**mark, "lastTransitionTime": stage.ago(580)}]}


def gang(
    stage: FixtureStage,
    messages: Sequence[str],
    *,
    scheduler: str,
    group: str,
    label: str = "",
    annotation: str = "",
    told: bool = True,
) -> tuple[Tree, list[Tree]]:
    """A Job with a pod for each message, all of one group; "" is a pod that nobody said anything about."""
    name = stage.draw.job()
    spec = pod_spec(gpus=8, schedulerName=scheduler)
    made = stage.job(name, spec, pods=len(messages), completionMode="Indexed")
    pods = []
    for message in messages:
        status = refusal(stage, message) if message else {}
        pod = stage.job_pod(
            made,
            spec,
            labels={label: group} if label else {},
            annotations={annotation: group} if annotation else {},
            status=status,
        )
        if message and told:
            stage.event(pod, "FailedScheduling", message, by=scheduler, count=3)
        pods.append(pod)
    return made, pods


def _busy(stage: FixtureStage) -> None:
    """Three nodes, full."""
    where = stage.pool(3)
    for name in where.nodes:
        spec = pod_spec(gpus=8)
        other = stage.job(stage.draw.job(), spec, status={"ready": 1})
        stage.job_pod(other, spec, on=name, phase="Running", status=stage.running())


def _job(stage: FixtureStage, tree: Tree) -> Subject:
    return Subject("job", stage.space, tree["metadata"]["name"])


# ---- Volcano


def volcano_queue(stage: FixtureStage, name: str, *, state: str = "Open", gpus: int = 8) -> None:
    """A queue of Volcano's."""
    amount = {"nvidia.com/gpu": str(gpus)}
    spec = {"weight": 1, "capability": amount, "reclaimable": True}
    status = {"state": state, "allocated": amount}
    stage.make(
        {"apiVersion": VOLCANO, "kind": "Queue", "metadata": {"name": name}, "spec": spec, "status": status}
    )


def vcjob(stage: FixtureStage, queue: str, *, phase: str = "Pending", least: int = 2) -> Tree:
    """A job of Volcano's own kind without pods."""
    name = stage.draw.job()
    task = {
        "name": "worker",
        "replicas": least,
        "template": {"spec": pod_spec(gpus=8, schedulerName="volcano")},
    }
    spec = {"minAvailable": least, "queue": queue, "schedulerName": "volcano", "tasks": [task]}
    stage.make(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": spec,
            "status": {
                "state": {"phase": phase, "lastTransitionTime": stage.ago(590)},
                "minAvailable": least,
            },
        }
    )
    return stage.one("jobs.batch.volcano.sh", name)


def volcano_group(
    stage: FixtureStage,
    of: Tree,
    queue: str,
    *,
    phase: str,
    said: str = "",
    reason: str = "NotEnoughResources",
) -> Tree:
    """The group of a job, with its Unschedulable condition."""
    name = f"{of['metadata']['name']}-{of['metadata']['uid']}"
    mark = {"type": "Unschedulable", "status": "True", "reason": reason, "message": said, "transitionID": "1"}
    conditions = [{**mark, "lastTransitionTime": stage.ago(30)}] if said else []
    stage.make(
        {
            "apiVersion": VOLCANO,
            "kind": "PodGroup",
            "metadata": {"name": name, "ownerReferences": stage.owner(of)},
            "spec": {"minMember": 2, "queue": queue, "minResources": {"nvidia.com/gpu": "16"}},
            "status": {"phase": phase, "conditions": conditions},
        }
    )
    return stage.one(f"podgroups.{VOLCANO.partition('/')[0]}", name)


@fixture("group-not-let-in", "not-enqueued", lasts=Lasts.BY_ITSELF)
def not_enqueued(stage: FixtureStage) -> Expected:
    """The queue does not let the group in."""
    _busy(stage)
    queue = stage.draw.word("research", "batch")
    volcano_queue(stage, queue)
    made = vcjob(stage, queue)
    said = stage.draw.one_of(
        "queue resource quota insufficient: insufficient nvidia.com/gpu",
        "resource in cluster is overused: insufficient nvidia.com/gpu",
    )
    group = volcano_group(stage, made, queue, phase="Pending")
    stage.event(group, "Unschedulable", said, by="volcano", is_warning=False, count=30)
    return Expected(_job(stage, made), (queue,))


@fixture("group-queue-closed", "queue-closed", lasts=Lasts.UNTIL_MENDED)
def queue_closed(stage: FixtureStage) -> Expected:
    """The queue was closed after the job had come."""
    stage.pool()
    queue = stage.draw.word("research", "batch")
    volcano_queue(stage, queue, state=stage.draw.one_of("Closed", "Closing"))
    made = vcjob(stage, queue)
    volcano_group(stage, made, queue, phase="Pending")
    return Expected(_job(stage, made), (queue, "closed|closing"))


@fixture("gang-finds-no-room", "gang-short-of-gpus")
def gang_short(stage: FixtureStage) -> Expected:
    """The group was let in, and no node has room."""
    _busy(stage)
    queue = stage.draw.word("research", "batch")
    volcano_queue(stage, queue, gpus=64)
    wide = f"0/3 nodes are unavailable: {BUSY}."
    waits = "pod group is not ready, 2 Pending, 2 minAvailable; Pending: 1 Unschedulable, 1 Schedulable."
    made, _ = gang(
        stage,
        [
            f"{waits} Origin reason is x-0: {wide}",
            "2/2 tasks in gang unschedulable: can possibly be assigned to n1, once minAvailable is satisfied",
        ],
        scheduler="volcano",
        group="x",
        annotation="scheduling.k8s.io/group-name",
    )
    group = volcano_group(
        stage,
        made,
        queue,
        phase="Inqueue",
        said=f"2/2 tasks in gang unschedulable: {waits} Origin reason is x-0: {wide}",
    )
    for pod in stage.get("pods"):
        marks = pod["metadata"].get("annotations") or {}
        if marks:
            marks["scheduling.k8s.io/group-name"] = group["metadata"]["name"]
    return Expected(_job(stage, made), ("8",), ("gang-finds-no-room",), top="gpus-short")


# ---- coscheduling


def scheduling_group(stage: FixtureStage, name: str, least: int, phase: str = "Scheduling") -> None:
    """A PodGroup of scheduler-plugins."""
    spec = {"minMember": least}
    meta = {"name": name}
    stage.make(
        {
            "apiVersion": COSCHEDULING,
            "kind": "PodGroup",
            "metadata": meta,
            "spec": spec,
            "status": {"phase": phase},
        }
    )


def coscheduled(
    stage: FixtureStage, messages: Sequence[str], least: int, *, has_group: bool = True, **given: Any
) -> tuple[Tree, str]:
    """A gang under coscheduling with these words in its pods; `%(group)s` is its group."""
    group = stage.draw.word("pg")
    if has_group:
        scheduling_group(stage, group, least)
    texts = [one % {"group": f"{stage.space}/{group}"} for one in messages]
    label = "scheduling.x-k8s.io/pod-group"
    made, _ = gang(stage, texts, scheduler="gang-scheduler", group=group, label=label, **given)
    return made, group


NOT_HELPFUL = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."


@fixture("gang-members-missing", "members-missing")
def members_missing(stage: FixtureStage) -> Expected:
    """The group wants more members than there are pods."""
    stage.pool(3)
    has = stage.draw.number(2, 3)
    said = (
        f"pre-filter pod x cannot find enough sibling pods, current pods number: {has}, minMember of "
        f"group: {has + 1}"
    )
    made, _ = coscheduled(stage, [f"0/3 nodes are available: {said}. {NOT_HELPFUL}"] * has, has + 1)
    return Expected(_job(stage, made), (str(has), str(has + 1)))


@fixture("gang-refused", "rejected-whole")
def rejected_whole(stage: FixtureStage) -> Expected:
    """One member does not fit, all are rejected."""
    _busy(stage)
    culprit = (
        f"0/3 nodes are available: {BUSY}. preemption: 0/3 nodes are available: 3 No preemption "
        "victims found for incoming pod., PodGroup %(group)s gets rejected due to Pod x is "
        "unschedulable even after PostFilter"
    )
    other = "0/1 nodes are available: 1 optimistic rejection in PostFilter."
    made, _ = coscheduled(stage, [other, culprit, other], 3)
    return Expected(_job(stage, made), ("8",), ("gang-refused",), top="gpus-short")


@fixture("gang-timed-out", "permit-timeout")
def permit_timeout(stage: FixtureStage) -> Expected:
    """Members waited for the last one until the time was up."""
    stage.pool(3)
    made, _ = coscheduled(stage, ["rejection in Unreserve"] * 3, 3)
    return Expected(_job(stage, made), ("timed out|timeout|time-out|waited too long",))


@fixture("gang-backs-off", "resource-gap")
def resource_gap(stage: FixtureStage) -> Expected:
    """The cluster has less than the group's minResources; or it failed recently."""
    stage.pool(3)
    said, named = stage.draw.one_of(
        ("resource gap: map[nvidia.com/gpu:{{6 0} {<nil>}  DecimalSI}]", "6"),
        ("podGroup %(group)s failed recently", "again|retr|back-off|backoff|recently"),
        ("pre-filter pod x cannot proceed due to gated pods in the same PodGroup", "gate"),
    )
    made, _ = coscheduled(stage, [f"0/3 nodes are available: {said}. {NOT_HELPFUL}"] * 2, 2)
    return Expected(_job(stage, made), (named,))


@fixture("gang-missing", "no-such-group")
def no_such_group(stage: FixtureStage) -> Expected:
    """The group that the pods name does not exist."""
    stage.pool(3)
    made, group = coscheduled(stage, ["0/3 nodes are available: PodGroup not found."] * 2, 2, has_group=False)
    stage.serve("podgroups.scheduling.x-k8s.io")
    return Expected(_job(stage, made), (group,))


@fixture("elastic-quota-used-up", "elastic-quota")
def elastic_quota(stage: FixtureStage) -> Expected:
    """The namespace has more than its ElasticQuota allows."""
    stage.pool(3)
    said = f"Pod {stage.space}/x is rejected in PreFilter because ElasticQuota {stage.space} is more than Max"
    made, _ = coscheduled(stage, [f"0/3 nodes are available: {said}."] * 2, 2)
    spec = {"min": {"nvidia.com/gpu": "8"}, "max": {"nvidia.com/gpu": "16"}}
    status = {"used": {"nvidia.com/gpu": "16"}}
    meta = {"name": stage.space}
    stage.make(
        {"apiVersion": COSCHEDULING, "kind": "ElasticQuota", "metadata": meta, "spec": spec, "status": status}
    )
    return Expected(_job(stage, made), ("ElasticQuota|elastic quota",))


@fixture("launcher-not-made", "group-counts-the-launcher")
def group_counts_the_launcher(stage: FixtureStage) -> Expected:
    """The launcher waits for workers, the group waits for the launcher: nobody starts, ever."""
    stage.pool(3)
    workers, name = stage.draw.number(2, 3), stage.draw.job()
    tree = mpijob(name, workers=workers, gpus=8, launcherCreationPolicy="WaitForWorkersReady")
    created = {
        "type": "Created",
        "status": "True",
        "reason": "MPIJobCreated",
        "message": f"MPIJob {name} is created.",
    }
    tree["status"] = {"conditions": [{**created, "lastTransitionTime": stage.ago(590)}]}
    stage.make(tree)
    made = stage.one("mpijobs.kubeflow.org", name)
    scheduling_group(stage, name, workers + 1)
    said = (
        f"pre-filter pod x cannot find enough sibling pods, current pods number: {workers}, minMember "
        f"of group: {workers + 1}"
    )
    marks = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/operator-name": "mpi-operator"}
    for index in range(workers):
        pod = stage.pod(
            f"{name}-worker-{index}",
            {
                **tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"],
                "schedulerName": "gang-scheduler",
            },
            owner=made,
            labels={
                **marks,
                "training.kubeflow.org/job-role": "worker",
                "training.kubeflow.org/replica-index": str(index),
                "scheduling.x-k8s.io/pod-group": name,
            },
            status=refusal(stage, f"0/3 nodes are available: {said}. {NOT_HELPFUL}"),
        )
        stage.event(pod, "FailedScheduling", said, by="gang-scheduler", count=3)
    return Expected(Subject("job", stage.space, name), ("launcher", str(workers)), ("gang-members-missing",))


# ---- the native gang, KAI, JobSet, Trainer


@fixture("several-schedulers", "two-schedulers")
def two_schedulers(stage: FixtureStage) -> Expected:
    """Members of one native group name different schedulers."""
    stage.pool(3)
    group = stage.draw.word("ddp-group")
    meta, spec = {"name": group}, {"schedulingPolicy": {"gang": {"minCount": 2}}}
    stage.make(
        {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": meta, "spec": spec}
    )
    said = (
        "all pods in a single pod group should have the same .spec.schedulerName set, got "
        '"default-scheduler", "volcano"'
    )
    made, pods = gang(stage, [said, said], scheduler="default-scheduler", group=group)
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    pods[1]["spec"]["schedulerName"] = "volcano"
    return Expected(_job(stage, made), ("volcano",))


@fixture("queue-over-limit", "over-quota")
def over_quota(stage: FixtureStage) -> Expected:
    """KAI: the queue's quota or limit."""
    stage.pool(3)
    queue, group = stage.draw.word("nlp", "vision"), stage.draw.word("pg")
    reason, said = stage.draw.one_of(
        (
            "NonPreemptibleOverQuota",
            f"Non-preemptible workload is over quota. Workload requested 16 GPUs, "
            f"but {queue} quota is 8 GPUs, "
            "while 0 GPUs are already allocated for non-preemptible pods.",
        ),
        ("OverLimit", f"Workload requested 16 GPUs, but {queue} limit is 8 GPUs"),
        ("QueueDoesNotExist", f"Queue {queue} does not exist"),
    )
    made, _ = gang(
        stage,
        ["", ""],
        scheduler="kai-scheduler",
        group=group,
        annotation="pod-group-name",
        label="kai.scheduler/queue",
    )
    for pod in stage.get("pods"):
        if "kai.scheduler/queue" in (pod["metadata"].get("labels") or {}):
            pod["metadata"]["labels"]["kai.scheduler/queue"] = queue
    if reason != "QueueDoesNotExist":
        spec = {"resources": {"gpu": {"quota": 8, "limit": 8}}}
        stage.make(
            {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": queue}, "spec": spec}
        )
    told = {"type": "UnschedulableOnNodePool", "nodePool": "default", "status": "True", "transitionID": "4"}
    condition = {
        **told,
        "reason": reason,
        "message": said,
        "reasons": [{"reason": reason, "message": said}],
        "lastTransitionTime": stage.ago(300),
    }
    stage.make(
        {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {"name": group, "ownerReferences": stage.owner(made)},
            "spec": {"minMember": 2, "queue": queue},
            "status": {"schedulingConditions": [condition], "pending": 2},
        }
    )
    return Expected(_job(stage, made), (queue,))


@fixture("waits-for-dependency", "waits-for-dependency")
def waits_for_dependency(stage: FixtureStage) -> Expected:
    """A JobSet makes its workers once its `data` job is ready, which it is not."""
    where = stage.pool()
    name, first = stage.draw.job(), stage.draw.word("data", "init")
    spec = pod_spec(gpus=4)
    kinds = [
        {"name": first, "replicas": 1, "template": {"spec": {"template": {"spec": pod_spec()}}}},
        {
            "name": "workers",
            "replicas": 2,
            "dependsOn": [{"name": first, "status": "Complete"}],
            "template": {"spec": {"template": {"spec": spec}}},
        },
    ]
    status = [
        {"name": first, "ready": 0, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0},
        {"name": "workers", "ready": 0, "active": 0, "succeeded": 0, "failed": 0, "suspended": 0},
    ]
    mark = {
        "type": "StartupPolicyInProgress",
        "status": "True",
        "reason": "StartupPolicyInProgress",
        "message": "startup policy in progress",
    }
    stage.make(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": name},
            "spec": {"replicatedJobs": kinds},
            "status": {
                "replicatedJobsStatus": status,
                "conditions": [{**mark, "lastTransitionTime": stage.ago(500)}],
            },
        }
    )
    made = stage.one("jobsets.jobset.x-k8s.io", name)
    run = stage.job(f"{name}-{first}-0", pod_spec(), status={"ready": 1})
    run["metadata"]["ownerReferences"] = stage.owner(made)
    marks = {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": first}
    run["metadata"]["labels"] = marks
    stage.job_pod(run, pod_spec(), on=where.nodes[0], phase="Running", labels=marks, status=stage.running())
    return Expected(Subject("job", stage.space, name), (first,))


@fixture("runtime-missing", "runtime-missing")
def runtime_missing(stage: FixtureStage) -> Expected:
    """The TrainJob's runtime does not exist."""
    stage.pool()
    name, runtime = stage.draw.job(), stage.draw.word("horovod-runtime", "torch-runtime")
    said = f'ClusterTrainingRuntime.trainer.kubeflow.org "{runtime}" not found'
    mark = {"type": "Failed", "status": "True", "reason": "TrainingRuntimeNotSupported", "message": said}
    stage.make(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": name},
            "spec": {
                "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": runtime},
                "trainer": {"numNodes": 2},
            },
            "status": {"conditions": [{**mark, "lastTransitionTime": stage.ago(590)}]},
        }
    )
    return Expected(Subject("job", stage.space, name), (runtime,))
