"""What holds a gang, engine by engine: the queue, the group, or the member that finds no node."""

from typing import Any

import pytest

from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness
from tests.triage.builders import pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage
from tests.triage.scripts.gangs import COSCHEDULING, VOLCANO, refusal, vcjob, volcano_group, volcano_queue
from tests.unit.triage.test_walk_sentences import JOB, stage, verdict

KAI = "scheduling.run.ai/v2alpha2"
NATIVE = "scheduling.k8s.io/v1alpha2"
ROOMLESS = "0/3 nodes are unavailable: 3 Insufficient nvidia.com/gpu."


def full(one: FixtureStage, count: int = 3) -> None:
    for node in one.pool(count).nodes:
        spec = pod_spec(gpus=8)
        other = one.job(one.draw.job(), spec, status={"ready": 1})
        one.job_pod(other, spec, on=node, phase="Running", status=one.running())


def members(
    one: FixtureStage, count: int, scheduler: str, messages: tuple[str, ...] = (), **marks: Any
) -> Tree:
    """A Job with that many pods that wait in a group."""
    spec = pod_spec(gpus=8, schedulerName=scheduler)
    made = one.job(JOB, spec, pods=count)
    for index in range(count):
        told = messages[index] if index < len(messages) else ""
        one.job_pod(made, spec, status=refusal(one, told) if told else {}, **marks)
    return made


def group(one: FixtureStage, api_version: str, spec: Tree, status: Tree, name: str = "ring") -> None:
    meta = {"name": name}
    one.make(
        {"apiVersion": api_version, "kind": "PodGroup", "metadata": meta, "spec": spec, "status": status}
    )


def volcano(said: str, reason: str, messages: tuple[str, ...] = ()) -> Finding:
    one = stage()
    full(one)
    members(one, 2, "volcano", messages, annotations={"scheduling.k8s.io/group-name": "ring"})
    mark = {"type": "Unschedulable", "status": "True", "reason": reason, "message": said}
    status = {"phase": "Inqueue", "conditions": [{**mark, "lastTransitionTime": one.ago(30)}]}
    group(one, VOLCANO, {"minMember": 2, "queue": "research"}, status)
    return verdict(one)


# ---- Volcano


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (f"pod group is not ready, 2 Pending. Origin reason is x-0: {ROOMLESS}",),
        (ROOMLESS, "2/2 tasks in gang unschedulable: can possibly be assigned to n1"),
    ],
)
def test_a_volcano_gang_without_room_has_the_cause_of_its_member(messages: tuple[str, ...]) -> None:
    """Also where the members say nothing: the group's own message holds the scheduler's sentence."""
    said = f"2/2 tasks in gang unschedulable: pod group is not ready; Origin reason is x-0: {ROOMLESS}"
    found = volcano(said, "NotEnoughResources", messages)
    assert (found.cause, found.sentence) == (
        "gpus-short",
        "needs 8 GPUs: all 24 GPUs on 3 nodes are allocated",
    )
    assert found.sureness is Sureness.PROVED
    assert "gang-finds-no-room" in found.also


def test_a_volcano_gang_whose_message_names_no_node_is_told_as_a_whole() -> None:
    said = "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable"
    found = volcano(said, "NotEnoughResources")
    assert (found.cause, found.sentence) == ("gang-finds-no-room", "2 of 2 pods of its group find no node")


@pytest.mark.parametrize("reason", ["NotEnoughTasks", "NotEnoughPodsOfTask"])
def test_a_volcano_gang_without_members_says_how_many_are_there(reason: str) -> None:
    found = volcano("Not enough valid tasks for gang-scheduling, valid: 1, min: 2", reason)
    assert (found.cause, found.sentence) == ("gang-members-missing", "its group has 1 of 2 pods")


