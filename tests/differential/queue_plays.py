"""Plays for a queue: the same steps on real Kueue and on ours, and what is looked at after each.

WHAT IS COMPARED, at every `look`:
- Workloads: every condition (type, status, reason, message), admission, resource requests, evictions and
  their counts, number of requeues, labels, finalizers, owner, the form of the name, and of the spec: queue,
  priority, its class, active, names and counts of pod sets;
- ClusterQueues and LocalQueues: every condition, all counts, `flavorsReservation`, `flavorsUsage`;
- Jobs: suspended or not, node selector, tolerations, labels and annotations of their pod template;
- places in line, as the visibility API tells them;
- at the end of a play: the events of Kueue (type, reason, object, component, message).

WHAT IS LEVELLED FIRST: uids are replaced by the names of what they belong to, hashes of names and numbers of
seconds by a sign, the order of conditions by that of their types.

WHAT IS NOT COMPARED: times, `observedGeneration`, managed fields, how often an event was told, and events of
reason Pending (real Kueue tells some of them once more or less, as its cycles fall). Plays keep away from
what is a race in real Kueue itself: the sentence of one that waited already when its queue is held, and who
comes first when a drained queue opens again with room for one only.

WHAT IS NOT MODELLED in ours, so no play asks for it: admission checks, topology-aware placement, fair
sharing, partial admission, MultiKueue, elastic jobs, limit ranges, waitForPodsReady with blocked admission,
jobs of other kinds than batch Job and MPIJob, plain pods and pod groups, and the memory of which flavors were
tried in an earlier cycle.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Tree = dict[str, Any]
GPU = "nvidia.com/gpu"
KUEUE = "kueue.x-k8s.io/v1beta2"


class Cluster(Protocol):
    """One side of the comparison. `space` is the namespace of the play."""

    space: str

    def make(self, tree: Tree) -> None:
        """Create an object and let what follows from it happen."""

    def change(self, kind: str, name: str, patch: Tree, *, namespaced: bool = True) -> None:
        """A merge patch, and what follows from it."""

    def remove(self, kind: str, name: str) -> None:
        """Delete an object of the play's namespace, and what follows from it."""

    def workload_of(self, job: str) -> str:
        """The name of a job's Workload."""

    def end_pods(self, job: str, phase: str) -> None:
        """The pods of a Job end."""

    def look(self) -> None:
        """Compare everything."""


Play = Callable[[Cluster], None]


def _flavor(name: str, **spec: Any) -> Tree:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def _queue(name: str, flavors: Mapping[str, int], limits: Tree | None = None, **spec: Any) -> Tree:
    rows = [
        {"name": one, "resources": [{"name": GPU, "nominalQuota": str(gpus), **(limits or {})}]}
        for one, gpus in flavors.items()
    ]
    groups = [{"coveredResources": [GPU], "flavors": rows}]
    whole = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": whole}


def _door(space: str, queue: str, name: str = "main") -> Tree:
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": queue}}


