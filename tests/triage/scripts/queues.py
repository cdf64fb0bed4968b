"""Kueue holds the job, as the real one writes; half-placed gangs have no engine."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from cockpit.model.finding import Subject
from tests.triage.builders import GPU, Pool, also_elsewhere, elsewhere, job, pod_spec, pool, run, told
from tests.triage.case import Tree
from tests.triage.stage import PATIENCE_SECONDS, Expected, Lasts, Seen, Stage, script

KUEUE = "kueue"
API = "kueue.x-k8s.io/v1beta2"
WORKLOADS = "workloads.kueue.x-k8s.io"
QUEUES = "clusterqueues.kueue.x-k8s.io"


class Queue(NamedTuple):
    """Names of a queue's three objects, and the nodes behind it."""

    door: str
    name: str
    flavor: str
    place: Pool


def flavor(name: str, **spec: Any) -> Tree:
    """A ResourceFlavor."""
    return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def cluster_queue(
    name: str, flavor_name: str, gpus: int, *, resources: Mapping[str, str] | None = None, **spec: Any
) -> Tree:
    """A ClusterQueue of one flavor; processors and memory have room for all."""
    amounts = resources or {"cpu": "10000", "memory": "100Ti", GPU: str(gpus)}
    quotas = [{"name": key, "nominalQuota": value} for key, value in amounts.items()]
    groups = [{"coveredResources": list(amounts), "flavors": [{"name": flavor_name, "resources": quotas}]}]
    whole = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
    return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": whole}


def door(name: str, queue: str, **spec: Any) -> Tree:
    """A LocalQueue."""
    whole = {"clusterQueue": queue, **spec}
    return {"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": name}, "spec": whole}


def queue(
    stage: Stage, gpus: int, *, flavor_spec: Tree | None = None, wait: bool = True, **spec: Any
) -> Queue:
    """A queue with a quota of so many GPUs over nodes that have room for it."""
    draw = stage.draw
    place = pool(stage, count=2)
    made = Queue(draw.word("main", "gpu-queue"), draw.word("research", "shared"), draw.word("flavor"), place)
    stage.make(flavor(made.flavor, **(flavor_spec or {})))
    stage.make(cluster_queue(made.name, made.flavor, gpus, **spec))
    stage.make(door(made.door, made.name))
    if wait:
        stage.until("localqueues.kueue.x-k8s.io", _condition(made.door, "Active", "True"))
    return made


def _condition(name: str, kind: str, status: str) -> Seen:
    def holds(tree: Tree) -> bool:
        conditions = (tree.get("status") or {}).get("conditions") or []
        is_so = any(one["type"] == kind and one["status"] == status for one in conditions)
        return is_so and tree["metadata"]["name"] == name

    return holds


def submit(
    stage: Stage, where: str, spec: Tree, *, pods: int = 1, priority: str = "", **given: Any
) -> Subject:
    """A Job put into a queue."""
    name = stage.draw.job()
    marks = {"kueue.x-k8s.io/queue-name": where}
    if priority:
        marks["kueue.x-k8s.io/priority-class"] = priority
    stage.make(job(name, spec, pods=pods, labels=marks, suspend=True, **given))
    return Subject("job", stage.space, name)


def workload(
    stage: Stage,
    subject: Subject,
    kind: str,
    status: str,
    text: str = "",
    patience_seconds: float = PATIENCE_SECONDS,
) -> Tree:
    """The subject's Workload, once it has this condition with this text in its message."""

    def holds(tree: Tree) -> bool:
        owners = tree["metadata"].get("ownerReferences") or []
        conditions = (tree.get("status") or {}).get("conditions") or []
        is_so = any(
            one["type"] == kind and one["status"] == status and text.lower() in one["message"].lower()
            for one in conditions
        )
        return is_so and any(one["name"] == subject.name for one in owners)

    return stage.until(WORKLOADS, holds, patience_seconds=patience_seconds)


def running(stage: Stage, subject: Subject, pods: int = 1) -> None:
    """Until the Job's pods run."""
    stage.until(
        "jobs.batch",
        lambda one: (
            one["metadata"]["name"] == subject.name and (one.get("status") or {}).get("ready", 0) >= pods
        ),
    )


@script("quota-in-use", "quota-in-use", KUEUE, lasts=Lasts.BY_ITSELF)
def quota_in_use(stage: Stage) -> Expected:
    """Others use the quota."""
    where = queue(stage, 8)
    used = stage.draw.one_of(6, 8)
    running(stage, submit(stage, where.door, pod_spec(gpus=used)))
    wanted = stage.draw.one_of(4, 8)
    subject = submit(stage, where.door, pod_spec(gpus=wanted))
    workload(stage, subject, "QuotaReserved", "False", "insufficient unused quota")
    return Expected(subject, (where.name, str(wanted)))


