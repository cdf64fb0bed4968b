"""Further ways to rows that others have too: policies, limits of drivers, machines that boot, preemption."""

from cockpit.model.finding import Subject
from tests.triage.builders import (
    FAKE,
    GPU,
    HOST,
    ask,
    job,
    neighbours,
    node,
    node_like,
    pod_spec,
    pool,
    refused,
    run,
    told,
)
from tests.triage.case import Tree
from tests.triage.scripts.admission import enforced, mpijob, quota, start
from tests.triage.scripts.order import priority
from tests.triage.scripts.queues import running
from tests.triage.scripts.volumes import bound, claim, storage_class, volume, with_claim
from tests.triage.stage import Expected, Lasts, Seen, Stage, script

API = "kube-apiserver"
SCHEDULER = "kube-scheduler"
MPI = "mpi-operator"
NOT_READY = "node.kubernetes.io/not-ready"
_NOT_UP = {
    "type": "Ready",
    "status": "False",
    "reason": "KubeletNotReady",
    "message": "container runtime network not ready: cni plugin not initialized",
}


@script("refused-by-webhook", "policy-denies", API, lasts=Lasts.NEVER_PASSES)
def policy_denies(stage: Stage) -> Expected:
    """A ValidatingAdmissionPolicy denies the pods."""
    pool(stage)
    name, said = (
        stage.draw.word("require-owner", "image-policy"),
        stage.draw.one_of("owner label missing", "no cost center"),
    )
    kinds = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    rules = {
        "matchConstraints": {"resourceRules": [kinds]},
        "validations": [{"expression": "false", "message": said}],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": stage.space}}
    bind = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": here}}
    group = "admissionregistration.k8s.io/v1"
    meta = {"name": name}
    stage.make(
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": rules},
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta, "spec": bind},
    )
    # The server takes a second to know a policy: Jobs are made until one of them is denied.
    for _ in range(20):
        subject = start(stage, pod_spec(gpus=2))
        first = stage.until("events", _tells_of(subject.name))
        if first["reason"] == "FailedCreate":
            return Expected(subject, (name, said))
        stage.remove("jobs.batch", subject.name)
    raise TimeoutError(f"policy {name} never denied anything")


def _tells_of(name: str) -> Seen:
    words = ("FailedCreate", "SuccessfulCreate")
    return lambda one: one["involvedObject"]["name"] == name and one["reason"] in words


@script("namespace-quota-used-up", "mpijob-quota", MPI)
def mpijob_quota(stage: Stage) -> Expected:
    """The operator may not make the workers of an MPIJob."""
    pool(stage)
    name, hard = stage.draw.word("gpu-quota", "team-quota"), stage.draw.one_of(2, 4, 8)
    stage.make(quota(name, requests__nvidia__com_gpu=str(hard)))
    enforced(stage, name)
    which = stage.draw.job()
    stage.make(mpijob(which, workers=stage.draw.number(2, 3), gpus=8))
    told(stage, "MPIJobFailed", "exceeded quota")
    return Expected(Subject("job", stage.space, which), (name, str(hard)))


@script("nodes-not-ready", "still-booting", SCHEDULER)
def still_booting(stage: Stage) -> Expected:
    """The machines that have what it needs are there, and not ready yet."""
    neighbours(stage)
    word = stage.draw.word("h100", "b200")
    names = [f"{word}-{index:02d}" for index in range(stage.draw.number(1, 2))]
    for name in names:
        tree = node(name, allocatable={GPU: "8"}, labels={"pool": word})
        tree["metadata"]["annotations"] = {**FAKE, "bed/booting": "yes"}
        tree["spec"]["taints"] = [{"key": "bed/new", "effect": "NoSchedule"}]
        stage.make(tree)
        # a node that never said anything loses its taint in time: its kubelet has to say that it is down,
        # and until that is read another taint keeps pods off
        stage.patch("nodes", name, {"status": {"conditions": [_NOT_UP]}}, part="status")
        node_like(stage, name, NOT_READY)
        stage.patch("nodes", name, {"spec": {"taints": [{"key": NOT_READY, "effect": "NoSchedule"}]}})
        node_like(stage, name, NOT_READY)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(1, 8)))
    refused(stage, "untolerated taint", subject)
    return Expected(subject, ("not ready|not-ready|NotReady",))