def _pod(gpus: int, name: str = "main", **spec: Any) -> Tree:
    resources = {"limits": {GPU: str(gpus)}} if gpus else {}
    container = {"name": name, "image": "example/train:1", "resources": resources}
    return {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def _job(cluster: Cluster, name: str, gpus: int = 4, *, queue: str = "main", **more: Any) -> None:
    labels = {"kueue.x-k8s.io/queue-name": queue, **more.pop("labels", {})}
    if "priority" in more:
        labels["kueue.x-k8s.io/priority-class"] = more.pop("priority")
    spec = {
        "parallelism": more.pop("pods", 1),
        "completions": more.pop("completions", 1),
        "backoffLimit": 0,
        "template": _pod(gpus, **more),
    }
    metadata = {"name": name, "namespace": cluster.space, "labels": labels}
    cluster.make({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


def _usual(cluster: Cluster, gpus: int = 8, **spec: Any) -> str:
    """A queue named after the namespace, with a door called main."""
    name = f"cq-{cluster.space}"
    cluster.make(_flavor(f"h100-{cluster.space}"))
    cluster.make(_queue(name, {f"h100-{cluster.space}": gpus}, **spec))
    cluster.make(_door(cluster.space, name))
    return name


def _stop(cluster: Cluster, queue: str, policy: str) -> None:
    cluster.change("clusterqueues", queue, {"spec": {"stopPolicy": policy}}, namespaced=False)


def three_jobs(cluster: Cluster) -> None:
    """Three Jobs of 4 GPUs on a quota of 8; the first ends."""
    _usual(cluster)
    for name in ("train-1", "train-2", "train-3", "train-4"):
        _job(cluster, name)
    cluster.look()
    cluster.end_pods("train-1", "Succeeded")
    cluster.look()
    cluster.end_pods("train-2", "Failed")
    cluster.look()


def never(cluster: Cluster) -> None:
    """Too big, no such queue, a queue without ClusterQueue, and a namespace that is not taken."""
    _usual(cluster)
    _job(cluster, "too-big", gpus=16)
    _job(cluster, "lost", queue="nowhere")
    cluster.make(_door(cluster.space, f"missing-{cluster.space}", "blind"))
    _job(cluster, "blinded", queue="blind")
    picky, nobody = f"picky-{cluster.space}", {"matchLabels": {"no": "one"}}
    cluster.make(_queue(picky, {f"h100-{cluster.space}": 8}, namespaceSelector=nobody))
    cluster.make(_door(cluster.space, picky, "picky"))
    _job(cluster, "stranger", queue="picky")
    cluster.look()
    cluster.make(_door(cluster.space, f"cq-{cluster.space}", "nowhere"))
    cluster.look()


def hold(cluster: Cluster) -> None:
    """A ClusterQueue is held and let go."""
    queue = _usual(cluster)
    _job(cluster, "runs")
    _stop(cluster, queue, "Hold")
    _job(cluster, "waits")
    cluster.look()
    _stop(cluster, queue, "None")
    cluster.look()


def drain(cluster: Cluster) -> None:
    """A ClusterQueue is drained and let go."""
    queue = _usual(cluster)
    _job(cluster, "runs")
    _stop(cluster, queue, "HoldAndDrain")
    _job(cluster, "new")
    cluster.look()
    _stop(cluster, queue, "None")
    cluster.look()


def drain_the_door(cluster: Cluster) -> None:
    """A LocalQueue is drained and let go."""
    _usual(cluster)
    _job(cluster, "runs")
    cluster.change("localqueues", "main", {"spec": {"stopPolicy": "HoldAndDrain"}})
    _job(cluster, "waits")
    cluster.look()
    cluster.change("localqueues", "main", {"spec": {"stopPolicy": "None"}})
    cluster.look()


def priority(cluster: Cluster) -> None:
    """A WorkloadPriorityClass of 1000 preempts in its own queue; then the room comes back."""
    _usual(cluster, preemption={"withinClusterQueue": "LowerPriority"})
    name = f"urgent-{cluster.space}"
    cluster.make(
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": 1000}
    )
    for one in ("train-1", "train-2"):
        _job(cluster, one)
    _job(cluster, "urgent", priority=name)
    cluster.look()
    cluster.end_pods("urgent", "Succeeded")
    cluster.look()


def _cohort(
    cluster: Cluster, names: str, quota: int, *, limits: Tree | None = None, **preemption: Any
) -> None:
    space = cluster.space
    cluster.make(_flavor(f"h100-{space}"))
    for one in names:
        spec: Tree = {"cohortName": f"site-{space}", "preemption": preemption}
        cluster.make(_queue(f"cq-{one}-{space}", {f"h100-{space}": quota}, limits=limits, **spec))
        cluster.make(_door(space, f"cq-{one}-{space}", one))


def reclaim(cluster: Cluster) -> None:
    """A queue borrows from its cohort, and gives back when the owner asks."""
    _cohort(cluster, "ab", 8, reclaimWithinCohort="Any")
    for number in range(3):
        _job(cluster, f"b{number}", queue="b")
    cluster.look()
    _job(cluster, "a0", gpus=8, queue="a")
    cluster.look()


def limits_of_borrowing(cluster: Cluster) -> None:
    """A borrowing limit, a lending limit."""
    _cohort(cluster, "ab", 8, limits={"borrowingLimit": "2", "lendingLimit": "3"})
    _job(cluster, "fits", gpus=10, queue="b")
    _job(cluster, "no-more", gpus=1, queue="b")
    _job(cluster, "held-back", gpus=7, queue="a")
    _job(cluster, "too-big", gpus=11, queue="a")
    cluster.look()


def borrow_by_force(cluster: Cluster) -> None:
    """Preemption while borrowing, by priority."""
    force = {"policy": "LowerPriority", "maxPriorityThreshold": 10}
    _cohort(cluster, "abc", 4, reclaimWithinCohort="LowerPriority", borrowWithinCohort=force)
    name = f"high-{cluster.space}"
    cluster.make(
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": 100}
    )
    _job(cluster, "b0", gpus=8, queue="b")
    _job(cluster, "c0", gpus=4, queue="c")
    _job(cluster, "a0", gpus=6, queue="a", priority=name)
    cluster.look()


def held_by_hand(cluster: Cluster) -> None:
    """`spec.active` false and true again: on one that runs and one that waits."""
    _usual(cluster)
    _job(cluster, "runs", gpus=8)
    _job(cluster, "waits", gpus=8)
    for active in (False, True):
        for job in ("waits", "runs"):
            cluster.change("workloads", cluster.workload_of(job), {"spec": {"active": active}})
            cluster.look()


def missing_flavor(cluster: Cluster) -> None:
    """A queue names a flavor that is not there, until it is."""
    space = cluster.space
    cluster.make(_queue(f"cq-{space}", {f"gone-{space}": 8}))
    cluster.make(_door(space, f"cq-{space}"))
    _job(cluster, "waits")
    cluster.look()
    cluster.make(_flavor(f"gone-{space}"))
    cluster.look()


def two_flavors(cluster: Cluster) -> None:
    """Labels and taints of flavors against selectors and tolerations of pods."""
    space = cluster.space
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    toleration = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
    cluster.make(_flavor(f"old-{space}", nodeLabels={"card": "a100"}, nodeTaints=[taint]))
    cluster.make(_flavor(f"new-{space}", nodeLabels={"card": "h100"}, tolerations=[toleration]))
    cluster.make(_queue(f"cq-{space}", {f"old-{space}": 8, f"new-{space}": 4}))
    cluster.make(_door(space, f"cq-{space}"))
    _job(cluster, "any")
    _job(cluster, "full")
    _job(cluster, "tolerant", tolerations=[toleration])
    _job(cluster, "picky", nodeSelector={"card": "h100"})
    _job(cluster, "lost", nodeSelector={"card": "b200"})
    cluster.look()
    cluster.change("workloads", cluster.workload_of("any"), {"spec": {"active": False}})
    cluster.look()


def strict(cluster: Cluster) -> None:
    """StrictFIFO: nobody overtakes a head that waits."""
    _usual(cluster, queueingStrategy="StrictFIFO")
    _job(cluster, "runs", gpus=6)
    _job(cluster, "blocks", gpus=4)
    _job(cluster, "small", gpus=1)
    cluster.look()
    cluster.end_pods("runs", "Succeeded")
    cluster.look()


def unsuspended(cluster: Cluster) -> None:
    """A Job that waits is un-suspended by hand; one that runs is deleted."""
    _usual(cluster)
    _job(cluster, "runs", gpus=8)
    _job(cluster, "waits", gpus=8)
    cluster.change("jobs", "waits", {"spec": {"suspend": False}})
    cluster.look()
    cluster.remove("jobs", "runs")
    cluster.look()


def parallel(cluster: Cluster) -> None:
    """Pods that ended give their quota back before the Job ends."""
    _usual(cluster, gpus=4)
    _job(cluster, "pair", gpus=2, pods=2, completions=2)
    _job(cluster, "next", gpus=2)
    cluster.look()


def mpi(cluster: Cluster) -> None:
    """MPIJobs of a launcher and two workers; one is taken off, the next gets its place."""
    _usual(cluster, gpus=8)
    for name, gpus in (("fits", 3), ("waits", 2), ("never", 6)):
        roles = {
            "Launcher": {"replicas": 1, "template": _pod(0, "launcher", restartPolicy="OnFailure")},
            "Worker": {"replicas": 2, "template": _pod(gpus, "worker")},
        }
        labels = {"kueue.x-k8s.io/queue-name": "main"}
        metadata = {"name": name, "namespace": cluster.space, "labels": labels}
        spec = {"slotsPerWorker": gpus, "runPolicy": {"suspend": False}, "mpiReplicaSpecs": roles}
        cluster.make(
            {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, "spec": spec}
        )
    cluster.look()
    cluster.change("workloads", cluster.workload_of("fits"), {"spec": {"active": False}})
    cluster.look()
    cluster.change("workloads", cluster.workload_of("fits"), {"spec": {"active": True}})
    cluster.look()


def newer_gives_way(cluster: Cluster) -> None:
    """LowerOrNewerEqualPriority: one that came later gives way to one that was drained before it."""
    _usual(cluster, gpus=4, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    _job(cluster, "first")
    cluster.change("workloads", cluster.workload_of("first"), {"spec": {"active": False}})
    _job(cluster, "second")
    cluster.change("workloads", cluster.workload_of("first"), {"spec": {"active": True}})
    cluster.look()


def cohorts_above(cluster: Cluster) -> None:
    """Two levels of cohorts, the upper one with quota of its own."""
    space = cluster.space
    cluster.make(_flavor(f"h100-{space}"))
    for name in ("left", "right"):
        below = {"parentName": f"top-{space}"}
        metadata = {"name": f"{name}-{space}"}
        cluster.make({"apiVersion": KUEUE, "kind": "Cohort", "metadata": metadata, "spec": below})
    groups = _queue("", {f"h100-{space}": 2})["spec"]["resourceGroups"]
    metadata = {"name": f"top-{space}"}
    cluster.make(
        {"apiVersion": KUEUE, "kind": "Cohort", "metadata": metadata, "spec": {"resourceGroups": groups}}
    )
    for one, side in (("a", "left"), ("b", "right")):
        spec: Tree = {"cohortName": f"{side}-{space}", "preemption": {"reclaimWithinCohort": "Any"}}
        cluster.make(_queue(f"cq-{one}-{space}", {f"h100-{space}": 4}, **spec))
        cluster.make(_door(space, f"cq-{one}-{space}", one))
    _job(cluster, "b0", gpus=9, queue="b")
    _job(cluster, "b1", gpus=1, queue="b")
    cluster.look()
    _job(cluster, "a0", gpus=4, queue="a")
    cluster.look()


def next_flavor(cluster: Cluster) -> None:
    """The next flavor is tried before anything is borrowed."""
    space = cluster.space
    for name in ("one", "two"):
        cluster.make(_flavor(f"{name}-{space}"))
    flavors = {f"one-{space}": 4, f"two-{space}": 4}
    fungibility = {"whenCanBorrow": "TryNextFlavor"}
    for name in ("a", "b"):
        spec: Tree = {"cohortName": f"site-{space}", "flavorFungibility": fungibility}
        cluster.make(_queue(f"cq-{name}-{space}", flavors, **spec))
    cluster.make(_door(space, f"cq-a-{space}"))
    for number in range(6):
        _job(cluster, f"job-{number}", gpus=3)
    cluster.look()


def another_queue(cluster: Cluster) -> None:
    """A Job that waits moves to another queue and another priority."""
    space = cluster.space
    _usual(cluster, gpus=4)
    cluster.make(_queue(f"cq-other-{space}", {f"h100-{space}": 4}))
    cluster.make(_door(space, f"cq-other-{space}", "other"))
    _job(cluster, "runs")
    _job(cluster, "moves")
    cluster.look()
    labels = {"kueue.x-k8s.io/queue-name": "other"}
    cluster.change("jobs", "moves", {"metadata": {"labels": labels}})
    cluster.look()


def less_quota(cluster: Cluster) -> None:
    """Quota that is taken away stops nobody; quota that comes lets the next in."""
    queue = _usual(cluster, gpus=8)
    for name in ("one", "two", "three"):
        _job(cluster, name)
    for gpus in (4, 12):
        groups = _queue("", {f"h100-{cluster.space}": gpus})["spec"]["resourceGroups"]
        cluster.change("clusterqueues", queue, {"spec": {"resourceGroups": groups}}, namespaced=False)
        cluster.look()


def workload_deleted(cluster: Cluster) -> None:
    """A Workload is deleted by hand: its Job is stopped and asks anew."""
    _usual(cluster)
    _job(cluster, "runs", gpus=8)
    cluster.remove("workloads", cluster.workload_of("runs"))
    cluster.look()


def time_is_up(cluster: Cluster) -> None:
    """A Job may run for a second only."""
    _usual(cluster)
    _job(cluster, "short", labels={"kueue.x-k8s.io/max-exec-time-seconds": "1"})
    cluster.look()
    cluster.change("workloads", cluster.workload_of("short"), {"spec": {"active": True}})
    cluster.look()


def door_closed(cluster: Cluster) -> None:
    """A LocalQueue is held, not drained; then it is deleted."""
    _usual(cluster)
    _job(cluster, "runs")
    cluster.change("localqueues", "main", {"spec": {"stopPolicy": "Hold"}})
    _job(cluster, "waits")
    cluster.look()
    cluster.remove("localqueues", "main")
    cluster.look()


PLAYS: tuple[Play, ...] = (
    three_jobs,
    never,
    hold,
    drain,
    drain_the_door,
    priority,
    reclaim,
    limits_of_borrowing,
    borrow_by_force,
    held_by_hand,
    missing_flavor,
    two_flavors,
    strict,
    unsuspended,
    parallel,
    mpi,
    newer_gives_way,
    cohorts_above,
    next_flavor,
    another_queue,
    less_quota,
    workload_deleted,
    time_is_up,
    door_closed,
)
