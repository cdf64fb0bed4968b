"""Fixtures of controllers that leave off half-way: quota that stays held, operators that are down, parts that
stay suspended."""

from cockpit.model.finding import Subject
from tests.triage.builders import GPU, pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage, fixture
from tests.triage.scripts.others import queued
from tests.triage.scripts.queues import API, WORKLOADS
from tests.triage.stage import Expected, Lasts

QUOTA, WANTED = 16, 8
"""GPUs of the queue that `queued` makes, and of the Job in it."""


def _evicted(stage: FixtureStage, queue: str) -> tuple[Tree, int]:
    """A job that Kueue evicted and suspended again, whose Workload keeps its quota; its GPUs."""
    pods, each = stage.draw.one_of((2, 8), (3, 4), (4, 4))
    entry = stage.get("localqueues.kueue.x-k8s.io")[0]["metadata"]["name"]
    flavor = stage.get("resourceflavors.kueue.x-k8s.io")[0]["metadata"]["name"]
    kind = stage.draw.one_of("Job", "JobSet")
    holder = _suspended(stage, kind, entry, pods, pod_spec(gpus=each))
    since = stage.draw.number(20, 300) * 60
    why = stage.draw.one_of("WaitForStart", "WaitForRecovery")
    name, held = f"{kind.lower()}-{holder['metadata']['name']}-7c2de", pods * each
    marks = (
        ("QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {queue}", since + 3600),
        ("Admitted", "True", "Admitted", "The workload is admitted", since + 3600),
        ("PodsReady", "False", why, "At least one pod has failed or is not ready", since + 60),
        (
            "Evicted",
            "True",
            "PodsReadyTimeout",
            f"Exceeded the PodsReady timeout {stage.space}/{name}",
            since,
        ),
    )
    conditions = [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": stage.ago(ago),
            "observedGeneration": 1,
        }
        for type_, status, reason, message, ago in marks
    ]
    part = {"name": "main", "count": pods}
    used = {"cpu": str(4 * pods), "memory": f"{16 * pods}Gi", GPU: str(held)}
    given = {**part, "flavors": dict.fromkeys(used, flavor), "resourceUsage": used}
    status = {
        "admission": {"clusterQueue": queue, "podSetAssignments": [given]},
        "requeueState": {"count": 1, "requeueAt": stage.ago(since - 300)},
        "conditions": conditions,
    }
    pod_set = {**part, "template": {"spec": pod_spec(gpus=each)}}
    _make_workload(stage, name, holder, entry, pod_set, since + 3610, status)
    total = [{"name": flavor, "resources": [{"name": GPU, "total": str(held), "borrowed": "0"}]}]
    told = {"flavorsReservation": total, "flavorsUsage": total, "reservingWorkloads": 1}
    stage.patch("clusterqueues.kueue.x-k8s.io", queue, {"status": {**told, "admittedWorkloads": 1}})
    return holder, held


def _make_workload(
    stage: FixtureStage, name: str, holder: Tree, entry: str, pod_set: Tree, age_seconds: int, status: Tree
) -> None:
    """A Workload that keeps its quota, of a job in a local queue."""
    stage.make(
        {
            "apiVersion": API,
            "kind": "Workload",
            "metadata": {
                "name": name,
                "creationTimestamp": stage.ago(age_seconds),
                "finalizers": ["kueue.x-k8s.io/resource-in-use"],
                "ownerReferences": stage.owner(holder),
            },
            "spec": {"active": True, "queueName": entry, "podSets": [pod_set], "priority": 0},
            "status": status,
        }
    )


def _suspended(stage: FixtureStage, kind: str, entry: str, pods: int, spec: Tree) -> Tree:
    """A Job or a JobSet of so many pods in a queue, without a pod."""
    name, marks = stage.draw.job(), {"kueue.x-k8s.io/queue-name": entry}
    mark = {"type": "Suspended", "status": "True", "lastTransitionTime": stage.ago(1100)}
    if kind == "Job":
        said = {**mark, "reason": "JobSuspended", "message": "Job suspended"}
        made = stage.job(name, spec, pods=pods, suspend=True, labels=marks, status={"active": 0})
        del made["status"]["startTime"]
        made["status"]["conditions"] = [said]
        return made
    template = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": {"spec": spec}}
    counts = {"active": 0, "ready": 0, "failed": 0, "succeeded": 0, "suspended": pods}
    said = {**mark, "reason": "SuspendedJobs", "message": "jobset is suspended"}
    stage.make(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": name, "labels": marks},
            "spec": {
                "suspend": True,
                "replicatedJobs": [{"name": "main", "replicas": pods, "template": {"spec": template}}],
            },
            "status": {
                "restarts": 1,
                "conditions": [said],
                "replicatedJobsStatus": [{"name": "main", **counts}],
            },
        }
    )
    return stage.one("jobsets.jobset.x-k8s.io", name)


