"""The walk by the sentences of the reference: one row each, old and new wordings, on nodes that have room.

What the nodes do not prove is what the component said, never more; of several members the one that is a
cause is told.
"""

import pytest

from cockpit.gangs.draft import draft, followed
from cockpit.model.finding import Finding, Subject
from cockpit.model.sureness import Sureness
from cockpit.triage.engine import explain
from tests.triage.builders import pod_spec
from tests.triage.case import Case, CaseFile, Recorded, Tree
from tests.triage.draw import Draw
from tests.triage.fixture_stage import FixtureStage
from tests.triage.recorder import played
from tests.triage.scripts.gangs import refusal
from tests.triage.stage import SCRIPTS
from tests.triage.world import view_of

JOB = "llm-70b"
PREEMPTION = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."


def stage() -> FixtureStage:
    return FixtureStage(Draw("walk", 1))


def verdict(one: FixtureStage, kind: str = "job", name: str = JOB) -> Finding:
    subject = Subject(kind, one.space, name)
    file = CaseFile((), "gpus-short", (), subject, (), one.now_seconds, Recorded("fixture", "none", 1))
    return explain(subject, view_of(Case("walk", file, one.objects())))


def parts(text: str) -> str:
    return f"0/3 nodes are available: 3 {text}. {PREEMPTION}"


SCHEDULER = [
    ("gpus-short", parts("Insufficient nvidia.com/gpu"), "GPUs"),
    ("gpus-short", parts("Insufficient nvidia.com/mig-1g.10gb"), "MIG 1g.10gb"),
    ("other-resource-short", parts("Insufficient rdma/hca_shared"), "rdma/hca_shared"),
    (
        "other-resource-short",
        "0/3 nodes are available: 3 Insufficient hugepages-2Mi, 3 Insufficient memory.",
        "hugepages-2Mi",
    ),
    ("other-resource-short", parts("Insufficient ephemeral-storage"), "local disk"),
    ("pod-limit", parts("Too many pods"), "full of pods"),
    ("pod-limit", "0/3 nodes are unavailable: 3 node(s) pod number exceeded.", "full of pods"),
    ("taint", parts("node(s) had untolerated taint {dedicated: infra}"), "dedicated"),
    ("taint", parts("node(s) had taint {dedicated: infra}, that the pod didn't tolerate"), "dedicated"),
    ("taint", parts("node(s) had untolerated taint(s)"), "tainted"),
    ("nodes-not-ready", parts("node(s) had untolerated taint {node.kubernetes.io/not-ready: }"), "not ready"),
    (
        "nodes-not-ready",
        parts("node(s) had untolerated taint {node.kubernetes.io/unreachable: }"),
        "unreachable",
    ),
    (
        "nodes-not-ready",
        parts("node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }"),
        "disk pressure",
    ),
    ("cordoned", parts("node(s) were unschedulable"), "cordoned"),
    ("selector", parts("node(s) didn't match Pod's node affinity/selector"), "selector"),
    ("selector", parts("node(s) didn't match node selector"), "selector"),
    ("pod-affinity", parts("node(s) didn't match pod affinity rules"), "beside it"),
    ("pod-affinity", parts("node(s) didn't match pod anti-affinity rules"), "anti-affinity"),
    ("pod-affinity", parts("node(s) didn't satisfy existing pods anti-affinity rules"), "anti-affinity"),
    ("topology-spread", parts("node(s) didn't match pod topology spread constraints"), "spread"),
    ("host-port", parts("node(s) didn't have free ports for the requested pod ports"), "port"),
    (
        "claim-unbound",
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        "not bound",
    ),
    (
        "claim-unbound",
        "0/3 nodes are available: 3 pod has unbound immediate PersistentVolumeClaims.",
        "not bound",
    ),
    (
        "claim-missing",
        '0/3 nodes are available: persistentvolumeclaim "data" not found.',
        "data does not exist",
    ),
    ("claim-missing", '0/3 nodes are available: persistentvolumeclaim "data" is being deleted.', "data"),
    (
        "claim-missing",
        '0/3 nodes are available: persistentvolumeclaim "data" bound to non-existent persistentvolume "pv1".',
        "pv1",
    ),
    ("volume-elsewhere", parts("node(s) had volume node affinity conflict"), "volume"),
    ("volume-elsewhere", parts("node(s) didn't match PersistentVolume's node affinity"), "volume"),
    ("volume-elsewhere", parts("node(s) didn't find available persistent volumes to bind"), "volume"),
    ("volume-not-attachable", parts("node(s) exceed max volume count"), "attach no more volumes"),
    ("volume-not-attachable", parts("node(s) did not have enough free storage"), "storage"),
    (
        "volume-not-attachable",
        parts("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"),
        "one pod only",
    ),
    ("device-claim-missing", "0/3 nodes are available: ResourceClaim not created yet.", "device claim"),
    (
        "device-claim-missing",
        "0/3 nodes are available: waiting for dynamic resource controller to create the resourceclaim.",
        "device claim",
    ),
    ("device-claim-missing", '0/3 nodes are available: resourceclaim "gpu" not found.', "gpu does not exist"),
    ("devices-short", parts("cannot allocate all claims"), "device claims"),
    ("device-elsewhere", parts("resourceclaim not available on the node"), "device claims"),
    (
        "device-class-missing",
        "0/3 nodes are available: request gpu: device class gpu.nvidia.com does not exist.",
        "gpu.nvidia.com",
    ),
    ("no-nodes", "no nodes available to schedule pods", "no node"),
    ("gang-members-missing", "waiting for minCount pods from a gang to appear in scheduling queue", "group"),
    ("gang-timed-out", "rejection in Unreserve", "timed out"),
    ("gang-backs-off", "0/3 nodes are available: podGroup ns/pg failed recently.", "tried again"),
    (
        "gang-backs-off",
        "0/3 nodes are available: resource gap: map[nvidia.com/gpu:{{6 0} {<nil>}  DecimalSI}].",
        "6",
    ),
    ("gang-missing", "0/3 nodes are available: PodGroup not found.", "group"),
    (
        "elastic-quota-used-up",
        "Pod a/b is rejected in PreFilter because ElasticQuota a is more than Max",
        "quota a",
    ),
    (
        "elastic-quota-used-up",
        "Pod a/b is rejected in PreFilter because total ElasticQuota used is more than min",
        "quotas",
    ),
    ("gang-not-placed", "minCount (4) cannot be satisfied: 3 scheduled, 1 remaining", "4 pods"),
    (
        "several-schedulers",
        'all pods in a single pod group should have the same .spec.schedulerName set, got "a", "b"',
        "several schedulers",
    ),
]


