"""Preemption, gates, nobody who schedules, and what looks like a shortage."""

from tests.triage.builders import (
    GPU,
    also_elsewhere,
    ask,
    elsewhere,
    fill,
    neighbours,
    pod,
    pod_spec,
    pool,
    refused,
    run,
)
from tests.triage.case import Tree
from tests.triage.stage import Expected, Lasts, Seen, Stage, script

SCHEDULER = "kube-scheduler"
HELD = "example.com/flush-checkpoint"


def priority(name: str, value: int, **fields: str) -> Tree:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


@script("no-victims", "no-victims", SCHEDULER)
def no_victims(stage: Stage) -> Expected:
    """It has a priority, and everybody who runs has a higher one."""
    value = stage.draw.one_of(100, 1000, 5000)
    mine, theirs = stage.draw.word("urgent", "batch"), stage.draw.word("critical", "serving")
    stage.make(priority(mine, value), priority(theirs, value * 10))
    place = pool(stage)
    neighbours(stage)
    for name in place.nodes:
        run(stage, pod_spec(gpus=8, priorityClassName=theirs), on=name)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(1, 4, 8), priorityClassName=mine))
    refused(stage, "No preemption victims found", subject)
    return Expected(subject, (str(value),), ("gpus-short",))


@script("may-not-preempt", "never-preempts", SCHEDULER)
def never_preempts(stage: Stage) -> Expected:
    """Its class has the highest priority and must not preempt."""
    mine = stage.draw.word("polite", "high-nonpreempting")
    stage.make(priority(mine, 100_000, preemptionPolicy="Never"))
    place = pool(stage)
    neighbours(stage)
    fill(stage, place, 8)
    subject = ask(stage, pod_spec(gpus=4, priorityClassName=mine))
    refused(stage, "preemptionPolicy=Never", subject)
    return Expected(subject, (mine,), ("gpus-short",))


@script("victims-ending", "victim-still-there", SCHEDULER)
def victim_still_there(stage: Stage) -> Expected:
    """The victim was told to go and hangs on a finalizer."""
    mine = stage.draw.word("urgent", "prod")
    stage.make(priority(mine, 100_000))
    place = pool(stage, count=1)
    victim = stage.draw.job()
    stage.make(pod(victim, pod_spec(gpus=8), finalizers=[HELD]))
    stage.until("pods", lambda one: (one.get("status") or {}).get("phase") == "Running")
    subject = ask(stage, pod_spec(gpus=8, priorityClassName=mine))
    stage.until("pods", lambda one: bool((one.get("status") or {}).get("nominatedNodeName")))
    stage.until("pods", lambda one: "deletionTimestamp" in one["metadata"])
    refused(stage, "", subject)
    return Expected(subject, (victim, place.nodes[0]), ("gpus-short",))


@script(
    "scheduling-gate",
    "gate",
    SCHEDULER,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.NEVER_PASSES),
)
def gate(stage: Stage) -> Expected:
    """A scheduling gate that nobody takes away; second: a selector that no node has."""
    pool(stage)
    name = stage.draw.one_of("example.com/data-staged", "acme.io/license", "example.com/budget-approved")
    subject = ask(stage, pod_spec(gpus=2, schedulingGates=[{"name": name}], **elsewhere(stage)))
    stage.until(
        "pods",
        lambda one: any(
            mark.get("reason") == "SchedulingGated"
            for mark in (one.get("status") or {}).get("conditions") or []
        ),
    )
    return Expected(subject, (name,), also_elsewhere(stage))


@script(
    "no-such-scheduler",
    "no-such-scheduler",
    SCHEDULER,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.NEVER_PASSES),
)
def no_such_scheduler(stage: Stage) -> Expected:
    """The scheduler that it names does not run; second: a selector that no node has."""
    pool(stage)
    name = stage.draw.one_of("volcano-sched", "bin-packing-scheduler", "my-scheduler", "gpu-scheduler")
    subject = ask(stage, pod_spec(gpus=2, schedulerName=name, **elsewhere(stage)))
    stage.until("pods", lambda one: one["spec"]["schedulerName"] == name)
    return Expected(subject, (name,), also_elsewhere(stage), later_seconds=90)


@script("no-nodes", "no-nodes", SCHEDULER)
def no_nodes(stage: Stage) -> Expected:
    """The cluster has no nodes."""
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(1, 8)))
    refused(stage, "no nodes available", subject)
    return Expected(subject, ("node",))


@script("gpus-in-pieces", "fragments", SCHEDULER)
def fragments(stage: Stage) -> Expected:
    """Every node has some GPUs free, together more than enough, none has enough."""
    place = pool(stage, count=stage.draw.number(3, 4))
    neighbours(stage)
    free = stage.draw.one_of(2, 3)
    fill(stage, place, 8 - free)
    wanted = free + 1 if free == 3 else 4
    subject = ask(stage, pod_spec(gpus=wanted))
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, (str(wanted), str(free)), ("gpus-short",))


@script("holders-terminating", "terminating-holders", SCHEDULER)
def terminating_holders(stage: Stage) -> Expected:
    """All GPUs are held by pods that were deleted and do not go."""
    place = pool(stage, count=stage.draw.number(1, 2))
    names = [stage.draw.job() for _ in place.nodes]
    for name, where in zip(names, place.nodes, strict=True):
        spec = pod_spec(gpus=8, nodeName=where, terminationGracePeriodSeconds=5)
        stage.make(pod(name, spec, finalizers=[HELD]))
    for name in names:
        stage.until("pods", _is_running(name))
        stage.remove("pods", name)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(2, 8)))
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    held = names[0] if len(names) == 1 else str(len(names))
    return Expected(subject, (held,), ("gpus-short", "stuck-terminating"), later_seconds=300)


def _is_running(name: str) -> Seen:
    return lambda one: one["metadata"]["name"] == name and (one.get("status") or {}).get("phase") == "Running"


@script("other-gpu-unit", "slices-only", SCHEDULER)
def slices_only(stage: Stage) -> Expected:
    """It asks for whole cards where nodes offer slices, or the other way round."""
    offered, wanted = stage.draw.one_of(
        ("nvidia.com/mig-3g.40gb", GPU), ("nvidia.com/mig-1g.10gb", GPU), (GPU, "nvidia.com/mig-2g.20gb")
    )
    pool(stage, resource=offered)
    neighbours(stage)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(1, 2), resource=wanted))
    refused(stage, f"Insufficient {wanted}", subject)
    named = offered if wanted == GPU else wanted
    return Expected(subject, (named.partition("/")[2],), ("resource-not-offered",))
