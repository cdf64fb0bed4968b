"""What is looked at of a queue play, with what differs by chance levelled; `queue_plays` tells all of it."""

import re
from typing import Any

Tree = dict[str, Any]
Sight = dict[str, Any]
_KUEUE = ("kueue-admission", "kueue-workload-controller", "job-kueue-controller", "mpijob-kueue-controller")
_RACE = "Kueue managed child job suspended"
"""Of the launcher of an MPIJob whose quota goes: Kueue and mpi-operator both suspend it, and Kueue tells so
only where it came first (kueue, pkg/controller/jobframework/reconciler.go)."""


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two sights differ, one line each."""
    if ours == theirs:
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in sorted({*ours, *theirs})
            for line in differences(ours.get(key), theirs.get(key), f"{path}/{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list):
        only_ours = [one for one in ours if one not in theirs]
        only_theirs = [one for one in theirs if one not in ours]
        return [f"{path}: ours {only_ours}, real {only_theirs}"]
    return [f"{path}: ours {ours!r}, real {theirs!r}"]


def is_mine(tree: Tree, space: str) -> bool:
    return str(tree["metadata"]["name"]).endswith(f"-{space}")


def pods_of(pods: list[Tree], job: str) -> list[str]:
    label = "batch.kubernetes.io/job-name"
    return [pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"].get(label) == job]


def admissions(workloads: list[Tree]) -> list[str]:
    """The jobs that have a Workload, with a sign of whether it holds its quota."""
    return sorted(
        one["metadata"]["ownerReferences"][0]["name"] + "+" * ("admission" in one.get("status", {}))
        for one in workloads
        if one["metadata"].get("ownerReferences")
    )


def owned(workloads: list[Tree], job: str) -> list[Tree]:
    return [
        one
        for one in workloads
        if any(owner["name"] == job for owner in one["metadata"].get("ownerReferences") or ())
    ]


def _levels(workloads: list[Tree], jobs: list[Tree]) -> dict[str, str]:
    """What differs by chance, and the words for it."""
    words = {}
    for tree in (*workloads, *jobs):
        kind = "Workload" if "podSets" in tree.get("spec", {}) else "Job"
        name = tree["metadata"]["name"]
        if kind == "Workload":
            level = re.sub(r"-[0-9a-f]{5}$", "-#####", name)
            words[name] = level
            name = level
        words[tree["metadata"]["uid"]] = f"<uid of {kind} {name}>"
    return words


def _levelled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_levelled(key, words): _levelled(one, words) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_levelled(one, words) for one in value]
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
    return value


def _conditions(tree: Tree) -> list[str]:
    return sorted(
        f"{one['type']} {one['status']} {one['reason']} | {one['message']}"
        for one in (tree.get("status") or {}).get("conditions") or ()
    )


def _workload(tree: Tree) -> Tree:
    metadata, spec, status = tree["metadata"], tree["spec"], tree.get("status") or {}
    return {
        "conditions": _conditions(tree),
        "labels": metadata.get("labels"),
        "finalizers": metadata.get("finalizers") or [],
        "owner": [(one["kind"], one["name"], one["uid"]) for one in metadata.get("ownerReferences") or ()],
        "spec": {
            **{key: spec.get(key) for key in ("active", "queueName", "priorityClassRef")},
            "priority": spec.get("priority") or 0,
            "podSets": [(one["name"], one["count"]) for one in spec["podSets"]],
        },
        "admission": status.get("admission"),
        "resourceRequests": status.get("resourceRequests") or [],
        "evictions": (status.get("schedulingStats") or {}).get("evictions") or [],
        "requeues": (status.get("requeueState") or {}).get("count") or 0,
    }


def _job(tree: Tree) -> Tree:
    spec = tree["spec"]
    if tree["kind"] == "MPIJob":
        templates = [spec["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker")]
        suspended = spec["runPolicy"].get("suspend")
    else:
        templates, suspended = [spec["template"]], spec.get("suspend")
    chosen = ("job-name", "controller-uid")
    return {
        "suspend": suspended,
        "templates": [
            {
                "nodeSelector": one["spec"].get("nodeSelector") or {},
                "tolerations": one["spec"].get("tolerations") or [],
                "labels": {
                    key: value
                    for key, value in ((one.get("metadata") or {}).get("labels") or {}).items()
                    if not key.endswith(chosen)
                },
                "annotations": (one.get("metadata") or {}).get("annotations") or {},
            }
            for one in templates
        ],
    }


def _queue(tree: Tree) -> Tree:
    status = tree.get("status") or {}
    counts = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
    return {
        "conditions": _conditions(tree),
        **{key: status.get(key) or 0 for key in counts},
        **{key: status.get(key) or [] for key in ("flavorsReservation", "flavorsUsage")},
    }


def _places(items: Any) -> Any:
    if isinstance(items, str):
        return items
    return [
        (
            one["metadata"]["name"],
            one["metadata"]["ownerReferences"],
            one["priority"],
            one["localQueueName"],
            one["positionInClusterQueue"],
            one["positionInLocalQueue"],
        )
        for one in items
    ]


def sight(
    workloads: list[Tree], jobs: list[Tree], queues: list[Tree], doors: list[Tree], places: dict[str, Any]
) -> Sight:
    """Everything that is compared, levelled."""
    jobs = [one if "kind" in one else {**one, "kind": _kind(one)} for one in jobs]
    mine = [one for one in jobs if "kueue.x-k8s.io/queue-name" in (one["metadata"].get("labels") or {})]
    seen = {
        "workloads": {one["metadata"]["name"]: _workload(one) for one in workloads},
        "jobs": {one["metadata"]["name"]: _job(one) for one in mine},
        "queues": {one["metadata"]["name"]: _queue(one) for one in queues},
        "doors": {one["metadata"]["name"]: _queue(one) for one in doors},
        "places": {key: _places(items) for key, items in places.items()},
    }
    levelled: Sight = _levelled(seen, _levels(workloads, jobs))
    return levelled


def _kind(tree: Tree) -> str:
    """Items of a list from a real server say no kind."""
    return "MPIJob" if "mpiReplicaSpecs" in tree["spec"] else "Job"


def events(trees: list[Tree], workloads: list[Tree], jobs: list[Tree]) -> list[str]:
    """What Kueue told, each once."""
    told = set()
    for one in trees:
        component = (one.get("source") or {}).get("component") or one.get("reportingComponent") or ""
        if not component.endswith(_KUEUE) or one["reason"] == "Pending" or one["message"] == _RACE:
            continue
        about = f"{one['involvedObject']['kind']}/{one['involvedObject']['name']}"
        message = re.sub(r"\b\d+s\b", "Ns", one["message"])
        told.add(f"{one['type']} {one['reason']} {about} [{component}] {message}")
    words = _levels(workloads, jobs)
    return sorted(
        {re.sub(r"(job-[a-z0-9-]+?)-[0-9a-f]{5}\b", r"\1-#####", _levelled(one, words)) for one in told}
    )