@pytest.mark.parametrize(("cause", "message", "named"), SCHEDULER, ids=lambda one: str(one)[:60])
def test_a_sentence_of_a_scheduler_has_its_row(cause: str, message: str, named: str) -> None:
    """Nodes with room prove none of it: the verdict is the scheduler's word, and is not called proved."""
    one = stage()
    one.pool(3)
    spec = pod_spec(gpus=2)
    one.job_pod(one.job(JOB, spec), spec, status=refusal(one, message))
    found = verdict(one)
    assert found.cause == cause, found.sentence
    assert named in found.sentence
    assert found.sureness in (Sureness.SAID, Sureness.INFERRED)
    assert found.evidence


REFUSALS = [
    (
        "namespace-quota-used-up",
        "FailedCreate",
        "is forbidden: exceeded quota: q1, requested: cpu=9,requests.nvidia.com/gpu=8, used: cpu=1,"
        "requests.nvidia.com/gpu=4, limited: cpu=9,requests.nvidia.com/gpu=8",
        "quota q1 of nvidia.com/gpu: asks 8, 4 of 8 used",
    ),
    (
        "namespace-quota-used-up",
        "JobCreationFailed",
        'jobs.batch "x-0" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1, used: '
        "count/jobs.batch=4, limited: count/jobs.batch=4",
        "quota jobs of count/jobs.batch: asks 1, 4 of 4 used",
    ),
    (
        "limits-not-stated",
        "FailedCreate",
        "failed quota: q: must specify limits.cpu,limits.memory",
        "limits.cpu",
    ),
    (
        "limits-not-stated",
        "FailedCreate",
        "failed quota: q: must specify limits.cpu for: train",
        "limits.cpu",
    ),
    (
        "outside-limit-range",
        "FailedCreate",
        "maximum memory usage per Container is 4Gi, but limit is 16Gi",
        "4Gi, it asks 16Gi",
    ),
    (
        "outside-limit-range",
        "FailedCreate",
        "cpu max limit to request ratio per Container is 2, but provided is 4",
        "2 times",
    ),
    (
        "refused-by-pod-security",
        "FailedCreate",
        'violates PodSecurity "baseline:latest": privileged',
        "baseline forbids privileged",
    ),
    (
        "refused-by-webhook",
        "FailedCreate",
        'admission webhook "v.io" denied the request: owner missing',
        "v.io denies it",
    ),
    (
        "refused-by-webhook",
        "FailedCreate",
        'failed calling webhook "m.kueue.io": failed to call webhook: Post "https://a": '
        "context deadline exceeded",
        "m.kueue.io does not answer: context deadline exceeded",
    ),
    (
        "named-object-missing",
        "FailedCreate",
        "error looking up service account ns/sa1: not found",
        "ServiceAccount sa1",
    ),
    (
        "named-object-missing",
        "FailedCreate",
        "no PriorityClass with name urgent was found",
        "PriorityClass urgent",
    ),
    ("not-taken-by-queue", "ErrWorkloadCompose", "too many pod sets", "too many pod sets"),
    (
        "not-taken-by-queue",
        "WorkloadPriorityClassNotFound",
        "WorkloadPriorityClass gold not found",
        "gold does not exist",
    ),
    ("refused-by-operator", "ValidationError", "spec.replicas: Invalid value: 2: must be 1", "spec.replicas"),
    (
        "name-taken",
        "ErrResourceExists",
        'Resource "x-launcher" of Kind "Job" already exists and is not managed by',
        "x",
    ),
    (
        "namespace-going",
        "FailedCreate",
        "new content in namespace a1 because it is being terminated",
        "namespace a1",
    ),
]


