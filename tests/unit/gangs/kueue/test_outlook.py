"""Whom a job in a queue of Kueue would preempt: by example, beside a small model, and where it is unknown."""

from random import Random
from typing import Any

import pytest

from cockpit.gangs.kueue import outlook
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.contender import Contender
from cockpit.model.gang import PodSet
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.unit.gangs.builders import NVIDIA, cluster_queue, is_, local_queue, store_of, workload

Held = tuple[str, int, int, float]
"""Name, GPUs, priority, and when it got its quota."""


def queue_tree(gpus: int = 8, **spec: Any) -> dict[str, Any]:
    rows = [{"name": "h100", "resources": [{"name": NVIDIA, "nominalQuota": str(gpus)}]}]
    groups = [{"coveredResources": [NVIDIA], "flavors": rows}]
    preemption = {"withinClusterQueue": "LowerPriority"}
    return {
        "metadata": {"name": "research"},
        "spec": {"resourceGroups": groups, "preemption": preemption, **spec},
    }


WHOLE = StreamStatus(kind=Kind.WORKLOAD, phase=Phase.LIVE, objects=1)


def seen(*held: Held, gpus: int = 8, status: StreamStatus = WHOLE) -> Store:
    records = [
        workload(
            name,
            is_("QuotaReserved", at=since),
            is_("Admitted", at=since),
            gpus=amount,
            priority=priority,
            cluster_queue="research",
            created_seconds=since,
            pod_sets=(PodSet("main", 1, ((NVIDIA, amount),), "h100", flavors=((NVIDIA, "h100"),)),),
        )
        for name, amount, priority, since in held
    ]
    store = store_of(local_queue(), cluster_queue(gpus), *records)
    store.apply(Batch(kind=Kind.WORKLOAD, scope=status.scope, status=status))
    return store


def new(gpus: int, priority: str = "high") -> Contender:
    container = {"name": "c", "resources": {"limits": {NVIDIA: str(gpus)}}}
    labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": priority}
    tree = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "new", "namespace": "team-a", "labels": labels},
        "spec": {"parallelism": 1, "template": {"spec": {"containers": [container]}}},
    }
    return Contender(name="team-a/new", manifest=tree)


def lists(queue: dict[str, Any] | None = None, **flavor: Any) -> dict[Any, Any]:
    return {
        outlook.QUEUES: [queue or queue_tree()],
        outlook.FLAVORS: [{"metadata": {"name": "h100"}, "spec": flavor}],
        outlook.COHORTS: [],
        outlook.CLASSES: [
            {"metadata": {"name": "high"}, "value": 100},
            {"metadata": {"name": "low"}, "value": 1},
        ],
        outlook.POD_CLASSES: [],
    }


def told(store: Store, *asks: Contender, having: dict[Any, Any] | None = None) -> QuotaOutlook:
    trees = {
        uid: {
            "spec": {
                "podSets": [
                    {
                        "name": "main",
                        "count": 1,
                        "template": {
                            "spec": {
                                "containers": [
                                    {
                                        "resources": {
                                            "requests": {NVIDIA: str(record.pod_sets[0].resources[0][1])}
                                        }
                                    }
                                ]
                            }
                        },
                    }
                ]
            }
        }
        for uid, record in store.records(Kind.WORKLOAD).items()
    }
    return outlook.outlook(asks, store, OutlookFacts(having or lists(), trees), 1_000.0)


def test_the_least_important_goes_first_and_of_equals_the_newest() -> None:
    store = seen(("old", 3, 10, 10.0), ("new", 3, 10, 20.0), ("vip", 2, 50, 30.0))
    assert told(store, new(3)).victims == ("wl-new",)
    assert told(store, new(5)).victims == ("wl-new", "wl-old")
    assert told(store, new(3, "low")).victims == ()
    assert [one.name for one in told(store, new(3)).starts] == ["team-a/new"]


def test_a_job_that_cannot_be_met_even_so_preempts_nobody() -> None:
    store = seen(("low", 4, 1, 10.0), ("vip", 4, 200, 20.0))
    assert told(store, new(6)) == QuotaOutlook()


def model(held: list[Held], gpus: int, quota: int) -> set[str]:
    """One queue, one flavor, LowerPriority, a new job of priority 100: who is ever preempted."""
    runs = [(*one, one[3]) for one in held]
    waits: list[tuple[str, int, int, float, float]] = [("new", gpus, 100, 900.0, 0.0)]
    parked: set[str] = set()
    gone: set[str] = set()
    while todo := [one for one in waits if one[0] not in parked]:
        head = min(todo, key=lambda one: (-one[2], one[3]))
        free = quota - sum(one[1] for one in runs)
        taken: list[tuple[str, int, int, float, float]] = []
        for one in sorted((one for one in runs if one[2] < head[2]), key=lambda one: (one[2], -one[4])):
            if free >= head[1]:
                break
            taken.append(one)
            free += one[1]
        if free < head[1]:
            parked.add(head[0])
            continue
        for one in reversed(taken[:-1]):
            if free - one[1] >= head[1]:
                taken.remove(one)
                free -= one[1]
        runs = [*(one for one in runs if one not in taken), (*head[:4], 1_000.0)]
        waits = [*(one for one in waits if one is not head), *taken]
        gone |= {one[0] for one in taken}
        parked = set() if taken else parked
    return gone


