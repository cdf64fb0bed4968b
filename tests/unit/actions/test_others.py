"""What a plan does to others: who is preempted and what that loses, or why nobody can tell."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cockpit.actions.others import preempted, told, with_others
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.contender import Contender, PreemptedJob, Preemptions
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.unit.actions.builders import Line
from tests.unit.fit.builders import fleet, holder, node

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
VOLCANO_CONFIG = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
PLAN = Plan(verb="submit", title="Submit job t/new", calls=(Call(method="POST", path="/x", body={}),))
NOW = 50_000.0


def manifest(gpus: int = 8, *, pods: int = 1, priority: str = "high", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    pod = {"containers": [container], "priorityClassName": priority, **spec}
    pod["tolerations"] = [{"operator": "Exists"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "new", "namespace": "t"},
        "spec": {"parallelism": pods, "template": {"spec": pod}},
    }


def new(**more: Any) -> Contender:
    return Contender(name="t/new", manifest=manifest(**more))


def gang(name: str, *pods: Pod, **more: Any) -> Job:
    fields: dict[str, Any] = {"engine": "none", "kind": "Job", "api_version": "batch/v1", **more}
    return Job(
        key=f"Job.batch/t/{name}",
        uid=f"j-{name}",
        namespace="t",
        name=name,
        state=JobState.RUNNING,
        pod_uids=tuple(one.uid for one in pods),
        gpus_allocated=sum(one.gpus for one in pods),
        **fields,
    )


class Fleet:
    """Two nodes of 8 GPUs, full of pods of priority 0: a gang on both, and a job on the second."""

    def __init__(self, *, scope: str = "", phase: Phase = Phase.LIVE, **more: Any) -> None:
        self.pods = (
            holder("a0", "n1", 8, priority=0, started_seconds=NOW - 11_520.0),
            holder("a1", "n2", 4, priority=0, started_seconds=NOW - 11_520.0),
            holder("b0", "n2", 4, priority=0, started_seconds=NOW - 60.0),
        )
        self.store = fleet(node("n1"), node("n2"), *self.pods)
        for kind in (Kind.NODE, Kind.POD, Kind.WORKLOAD):
            status = StreamStatus(kind=kind, scope=scope, phase=phase, objects=3)
            self.store.apply(Batch(kind=kind, scope=scope, status=status))
        self.jobs = {
            one.key: one for one in (gang("a", *self.pods[:2], **more), gang("b", self.pods[2], **more))
        }
        self.line = Line(
            objects={
                CLASSES: {
                    "items": [
                        {"metadata": {"name": "high"}, "value": 100},
                        {"metadata": {"name": "polite"}, "value": 100, "preemptionPolicy": "Never"},
                    ]
                },
                BUDGETS: {"items": []},
            }
        )

    @property
    def planning(self) -> Planning:
        def lookup(api_version: str, kind: str) -> Resource | None:
            return None

        made = Planning(self.store, self.line, lookup, "prod", self.jobs, at_seconds=NOW)
        return replace(made, pools=PoolTerms(at_seconds=NOW))


async def test_the_scheduler_takes_a_whole_node_and_with_one_pod_of_a_gang_all_of_it() -> None:
    found = await preempted(Fleet().planning, (new(pods=2),))
    assert [(one.name, one.gpus) for one in found.jobs] == [("t/a", 12), ("t/b", 4)]
    assert (found.unknown, found.gpus, found.jobs[0].running_seconds) == ("", 16, 11_520.0)


@pytest.mark.parametrize(
    ("checkpoint", "lost"),
    [
        (b"checkpoint step=20 file=/c/20", "loses 20 steps since its last checkpoint"),
        (b"epoch 1", "its steps since the last checkpoint are not known"),
    ],
)
async def test_the_log_tells_what_is_lost_since_the_last_checkpoint(checkpoint: bytes, lost: str) -> None:
    seen = Fleet()
    seen.line.first_line = checkpoint
    found = msgspec.structs.replace(PLAN, contends=(new(gpus=4),))
    made = replace(seen.planning, at_seconds=NOW + len(checkpoint))  # another question: another look
    plan = await with_others(made, found)
    assert plan.expects == (f"t/b: 4 GPUs, running for 1 min, {lost}",)


async def test_one_victim_is_typed_by_its_name() -> None:
    plan = await with_others(Fleet().planning, msgspec.structs.replace(PLAN, contends=(new(gpus=4),)))
    assert plan.warnings == ("preempts 1 job with 4 GPUs: t/b (4 GPUs)",)
    assert (plan.typed, plan.is_destructive, plan.foretold) == ("t/b", True, plan.warnings[0])


@pytest.mark.parametrize(
    ("asks", "more"),
    [
        (new(priority=""), {}),
        (new(priority="polite"), {}),
        (Contender(name="t/new", manifest=manifest(), pods={"main": 0}), {}),
    ],
    ids=["no class", "preemptionPolicy Never", "no pod more"],
)
async def test_where_nobody_can_be_preempted_that_is_said(asks: Contender, more: dict[str, Any]) -> None:
    plan = await with_others(Fleet(**more).planning, msgspec.structs.replace(PLAN, contends=(asks,)))
    assert (plan.warnings, plan.typed, plan.expects) == ((), "", ("no running job is preempted",))


async def test_a_default_class_counts_for_pods_without_one() -> None:
    seen = Fleet()
    seen.line.objects[CLASSES] = {
        "items": [{"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}]
    }
    found = await preempted(seen.planning, (new(priority=""),))
    assert [one.name for one in found.jobs] == ["t/a"]


@pytest.mark.parametrize(
    ("fleet_fields", "without", "why"),
    [
        ({"scope": "t"}, "", "nodes of the whole cluster may not be listed"),
        ({"phase": Phase.DENIED}, "", "nodes of the whole cluster may not be listed"),
        ({"phase": Phase.STALE}, "", "the list of nodes is stale"),
        ({}, CLASSES, "the value of PriorityClass high may not be read"),
        ({}, BUDGETS, "disruption budgets may not be listed"),
    ],
)
async def test_what_may_not_be_read_is_not_guessed(
    fleet_fields: dict[str, Any], without: str, why: str
) -> None:
    seen = Fleet(**fleet_fields)
    seen.line.objects.pop(without, None)
    plan = await with_others(seen.planning, msgspec.structs.replace(PLAN, contends=(new(),)))
    assert plan.warnings == (f"whether it preempts running jobs cannot be computed: {why}",)
    assert (plan.typed, plan.is_destructive) == ("", False)


async def test_a_scheduler_that_nobody_knows_is_named() -> None:
    found = await preempted(Fleet().planning, (new(schedulerName="odd"),))
    assert found.unknown == "scheduler odd is not known here"


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ("enqueue, allocate, backfill", ""),
        ("enqueue, allocate, preempt, backfill", "Volcano preempts and reclaims as its configuration says"),
        ("enqueue, allocate, reclaim", "Volcano preempts and reclaims as its configuration says"),
        (None, "Volcano preempts and reclaims as its configuration says"),
    ],
)
async def test_volcano_preempts_only_where_its_configuration_says_so(actions: str | None, why: str) -> None:
    seen = Fleet(engine="Volcano")
    if actions is not None:
        config = {"volcano-scheduler.conf": f'actions: "{actions}"\ntiers:\n- plugins:\n  - name: gang\n'}
        seen.line.objects[VOLCANO_CONFIG] = {"data": config}
    asks = Contender(name="t/new", manifest=manifest(schedulerName="volcano"), engine="Volcano")
    assert (await preempted(seen.planning, (asks,))).unknown.startswith(why)
    assert bool(why) == bool((await preempted(seen.planning, (asks,))).unknown)


async def test_beside_no_job_of_its_own_volcano_has_nobody_to_preempt() -> None:
    asks = Contender(name="t/new", manifest=manifest(schedulerName="volcano"), engine="Volcano")
    assert (await preempted(Fleet().planning, (asks,))) == Preemptions()


@pytest.mark.parametrize(("priority", "is_known"), [("high", False), ("", True)])
async def test_a_gang_scheduler_preempts_lower_priorities_only(priority: str, is_known: bool) -> None:
    asks = Contender(name="t/new", manifest=manifest(priority=priority), engine="Coscheduling")
    found = await preempted(Fleet().planning, (asks,))
    assert (found.unknown == "") is is_known


def test_several_are_typed_by_their_number_and_what_else_is_not_known_is_said() -> None:
    jobs = tuple(
        PreemptedJob(name=f"t/j{at}", gpus=8, running_seconds=3_600.0 * at, lost_steps=412) for at in range(8)
    )
    plan = told(PLAN, Preemptions(jobs=jobs, unknown="pods may not be listed"))
    assert plan.warnings[0].startswith("preempts 8 jobs with 64 GPUs: t/j0 (8 GPUs), t/j1")
    assert plan.warnings[1] == "what else it preempts cannot be computed: pods may not be listed"
    assert plan.typed == "preempt 8 jobs"
    assert plan.expects[3] == "t/j3: 8 GPUs, running for 3 h, loses 412 steps since its last checkpoint"
    assert plan.expects[-1] == "and 2 more jobs"


async def test_a_plan_by_which_nobody_asks_for_gpus_reads_nothing() -> None:
    seen = Fleet()
    assert await with_others(seen.planning, PLAN) is PLAN
    assert seen.line.reads == []
