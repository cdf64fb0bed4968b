"""Cron jobs of the embedded cluster, minute by minute: what is started, what is not, what is kept."""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, JOBS, PODS
from cockpit.sim.actors.controllers.cron_jobs import CronJobs
from cockpit.sim.actors.controllers.garbage import BUILT_IN, Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import PortError
from cockpit.sim.resources import CRON_JOBS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.times import rfc3339

Tree = dict[str, Any]
SPACE = "team-a"


def cron_job(**spec: Any) -> Tree:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    job = {"metadata": {"labels": labels}, "spec": {"template": {"spec": pod}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "*/10 * * * *", "jobTemplate": job, **spec},
    }


class World:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        operations = assemble(self.clock, Random(1)).operations
        self.port = LocalPort(operations)
        self.engine = ActorEngine(
            LocalPort(operations), self.clock, Random(2), [Jobs(), CronJobs(), Garbage(BUILT_IN)]
        )
        self.do(self.engine.start())

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def make(self, **spec: Any) -> None:
        self.do(self.port.create(CRON_JOBS, cron_job(**spec), SPACE))

    def wait(self, minutes: float) -> None:
        self.do(self.engine.advance(minutes * 60.0))

    def change(self, **spec: Any) -> None:
        self.do(self.port.patch(CRON_JOBS, SPACE, "nightly", {"spec": spec}))
        self.wait(0.1)

    def jobs(self) -> list[Tree]:
        return sorted(self.do(self.port.list(JOBS, SPACE)), key=lambda one: str(one["metadata"]["name"]))

    def cron(self) -> Tree:
        (found,) = self.do(self.port.list(CRON_JOBS, SPACE))
        return dict(found)

    def end(self, phase: str) -> None:
        """Every pod ends so."""
        state = {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": rfc3339(self.clock.now())}}
        shown = {"name": "main", "image": "train:1", "imageID": "", "ready": False, "restartCount": 0}
        status = {"phase": phase, "containerStatuses": [{**shown, "state": state}]}
        for pod in self.do(self.port.list(PODS, SPACE)):
            if pod["status"]["phase"] == "Pending":
                patch = {"status": status}
                self.do(self.port.patch(PODS, SPACE, pod["metadata"]["name"], patch, subresource="status"))
        self.wait(0.2)

    def told(self) -> set[str]:
        return {event["reason"] for event in self.do(self.port.list(EVENTS, SPACE))}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.loop.close()


def test_a_job_is_made_at_each_time_with_the_labels_of_its_template(world: World) -> None:
    world.make()
    assert world.cron()["spec"]["concurrencyPolicy"] == "Allow"
    world.wait(10)
    (job,) = world.jobs()
    due = int(world.clock.now()) // 600 * 10
    assert job["metadata"]["name"] == f"nightly-{due}"
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main"
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("CronJob", "nightly", True)
    status = world.cron()["status"]
    assert status["lastScheduleTime"] == rfc3339(due * 60)
    assert [one["name"] for one in status["active"]] == [job["metadata"]["name"]]
    world.wait(10)
    assert len(world.jobs()) == 2


def test_forbid_waits_for_the_last_and_replace_takes_its_place(world: World) -> None:
    world.make(concurrencyPolicy="Forbid")
    world.wait(25)
    first = [one["metadata"]["name"] for one in world.jobs()]
    assert len(first) == 1 and "JobAlreadyActive" in world.told()
    world.end("Succeeded")
    world.wait(10)
    assert len(world.jobs()) == 2 and "SawCompletedJob" in world.told()
    world.change(concurrencyPolicy="Replace")
    world.wait(10)
    running = [one for one in world.jobs() if not one["status"].get("completionTime")]
    assert len(running) == 1


def test_suspended_starts_nothing_and_a_late_time_counts_once(world: World) -> None:
    world.make(suspend=True)
    world.wait(35)
    assert world.jobs() == []
    world.change(suspend=False)
    assert len(world.jobs()) == 1  # of three that were missed


def test_of_those_that_ended_the_newest_are_kept(world: World) -> None:
    world.make(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    for _ in range(3):
        world.wait(10)
        world.end("Succeeded")
    assert len(world.jobs()) == 1 and world.cron()["status"]["lastSuccessfulTime"]


def test_jobs_go_with_their_cron_job(world: World) -> None:
    world.make()
    world.wait(10)
    world.do(world.port.delete(CRON_JOBS, SPACE, "nightly", propagation="Background"))
    world.wait(1)
    assert world.jobs() == []


def test_a_schedule_that_names_no_time_is_told_once(world: World) -> None:
    world.make(schedule="0 0 31 2 *")
    world.wait(60)
    assert world.jobs() == [] and "InvalidSchedule" in world.told()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"schedule": "0 24 * * *"}, "spec.schedule"),
        ({"schedule": ""}, "spec.schedule"),
        ({"timeZone": "Europe/Nowhere"}, "spec.timeZone"),
        ({"timeZone": "Local"}, "spec.timeZone"),
        ({"concurrencyPolicy": "Never"}, "spec.concurrencyPolicy"),
        ({"startingDeadlineSeconds": -1}, "spec.startingDeadlineSeconds"),
        ({"successfulJobsHistoryLimit": -1}, "spec.successfulJobsHistoryLimit"),
    ],
)
def test_what_the_server_refuses(world: World, spec: Tree, field: str) -> None:
    with pytest.raises(PortError) as caught:
        world.make(**spec)
    assert caught.value.status == 422 and [one["field"] for one in caught.value.causes] == [field]