def test_as_a_small_model_of_one_queue_says() -> None:
    random, eventful = Random(25), 0
    for _ in range(300):
        quota = random.randint(4, 16)
        held: list[Held] = []
        while sum(one[1] for one in held) < quota - 3 and len(held) < 9:
            left = quota - sum(one[1] for one in held)
            name = f"j{len(held)}"
            held.append(
                (name, random.randint(1, min(4, left)), random.choice((0, 5, 10, 100)), 10.0 + len(held))
            )
        asks = random.randint(1, 8)
        found = told(seen(*held, gpus=quota), new(asks), having=lists(queue_tree(quota)))
        expected = {f"wl-{name}" for name in model(held, asks, quota)}
        assert set(found.victims) == expected
        eventful += bool(expected)
    assert eventful > 100


@pytest.mark.parametrize(
    ("having", "why"),
    [
        (lists() | {outlook.FLAVORS: None}, "resourceflavors may not be listed"),
        (lists() | {outlook.QUEUES: None}, "clusterqueues may not be listed"),
        (lists() | {outlook.CLASSES: None}, "workloadpriorityclasses may not be listed"),
        (lists() | {outlook.CLASSES: []}, "there is no WorkloadPriorityClass high"),
        (lists(queue_tree(cohortName="all")) | {outlook.COHORTS: None}, "cohorts may not be listed"),
        (
            lists(queue_tree(cohortName="all") | {"status": {"fairSharing": {"weightedShare": 1}}}),
            "Kueue shares cohort all fairly",
        ),
        (
            lists(queue_tree(admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"})),
            "ClusterQueue research orders jobs by the usage of their queues",
        ),
        (lists() | {outlook.QUEUES: []}, "ClusterQueue research could not be read"),
        (lists(topologyName="racks"), "flavor h100 is placed by topology racks"),
        (lists() | {outlook.QUEUES: [{"metadata": {"name": "research"}, "spec": "x"}]}, "another shape"),
    ],
)
def test_what_is_not_known_or_not_played_is_said(having: dict[Any, Any], why: str) -> None:
    found = told(seen(("low", 8, 1, 10.0)), new(4), having=having)
    assert why in found.unknown and found.victims == ()


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"scope": "team-a", "phase": Phase.LIVE}, "jobs outside namespace team-a may not be listed"),
        ({"phase": Phase.DENIED, "message": "no right"}, "the list of workloads is not complete (no right)"),
        ({"phase": Phase.STALE, "objects": 1}, "the list of workloads is stale"),
    ],
)
def test_half_a_list_of_workloads_tells_nothing(status: dict[str, Any], why: str) -> None:
    store = seen(("low", 8, 1, 10.0), status=StreamStatus(kind=Kind.WORKLOAD, **status))
    assert told(store, new(4)).unknown == why


def test_a_job_whose_class_is_lowered_gives_way_to_one_that_waits() -> None:
    store = seen(("runs", 8, 50, 10.0))
    waits = workload(
        "waits", is_("QuotaReserved", "False", "Pending"), gpus=4, priority=20, created_seconds=5.0
    )
    store.apply(Batch(kind=Kind.WORKLOAD, changed=(waits,)))
    lowered = Contender(name="team-a/runs", workload_uid="wl-runs", engine="Kueue", priority_class="low")
    raised = Contender(name="team-a/runs", workload_uid="wl-runs", engine="Kueue", priority_class="high")
    assert told(store, lowered).victims == ("wl-runs",)
    assert told(store, raised).victims == ()


def test_behind_a_head_that_waits_in_a_strict_queue_nobody_is_looked_at() -> None:
    store = seen(("runs", 8, 50, 10.0))
    head = workload(
        "head", is_("QuotaReserved", "False", "Pending"), gpus=16, priority=100, created_seconds=5.0
    )
    store.apply(Batch(kind=Kind.WORKLOAD, changed=(head,)))
    strict, free = queue_tree(queueingStrategy="StrictFIFO"), queue_tree()
    assert told(store, new(4), having=lists(strict)).victims == ()
    assert told(store, new(4), having=lists(free)).victims == ("wl-runs",)
