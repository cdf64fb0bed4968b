"""What is said of situations that real Kueue 0.15 and 0.19 and mpi-operator 0.6 and 0.8 left behind.

The objects are those that `record.py` wrote down in three generations: `older`, `newer`, and the newer one
without the feature gates that the bed sets.
"""

from typing import NamedTuple

import pytest

from cockpit.gangs.standing import GangState
from cockpit.model.job import JobState
from cockpit.model.sureness import Sureness
from tests.unit.gangs.kueue.situations import SITUATIONS
from tests.unit.gangs.kueue.world import BLOCKED, RECORDED, told_state, world

OLDER, NEWER, DEFAULTS = "older", "newer", "newer-defaults"
ALL = (OLDER, NEWER, DEFAULTS)
LATE = (NEWER, DEFAULTS)


class Case(NamedTuple):
    situation: str
    job: str
    state: str
    cause: str
    sentence: str
    generations: tuple[str, ...] = ALL
    sureness: Sureness = Sureness.SAID
    facts: tuple[tuple[str, str], ...] = ()


BUDGET = "budget of team research is used up for November"
CASES = (
    Case(
        "twins",
        "second",
        GangState.QUEUED,
        "quota-in-use",
        "needs 8 GPUs, quota twins/twins-h100 has 0 unused: 8 more needed",
        sureness=Sureness.PROVED,
        facts=(("flavor", "twins-h100"), ("resource", "nvidia.com/gpu")),
    ),
    *(
        Case(
            "twins",
            job,
            GangState.QUEUED,
            "quota-in-use",
            "needs 8 GPUs, quota twins/twins-h100 has 0 unused: 8 more needed",
            LATE,
            Sureness.INFERRED,
            (("twin", "twins/second"),),
        )
        for job in ("third", "fourth")
    ),
    Case(
        "too_large",
        "huge",
        BLOCKED,
        "above-quota",
        "asks 4096 GPUs, queue too-large can never give more than 64",
        sureness=Sureness.PROVED,
    ),
    Case(
        "strict_head",
        "small",
        GangState.QUEUED,
        "behind-the-head",
        "behind strict-head/head in StrictFIFO strict-head, which needs 6 more GPUs",
        sureness=Sureness.INFERRED,
        facts=(("head", "strict-head/head"), ("head's cause", "quota-in-use")),
    ),
    Case(
        "lent_out",
        "owner",
        GangState.QUEUED,
        "quota-in-use",
        "needs 8 GPUs, has 2: 6 of quota lent-out/lent-out-h100 lent to lent-out-other, not reclaimable",
        sureness=Sureness.PROVED,
        facts=(("lent to lent-out-other", "6"), ("reclaimable", "no: reclaimWithinCohort is Never")),
    ),
    Case(
        "cpu_short",
        "second",
        GangState.QUEUED,
        "quota-in-use",
        "needs 5.5 CPU, quota cpu-short/cpu-short-h100 has 4 unused: 1.5 more needed",
        sureness=Sureness.PROVED,
    ),
    Case(
        "check_waits",
        "first",
        GangState.CHECKING,
        "admission-check",
        "admission check check-waits-budget is pending: waits for the approval of cost centre 4711",
        facts=(("check", "check-waits-budget"), ("state", "Pending")),
    ),
    Case(
        "check_retries",
        "first",
        GangState.CHECKING,
        "admission-check",
        "admission check check-retries-capacity is retried: no capacity in zone-b: try again later",
    ),
    Case(
        "check_rejects",
        "first",
        GangState.DEACTIVATED,
        "admission-check",
        f"admission check check-rejects-budget rejected it: {BUDGET}",
        LATE,
        facts=(("check", "check-rejects-budget"), ("message", BUDGET)),
    ),
    Case(
        "check_rejects",
        "first",
        GangState.DEACTIVATED,
        "admission-check",
        "admission check check-rejects-budget rejected it",
        (OLDER,),
    ),
    Case(
        "gated",
        "first",
        BLOCKED,
        "admission-gated",
        "held until example.com/budget takes back its admission-gated-by",
        LATE,
        facts=(("holder", "example.com/budget"),),
    ),
    Case(
        "no_queue",
        "first",
        BLOCKED,
        "queue-unusable",
        "queue nowhere does not exist in namespace no-queue",
    ),
    Case(
        "wrong_namespace",
        "first",
        BLOCKED,
        "queue-unusable",
        "ClusterQueue wrong-namespace takes no jobs from namespace wrong-namespace",
    ),
    Case(
        "stopped_queue",
        "first",
        BLOCKED,
        "queue-stopped",
        "ClusterQueue stopped-queue: stopped and drained (HoldAndDrain)",
    ),
    Case(
        "no_flavor",
        "first",
        BLOCKED,
        "queue-unusable",
        "ClusterQueue no-flavor: names a ResourceFlavor that does not exist: nosuch",
    ),
    Case(
        "tainted_flavor",
        "first",
        BLOCKED,
        "no-flavor-fits",
        "flavor tainted-flavor-spot has taint team=secret that the pods do not tolerate",
        facts=(("taint", "team=secret"), ("flavor", "tainted-flavor-spot")),
    ),
    Case(
        "selector_rules_out",
        "first",
        BLOCKED,
        "no-flavor-fits",
        "node selector gpu=b300 rules out flavor selector-rules-out-h100",
        facts=(("selector", "gpu=b300"),),
    ),
    Case(
        "resource_not_covered",
        "first",
        BLOCKED,
        "no-flavor-fits",
        "ClusterQueue resource-not-covered offers no amd.com/gpu",
        (OLDER, DEFAULTS),
    ),
    Case(  # this time Kueue said nothing of it within a minute
        "resource_not_covered",
        "first",
        BLOCKED,
        "no-flavor-fits",
        "ClusterQueue resource-not-covered offers no amd.com/gpu",
        (NEWER,),
        Sureness.INFERRED,
    ),
    Case(
        "deactivated",
        "first",
        GangState.DEACTIVATED,
        "switched-off",
        "suspended: its workload is deactivated (spec.active is false)",
    ),
    Case(
        "preempted",
        "first",
        GangState.QUEUED,
        "preempted",
        "preempted by preempted/second; needs 8 more GPUs",
        facts=(("preemptor", "preempted/second"),),
    ),
    Case(
        "rack_too_small",
        "first",
        GangState.QUEUED,
        "topology-full",
        "topology rack-too-small-dc has room for 1 of 3 pods in one place",
        (NEWER,),
        facts=(("excluded", 'resource "nvidia.com/gpu": 1'),),
    ),
    Case(
        "level_missing",
        "first",
        BLOCKED,
        "topology-full",
        "the topology of flavor level-missing-tas has no level cloud.example/block",
        facts=(("level", "cloud.example/block"),),
    ),
    Case(
        "topology_node_lost",
        "first",
        GangState.QUEUED,
        "topology-full",
        "topology topology-node-lost-dc has room for none of 3 pods",
        LATE,
    ),
    Case(
        "launcher_not_covered",
        "first",
        BLOCKED,
        "no-flavor-fits",
        "pod set launcher asks for nothing that queue launcher-not-covered covers: give it a CPU request",
        facts=(("pod_set", "launcher"),),
    ),
    Case(
        "mpijob_waits",
        "first",
        BLOCKED,
        "above-quota",
        "asks 16 GPUs, queue mpijob-waits can never give more than 8",
        sureness=Sureness.PROVED,
    ),
)
EACH = [(case, generation) for case in CASES for generation in case.generations]