@script("quota-in-use", "twin", KUEUE, lasts=Lasts.BY_ITSELF)
def twin(stage: Stage) -> Expected:
    """Two that are equal wait for the same quota. Since 0.18 Kueue looks at one of them only."""
    where = queue(stage, 8)
    running(stage, submit(stage, where.door, pod_spec(gpus=8)))
    wanted = stage.draw.one_of(2, 4, 8)
    first = submit(stage, where.door, pod_spec(gpus=wanted))
    workload(stage, first, "QuotaReserved", "False", "insufficient unused quota")
    subject = submit(stage, where.door, pod_spec(gpus=wanted))
    told(stage, "CreatedWorkload", subject.name)
    run(stage, pod_spec(cpu="1"))
    return Expected(subject, (where.name, str(wanted)))


@script(
    "above-quota",
    "never-fits",
    KUEUE,
    can_second=True,
    lasts=Lasts.NEVER_PASSES,
    double=(Lasts.NEVER_PASSES, Lasts.NEVER_PASSES),
)
def never_fits(stage: Stage) -> Expected:
    """More than the queue can ever give; second: more than the nodes have, too."""
    where = queue(stage, 8)
    pods = 8 if stage.draw.has_second else 2
    subject = submit(stage, where.door, pod_spec(gpus=8), pods=pods)
    workload(stage, subject, "QuotaReserved", "False", "maximum capacity")
    also = ("gpus-short",) if stage.draw.has_second else ()
    return Expected(subject, (where.name, str(pods * 8), "8"), also)


@script("no-flavor-fits", "flavor-taint", KUEUE, lasts=Lasts.UNTIL_MENDED)
def flavor_taint(stage: Stage) -> Expected:
    """The flavor has a taint that the job does not tolerate."""
    value = stage.draw.one_of("true", "secret", "reserved")
    mark = {"key": "dedicated", "value": value, "effect": "NoSchedule"}
    where = queue(stage, 8, flavor_spec={"nodeTaints": [mark]})
    subject = submit(stage, where.door, pod_spec(gpus=4))
    workload(stage, subject, "QuotaReserved", "False", "untolerated taint")
    return Expected(subject, (where.flavor, f"dedicated={value}"))


@script("no-flavor-fits", "flavor-affinity", KUEUE, lasts=Lasts.NEVER_PASSES)
def flavor_affinity(stage: Stage) -> Expected:
    """The job selects nodes that the flavor does not stand for."""
    where = queue(stage, 8, flavor_spec={"nodeLabels": {"example.com/tier": "silver"}})
    subject = submit(stage, where.door, pod_spec(gpus=4, nodeSelector={"example.com/tier": "gold"}))
    workload(stage, subject, "QuotaReserved", "False", "node affinity")
    return Expected(subject, (where.flavor,))


@script("no-flavor-fits", "not-covered", KUEUE, lasts=Lasts.NEVER_PASSES)
def not_covered(stage: Stage) -> Expected:
    """The queue covers no GPUs."""
    where = queue(stage, 0, resources={"cpu": "1000", "memory": "10Ti"})
    subject = submit(stage, where.door, pod_spec(gpus=4))
    # Since 0.18 Kueue says nothing of it.
    with suppress(TimeoutError):
        workload(stage, subject, "QuotaReserved", "False", "unavailable in ClusterQueue", 12)
    return Expected(subject, (where.name, "GPU"))


@script(
    "queue-unusable",
    "no-such-queue",
    KUEUE,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.NEVER_PASSES),
)
def no_such_queue(stage: Stage) -> Expected:
    """The LocalQueue does not exist; second: a selector that no node has."""
    queue(stage, 8)
    name = stage.draw.word("typo-queue", "team-queue")
    subject = submit(stage, name, pod_spec(gpus=4, **elsewhere(stage)))
    workload(stage, subject, "QuotaReserved", "False", "doesn't exist")
    return Expected(subject, (name,), also_elsewhere(stage))


@script("queue-unusable", "flavor-missing", KUEUE, lasts=Lasts.UNTIL_MENDED)
def flavor_missing(stage: Stage) -> Expected:
    """The ClusterQueue refers to a ResourceFlavor that does not exist."""
    pool(stage)
    name, missing, where = stage.draw.word("research"), stage.draw.word("h100-spot"), stage.draw.word("main")
    stage.make(cluster_queue(name, missing, 8), door(where, name))
    stage.until(QUEUES, _condition(name, "Active", "False"))
    subject = submit(stage, where, pod_spec(gpus=4))
    workload(stage, subject, "QuotaReserved", "False", "inactive")
    return Expected(subject, (name, missing))


