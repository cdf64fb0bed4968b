"""A second wall on a bed: once a script has played, one more fault is put into its live cluster."""

from collections.abc import Callable
from typing import Any

from cockpit.model.finding import Subject
from tests.triage.bed_stage import BedStage
from tests.triage.builders import pod_spec, run
from tests.triage.case import Tree
from tests.triage.shared_cluster import Clash
from tests.triage.stage import Script
from tests.triage.walls import NVIDIA, gpus_asked, gpus_offered

QUEUES = "clusterqueues.kueue.x-k8s.io"
TAINT = {"key": "team", "value": "night", "effect": "NoSchedule"}
ANYWHERE = [{"operator": "Exists"}]


def _full(stage: BedStage, subject: Subject) -> None:
    """Another job holds the GPUs that are free, node by node."""
    free = {one["metadata"]["name"]: gpus_offered(one) for one in stage.get("nodes")}
    for pod in stage.get("pods"):
        is_over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if (node := pod["spec"].get("nodeName", "")) in free and not is_over:
            free[node] -= sum(map(gpus_asked, pod["spec"]["containers"]))
    if not any(gpus > 0 for gpus in free.values()):
        raise Clash("no GPU is free")
    for node, gpus in free.items():
        if gpus > 0:
            run(stage, pod_spec(gpus=gpus, tolerations=ANYWHERE), on=node)


def _cordoned(stage: BedStage, subject: Subject) -> None:
    for one in stage.get("nodes"):
        stage.patch("nodes", one["metadata"]["name"], {"spec": {"unschedulable": True}})


def _tainted(stage: BedStage, subject: Subject) -> None:
    for one in stage.get("nodes"):
        taints = [*(one["spec"].get("taints") or ()), TAINT]
        stage.patch("nodes", one["metadata"]["name"], {"spec": {"taints": taints}})


def _queues(stage: BedStage) -> list[Tree]:
    found = stage.get(QUEUES)
    if not found:
        raise Clash("no queue")
    return found


def _stopped(stage: BedStage, subject: Subject) -> None:
    for one in _queues(stage):
        if one["spec"].get("stopPolicy", "None") != "None":
            raise Clash("it is stopped")
        name = one["metadata"]["name"]
        stage.patch(QUEUES, name, {"spec": {"stopPolicy": "Hold"}})
        stage.until(QUEUES, lambda tree, name=name: tree["metadata"]["name"] == name and _is_inactive(tree))  # type: ignore[misc]


def _is_inactive(tree: Tree) -> bool:
    conditions = (tree.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Active" and one["status"] == "False" for one in conditions)


def _small(stage: BedStage, subject: Subject) -> None:
    """Its queue has no quota of GPUs at all."""
    for one in _queues(stage):
        groups = one["spec"].get("resourceGroups") or []
        rows = [
            row
            for group in groups
            for flavor in group["flavors"]
            for row in flavor["resources"]
            if row["name"] == NVIDIA
        ]
        if not rows:
            raise Clash("no quota of GPUs")
        for row in rows:
            row["nominalQuota"] = "0"
        stage.patch(QUEUES, one["metadata"]["name"], {"spec": {"resourceGroups": groups}})


def _elsewhere(stage: BedStage, subject: Subject) -> None:
    """Its author selects nodes that are not there, too."""
    _rewritten(stage, subject, lambda spec: spec.setdefault("nodeSelector", {}).update(gpu="b300"))


def _claim(stage: BedStage, subject: Subject) -> None:
    """Its author names a claim that does not exist, too."""
    name = "dataset-of-last-year"
    volume = {"name": name, "persistentVolumeClaim": {"claimName": name}}
    _rewritten(stage, subject, lambda spec: spec.setdefault("volumes", []).append(volume))


def _rewritten(stage: BedStage, subject: Subject, change: Callable[[dict[str, Any]], object]) -> None:
    """The job as its author would have written it with the fault in it from the first on."""
    tree = stage.made.get(("Job", subject.name))
    if subject.kind != "job" or tree is None:
        raise Clash("no job that a script wrote")
    change(tree["spec"]["template"]["spec"])
    stage.remove("jobs.batch", subject.name)
    stage.until_gone("jobs.batch", subject.name)
    stage.make(tree)


WALLS: dict[str, Callable[[BedStage, Subject], None]] = {
    "selector": _elsewhere,
    "taint": _tainted,
    "claim": _claim,
    "room": _full,
    "cordon": _cordoned,
    "stopped": _stopped,
    "quota": _small,
}
_BEGIN_ANEW = ("selector", "claim")
_BY_STATE = ("switched-off",)
"""Causes that go where the job begins anew."""


def can_stand(wall: str, script: Script) -> bool:
    """False where the job has a node already, has ended, or has a fault that the wall would take away."""
    return script.lasts is not None and not (wall in _BEGIN_ANEW and script.row in _BY_STATE)


def put(wall: str, stage: BedStage, subject: Subject) -> None:
    """Put the wall up, and let the components look at it: a job that needs none of it runs after it. Raises
    Clash where it cannot stand there."""
    WALLS[wall](stage, subject)
    nodes = stage.get("nodes")
    if nodes:
        on = nodes[0]["metadata"]["name"]
        run(stage, pod_spec(cpu="1", tolerations=ANYWHERE), on=on)
