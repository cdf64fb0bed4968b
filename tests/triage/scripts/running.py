"""What real controllers show once pods were made."""

from cockpit.model.finding import Subject
from tests.triage.builders import fill, job, node, node_like, pod, pod_spec, pool
from tests.triage.case import Tree
from tests.triage.scripts.admission import mpijob
from tests.triage.stage import Expected, Seen, Stage, script

MPI = "mpi-operator"
KCM = "kube-controller-manager"
MPIJOBS = "mpijobs.kubeflow.org"
LONG_AGO = "2026-11-01T00:00:00Z"


def _phase(name: str, phase: str) -> Seen:
    return lambda one: one["metadata"]["name"] == name and (one.get("status") or {}).get("phase") == phase


def _placed(name: str) -> Seen:
    return lambda one: one["metadata"]["name"] == name and bool(one["spec"].get("nodeName"))


def _ended(code: int, reason: str) -> Tree:
    state = {"terminated": {"exitCode": code, "reason": reason}}
    one = {"name": "worker", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    return {"phase": "Failed", "containerStatuses": [one]}


def _up(stage: Stage, name: str, workers: int) -> None:
    for index in range(workers):
        stage.until("pods", _phase(f"{name}-worker-{index}", "Running"))


@script("launcher-not-made", "worker-not-ready", MPI)
def worker_not_ready(stage: Stage) -> Expected:
    """The launcher waits for workers that are Ready, and one never is."""
    pool(stage, count=2)
    name, workers = stage.draw.job(), stage.draw.number(2, 3)
    tree = mpijob(name, workers=workers, gpus=4, launcherCreationPolicy="WaitForWorkersReady")
    hold = {"annotations": {"bed/hold": "yes"}}
    tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"] = hold
    stage.make(tree)
    late = stage.draw.number(0, workers - 1)
    for index in range(workers):
        pod_name = f"{name}-worker-{index}"
        found = stage.until("pods", _placed(pod_name))
        is_ready = index != late
        marks = [
            {"type": kind, "status": str(is_ready), "lastTransitionTime": LONG_AGO}
            for kind in ("ContainersReady", "Ready")
        ]
        state = {"name": "worker", "image": "x", "imageID": "", "restartCount": 0, "ready": is_ready}
        running = {
            **state,
            "started": True,
            "state": {"running": {"startedAt": found["metadata"]["creationTimestamp"]}},
        }
        change = {"status": {"phase": "Running", "conditions": marks, "containerStatuses": [running]}}
        stage.patch("pods", pod_name, change, part="status")
    stage.until(MPIJOBS, lambda one: bool((one.get("status") or {}).get("conditions")))
    return Expected(Subject("job", stage.space, name), (f"worker-{late}",), ("not-ready",), later_seconds=120)


@script("worker-failed", "worker-failed", MPI)
def worker_failed(stage: Stage) -> Expected:
    """A worker died; the operator does not make it again, and the MPIJob still says Running."""
    pool(stage, count=2)
    name, workers = stage.draw.job(), stage.draw.number(2, 4)
    stage.make(mpijob(name, workers=workers, gpus=4))
    _up(stage, name, workers)
    stage.until(MPIJOBS, _condition(name, "Running"))
    lost = f"{name}-worker-{stage.draw.number(0, workers - 1)}"
    code = stage.draw.one_of(137, 139, 1)
    stage.patch(
        "pods", lost, {"status": _ended(code, "OOMKilled" if code == 137 else "Error")}, part="status"
    )
    stage.until("pods", _phase(lost, "Failed"))
    return Expected(Subject("job", stage.space, name), (lost.removeprefix(f"{name}-"),), later_seconds=120)


def _condition(name: str, kind: str) -> Seen:
    def holds(tree: Tree) -> bool:
        conditions = (tree.get("status") or {}).get("conditions") or []
        is_so = any(one["type"] == kind and one["status"] == "True" for one in conditions)
        return is_so and tree["metadata"]["name"] == name

    return holds


@script("workers-left", "workers-left", MPI)
def workers_left(stage: Stage) -> Expected:
    """The job succeeded, its workers run on and hold their GPUs."""
    pool(stage, count=2)
    name, workers = stage.draw.job(), stage.draw.number(2, 4)
    stage.make(mpijob(name, workers=workers, gpus=4, runPolicy={"cleanPodPolicy": "None"}))
    _up(stage, name, workers)
    launcher = stage.until(
        "pods",
        lambda one: (
            one["metadata"]["name"].startswith(f"{name}-launcher")
            and (one.get("status") or {}).get("phase") == "Running"
        ),
    )
    done = {"metadata": {"annotations": {"bed/finish-after": "1s"}}}
    stage.patch("pods", launcher["metadata"]["name"], done)
    stage.until(MPIJOBS, _condition(name, "Succeeded"))
    return Expected(Subject("job", stage.space, name), (str(workers * 4),), later_seconds=300)


@script("deadline", "deadline", KCM)
def deadline(stage: Stage) -> Expected:
    """The Job's deadline passed while it waited."""
    place = pool(stage, count=1)
    fill(stage, place, 8)
    name = stage.draw.job()
    stage.make(job(name, pod_spec(gpus=8), activeDeadlineSeconds=stage.draw.number(2, 4)))
    stage.until("jobs.batch", _condition(name, "Failed"))
    return Expected(Subject("job", stage.space, name), ("deadline",))


@script("node-not-ready", "kubelet-silent", KCM)
def kubelet_silent(stage: Stage) -> Expected:
    """A node whose kubelet is not heard of any more, with a job on it."""
    pool(stage, count=1)
    name = stage.draw.word("gpu-node")
    tree = node(name, allocatable={"nvidia.com/gpu": "8"}, is_played=False)
    seen = {"lastHeartbeatTime": LONG_AGO, "lastTransitionTime": LONG_AGO}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }
    tree["status"]["conditions"] = [{**ready, **seen}]
    stage.make(tree)
    lost = stage.draw.job()
    stage.make(pod(lost, pod_spec(gpus=8, nodeName=name, tolerations=[{"operator": "Exists"}])))
    up = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}],
    }
    stage.patch("pods", lost, {"status": up}, part="status")
    node_like(stage, name, "node.kubernetes.io/unreachable")
    stage.until("nodes", _unknown(name))
    kind = stage.draw.one_of("node", "pod")
    subject = Subject("node", "", name) if kind == "node" else Subject("pod", stage.space, lost)
    named = name if kind == "pod" else "kubelet|not ready|unreachable"
    return Expected(subject, (named,), later_seconds=120)


def _unknown(name: str) -> Seen:
    def holds(tree: Tree) -> bool:
        ready = [one for one in tree["status"].get("conditions") or [] if one["type"] == "Ready"]
        return bool(tree["metadata"]["name"] == name and ready and ready[0]["status"] == "Unknown")

    return holds


@script("stuck-terminating", "finalizer", KCM)
def finalizer(stage: Stage) -> Expected:
    """A pod was deleted and stays because of a finalizer."""
    place = pool(stage, count=1)
    name = stage.draw.job()
    mark = stage.draw.one_of("example.com/flush-checkpoint", "acme.io/backup", "storage.example.com/detach")
    stage.make(
        pod(
            name,
            pod_spec(gpus=4, terminationGracePeriodSeconds=5, nodeName=place.nodes[0]),
            finalizers=[mark],
        )
    )
    stage.until("pods", _phase(name, "Running"))
    stage.remove("pods", name)
    stage.until("pods", lambda one: "deletionTimestamp" in one["metadata"])
    return Expected(Subject("pod", stage.space, name), (mark,), later_seconds=300)
