"""Jobs behind Kueue made once more, from wherever they stand: what is made is admitted, and not declared
finished.

Played on the real controllers and on the embedded cluster alike.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

from cockpit.model.finding import Subject
from tests.triage.applied import COCKPIT, OfferGround
from tests.triage.bed_stage import BedStage
from tests.triage.builders import job, pod_spec
from tests.triage.case import Tree
from tests.triage.scripts.queues import API, WORKLOADS, cluster_queue, door, flavor, workload

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
LABELS = {"Job": "jobs.batch", "MPIJob": "mpijobs.kubeflow.org", "JobSet": "jobsets.jobset.x-k8s.io"}
STATES = ("running", "queued", "preempted", "finished")
_QUOTA = 8
_COMMAND_SECONDS = 120.0


class Scene(NamedTuple):
    """A stage with a queue for 8 GPUs whose flavor adds a selector and a toleration to the pods."""

    stage: BedStage
    ground: OfferGround
    queue: str
    low: str
    high: str


def set_scene(stage: BedStage, ground: OfferGround) -> Scene:
    """The queue and two priority classes, all named after the namespace."""
    space = stage.space
    scene = Scene(stage, ground, f"cq-{space}", f"low-{space}", f"high-{space}")
    taint = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    stage.make(flavor(f"f-{space}", nodeLabels={"pool": "h100"}, tolerations=[taint]))
    spec: Any = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    stage.make(cluster_queue(scene.queue, f"f-{space}", _QUOTA, **spec))
    stage.make(door("main", scene.queue))
    for name, value in ((scene.low, 10), (scene.high, 1000)):
        stage.make(
            {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
        )
    return scene


def _batch(name: str, labels: dict[str, str]) -> Tree:
    return job(name, pod_spec(gpus=_QUOTA), labels=labels, suspend=True, backoffLimit=0)


def _mpi(name: str, labels: dict[str, str]) -> Tree:
    def role(spec: Tree) -> Tree:
        return {"replicas": 1, "template": {"spec": spec}, "restartPolicy": "Never"}

    roles = {"Launcher": role(pod_spec(cpu="1")), "Worker": role(pod_spec(gpus=_QUOTA))}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "slotsPerWorker": 1,
            "runPolicy": {"suspend": True, "backoffLimit": 0},
            "mpiReplicaSpecs": roles,
        },
    }


def _jobset(name: str, labels: dict[str, str]) -> Tree:
    inner = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 0,
        "template": {"spec": pod_spec(gpus=_QUOTA)},
    }
    part = {"name": "w", "replicas": 1, "template": {"spec": inner}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {"suspend": True, "replicatedJobs": [part]},
    }


MAKERS: dict[str, Callable[[str, dict[str, str]], Tree]] = {"Job": _batch, "MPIJob": _mpi, "JobSet": _jobset}


def play(scene: Scene, kind: str, state: str, how: str) -> None:
    """A job of the kind is brought into the state and made once more; then all that stands before it goes.

    Raises TimeoutError where what was made is not admitted, RuntimeError where the command fails.
    """
    stage = scene.stage
    subject = Subject("job", stage.space, f"{kind.lower()}-{state}")
    before = _brought(scene, kind, state, subject)
    old = {one["metadata"]["uid"] for one in stage.get(LABELS[kind])}
    run_verb(scene.ground, how, f"{kind.lower()}/{subject.namespace}/{subject.name}")
    made = stage.until(
        LABELS[kind],
        lambda one: one["metadata"]["uid"] not in old and one["metadata"]["name"].startswith(subject.name),
    )
    for name in before:
        stage.remove("jobs.batch", name)
    if made["metadata"]["name"] != subject.name:  # its original is in its place
        stage.remove(LABELS[kind], subject.name)
    uid = made["metadata"]["uid"]
    stage.until(WORKLOADS, lambda one: _is_of(one, uid) and _is_so(one, "Admitted"))
    started = stage.until(
        LABELS[kind], lambda one: one["metadata"]["uid"] == uid and not _is_suspended(one, kind)
    )
    over = [one for one in stage.get(WORKLOADS) if _is_of(one, uid) and _is_so(one, "Finished")]
    assert not over, f"declared finished: {over[0]['status']['conditions']}"
    text = json.dumps(started["spec"])
    assert text.count('"gpu"') == text.count('"pool": "h100"'), "tolerations of the flavor stand there twice"


def _brought(scene: Scene, kind: str, state: str, subject: Subject) -> list[str]:
    """The subject in its state; names of the jobs that stand before it."""
    stage = scene.stage
    labels = {QUEUE: "main", PRIORITY: scene.low}
    if state == "queued":
        first = Subject("job", stage.space, f"{subject.name}-first")
        stage.make(_batch(first.name, {QUEUE: "main", PRIORITY: scene.high}))
        workload(stage, first, "Admitted", "True")
        stage.make(MAKERS[kind](subject.name, labels))
        workload(stage, subject, "QuotaReserved", "False")
        return [first.name]
    stage.make(MAKERS[kind](subject.name, labels))
    workload(stage, subject, "Admitted", "True")
    stage.until(
        LABELS[kind], lambda one: one["metadata"]["name"] == subject.name and not _is_suspended(one, kind)
    )
    if state == "preempted":
        winner = Subject("job", stage.space, f"{subject.name}-winner")
        stage.make(_batch(winner.name, {QUEUE: "main", PRIORITY: scene.high}))
        workload(stage, winner, "Admitted", "True")
        stage.until(
            LABELS[kind], lambda one: one["metadata"]["name"] == subject.name and _is_suspended(one, kind)
        )
        return [winner.name]
    if state == "finished":
        _end(stage, subject)
        workload(stage, subject, "Finished", "True")
    return []


def _end(stage: BedStage, subject: Subject) -> None:
    """The pod that decides fails: a Job's own, or the launcher's."""

    def decides(pod: Tree) -> bool:
        name = pod["metadata"]["name"]
        return bool(name.startswith(subject.name)) and "worker" not in name

    pod = stage.until("pods", decides)
    ended = {"exitCode": 1, "reason": "Error"}
    status = {
        "name": "main",
        "ready": False,
        "restartCount": 0,
        "image": "i",
        "imageID": "",
        "state": {"terminated": ended},
    }
    stage.patch(
        "pods",
        pod["metadata"]["name"],
        {"status": {"phase": "Failed", "containerStatuses": [status]}},
        part="status",
    )


def run_verb(ground: OfferGround, how: str, name: str) -> None:
    """`cockpit job HOW NAME`. Raises RuntimeError where it fails."""
    words = [str(COCKPIT), "job", how, name, "--write", "--yes"]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            words,
            env=ground.environment(home),
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[1:])}: {(done.stderr or done.stdout).strip()[:600]}")


def _is_of(tree: Tree, uid: str) -> bool:
    return any(one["uid"] == uid for one in tree["metadata"].get("ownerReferences") or ())


def _is_so(tree: Tree, kind: str) -> bool:
    conditions = (tree.get("status") or {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _is_suspended(tree: Tree, kind: str) -> bool:
    spec = tree["spec"]
    return bool((spec.get("runPolicy") or {}).get("suspend") if kind == "MPIJob" else spec.get("suspend"))


def kept_mark(scene: Scene) -> str:
    """A job whose template names the Workload of another: the reason for which it is declared finished."""
    stage = scene.stage
    tree = _batch("poisoned", {QUEUE: "main"})
    tree["spec"]["template"].setdefault("metadata", {})["annotations"] = {
        "kueue.x-k8s.io/workload": "job-other-1"
    }
    stage.make(tree)
    found = workload(stage, Subject("job", stage.space, "poisoned"), "Finished", "True")
    (mark,) = (one for one in found["status"]["conditions"] if one["type"] == "Finished")
    return f"{mark['reason']}: {mark['message'].partition(', value2')[0]}"


WAYS = tuple(
    (state, how)
    for state in STATES
    for how in ("recreate", "clone", "retry")
    if how != "retry" or state == "finished"
)
KEPT_MARK = (
    "FailedToStart: invalid admission check PodSetUpdate: conflict for annotations:"
    " conflict for key=kueue.x-k8s.io/workload, value1=job-other-1"
)
