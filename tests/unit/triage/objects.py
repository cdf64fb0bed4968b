"""Objects as an API server gives them, and the view of a cluster that holds them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.jobs.index import JobIndex
from cockpit.kube.decode import decoders
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind, Record
from cockpit.store.store import Store
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.context import ClusterView

NVIDIA = "nvidia.com/gpu"
PRODUCT = "nvidia.com/gpu.product"
POOL = "example.com/pool"
NOW = 1_800_000_000.0
_DECODERS = {
    "Node": decoders.NODE,
    "Pod": decoders.POD,
    "Job": decoders.JOB,
    "MPIJob": decoders.MPIJOB,
    "Workload": decoders.WORKLOAD,
    "LocalQueue": decoders.LOCAL_QUEUE,
    "ClusterQueue": decoders.CLUSTER_QUEUE,
    "NodeClaim": decoders.machine_decoder(
        Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False)
    ),
}
Tree = dict[str, Any]


def meta(name: str, namespace: str = "", **more: Any) -> Tree:
    place = {"namespace": namespace} if namespace else {}
    made = {"name": name, "uid": f"{namespace}-{name}", "resourceVersion": "1"}
    return {**made, **place, "creationTimestamp": "2027-01-15T07:00:00Z", **more}


def node(name: str, gpus: int = 8, *, labels: Mapping[str, str] | None = None, **spec: Any) -> Tree:
    offered = {"cpu": "64", "memory": "256Gi", "pods": "110", **({NVIDIA: str(gpus)} if gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
        "spec": spec,
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def job(name: str, members: int, gpus: int, *, namespace: str = "team-a", **spec: Any) -> Tree:
    """A batch Job whose pods are made by `pods_of`."""
    asked = {"cpu": "1", **({NVIDIA: str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "train:1", "resources": {"limits": asked, "requests": asked}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(name, namespace),
        "spec": {
            "parallelism": members,
            "completions": members,
            "template": {"metadata": {}, "spec": {"containers": [container], **spec}},
        },
        "status": {"active": members, "startTime": "2027-01-15T07:00:00Z"},
    }


def pods_of(owner: Tree, places: Iterable[str] = ()) -> list[Tree]:
    """The pods of a batch Job; those without a place wait for the scheduler."""
    at = list(places)
    made = []
    for number in range(owner["spec"]["parallelism"]):
        where = at[number] if number < len(at) else ""
        name, space = owner["metadata"]["name"], owner["metadata"]["namespace"]
        mark = {"batch.kubernetes.io/job-name": name, "job-name": name}
        ref = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": owner["metadata"]["uid"]}
        spec = {**owner["spec"]["template"]["spec"], **({"nodeName": where} if where else {})}
        scheduled = {"type": "PodScheduled", "status": "True" if where else "False"}
        if not where:
            scheduled |= {"reason": "Unschedulable", "message": "0/3 nodes are available."}
        made.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": meta(
                    f"{name}-{number}", space, labels=mark, ownerReferences=[{**ref, "controller": True}]
                ),
                "spec": spec,
                "status": _up(scheduled) if where else {"phase": "Pending", "conditions": [scheduled]},
            }
        )
    return made


def _up(scheduled: Tree) -> Tree:
    ready = {"type": "Ready", "status": "True"}
    state = {"running": {"startedAt": "2027-01-15T07:01:00Z"}}
    container = {"name": "main", "ready": True, "restartCount": 0, "state": state, "image": "train:1"}
    up = {"phase": "Running", "startTime": "2027-01-15T07:01:00Z", "containerStatuses": [container]}
    return {**up, "conditions": [scheduled, ready]}


def decoded(tree: Tree) -> list[Record]:
    """Its record, as the feed makes it."""
    found = _DECODERS[tree["kind"]].from_json(json.dumps(tree).encode())
    return [] if found is None else [found]


def view_of(
    trees: Iterable[Tree], around: Surroundings = UNKNOWN, pools: Iterable[PoolObject] = ()
) -> ClusterView:
    """The view of a cluster with these objects, all of which were read."""
    store = Store()
    by_place: dict[tuple[str, str], list[Tree]] = defaultdict(list)
    for tree in trees:
        by_place[tree["kind"], tree["metadata"].get("namespace", "")].append(tree)
    for (kind, _), some in by_place.items():
        records = tuple(record for one in some for record in decoded(one))
        store.apply(Batch(kind=_DECODERS[kind].kind, changed=records))
    store.apply(Batch(kind=Kind.POOL, changed=tuple(pools)))
    jobs = JobIndex(store)
    jobs.update(store.take_delta())
    return ClusterView(store=store, jobs=jobs, now_seconds=NOW, around=around, trees=dict(by_place))


def changes_of(subject: Subject, view: ClusterView) -> tuple[Change, ...]:
    """What is offered to the subject, whatever its cause is called."""
    return changes_for(Finding(subject=subject), view)