def _waiting(stage: FixtureStage) -> tuple[Subject, Tree, int]:
    """A Job that waits for the quota that another one was evicted from; that one, and what it holds."""
    subject, queue = queued(stage, [])
    waiting = stage.get(WORKLOADS)[0]
    flavor = stage.get("resourceflavors.kueue.x-k8s.io")[0]["metadata"]["name"]
    holder, held = _evicted(stage, queue)
    said = f"insufficient unused quota for {GPU} in flavor {flavor}, {WANTED - (QUOTA - held)} more needed"
    mark = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "observedGeneration": 1}
    message = f"couldn't assign flavors to pod set main: {said}"
    waiting["status"]["conditions"] = [{**mark, "message": message, "lastTransitionTime": stage.ago(580)}]
    return subject, holder, held


@fixture("quota-not-released", "evicted-and-kept", lasts=Lasts.UNTIL_MENDED)
def evicted_and_kept(stage: FixtureStage) -> Expected:
    """A job was evicted, its pods are gone, and its quota was not given back; by draw the subject is that
    one, or another that waits for this quota."""
    waits, holder, held = _waiting(stage)
    name = holder["metadata"]["name"]
    if stage.draw.chance(0.3):
        return Expected(Subject("job", stage.space, name), ("evicted", str(held)))
    return Expected(waits, (f"{stage.space}/{name}", str(held)))


# ---- operators


def _of_operator(stage: FixtureStage) -> tuple[Tree, str, str]:
    """An object that an operator has to act on, without a status; the operator, and its namespace."""
    name, gpus, workers = stage.draw.job(), stage.draw.one_of(1, 4, 8), stage.draw.number(2, 4)
    kind = stage.draw.one_of("PyTorchJob", "MPIJob", "RayJob")
    spec = pod_spec(gpus=gpus)
    meta = {"name": name}
    if kind == "RayJob":
        told: Tree = {"entrypoint": "python train.py", "rayClusterSpec": _ray(workers, spec)}
        return (
            {"apiVersion": "ray.io/v1", "kind": kind, "metadata": meta, "spec": told},
            "kuberay-operator",
            "ray-system",
        )
    parts: Tree = {"Worker": {"replicas": workers, "template": {"spec": spec}}}
    if kind == "PyTorchJob":
        told = {"pytorchReplicaSpecs": parts}
        whole = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": meta, "spec": told}
        return whole, "training-operator", "kubeflow"
    parts["Launcher"] = {"replicas": 1, "template": {"spec": pod_spec(cpu="1", memory="2Gi")}}
    told = {"slotsPerWorker": gpus, "mpiReplicaSpecs": parts}
    whole = {"apiVersion": "kubeflow.org/v2beta1", "kind": kind, "metadata": meta, "spec": told}
    return whole, "mpi-operator", "mpi-operator"


def _ray(workers: int, spec: Tree) -> Tree:
    """The spec of a RayCluster."""
    head = {"rayStartParams": {}, "template": {"spec": pod_spec(cpu="2")}}
    group = {"groupName": "gpu", "replicas": workers, "minReplicas": workers, "template": {"spec": spec}}
    return {"headGroupSpec": head, "workerGroupSpecs": [group]}