def held_back(said: str, **queue: Any) -> Finding:
    one = stage()
    one.pool(2)
    if queue:
        volcano_queue(one, "research", **queue)
    made = vcjob(one, "research")
    waits = volcano_group(one, made, "research", phase="Pending")
    if said:
        one.event(waits, "Unschedulable", said, by="volcano", is_warning=False)
    return verdict(one, name=made["metadata"]["name"])


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("", "queue research has not admitted it yet"),
        (
            "queue resource quota insufficient: insufficient nvidia.com/gpu",
            "queue research has too little left: insufficient nvidia.com/gpu",
        ),
        (
            "resource in cluster is overused: insufficient nvidia.com/gpu",
            "queue research has not admitted it, the cluster is overused: insufficient nvidia.com/gpu",
        ),
        ("resource in cluster is overused", "queue research has not admitted it, the cluster is overused"),
        ("something that nobody knows", "queue research has not admitted it yet"),
    ],
)
def test_a_volcano_queue_that_was_not_read_is_told_by_events(said: str, sentence: str) -> None:
    found = held_back(said)
    assert (found.cause, found.sentence) == ("group-not-let-in", sentence)


def test_a_volcano_queue_that_was_read_is_told_by_its_numbers_or_its_state() -> None:
    assert held_back("", gpus=8).sentence == "queue research has not admitted it: 8 of 8 GPUs in use"
    closed = held_back("", state="Closed")
    assert (closed.cause, closed.sureness) == ("group-queue-closed", Sureness.SAID)
    assert closed.sentence == "queue research is closed: it takes no jobs until it is opened"


def test_a_volcano_queue_that_does_not_exist_is_named() -> None:
    one = stage()
    one.pool(1)
    volcano_queue(one, "another")
    made = vcjob(one, "research")
    volcano_group(one, made, "research", phase="Pending")
    found = verdict(one, name=made["metadata"]["name"])
    assert (found.cause, found.sentence) == ("group-queue-closed", "queue research does not exist")


# ---- the others


@pytest.mark.parametrize(
    ("reason", "message", "cause", "sentence"),
    [
        (
            "OverLimit",
            "Workload requested 16 GPUs, but nlp limit is 8 GPUs",
            "queue-over-limit",
            "asks 16 GPUs, the limit of queue nlp is 8",
        ),
        (
            "NonPreemptibleOverQuota",
            "Non-preemptible workload is over quota. Workload requested 16 GPUs, but nlp quota is 8 GPUs",
            "queue-over-limit",
            "asks 16 GPUs, the quota of queue nlp is 8, not preemptible",
        ),
        ("OverLimit", "over the limit", "queue-over-limit", "queue nlp is at its limit"),
        ("QueueDoesNotExist", "Queue nlp does not exist", "queue-over-limit", "queue nlp does not exist"),
        (
            "PodSchedulingErrors",
            "Resources were found for 1 pods while 2 are required for gang scheduling",
            "gang-finds-no-room",
            "nodes found for 1 of 2 pods of its group",
        ),
        ("Other", "the stars are wrong", "", "the stars are wrong"),
    ],
)
def test_kai_says_what_its_queue_lacks(reason: str, message: str, cause: str, sentence: str) -> None:
    one = stage()
    one.pool(2)
    members(one, 2, "kai-scheduler", annotations={"pod-group-name": "ring"})
    mark = {"type": "UnschedulableOnNodePool", "status": "True", "reason": reason, "message": message}
    told = [{**mark, "reasons": [{"reason": reason, "message": message}]}]
    group(one, KAI, {"minMember": 2, "queue": "nlp"}, {"schedulingConditions": told})
    found = verdict(one)
    assert (found.cause, found.sentence) == (cause, sentence)


