"""Incidents of a night that no script of the corpus plays as they are here: those that concern several
objects, and those whose words count the nodes or stand beside other tenants of a cluster.

Each is staged in a namespace and on nodes of its own, and says which object its row has to name, and what
besides. The texts are those that the corpus recorded from the components.
"""

from typing import Any

from tests.triage.builders import Pool, pod_spec, taint
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage
from tests.triage.scripts.gangs import refusal
from tests.triage.scripts.others import queued

Told = tuple[str, tuple[str, ...]]
"""The subject of the one row about it, and what it names."""
NOT_HELPFUL = (
    "no new claims to deallocate, preemption: 0/<all> nodes are available: <all> Preemption is not helpful "
    "for scheduling."
)
NO_VICTIMS = (
    "preemption: 0/<all> nodes are available: {few} No preemption victims found for incoming pod, "
    "<all-{few}> Preemption is not helpful for scheduling."
)
"""`<all>` is how many nodes there will be, `<all-2>` two less."""


def running_job(stage: FixtureStage, workers: int, nodes: tuple[str, ...], first: int = 0) -> Tree:
    """A Job whose workers all run, one GPU each."""
    spec = pod_spec(gpus=1)
    made = stage.job(stage.draw.job(), spec, pods=workers, status={"ready": workers})
    for index in range(workers):
        on = nodes[(first + index) % len(nodes)]
        stage.job_pod(made, spec, on=on, phase="Running", status=stage.running(), index=index)
    return made


def a_lost_node(stage: FixtureStage) -> Told:
    """Three jobs have a member on it, which the node controller calls not ready."""
    pool = stage.pool(2)
    for _ in range(3):
        running_job(stage, 2, pool.nodes)
    for pod in stage.get("pods"):
        if pod["spec"].get("nodeName") == pool.nodes[0]:
            for one in pod["status"]["conditions"]:
                one["status"] = "False" if one["type"] == "Ready" else one["status"]
    silent = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    stage.one("nodes", pool.nodes[0])["status"]["conditions"] = stage.node_conditions(Ready=silent)
    return f"node {pool.nodes[0]}", ("silent", "3 jobs")


def a_spot_node_that_goes(stage: FixtureStage) -> Told:
    """The handler of the cloud marks it."""
    node = stage.pool(1).nodes[0]
    key = stage.draw.one_of(
        "aws-node-termination-handler/spot-itn", "cloud.google.com/impending-node-termination"
    )
    stage.one("nodes", node)["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"}]
    return f"node {node}", ("takes the node back", key)


def a_drain_that_a_budget_blocks(stage: FixtureStage) -> Told:
    """Karpenter says so on the node, again and again."""
    tree = stage.one("nodes", stage.pool(1).nodes[0])
    tree["spec"]["unschedulable"] = True
    budget = f"{stage.space}/{stage.draw.job()}"
    words = f"Pdb prevents pod evictions (PodDisruptionBudget=[{budget}])"
    stage.event(tree, "DisruptionBlocked", words, by="karpenter", is_warning=False, count=5)
    return f"node {tree['metadata']['name']}", ("drain is blocked", budget.rpartition("/")[2])


def a_stopped_queue(stage: FixtureStage) -> Told:
    """Twenty jobs wait in it."""
    queue = stage.draw.word("research")
    active = [{"type": "Active", "status": "True", "reason": "Ready", "message": ""}]
    stopped = [{"type": "Active", "status": "False", "reason": "Stopped", "message": "Can't admit: stopped"}]
    wide = {"stopPolicy": "Hold", "resourceGroups": []}
    stage.make(
        _kueue("ClusterQueue", queue, wide, {"conditions": stopped}),
        _kueue("LocalQueue", queue, {"clusterQueue": queue}, {"conditions": active}),
    )
    for _ in range(20):
        spec = pod_spec(gpus=8)
        name = stage.draw.job()
        marks = {"kueue.x-k8s.io/queue-name": queue}
        made = stage.job(name, spec, status={"active": 0}, labels=marks, suspend=True)
        tree = _kueue("Workload", f"job-{name}", {"queueName": queue, "active": True}, {"conditions": []})
        tree["metadata"]["ownerReferences"] = stage.owner(made)
        tree["spec"]["podSets"] = [{"name": "main", "count": 1, "template": {"spec": spec}}]
        stage.make(tree)
    return "", (queue, "stopped", "19 more")


def _kueue(kind: str, name: str, spec: Tree, status: Tree) -> Tree:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
        "status": status,
    }


def a_drain_that_an_unseen_budget_blocks(stage: FixtureStage) -> Told:
    """kubectl drain asks again and again: the refused eviction leaves no event."""
    pool = stage.pool(2)
    made = running_job(stage, 2, (pool.nodes[0],))
    stage.one("nodes", pool.nodes[0])["spec"]["unschedulable"] = True
    name = stage.draw.word("keep")
    marks = {"batch.kubernetes.io/job-name": made["metadata"]["name"]}
    counts = {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2}
    stage.make(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": marks}},
            "status": counts,
        }
    )
    return f"node {pool.nodes[0]}", ("drain is blocked", name, "2 pods left")


