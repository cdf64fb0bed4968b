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

from typing import Any

from tests.differential.queue_ground import (
    KUEUE,
    Cluster,
    Play,
    Tree,
    a_door,
    a_flavor,
    a_job,
    a_pod,
    a_queue,
    stopping,
    usual_ground,
)


def three_jobs(cluster: Cluster) -> None:
    """Three Jobs of 4 GPUs on a quota of 8; the first ends."""
    usual_ground(cluster)
    for name in ("train-1", "train-2", "train-3", "train-4"):
        a_job(cluster, name)
    cluster.look()
    cluster.end_pods("train-1", "Succeeded")
    cluster.look()
    cluster.end_pods("train-2", "Failed")
    cluster.look()


def never(cluster: Cluster) -> None:
    """Too big, no such queue, a queue without ClusterQueue, and a namespace that is not taken."""
    usual_ground(cluster)
    a_job(cluster, "too-big", gpus=16)
    a_job(cluster, "lost", queue="nowhere")
    cluster.make(a_door(cluster.space, f"missing-{cluster.space}", "blind"))
    a_job(cluster, "blinded", queue="blind")
    picky, nobody = f"picky-{cluster.space}", {"matchLabels": {"no": "one"}}
    cluster.make(a_queue(picky, {f"h100-{cluster.space}": 8}, namespaceSelector=nobody))
    cluster.make(a_door(cluster.space, picky, "picky"))
    a_job(cluster, "stranger", queue="picky")
    cluster.look()
    cluster.make(a_door(cluster.space, f"cq-{cluster.space}", "nowhere"))
    cluster.look()


def hold(cluster: Cluster) -> None:
    """A ClusterQueue is held and let go."""
    queue = usual_ground(cluster)
    a_job(cluster, "runs")
    stopping(cluster, queue, "Hold")
    a_job(cluster, "waits")
    cluster.look()
    stopping(cluster, queue, "None")
    cluster.look()


def drain(cluster: Cluster) -> None:
    """A ClusterQueue is drained and let go."""
    queue = usual_ground(cluster)
    a_job(cluster, "runs")
    stopping(cluster, queue, "HoldAndDrain")
    a_job(cluster, "new")
    cluster.look()
    stopping(cluster, queue, "None")
    cluster.look()


def drain_the_door(cluster: Cluster) -> None:
    """A LocalQueue is drained and let go."""
    usual_ground(cluster)
    a_job(cluster, "runs")
    cluster.change("localqueues", "main", {"spec": {"stopPolicy": "HoldAndDrain"}})
    a_job(cluster, "waits")
    cluster.look()
    cluster.change("localqueues", "main", {"spec": {"stopPolicy": "None"}})
    cluster.look()


def priority(cluster: Cluster) -> None:
    """A WorkloadPriorityClass of 1000 preempts in its own queue; then the room comes back."""
    usual_ground(cluster, preemption={"withinClusterQueue": "LowerPriority"})
    name = f"urgent-{cluster.space}"
    cluster.make(
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": 1000}
    )
    for one in ("train-1", "train-2"):
        a_job(cluster, one)
    a_job(cluster, "urgent", priority=name)
    cluster.look()
    cluster.end_pods("urgent", "Succeeded")
    cluster.look()


def _cohort(
    cluster: Cluster, names: str, quota: int, *, limits: Tree | None = None, **preemption: Any
) -> None:
    space = cluster.space
    cluster.make(a_flavor(f"h100-{space}"))
    for one in names:
        spec: Tree = {"cohortName": f"site-{space}", "preemption": preemption}
        cluster.make(a_queue(f"cq-{one}-{space}", {f"h100-{space}": quota}, limits=limits, **spec))
        cluster.make(a_door(space, f"cq-{one}-{space}", one))


def reclaim(cluster: Cluster) -> None:
    """A queue borrows from its cohort, and gives back when the owner asks."""
    _cohort(cluster, "ab", 8, reclaimWithinCohort="Any")
    for number in range(3):
        a_job(cluster, f"b{number}", queue="b")
    cluster.look()
    a_job(cluster, "a0", gpus=8, queue="a")
    cluster.look()


def limits_of_borrowing(cluster: Cluster) -> None:
    """A borrowing limit, a lending limit."""
    _cohort(cluster, "ab", 8, limits={"borrowingLimit": "2", "lendingLimit": "3"})
    a_job(cluster, "fits", gpus=10, queue="b")
    a_job(cluster, "no-more", gpus=1, queue="b")
    a_job(cluster, "held-back", gpus=7, queue="a")
    a_job(cluster, "too-big", gpus=11, queue="a")
    cluster.look()