@script("volume-elsewhere", "no-volume-to-bind", SCHEDULER)
def no_volume_to_bind(stage: Stage) -> Expected:
    """A class of local disks without a provisioner, and no disk of it is left."""
    pool(stage)
    name, kind = stage.draw.word("scratch", "cache"), stage.draw.word("local-nvme", "local-ssd")
    tree = {**storage_class(kind, waits=True), "provisioner": "kubernetes.io/no-provisioner"}
    stage.make(tree, claim(name, storage_class=kind))
    subject = ask(stage, pod_spec(gpus=1, **with_claim(name)))
    refused(stage, "didn't find available persistent volumes to bind", subject)
    return Expected(subject, (name,))


@script("volume-not-attachable", "attach-limit", SCHEDULER, lasts=Lasts.BY_ITSELF)
def attach_limit(stage: Stage) -> Expected:
    """Each node has as many volumes of the driver attached as it may."""
    place = pool(stage, count=stage.draw.number(1, 2))
    driver = "csi.example.com"
    for where in place.nodes:
        limits = [{"name": driver, "nodeID": where, "topologyKeys": None, "allocatable": {"count": 1}}]
        meta = {"name": where}
        stage.make(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": meta,
                "spec": {"drivers": limits},
            }
        )
    names = [f"{stage.draw.word('data', 'ckpt')}-{index}" for index in range(len(place.nodes) + 1)]
    for name in names:
        stage.make(volume(f"pv-{name}", key=HOST, values=list(place.nodes)), claim(name, volume=f"pv-{name}"))
        bound(stage, name)
    for where, name in zip(place.nodes, names, strict=False):
        run(stage, pod_spec(gpus=1, **with_claim(name)), on=where)
    subject = ask(stage, pod_spec(gpus=1, **with_claim(names[-1])))
    refused(stage, "exceed max volume count", subject)
    return Expected(subject, (names[-1],))


@script("preempted", "by-the-scheduler", SCHEDULER)
def preempted_by_the_scheduler(stage: Stage) -> Expected:
    """kube-scheduler took its place for a pod of a higher priority; its new pod waits."""
    high = stage.draw.word("urgent", "prod")
    stage.make(priority(high, 100_000))
    pool(stage, count=1)
    name, winner = stage.draw.job(), stage.draw.job()
    stage.make(job(name, pod_spec(gpus=8)))
    subject = Subject("job", stage.space, name)
    running(stage, subject)
    stage.make(job(winner, pod_spec(gpus=8, priorityClassName=high)))
    running(stage, Subject("job", stage.space, winner))
    told(stage, "Preempted")
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, (winner,), ("gpus-short",))


@script("deadline", "mpijob-deadline", MPI)
def mpijob_deadline(stage: Stage) -> Expected:
    """The deadline of an MPIJob counts from its launcher's start."""
    pool(stage, count=2)
    name = stage.draw.job()
    stage.make(
        mpijob(
            name,
            workers=2,
            gpus=4,
            runPolicy={"activeDeadlineSeconds": stage.draw.number(2, 4), "cleanPodPolicy": "All"},
        )
    )

    def has_failed(tree: Tree) -> bool:
        conditions = (tree.get("status") or {}).get("conditions") or []
        return any(one["type"] == "Failed" and one["status"] == "True" for one in conditions)

    stage.until("mpijobs.kubeflow.org", has_failed)
    for index in range(2):
        stage.until_gone("pods", f"{name}-worker-{index}")
    return Expected(Subject("job", stage.space, name), ("deadline",))