@script("queue-unusable", "wrong-namespace", KUEUE, lasts=Lasts.UNTIL_MENDED)
def wrong_namespace(stage: Stage) -> Expected:
    """The ClusterQueue does not take the namespace."""
    where = queue(stage, 8, namespaceSelector={"matchLabels": {"team": "somebody-else"}})
    subject = submit(stage, where.door, pod_spec(gpus=4))
    workload(stage, subject, "QuotaReserved", "False", "doesn't match ClusterQueue selector")
    return Expected(subject, (where.name,))


@script(
    "queue-stopped",
    "cluster-queue-held",
    KUEUE,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.NEVER_PASSES),
)
def cluster_queue_held(stage: Stage) -> Expected:
    """An admin stopped the ClusterQueue; second: the job could never fit, either."""
    where = queue(stage, 8, wait=False, stopPolicy=stage.draw.one_of("Hold", "HoldAndDrain"))
    stage.until(QUEUES, _condition(where.name, "Active", "False"))
    subject = submit(stage, where.door, pod_spec(gpus=8), pods=4 if stage.draw.has_second else 1)
    workload(stage, subject, "QuotaReserved", "False", "inactive")
    return Expected(subject, (where.name,), ("above-quota",) if stage.draw.has_second else ())


@script("queue-stopped", "local-queue-held", KUEUE, lasts=Lasts.UNTIL_MENDED)
def local_queue_held(stage: Stage) -> Expected:
    """An admin stopped the LocalQueue."""
    where = queue(stage, 8)
    stage.patch("localqueues.kueue.x-k8s.io", where.door, {"spec": {"stopPolicy": "Hold"}})
    stage.until("localqueues.kueue.x-k8s.io", _condition(where.door, "Active", "False"))
    subject = submit(stage, where.door, pod_spec(gpus=4))
    workload(stage, subject, "QuotaReserved", "False", "inactive")
    return Expected(subject, (where.door,))


@script("switched-off", "deactivated", KUEUE, lasts=Lasts.UNTIL_MENDED)
def deactivated(stage: Stage) -> Expected:
    """Somebody set the Workload's `active` to false."""
    where = queue(stage, 16)
    subject = submit(stage, where.door, pod_spec(gpus=4))
    running(stage, subject)
    found = workload(stage, subject, "Admitted", "True")
    stage.patch(WORKLOADS, found["metadata"]["name"], {"spec": {"active": False}})
    workload(stage, subject, "Evicted", "True", "deactivated")
    workload(stage, subject, "Admitted", "False")
    return Expected(subject, ("deactivated|switched off",))


@script("admission-check", "admission-check", KUEUE)
def admission_check(stage: Stage) -> Expected:
    """A check of a controller that does not answer."""
    name = stage.draw.word("budget-check", "capacity-check")
    tree = {"apiVersion": API, "kind": "AdmissionCheck", "metadata": {"name": name}}
    stage.make({**tree, "spec": {"controllerName": "example.com/checker"}})
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "The check is active"}
    moment = {"lastTransitionTime": "2026-11-01T00:00:00Z", "observedGeneration": 1}
    change = {"status": {"conditions": [{**active, **moment}]}}
    stage.patch("admissionchecks.kueue.x-k8s.io", name, change, part="status")
    where = queue(stage, 8, admissionChecksStrategy={"admissionChecks": [{"name": name}]})
    subject = submit(stage, where.door, pod_spec(gpus=4))
    workload(stage, subject, "QuotaReserved", "True")
    stage.until(WORKLOADS, lambda one: bool((one.get("status") or {}).get("admissionChecks")))
    return Expected(subject, (name,))


@script("topology-full", "topology", KUEUE)
def topology(stage: Stage) -> Expected:
    """All pods on one host, and a host has room for some of them only."""
    draw = stage.draw
    place = pool(stage, count=2)
    name, kind = draw.word("dc", "racks"), draw.word("flavor")
    levels = [{"nodeLabel": "pool"}, {"nodeLabel": "kubernetes.io/hostname"}]
    stage.make(
        {"apiVersion": API, "kind": "Topology", "metadata": {"name": name}, "spec": {"levels": levels}}
    )
    stage.make(flavor(kind, nodeLabels={"pool": place.word}, topologyName=name))
    where, entry = draw.word("research"), draw.word("main")
    stage.make(cluster_queue(where, kind, 64), door(entry, where))
    stage.until("localqueues.kueue.x-k8s.io", _condition(entry, "Active", "True"))
    pods = draw.number(2, 3)
    wish = {"kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname"}
    subject = submit(stage, entry, pod_spec(gpus=8), pods=pods, annotations=wish)
    workload(stage, subject, "QuotaReserved", "False", "allows to fit only")
    return Expected(subject, (name, "1", str(pods)))