def native(one: FixtureStage, least: int, *schedulers: str, message: str = "") -> Finding:
    told = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    made = one.job(JOB, pod_spec(gpus=8), pods=len(schedulers))
    for index, name in enumerate(schedulers):
        spec = pod_spec(gpus=8, schedulingGroup={"podGroupName": "ring"}, schedulerName=name)
        status = refusal(one, told) if message and not index else {}
        one.job_pod(made, spec, status=status)
    conditions = []
    if message:
        mark = {"type": "PodGroupScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        conditions = [{**mark, "lastTransitionTime": one.ago(30)}]
    policy = {"schedulingPolicy": {"gang": {"minCount": least}}}
    group(one, NATIVE, policy, {"conditions": conditions})
    return verdict(one)


def test_a_native_gang_tells_its_members_its_schedulers_and_what_one_of_it_lacks() -> None:
    one = stage()
    one.pool(1)
    few = native(one, 4, "default-scheduler", "default-scheduler")
    assert (few.cause, few.sentence, few.also) == (
        "gang-members-missing",
        "its group has 2 of 4 pods",
        ("held-before-queue",),
    )
    one = stage()
    one.pool(1)
    mixed = native(one, 2, "default-scheduler", "bin-packer")
    assert mixed.cause == "several-schedulers"
    assert "bin-packer and default-scheduler" in mixed.sentence
    one = stage()
    full(one)
    short = native(one, 2, "default-scheduler", "default-scheduler", message="pod group is unschedulable")
    assert (short.cause, short.also[0]) == ("gang-not-placed", "gpus-short")
    assert (
        short.sentence
        == "needs 8 GPUs: all 24 GPUs on 3 nodes are allocated; its group of 2 is placed whole or not at all"
    )


def test_a_group_that_counts_a_part_which_waits_for_it_is_a_deadlock() -> None:
    """Trainer's MPI runtime: the launcher depends on the nodes, and coscheduling wants all at once."""
    one = stage()
    one.pool(3)
    spec = pod_spec(gpus=8, schedulerName="gang-scheduler")
    parts = [
        {"name": "node", "replicas": 1, "template": {"spec": {"template": {"spec": spec}}}},
        {"name": "launcher", "replicas": 1, "dependsOn": [{"name": "node", "status": "Ready"}]},
    ]
    status = {"replicatedJobsStatus": [{"name": "node", "ready": 0, "active": 1}, {"name": "launcher"}]}
    meta = {"name": JOB}
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    one.make({**kind, "metadata": meta, "spec": {"replicatedJobs": parts}, "status": status})
    jobset = one.one("jobsets.jobset.x-k8s.io", JOB)
    nodes = one.job(f"{JOB}-node-0", spec, pods=2)
    nodes["metadata"]["ownerReferences"] = one.owner(jobset)
    for _ in range(2):
        one.job_pod(nodes, spec, labels={"scheduling.x-k8s.io/pod-group": JOB})
    group(one, COSCHEDULING, {"minMember": 3}, {"phase": "Pending"}, name=JOB)
    found = verdict(one)
    assert found.cause == "waits-for-dependency"
    assert found.sentence == (
        "launcher waits for node to be ready: 0 of 1 so far; their group waits for 3 pods: deadlock"
    )
    assert "gang-members-missing" in found.also


def test_what_would_hold_a_job_besides_is_told_before_it_has_pods() -> None:
    """Suspended, larger than the cluster, and for nodes that are not there."""
    one = stage()
    one.pool(2)
    one.job(JOB, pod_spec(gpus=8, nodeSelector={"pool": "gold"}), pods=3, suspend=True, status={"active": 0})
    found = verdict(one)
    assert found.cause == "selector"
    assert found.then[0].cause == "suspended-by-hand"
    assert set(found.also) >= {"gpus-short"}


def test_a_pod_without_a_scheduler_tells_what_would_hold_it_with_one() -> None:
    one = stage()
    one.pool(2)
    spec = pod_spec(gpus=8, nodeSelector={"pool": "gold"}, schedulerName="nobody")
    one.job_pod(one.job(JOB, spec), spec)
    found = verdict(one)
    assert (found.cause, found.also) == ("selector", ("no-such-scheduler",))
