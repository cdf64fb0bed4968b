"""Gangs submitted by the cockpit to the embedded cluster: what fits runs, what does not fit binds nothing."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.kill import plan_kill
from cockpit.actions.smoke import watch
from cockpit.actions.submit import plan_submit
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import SystemClock
from cockpit.jobs.template import load_library
from cockpit.kube.resource import JOBS, PODS
from cockpit.model.job import Job, JobState
from cockpit.model.record import Kind
from cockpit.sim.actors.kubelet import actor
from cockpit.sim.actors.kubelet.behaviour import Habits
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import parse
from cockpit.sim.serve import Options, running
from tests.unit.actions.builders import Lines

SCENARIO = """
name: gangs
title: Two nodes of four cards and a queue
story: Gangs are submitted from outside.
seconds: 60m
namespaces:
  - {name: team-a, queue: shared}
pools:
  - {name: h100, nodes: 2, gpus: 4, product: NVIDIA-H100, cpu: "64", memory: 512Gi}
queues:
  - {name: shared, flavors: [{pool: h100, gpus: 8}]}
steps:
  - {at: 59m, cordon: h100-0}
"""
SPEED = 60.0
PATIENCE_SECONDS = 20.0


class _Audit:
    def write(self, *_: Any, **__: Any) -> None: ...
    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Seat:
    """A person at the cockpit: the attachment, and what is done with it."""

    def __init__(self, attachment: Attachment, moved: asyncio.Event, cluster: EmbeddedCluster) -> None:
        self.attachment = attachment
        self.cluster = cluster
        self._moved = moved

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until it holds, looking again whenever something moved."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not self._look(holds):
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            rows = [
                (one.name, one.state, self.why(one.name), one.position)
                for one in self.attachment.jobs.jobs.values()
            ]
            pytest.fail(f"never: {what}; rows {rows}")

    def _look(self, holds: Callable[[], bool]) -> bool:
        self.attachment.jobs.catch_up()
        return holds()

    def why(self, name: str) -> str:
        job = self.job(name)
        if job is None:
            return ""
        return self.attachment.verdicts.of(job, self.attachment.clock.cluster_now()).sentence

    def job(self, name: str) -> Job | None:
        return next((one for one in self.attachment.jobs.jobs.values() if one.name == name), None)

    async def until_state(self, name: str, state: str) -> Job:
        await self.until(lambda: (self.job(name) or _NOBODY).state == state, f"{name} {state}")
        found = self.job(name)
        assert found is not None
        return found

    async def submit(self, template: str, engine: str = "", **values: str) -> None:
        plan = plan_submit(
            load_library().templates[template], {"namespace": "team-a", **values}, engine=engine
        )
        session = self.attachment.session
        assert session is not None
        outcome = await carry_out(plan, session, _Audit(), SystemClock())
        assert outcome.is_done, outcome.sentence

    async def kill(self, name: str) -> None:
        job = self.job(name)
        assert job is not None
        plan = plan_kill(job, self.attachment.store)
        session = self.attachment.session
        assert session is not None
        outcome = await carry_out(plan, session, _Audit(), SystemClock())
        assert outcome.is_done, outcome.sentence

    def bound(self, job: str) -> list[str]:
        """Pods of the job that have a node, as the server itself stores them."""
        shelf = self.cluster.operations.storage.shelf(PODS).between("")
        pods = [one.tree for one in shelf if one.tree["metadata"]["name"].startswith(f"{job}-")]
        return sorted(one["metadata"]["name"] for one in pods if one["spec"].get("nodeName"))


_NOBODY = Job(key="", uid="", api_version="", kind="", namespace="", name="")


@asynccontextmanager
async def seated(folder: Path) -> AsyncIterator[Seat]:
    options = Options(warm_seconds=90.0, speed=SPEED, runs_local_images=False)
    async with running(parse(SCENARIO, "gangs.yaml"), folder, options) as (server, cluster):
        moved = asyncio.Event()
        attachment = Attachment(
            AttachOptions(kubeconfig=str(server.kubeconfig), write=True),
            SystemClock(),
            random.Random(1),
            moved.set,
        )
        task = asyncio.create_task(attachment.run())
        seat = Seat(attachment, moved, cluster)
        try:
            kinds = (Kind.POD, Kind.JOB, Kind.MPIJOB, Kind.WORKLOAD, Kind.CLUSTER_QUEUE, Kind.POD_GROUP)
            await seat.until(lambda: attachment.is_settled(kinds), "everything listed")
            yield seat
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.fixture
async def seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Seat]:
    # A job whose end is drawn would end within seconds at this speed, and let in the gang that is looked at.
    monkeypatch.setattr(actor, "Habits", partial(Habits, job_seconds=(360_000.0, 360_000.0)))
    async with seated(tmp_path) as one:
        yield one


SIZE = {"image": "registry.example/train:1", "cpu": "1", "memory": "16Gi", "gpus": "2"}


async def test_a_queued_gang_waits_whole_and_knows_its_place(seat: Seat) -> None:
    await seat.submit("job", name="first", queue="main", workers="3", **SIZE)
    await seat.until_state("first", JobState.RUNNING)
    for name in ("second", "third"):
        await seat.submit("job", name=name, queue="main", workers="2", **SIZE)
    await seat.until_state("second", JobState.QUEUED)
    third = await seat.until_state("third", JobState.QUEUED)
    await seat.until(lambda: "2 more needed" in seat.why("third"), "third says why")
    await seat.until(lambda: (seat.job("third") or _NOBODY).position == 2, "third has its place")
    await seat.until(lambda: not (seat.job("third") or _NOBODY).is_position_estimate, "its place was told")
    assert seat.bound("second") == []
    assert seat.bound("third") == []
    assert third.gpus_allocated == 0


async def test_a_gang_within_its_quota_but_beyond_the_free_gpus_is_warned_of(seat: Seat) -> None:
    await seat.submit(
        "pod", name="holder-0", **{**SIZE, "gpus": "4"}
    )  # no queue: the quota knows nothing of it
    await seat.until_state("holder-0", JobState.RUNNING)
    template = load_library().templates["job"]

    def warnings(workers: str) -> str:
        values = {"namespace": "team-a", "name": "ring", "queue": "main", "workers": workers, **SIZE}
        return " / ".join(plan_submit(template, values, store=seat.attachment.store).warnings)

    assert "it may admit all 8 GPUs while 4 are free" in warnings("4")
    assert "may admit" not in warnings("2")  # fits
    assert "may admit" not in warnings("5")  # the quota holds it back


async def test_a_gang_of_pods_that_does_not_fit_binds_nothing(seat: Seat) -> None:
    await seat.submit("job", name="whole", engine="coscheduling", workers="3", **SIZE)
    running = await seat.until_state("whole", JobState.RUNNING)
    assert running.engine == "Coscheduling"
    assert len(seat.bound("whole")) == 3
    await seat.submit("job", name="late", engine="coscheduling", workers="2", **SIZE)
    late = await seat.until_state("late", JobState.QUEUED)
    assert late.gpus_allocated == 0
    assert seat.bound("late") == []
    assert late.is_position_estimate
    await seat.until(lambda: "GPU" in seat.why("late"), "the cause is told")
    await seat.kill("late")
    await seat.until(lambda: seat.job("late") is None, "late is gone")
    groups = seat.attachment.store.records
    await seat.until(
        lambda: [one.name for one in groups(Kind.POD_GROUP).values()] == ["whole"],
        "its PodGroup is gone, too",
    )


async def test_a_smoke_test_lists_the_cards_of_its_node_and_leaves_nothing(seat: Seat) -> None:
    template = load_library().templates["smoke-test"]
    values = {"node": "h100-1", "name": "smoke-h100-1", "namespace": "team-a", "gpus": "4"}
    plan = plan_submit(template, values)
    session = seat.attachment.session
    assert session is not None
    assert (await carry_out(plan, session, _Audit(), SystemClock())).is_done
    made = (await session.request("GET", JOBS.path("team-a", "smoke-h100-1"))).json()
    audit = Lines()
    verdict, lines = await watch(template, values, session, SystemClock(), made, audit=audit)
    assert verdict.is_pass, verdict
    assert verdict.sentence == "4 of 4 cards answered: simulated"
    assert len(lines) == 4
    await seat.until(lambda: seat.job("smoke-h100-1") is None, "the job is gone")
    before, after = audit.entries
    assert (before.verb, before.step, before.uid) == ("delete", "intent", made["metadata"]["uid"])
    assert (after.step, after.state) == ("outcome", "done")


async def test_a_smoke_test_takes_no_other_job_of_its_name_away(seat: Seat) -> None:
    template = load_library().templates["smoke-test"]
    values = {"node": "h100-1", "name": "smoke-other", "namespace": "team-a", "gpus": "4"}
    plan = plan_submit(template, values)
    session = seat.attachment.session
    assert session is not None
    assert (await carry_out(plan, session, _Audit(), SystemClock())).is_done
    made = (await session.request("GET", JOBS.path("team-a", "smoke-other"))).json()
    made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    audit = Lines()
    await watch(template, values, session, SystemClock(), made, audit=audit)
    assert (await session.request("GET", JOBS.path("team-a", "smoke-other"))).status == 200
    assert audit.entries[-1].state == "refused"
    assert "was deleted and recreated" in audit.entries[-1].sentence