@pytest.mark.parametrize(
    ("case", "generation"), EACH, ids=[f"{case.situation}-{case.job}-{of}" for case, of in EACH]
)
def test_the_verdict_of_a_recorded_workload(case: Case, generation: str) -> None:
    found = world(generation, case.situation).verdict(case.job)
    assert (told_state(found), found.why.cause, found.why.sentence) == (case.state, case.cause, case.sentence)
    assert found.why.sureness is case.sureness
    assert set(case.facts) <= set(found.why.facts)
    assert len(found.why.sentence) <= 100


def test_nobody_is_said_to_have_switched_off_what_a_check_rejected() -> None:
    for generation in ALL:
        here = world(generation, "check_rejects")
        assert here.job("first").state == JobState.SUSPENDED, generation
        assert "deactivated" not in here.why("first"), generation


@pytest.mark.parametrize("generation", LATE)
def test_a_job_that_waits_to_grow_runs(generation: str) -> None:
    here = world(generation, "elastic_grows")
    job = here.job("first")
    assert (job.state, job.ready, job.wanted) == (JobState.RUNNING, 1, 9)
    assert here.why("first") == (
        "1 of 9 pods admitted; the others: asks 8 GPUs, queue elastic-grows can never give more than 4"
    )
    assert job.position is None


@pytest.mark.parametrize("generation", ALL)
def test_fewer_pods_than_asked_for_are_told(generation: str) -> None:
    found = world(generation, "partly_admitted").verdict("first")
    assert found.why.sentence == "admitted with 4 of 6 pods: its quota had no room for more"
    assert world(generation, "partly_admitted").job("first").state == JobState.RUNNING


@pytest.mark.parametrize("generation", ALL)
def test_an_evicted_worker_and_the_quarrel_about_the_launcher(generation: str) -> None:
    here = world(generation, "worker_evicted")
    assert here.job("first").state == JobState.FAILED
    said, quarrel = here.why("first").split("; ")
    assert said.startswith("worker-1: evicted f") and said.endswith(": low on memory")
    assert quarrel == "Kueue and mpi-operator fight over its launcher: kill the job"


@pytest.mark.parametrize("generation", ALL)
def test_a_priority_class_that_may_not_exist_is_named(generation: str) -> None:
    """Neither generation makes a Workload, nor an event."""
    assert world(generation, "no_priority_class").why("first") == (
        "Kueue has not taken it into queue main: does WorkloadPriorityClass urgent exist?"
    )


@pytest.mark.parametrize("generation", ALL)
def test_what_validation_says_is_told_with_its_point(generation: str) -> None:
    assert (
        world(generation, "mpijob_invalid").why("first")
        == "spec.mpiReplicaSpecs[Launcher].replicas is 2: must be 1"
    )


def test_every_situation_is_recorded_in_every_generation_and_read_without_a_gap() -> None:
    for generation in ALL:
        found = {path.stem for path in (RECORDED / generation).glob("*.json")}
        assert found == set(SITUATIONS), generation
        for situation in found:
            here = world(generation, situation)
            for job in here.jobs.jobs.values():
                assert len(here.why(job.name)) <= 100, (generation, situation, job.name)
                for workload in here.workloads(job.name):
                    assert workload.shape, "a template that was not read"
