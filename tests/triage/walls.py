"""A second wall behind the first: the cases of the corpus once more with a fault in their cluster that stands
beside theirs."""

import json
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tests.triage.case import Case, Tree
from tests.triage.scripts import ALL
from tests.triage.shared_cluster import Change, Clash, Fence, merged
from tests.triage.stage import SCRIPTS

Objects = dict[str, list[Tree]]
NVIDIA = "nvidia.com/gpu"
_HOLDER = "holds-the-rest"
_SPACE = "of-others"
_BEGUN = "2026-11-01T08:00:00Z"


def _full(objects: Objects) -> None:
    """Another job holds all GPUs that are free."""
    free = {one["metadata"]["name"]: gpus_offered(one) for one in objects.get("nodes", ())}
    for pod in objects.get("pods", ()):
        if (where := pod["spec"].get("nodeName", "")) in free:
            free[where] -= sum(map(gpus_asked, pod["spec"]["containers"]))
    uid = f"uid-{_HOLDER}"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": _HOLDER, "uid": uid, "controller": True}
    pods = [_holder(node, gpus, owner) for node, gpus in free.items() if gpus > 0]
    if not pods:
        raise Clash("no GPU is free")
    template = {key: one for key, one in pods[0]["spec"].items() if key != "nodeName"}
    spec = {
        "parallelism": len(pods),
        "completions": len(pods),
        "template": {"metadata": {}, "spec": template},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": _meta(_HOLDER), "spec": spec}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _SPACE, "uid": _SPACE}}
    objects.setdefault("namespaces", []).append(space)
    objects.setdefault("jobs.batch", []).append({**job, "status": {"active": len(pods)}})
    objects.setdefault("pods", []).extend(pods)


def gpus_offered(node: Tree) -> int:
    """Allocatable."""
    return int(node["status"].get("allocatable", {}).get(NVIDIA, 0))


def gpus_asked(container: Tree) -> int:
    """By its limits."""
    return int((container.get("resources") or {}).get("limits", {}).get(NVIDIA, 0))


def _meta(name: str) -> Tree:
    return {
        "name": name,
        "namespace": _SPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "creationTimestamp": _BEGUN,
    }


def _holder(node: str, gpus: int, owner: Tree) -> Tree:
    asked = {"resources": {part: {NVIDIA: str(gpus)} for part in ("requests", "limits")}}
    labels = {"batch.kubernetes.io/job-name": _HOLDER, "job-name": _HOLDER}
    running = {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": _BEGUN}}}
    marks = [{"type": one, "status": "True"} for one in ("PodScheduled", "Ready")]
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a", **asked}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**_meta(f"{_HOLDER}-{node}"), "labels": labels, "ownerReferences": [owner]},
        "spec": {"nodeName": node, **spec},
        "status": {
            "phase": "Running",
            "startTime": _BEGUN,
            "containerStatuses": [{**running, "image": "a"}],
            "conditions": marks,
        },
    }


def _cordoned(objects: Objects) -> None:
    for node in objects.get("nodes", ()):
        node["spec"]["unschedulable"] = True


def _queues(objects: Objects) -> list[Tree]:
    found = objects.get("clusterqueues.kueue.x-k8s.io") or []
    if not found:
        raise Clash("no queue")
    return found


def _stopped(objects: Objects) -> None:
    """Its queue is stopped."""
    for queue in _queues(objects):
        if queue["spec"].get("stopPolicy", "None") != "None":
            raise Clash("it is stopped")
        queue["spec"]["stopPolicy"] = "Hold"


def _small(objects: Objects) -> None:
    """Its queue has no quota of GPUs at all."""
    for queue in _queues(objects):
        for group in queue["spec"].get("resourceGroups", ()):
            for flavor in group["flavors"]:
                for one in flavor["resources"]:
                    if one["name"] == NVIDIA:
                        one["nominalQuota"] = "0"


def _of(change: Change) -> Callable[[Case], Case]:
    return lambda case: merged(case, [], Fence.LABEL, change)


def _by(change: Callable[[Objects], None]) -> Callable[[Case], Case]:
    def done(case: Case) -> Case:
        objects: Objects = json.loads(json.dumps(dict(case.objects)))
        change(objects)
        return msgspec.structs.replace(case, objects=objects)

    return done


WALLS: dict[str, Callable[[Case], Case]] = {
    "selector": _of(Change(selector={"gpu": "b300"})),
    "taint": _of(Change(taints=("team=night:NoSchedule",))),
    "claim": _of(Change(claim="dataset-of-last-year")),
    "room": _by(_full),
    "cordon": _by(_cordoned),
    "stopped": _by(_stopped),
    "quota": _by(_small),
}


def second_walls(cases: Sequence[Case]) -> Iterator[tuple[str, Case]]:
    """Each case with each wall that can stand behind its own, and the wall's name. What has a node already,
    or has ended, meets none of them."""
    assert ALL  # the scripts by which cases were played
    for case in cases:
        if SCRIPTS[case.file.recorded.script].lasts is None or case.file.also:
            continue
        for name, wall in WALLS.items():
            try:
                made = wall(case)
            except Clash:
                continue
            yield name, msgspec.structs.replace(made, name=f"{case.name}+{name}")