@pytest.mark.parametrize(("cause", "reason", "message", "named"), REFUSALS, ids=lambda one: str(one)[:60])
def test_a_refusal_of_the_api_server_has_its_row(cause: str, reason: str, message: str, named: str) -> None:
    one = stage()
    one.pool(1)
    made = one.job(JOB, pod_spec(gpus=2), status={"active": 0})
    one.event(made, reason, message, by="job-controller")
    found = verdict(one)
    assert found.cause == cause, found.sentence
    assert named in found.sentence


def test_a_refusal_that_nobody_knows_is_shown_raw_and_never_guessed() -> None:
    one = stage()
    one.pool(1)
    one.event(one.job(JOB, pod_spec(gpus=2)), "FailedCreate", "the moon is in the wrong house", by="x")
    found = verdict(one)
    assert (found.cause, found.sureness) == ("", Sureness.UNKNOWN)
    assert "the moon is in the wrong house" in found.sentence


def test_a_member_that_was_refused_comes_before_those_that_only_start() -> None:
    """Half of a job runs; a quota keeps the API server from making the rest."""
    one = stage()
    where = one.pool(2)
    spec = pod_spec(gpus=8)
    made = one.job(JOB, spec, pods=2)
    one.job_pod(made, spec, on=where.nodes[0])
    message = (
        "exceeded quota: q1, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, "
        "limited: requests.nvidia.com/gpu=8"
    )
    one.event(made, "FailedCreate", message, by="job-controller")
    assert verdict(one).cause == "namespace-quota-used-up"


def test_a_refusal_that_was_overcome_is_history() -> None:
    one = stage()
    where = one.pool(2)
    spec = pod_spec(gpus=8)
    made = one.job(JOB, spec, pods=2)
    message = "exceeded quota: q1, requested: cpu=8, used: cpu=8, limited: cpu=8"
    one.event(made, "FailedCreate", message, by="job-controller", ago=3000)
    one.job_pod(made, spec, on=where.nodes[0])
    assert verdict(one).cause != "namespace-quota-used-up"


TAKEN = "failed to create containerd task: port 29500 of this machine is in use by "
NOT_THERE = 'failed to create containerd task: exec: "torchrunn": executable file not found in $PATH: unknown'


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            f"{TAKEN}pod vision/resnet50-imagenet-worker-0, process 417231 (python3)",
            "port 29500 is in use by pod vision/resnet50-imagenet-worker-0",
        ),
        (f"{TAKEN}process 417231 (python3)", "port 29500 is in use by process 417231 (python3)"),
        (f"{TAKEN}a process of another user", "port 29500 is in use by a process of another user"),
        (NOT_THERE, "command torchrunn is not in the image"),
        ("no space left", "the container cannot start: no space left"),
        ("", "the container cannot start: StartError (exit 128)"),
    ],
)
@pytest.mark.parametrize("pods", [1, 2])
def test_a_container_that_never_began_tells_why(message: str, sentence: str, pods: int) -> None:
    one = stage()
    where, spec = one.pool(2), pod_spec(gpus=8)
    made = one.job(JOB, spec, pods=pods)
    end = {"exitCode": 128, "reason": "StartError", "message": message}
    failed = {"containerStatuses": [one.container({"terminated": end})]}
    one.job_pod(made, spec, on=where.nodes[0], phase="Failed", status=failed)
    for _ in range(1, pods):
        one.job_pod(made, spec, on=where.nodes[1])
    found = verdict(one)
    assert found.cause == "cannot-start"
    assert found.sentence.endswith(sentence) and len(found.sentence) <= 100, found.sentence