@fixture("operator-down", "its-pod-is-down", lasts=Lasts.UNTIL_MENDED)
def its_pod_is_down(stage: FixtureStage) -> Expected:
    """The only pod of its operator crashes, or its image cannot be pulled."""
    where = stage.pool()
    stage.healthy(where)
    subject, operator, space = _of_operator(stage)
    stage.make(subject, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    image = f"registry.example.com/ml/{operator}:1.9"
    spec = pod_spec(
        cpu="1", memory="1Gi", container={"name": "manager", "image": image}, restartPolicy="Always"
    )
    if stage.draw.chance(0.5):
        code, restarts = stage.draw.one_of(1, 2), stage.draw.number(6, 40)
        ended = {
            "exitCode": code,
            "reason": "Error",
            "startedAt": stage.ago(200),
            "finishedAt": stage.ago(190),
        }
        said = "back-off 5m0s restarting failed container=manager"
        state, last, phase, word = ("CrashLoopBackOff", said), {"terminated": ended}, "Running", "crash"
    else:
        said = f'Back-off pulling image "{image}"'
        state, last, phase, word, restarts = ("ImagePullBackOff", said), {}, "Pending", "image|pull", 0
    waits = {"waiting": {"reason": state[0], "message": state[1]}}
    held = stage.container(waits, name="manager", restarts=restarts, last=last)
    status = {"containerStatuses": [{**held, "image": image}]}
    name = f"{operator}-7c9f6d5b8"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "uid": stage.uid()}}
    name += f"-{stage.draw.rng.getrandbits(20):05x}"
    made = stage.pod(
        name, spec, owner=owner, on=where.nodes[0], phase=phase, status=status, age=7200, namespace=space
    )
    for one in made["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one["status"] = "False"
    return Expected(Subject("job", stage.space, subject["metadata"]["name"]), (operator, word))


# ---- parts


@fixture("part-suspended", "suspended-cluster", lasts=Lasts.UNTIL_MENDED)
def suspended_cluster(stage: FixtureStage) -> Expected:
    """The RayCluster of a job or a service was suspended by hand; what it was made of was not."""
    where = stage.pool()
    stage.healthy(where)
    name, kind = stage.draw.job(), stage.draw.one_of("RayJob", "RayService")
    cluster = f"{name}-{stage.draw.rng.getrandbits(20):05x}"
    held = _ray(stage.draw.number(1, 3), pod_spec(gpus=stage.draw.one_of(2, 4, 8)))
    if kind == "RayJob":
        spec: Tree = {"entrypoint": "python search.py", "suspend": False, "rayClusterSpec": held}
        status: Tree = {"jobDeploymentStatus": "Initializing", "rayClusterName": cluster}
        status["startTime"] = stage.ago(590)
    else:
        spec = {"rayClusterConfig": held}
        status = {"pendingServiceStatus": {"rayClusterName": cluster}}
    stage.make(
        {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec, "status": status}
    )
    mark = {
        "type": "RayClusterSuspended",
        "status": "True",
        "reason": "UserRequestedSuspension",
        "message": "",
    }
    stage.make(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {
                "name": cluster,
                "ownerReferences": stage.owner(stage.one(f"{kind.lower()}s.ray.io", name)),
            },
            "spec": {"suspend": True, **held},
            "status": {
                "state": "suspended",
                "conditions": [{**mark, "lastTransitionTime": stage.ago(stage.draw.number(60, 500))}],
            },
        }
    )
    return Expected(Subject("job", stage.space, name), (cluster, "suspended"))


# ---- schedules


@fixture("schedule-never-due", "a-date-that-never-comes", lasts=Lasts.UNTIL_MENDED)
def a_date_that_never_comes(stage: FixtureStage) -> Expected:
    """A CronJob whose schedule names a day that its month does not have."""
    stage.pool()
    day, months = stage.draw.one_of((30, "2"), (31, "2"), (31, "4,6"), (31, "9-9,11"))
    schedule = f"{stage.draw.number(0, 59)} {stage.draw.number(0, 23)} {day} {months} *"
    name, gpus = stage.draw.job(), stage.draw.one_of(1, 4, 8)
    template = {
        "parallelism": stage.draw.number(1, 4),
        "template": {"spec": pod_spec(gpus=gpus, restartPolicy="Never")},
    }
    stage.make(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {
                "name": name,
                "creationTimestamp": stage.ago(stage.draw.number(2, 90) * 86_400),
            },
            "spec": {"schedule": schedule, "jobTemplate": {"spec": template}},
            "status": {},
        }
    )
    return Expected(Subject("job", stage.space, name), (schedule,))