def borrow_by_force(cluster: Cluster) -> None:
    """Preemption while borrowing, by priority."""
    force = {"policy": "LowerPriority", "maxPriorityThreshold": 10}
    _cohort(cluster, "abc", 4, reclaimWithinCohort="LowerPriority", borrowWithinCohort=force)
    name = f"high-{cluster.space}"
    cluster.make(
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": 100}
    )
    a_job(cluster, "b0", gpus=8, queue="b")
    a_job(cluster, "c0", gpus=4, queue="c")
    a_job(cluster, "a0", gpus=6, queue="a", priority=name)
    cluster.look()


def held_by_hand(cluster: Cluster) -> None:
    """`spec.active` false and true again: on one that runs and one that waits."""
    usual_ground(cluster)
    a_job(cluster, "runs", gpus=8)
    a_job(cluster, "waits", gpus=8)
    for active in (False, True):
        for job in ("waits", "runs"):
            cluster.change("workloads", cluster.workload_of(job), {"spec": {"active": active}})
            cluster.look()


def missing_flavor(cluster: Cluster) -> None:
    """A queue names a flavor that is not there, until it is."""
    space = cluster.space
    cluster.make(a_queue(f"cq-{space}", {f"gone-{space}": 8}))
    cluster.make(a_door(space, f"cq-{space}"))
    a_job(cluster, "waits")
    cluster.look()
    cluster.make(a_flavor(f"gone-{space}"))
    cluster.look()


def two_flavors(cluster: Cluster) -> None:
    """Labels and taints of flavors against selectors and tolerations of pods."""
    space = cluster.space
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    toleration = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
    cluster.make(a_flavor(f"old-{space}", nodeLabels={"card": "a100"}, nodeTaints=[taint]))
    cluster.make(a_flavor(f"new-{space}", nodeLabels={"card": "h100"}, tolerations=[toleration]))
    cluster.make(a_queue(f"cq-{space}", {f"old-{space}": 8, f"new-{space}": 4}))
    cluster.make(a_door(space, f"cq-{space}"))
    a_job(cluster, "any")
    a_job(cluster, "full")
    a_job(cluster, "tolerant", tolerations=[toleration])
    a_job(cluster, "picky", nodeSelector={"card": "h100"})
    a_job(cluster, "lost", nodeSelector={"card": "b200"})
    cluster.look()
    cluster.change("workloads", cluster.workload_of("any"), {"spec": {"active": False}})
    cluster.look()


def strict(cluster: Cluster) -> None:
    """StrictFIFO: nobody overtakes a head that waits."""
    usual_ground(cluster, queueingStrategy="StrictFIFO")
    a_job(cluster, "runs", gpus=6)
    a_job(cluster, "blocks", gpus=4)
    a_job(cluster, "small", gpus=1)
    cluster.look()
    cluster.end_pods("runs", "Succeeded")
    cluster.look()


def unsuspended(cluster: Cluster) -> None:
    """A Job that waits is un-suspended by hand; one that runs is deleted."""
    usual_ground(cluster)
    a_job(cluster, "runs", gpus=8)
    a_job(cluster, "waits", gpus=8)
    cluster.change("jobs", "waits", {"spec": {"suspend": False}})
    cluster.look()
    cluster.remove("jobs", "runs")
    cluster.look()


def parallel(cluster: Cluster) -> None:
    """Pods that ended give their quota back before the Job ends."""
    usual_ground(cluster, gpus=4)
    a_job(cluster, "pair", gpus=2, pods=2, completions=2)
    a_job(cluster, "next", gpus=2)
    cluster.look()