@pytest.mark.parametrize("seed", range(6))
def test_the_launcher_is_named_once_in_what_its_log_says(seed: int) -> None:
    case = played(SCRIPTS["launcher-too-early-launcher-too-early"], seed, has_second=False, ground=None)
    found = explain(case.file.subject, view_of(case))
    assert found.cause == "launcher-too-early"
    assert found.sentence.count("launcher") == 1, found.sentence


SCALER = [
    (
        "pod didn't trigger scale-up: 1 max node group size reached",
        "no scale-up: pool a100-a is at its maximum",
    ),
    (
        "pod triggered scale-up: [{" + "eu-west-4b-gpu-pool-h100-80gb-reserved-2" * 2 + " 2->3 (max: 4)}]",
        "pool eu-west-4b-g…b-reserved-2 grows from 2 to 3",
    ),
]


@pytest.mark.parametrize(("told", "words"), SCALER)
def test_the_shortage_goes_before_the_words_of_the_autoscaler_and_is_never_cut(told: str, words: str) -> None:
    one = stage()
    spec = pod_spec(gpus=8)
    for node in one.pool(2).nodes:
        other = one.job(one.draw.job(), spec, status={"ready": 1})
        one.job_pod(other, spec, on=node, phase="Running", status=one.running())
    refused = refusal(one, "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
    waits = one.job_pod(one.job(JOB, spec), spec, status=refused)
    reason = "TriggeredScaleUp" if "pod triggered" in told else "NotTriggerScaleUp"
    one.event(waits, reason, told, by="cluster-autoscaler", is_warning=False)
    found = verdict(one)
    assert found.sentence == f"needs 8 GPUs: all 16 GPUs on 2 nodes are allocated; {words}"


@pytest.mark.parametrize(("length", "tail"), [(60, "; the longer one"), (90, "; short"), (98, "")])
def test_what_follows_a_cause_is_said_as_far_as_there_is_room(length: int, tail: str) -> None:
    found = draft("gpus-short", "x" * length)
    assert followed(found, "; the longer one", "; short").sentence == found.sentence + tail


def test_room_for_some_of_the_pods_that_wait_is_told_and_a_selector_that_leaves_nodes_holds_nothing() -> None:
    one = stage()
    where, spec = one.pool(3), pod_spec(gpus=8)
    other = one.job("other", spec, status={"ready": 1})
    one.job_pod(other, spec, on=where.nodes[0], phase="Running", status=one.running())
    made = one.job(JOB, spec, pods=4)
    said = "0/5 nodes are available: 2 node(s) didn't match Pod's node affinity/selector, 3 Insufficient"
    for _ in range(4):
        one.job_pod(made, spec, status=refusal(one, f"{said} nvidia.com/gpu."))
    found = verdict(one)
    assert found.sentence == "4 pods need 8 GPUs each: the nodes have room for 2 of them"
    assert (found.cause, found.also) == ("gpus-short", ())


def _gone(one: FixtureStage, name: str) -> Tree:
    """A pod that is no more, as events name it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": one.space, "uid": "gone"},
    }


def test_who_was_preempted_is_told_by_whom_while_that_one_is_there() -> None:
    """The pod that was preempted is gone: the scheduler's event about it is what is left."""
    one = stage()
    where = one.pool(1)
    spec = pod_spec(gpus=8)
    winner = one.job("urgent", spec)
    taken = one.job_pod(winner, spec, on=where.nodes[0], phase="Running", status=one.running())
    loser = one.job(JOB, spec)
    gone = _gone(one, f"{JOB}-abcde")
    message = f"Preempted by pod {taken['metadata']['uid']} on node {where.nodes[0]}"
    one.event(gone, "Preempted", message, by="default-scheduler", is_warning=False)
    one.job_pod(loser, spec, status=refusal(one, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."))
    found = verdict(one)
    assert found.cause == "preempted"
    assert "preempted by urgent" in found.sentence
    assert "gpus-short" in found.also
    one.remove("pods", taken["metadata"]["name"])  # whoever has the place now, it is not the preemptor
    later = one.job("later", spec)
    one.job_pod(later, spec, on=where.nodes[0], phase="Running", status=one.running())
    assert verdict(one).cause == "gpus-short"


def test_another_job_that_was_preempted_is_not_this_one() -> None:
    one = stage()
    where = one.pool(1)
    spec = pod_spec(gpus=8)
    taken = one.job_pod(
        one.job("urgent", spec), spec, on=where.nodes[0], phase="Running", status=one.running()
    )
    other = _gone(one, f"{JOB}-two-abcde")
    message = f"Preempted by pod {taken['metadata']['uid']} on node {where.nodes[0]}"
    one.event(other, "Preempted", message, by="default-scheduler", is_warning=False)
    made = one.job(JOB, spec)
    one.job_pod(made, spec, status=refusal(one, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."))
    assert verdict(one).cause == "gpus-short"