@script("behind-the-head", "behind-the-head", KUEUE, lasts=Lasts.BY_ITSELF)
def behind_the_head(stage: Stage) -> Expected:
    """StrictFIFO: the head does not fit, who stands behind it would."""
    where = queue(stage, 8, queueingStrategy="StrictFIFO")
    running(stage, submit(stage, where.door, pod_spec(gpus=4)))
    head = submit(stage, where.door, pod_spec(gpus=8))
    workload(stage, head, "QuotaReserved", "False")
    # Kueue orders by whole seconds, so the next one comes a while later.
    run(stage, pod_spec(cpu="1"))
    subject = submit(stage, where.door, pod_spec(gpus=2))
    stage.until(
        WORKLOADS,
        lambda one: any(ref["name"] == subject.name for ref in one["metadata"].get("ownerReferences") or []),
    )
    told(stage, "CreatedWorkload", subject.name)
    run(stage, pod_spec(cpu="1"))
    if any(
        one["status"].get("active")
        for one in stage.get("jobs.batch")
        if one["metadata"]["name"] == subject.name
    ):
        raise TimeoutError("it was admitted past the head")
    return Expected(subject, (head.name,))


@script("preempted", "preempted", KUEUE)
def preempted(stage: Stage) -> Expected:
    """A job of a higher priority took its place."""
    high, low = stage.draw.word("urgent"), stage.draw.word("sweep-class")
    for name, value in ((high, 1000), (low, 10)):
        kind = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
        stage.make({**kind, "value": value})
    where = queue(stage, 8, preemption={"withinClusterQueue": "LowerPriority"})
    subject = submit(stage, where.door, pod_spec(gpus=8), priority=low)
    running(stage, subject)
    winner = submit(stage, where.door, pod_spec(gpus=8), priority=high)
    running(stage, winner)
    workload(stage, subject, "QuotaReserved", "False", "insufficient unused quota")
    return Expected(subject, (winner.name,), ("quota-in-use",))


@script("declared-finished", "copied-mark", KUEUE)
def copied_mark(stage: Stage) -> Expected:
    """Its pod template keeps the name of another job's Workload, as a copied manifest does."""
    where = queue(stage, 8)
    copied = {"kueue.x-k8s.io/workload": stage.draw.word("job-older-1a2b3", "job-first-9f8e7")}
    subject = submit(stage, where.door, pod_spec(gpus=4), annotations=copied)
    workload(stage, subject, "Finished", "True")
    return Expected(subject, ("Workload",))


@script("not-taken-by-queue", "no-such-priority", KUEUE, lasts=Lasts.UNTIL_MENDED)
def no_such_priority(stage: Stage) -> Expected:
    """The WorkloadPriorityClass does not exist: no Workload is made."""
    where = queue(stage, 8)
    name = stage.draw.word("urgent", "gold-class")
    subject = submit(stage, where.door, pod_spec(gpus=4), priority=name)
    stage.until("jobs.batch", lambda one: one["metadata"]["name"] == subject.name)
    return Expected(subject, (name,), later_seconds=90)


@script("half-placed", "two-half-gangs", "kube-scheduler")
def two_half_gangs(stage: Stage) -> Expected:
    """Two jobs hold half of what they need, each what the other one lacks."""
    pool(stage, count=2)
    jobs = [stage.draw.job() for _ in range(2)]
    for name in jobs:
        stage.make(job(name, pod_spec(gpus=4), pods=2, completionMode="Indexed"))
        running(stage, Subject("job", stage.space, name), 2)
    for name in jobs:
        stage.patch("jobs.batch", name, {"spec": {"parallelism": 4, "completions": 4}})
    for name in jobs:
        stage.until("events", _refused_event(name))
    return Expected(Subject("job", stage.space, jobs[0]), (jobs[1],), ("gpus-short",))


def _refused_event(name: str) -> Seen:
    return lambda one: (
        one["reason"] == "FailedScheduling" and one["involvedObject"]["name"].startswith(f"{name}-")
    )