def mpi(cluster: Cluster) -> None:
    """MPIJobs of a launcher and two workers; one is taken off, the next gets its place."""
    usual_ground(cluster, gpus=8)
    for name, gpus in (("fits", 3), ("waits", 2), ("never", 6)):
        roles = {
            "Launcher": {"replicas": 1, "template": a_pod(0, "launcher", restartPolicy="OnFailure")},
            "Worker": {"replicas": 2, "template": a_pod(gpus, "worker")},
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
    usual_ground(cluster, gpus=4, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    a_job(cluster, "first")
    cluster.change("workloads", cluster.workload_of("first"), {"spec": {"active": False}})
    a_job(cluster, "second")
    cluster.change("workloads", cluster.workload_of("first"), {"spec": {"active": True}})
    cluster.look()


def cohorts_above(cluster: Cluster) -> None:
    """Two levels of cohorts, the upper one with quota of its own."""
    space = cluster.space
    cluster.make(a_flavor(f"h100-{space}"))
    for name in ("left", "right"):
        below = {"parentName": f"top-{space}"}
        metadata = {"name": f"{name}-{space}"}
        cluster.make({"apiVersion": KUEUE, "kind": "Cohort", "metadata": metadata, "spec": below})
    groups = a_queue("", {f"h100-{space}": 2})["spec"]["resourceGroups"]
    metadata = {"name": f"top-{space}"}
    cluster.make(
        {"apiVersion": KUEUE, "kind": "Cohort", "metadata": metadata, "spec": {"resourceGroups": groups}}
    )
    for one, side in (("a", "left"), ("b", "right")):
        spec: Tree = {"cohortName": f"{side}-{space}", "preemption": {"reclaimWithinCohort": "Any"}}
        cluster.make(a_queue(f"cq-{one}-{space}", {f"h100-{space}": 4}, **spec))
        cluster.make(a_door(space, f"cq-{one}-{space}", one))
    a_job(cluster, "b0", gpus=9, queue="b")
    a_job(cluster, "b1", gpus=1, queue="b")
    cluster.look()
    a_job(cluster, "a0", gpus=4, queue="a")
    cluster.look()


def next_flavor(cluster: Cluster) -> None:
    """The next flavor is tried before anything is borrowed."""
    space = cluster.space
    for name in ("one", "two"):
        cluster.make(a_flavor(f"{name}-{space}"))
    flavors = {f"one-{space}": 4, f"two-{space}": 4}
    fungibility = {"whenCanBorrow": "TryNextFlavor"}
    for name in ("a", "b"):
        spec: Tree = {"cohortName": f"site-{space}", "flavorFungibility": fungibility}
        cluster.make(a_queue(f"cq-{name}-{space}", flavors, **spec))
    cluster.make(a_door(space, f"cq-a-{space}"))
    for number in range(6):
        a_job(cluster, f"job-{number}", gpus=3)
    cluster.look()


def another_queue(cluster: Cluster) -> None:
    """A Job that waits moves to another queue and another priority."""
    space = cluster.space
    usual_ground(cluster, gpus=4)
    cluster.make(a_queue(f"cq-other-{space}", {f"h100-{space}": 4}))
    cluster.make(a_door(space, f"cq-other-{space}", "other"))
    a_job(cluster, "runs")
    a_job(cluster, "moves")
    cluster.look()
    labels = {"kueue.x-k8s.io/queue-name": "other"}
    cluster.change("jobs", "moves", {"metadata": {"labels": labels}})
    cluster.look()


def less_quota(cluster: Cluster) -> None:
    """Quota that is taken away stops nobody; quota that comes lets the next in."""
    queue = usual_ground(cluster, gpus=8)
    for name in ("one", "two", "three"):
        a_job(cluster, name)
    for gpus in (4, 12):
        groups = a_queue("", {f"h100-{cluster.space}": gpus})["spec"]["resourceGroups"]
        cluster.change("clusterqueues", queue, {"spec": {"resourceGroups": groups}}, namespaced=False)
        cluster.look()


def workload_deleted(cluster: Cluster) -> None:
    """A Workload is deleted by hand: its Job is stopped and asks anew."""
    usual_ground(cluster)
    a_job(cluster, "runs", gpus=8)
    cluster.remove("workloads", cluster.workload_of("runs"))
    cluster.look()


def time_is_up(cluster: Cluster) -> None:
    """A Job may run for a second only."""
    usual_ground(cluster)
    a_job(cluster, "short", labels={"kueue.x-k8s.io/max-exec-time-seconds": "1"})
    cluster.look()
    cluster.change("workloads", cluster.workload_of("short"), {"spec": {"active": True}})
    cluster.look()


def door_closed(cluster: Cluster) -> None:
    """A LocalQueue is held, not drained; then it is deleted."""
    usual_ground(cluster)
    a_job(cluster, "runs")
    cluster.change("localqueues", "main", {"spec": {"stopPolicy": "Hold"}})
    a_job(cluster, "waits")
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