# ---- quota


def _line(stage: FixtureStage, reason: str, words: str, **given: Any) -> tuple[str, str]:
    """A job in a queue about which Kueue says this: its key and the ClusterQueue."""
    waits = {"type": "QuotaReserved", "status": "False", "reason": reason, "message": words}
    subject, queue = queued(stage, [waits], **given)
    return subject.key, queue


def _flavor(stage: FixtureStage) -> str:
    return str(stage.get("resourceflavors.kueue.x-k8s.io")[0]["metadata"]["name"])


def quota_in_use(stage: FixtureStage) -> Told:
    """What the queue may have is in use."""
    key, queue = _line(stage, "WaitingForQuota", "")
    said = f"insufficient unused quota for nvidia.com/gpu in flavor {_flavor(stage)}, 8 more needed"
    _say(stage, f"couldn't assign flavors to pod set main: {said}")
    return key, (queue, "8")


def more_than_the_queue_ever_has(stage: FixtureStage) -> Told:
    """It asks for more than the quota."""
    key, queue = _line(stage, "ExceedsMaxQuota", "")
    said = f"insufficient quota for nvidia.com/gpu in flavor {_flavor(stage)}, previously considered podsets"
    tail = "requests (0) + current podset request (64) > maximum capacity (16)"
    _say(stage, f"couldn't assign flavors to pod set main: {said} {tail}")
    return key, (queue, "64", "16")


def a_flavor_that_is_tainted(stage: FixtureStage) -> Told:
    """Nodes of the flavor carry a taint that the job does not tolerate."""
    key, _ = _line(stage, "NoMatchingFlavor", "")
    name, key_of = _flavor(stage), stage.draw.one_of("team", "example.com/reserved")
    said = f"untolerated taint {{{key_of} secret NoSchedule <nil>}} in flavor {name}"
    _say(stage, f"couldn't assign flavors to pod set main: {said}")
    return key, (name, key_of)


def _say(stage: FixtureStage, words: str) -> None:
    """What the last Workload's first condition says."""
    stage.get("workloads.kueue.x-k8s.io")[-1]["status"]["conditions"][0]["message"] = words


def a_check_that_nobody_answers(stage: FixtureStage) -> Told:
    """It has quota; an admission check is pending."""
    name = stage.draw.word("budget-check")
    checks = {"admissionChecks": [{"name": name, "state": "Pending", "message": ""}]}
    checks["admissionChecks"][0]["lastTransitionTime"] = stage.ago(580)
    subject, queue = queued(stage, [], status={**checks, "admission": {"podSetAssignments": []}})
    tree = stage.get("workloads.kueue.x-k8s.io")[-1]
    tree["status"]["admission"]["clusterQueue"] = queue
    said = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    at = {"lastTransitionTime": stage.ago(580), "observedGeneration": 1}
    tree["status"]["conditions"] = [{**said, **at, "message": f"Quota reserved in ClusterQueue {queue}"}]
    return subject.key, (name,)


def a_queue_that_is_not_there(stage: FixtureStage) -> Told:
    """The label names a queue that nobody made."""
    name = stage.draw.word("typo-queue")
    key, _ = _line(stage, "Misconfigured", f"LocalQueue {name} doesn't exist", spec={"queueName": name})
    made = stage.get("jobs.batch")[-1]
    made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = name
    return key, (name,)


# ---- placement


def _unplaced(stage: FixtureStage, message: str, *, gpus: int = 8, **spec: Any) -> tuple[str, Tree]:
    """A Job whose pod the scheduler refused with these words: its key, and the pod."""
    wanted = pod_spec(gpus=gpus, **spec)
    made = stage.job(stage.draw.job(), wanted)
    pod = stage.job_pod(made, wanted, status=refusal(stage, message))
    stage.event(pod, "FailedScheduling", message, by="default-scheduler", count=3, ago=200)
    return f"{stage.space}/{made['metadata']['name']}", pod


def a_selector_that_no_node_has(stage: FixtureStage) -> Told:
    """A label that nobody gave."""
    wish = stage.draw.one_of("h800", "gold", "b400")
    words = "<all> node(s) didn't match Pod's node affinity/selector. "
    key, _ = _unplaced(
        stage, f"0/<all> nodes are available: {words}{NOT_HELPFUL}", nodeSelector={"tier": wish}
    )
    return key, (f"tier={wish}",)


def a_taint_that_is_not_tolerated(stage: FixtureStage) -> Told:
    """The nodes that it asks for are kept for others."""
    pool = stage.pool(2, taints=("team=secret:NoSchedule",))
    words = "2 node(s) had untolerated taint(s), <all-2> node(s) didn't match Pod's node affinity/selector. "
    key, _ = _unplaced(stage, f"0/<all> nodes are available: {words}{NOT_HELPFUL}", nodeSelector=_of(pool))
    return key, ("team=secret",)


