"""Gangs of Volcano and KAI as their users reported them: statuses out of public issues, in plain words."""

from typing import Any

import pytest

from cockpit.model.job import JobState
from tests.unit.gangs.test_pod_groups import cluster, gang, group
from tests.unit.jobs.builders import said_of

VOLCANO, KAI = "scheduling.volcano.sh", "scheduling.run.ai"


def volcano(phase: str, message: str, **more: Any) -> dict[str, Any]:
    told = {
        "lastTransitionTime": "2020-10-15T09:01:46Z",
        "message": message,
        "reason": "NotEnoughResources",
        "status": "True",
        "transitionID": "a6e36d8a-1672-406e-a9f5-f113174114fe",
        "type": "Unschedulable",
    }
    return {"conditions": [told], "phase": phase, **more}


WAITING = {
    "volcano-sh/volcano#1094": (
        volcano(
            "Inqueue", "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable."
        ),
        1,
        "1 of 1 pods of its group find no node",
    ),
    "volcano-sh/volcano#2416": (
        volcano(
            "Inqueue",
            "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable;"
            " Pending: 1 Undetermined",
        ),
        1,
        "1 of 1 pods of its group not looked at yet",
    ),
    "volcano-sh/volcano#2930": (
        volcano(
            "Pending", "1/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable"
        ),
        1,
        "its group has no pods yet",
    ),
    "volcano-sh/volcano docs/design/scheduling-reason.md": (
        volcano(
            "Inqueue",
            "3/6 tasks in gang unschedulable: pod group is not ready, 6 Pending, 6 minAvailable;"
            " Pending: 1 Unschedulable, 2 Undetermined, 3 Schedulable",
        ),
        6,
        "needs 4 GPUs on one node: all 3 nodes lack free GPUs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", WAITING)
def test_a_waiting_gang_is_told_in_plain_words(source: str) -> None:
    status, count, why = WAITING[source]
    store, index = cluster(group(VOLCANO, {"minMember": count, "queue": "q1"}, status), gang(VOLCANO, count))
    (job,) = index.jobs.values()
    assert (job.state, job.engine, said_of(job, store, index)) == (JobState.QUEUED, "Volcano", why)


STALE = {
    "volcano-sh/volcano#153": (
        VOLCANO,
        {"minMember": 1, "queue": "q1", "minResources": {"cpu": "1", "memory": "0"}},
        volcano("Running", "1/0 tasks in gang unschedulable: 0 nodes are available", running=2),
    ),
    "kai-scheduler/KAI-Scheduler#1888": (
        KAI,
        {"minMember": 2, "queue": "leaf"},
        {
            "schedulingConditions": [
                {
                    "type": "UnschedulableOnNodePool",
                    "status": "True",
                    "reasons": [{"reason": "OverLimit", "message": "Workload requested 0.4 CPU cores"}],
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("source", STALE)
def test_a_gang_that_runs_is_not_judged_by_the_condition_that_nobody_took_back(source: str) -> None:
    api_group, spec, status = STALE[source]
    store, index = cluster(group(api_group, spec, status), gang(api_group, count=2, bound=2))
    (job,) = index.jobs.values()
    assert (job.state, said_of(job, store, index), job.position) == (JobState.RUNNING, "", None)