def nodes_that_are_cordoned(stage: FixtureStage) -> Told:
    """Somebody cordoned all nodes that it may run on."""
    pool = stage.pool(3)
    for name in pool.nodes:
        spec = stage.one("nodes", name)["spec"]
        spec["unschedulable"] = True
        spec["taints"] = [taint("node.kubernetes.io/unschedulable:NoSchedule")]
    words = "3 node(s) were unschedulable, <all-3> node(s) didn't match Pod's node affinity/selector. "
    key, _ = _unplaced(stage, f"0/<all> nodes are available: {words}{NOT_HELPFUL}", nodeSelector=_of(pool))
    return key, ("cordoned", "3")


def _of(pool: Pool) -> dict[str, str]:
    return {"pool": pool.word}


def _full(stage: FixtureStage) -> tuple[str, Tree, Pool]:
    """Two nodes that others fill, and a job that asks for one of them: its key, its pod, the nodes."""
    pool = stage.pool(2)
    for name in pool.nodes:
        held = pod_spec(gpus=8)
        other = stage.job(stage.draw.job(), held, status={"ready": 1})
        stage.job_pod(other, held, on=name, phase="Running", status=stage.running())
    words = "2 Insufficient nvidia.com/gpu, <all-2> node(s) didn't match Pod's node affinity/selector. "
    said = f"0/<all> nodes are available: {words}{NO_VICTIMS.format(few=2)}"
    key, pod = _unplaced(stage, said, nodeSelector=_of(pool))
    return key, pod, pool


def all_gpus_are_taken(stage: FixtureStage) -> Told:
    """Others have them."""
    key, _, _ = _full(stage)
    return key, ("8 GPUs", "2")


def a_pool_at_its_maximum(stage: FixtureStage) -> Told:
    """cluster-autoscaler would, and may not."""
    key, pod, _ = _full(stage)
    said = "pod didn't trigger scale-up: 1 max node group size reached"
    stage.event(pod, "NotTriggerScaleUp", said, by="cluster-autoscaler", is_warning=False, count=20)
    return key, ("max",)


def a_device_that_nobody_offers(stage: FixtureStage) -> Told:
    """A slice of a profile that no card is cut into."""
    name = stage.draw.one_of("nvidia.com/mig-1g.24gb", "nvidia.com/gpu.shared")
    words = f"<all> Insufficient {name}. "
    limits = {"requests": {name: "1"}, "limits": {name: "1"}}
    said = f"0/<all> nodes are available: {words}{NOT_HELPFUL}"
    key, _ = _unplaced(stage, said, gpus=0, container={"resources": limits})
    return key, (name.rpartition("/")[2],)


def a_claim_that_is_not_there(stage: FixtureStage) -> Told:
    """It mounts what nobody made."""
    claim = stage.draw.word("dataset")
    said = f'0/<all> nodes are available: persistentvolumeclaim "{claim}" not found. not found'
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    key, _ = _unplaced(stage, said, volumes=volumes)
    return key, (claim,)


def a_gate_that_nobody_opens(stage: FixtureStage) -> Told:
    """A scheduling gate waits for its controller."""
    gate = stage.draw.one_of("example.com/budget-approved", "acme.io/license")
    wanted = pod_spec(gpus=8, schedulingGates=[{"name": gate}])
    made = stage.job(stage.draw.job(), wanted)
    said = "Scheduling is blocked due to non-empty scheduling gates"
    stage.job_pod(made, wanted, status=refusal(stage, said, reason="SchedulingGated"))
    return f"{stage.space}/{made['metadata']['name']}", (gate,)


def a_scheduler_that_is_not_there(stage: FixtureStage) -> Told:
    """It waits for a scheduler that nobody runs."""
    name = stage.draw.word("volcano-sched")
    wanted = pod_spec(gpus=8, schedulerName=name)
    made = stage.job(stage.draw.job(), wanted)
    stage.job_pod(made, wanted)
    return f"{stage.space}/{made['metadata']['name']}", (name,)


STAGED = (
    *(a_lost_node, a_spot_node_that_goes, a_drain_that_a_budget_blocks, a_stopped_queue),
    *(a_drain_that_an_unseen_budget_blocks, quota_in_use, more_than_the_queue_ever_has),
    *(a_flavor_that_is_tainted, a_check_that_nobody_answers, a_queue_that_is_not_there),
    *(a_selector_that_no_node_has, a_taint_that_is_not_tolerated, nodes_that_are_cordoned),
    *(all_gpus_are_taken, a_pool_at_its_maximum, a_device_that_nobody_offers),
    *(a_claim_that_is_not_there, a_gate_that_nobody_opens, a_scheduler_that_is_not_there),
)
