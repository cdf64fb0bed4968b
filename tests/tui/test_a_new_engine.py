"""A queueing engine that nobody has heard of, all of it in this file: what a new one costs.

It is watched, becomes the engine of a row with state and reason, a row in Queues and a choice in the form of
a new job, and its jobs are suspended and resumed its way. Nothing but `registered` tells the cockpit of it.
"""

import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from cockpit_widgets.form import Form

from cockpit.actions.suspend import plan_resume, plan_suspend
from cockpit.clock import ManualClock
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.engine import (
    ControllerSigns,
    Engine,
    Marks,
    Queue,
    Queues,
    Scheduling,
    SuspendChange,
    SuspendsJob,
)
from cockpit.gangs.manifests import Attached, copied, label_pods, set_scheduler
from cockpit.gangs.standing import QueueState
from cockpit.jobs.index import JobIndex
from cockpit.kube.discovery import Served, ServedResource
from cockpit.kube.feed import Feed
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding
from cockpit.model.gang import LocalQueue, PodGroup
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Call
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.watched import Watched
from cockpit.screens.submit import SubmitScreen
from cockpit.store.store import Store
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp
from tests.tui.test_form_choices import fill, opened, plan_of, row
from tests.unit.jobs.builders import said_of
from tests.unit.kube.builders import FakeServer, bookmark, event, gpu_container, meta, stream
from tests.unit.kube.conftest import clock, no_ambient_configuration, server, session
from tests.unit.kube.test_discovery import entry, group
from tests.unit.kube.test_feed import Hearing, serve_core
from tests.waiting import until

__all__ = ["clock", "no_ambient_configuration", "server", "session"]

GROUP = "tiny.example"
QUEUES = "tinyqueues"


# ---- the engine: what would be the package cockpit/gangs/tiny


class TinyQueue(LocalQueue, frozen=True, gc=False, kw_only=True):
    """`lanes.tiny.example`."""

    is_open: bool = True


def _identity(tree: Mapping[str, Any]) -> dict[str, Any]:
    metadata = tree["metadata"]
    return {"uid": metadata["uid"], "name": metadata["name"], "namespace": metadata["namespace"]}


def read_queue(tree: Mapping[str, Any]) -> TinyQueue:
    """The record of one lane."""
    return TinyQueue(**_identity(tree), pending=tree["spec"]["waiting"], is_open=tree["spec"]["open"])


def read_gang(tree: Mapping[str, Any]) -> PodGroup:
    """The record of one troupe."""
    spec = tree["spec"]
    size, queue = spec["size"], spec["lane"]
    return PodGroup(**_identity(tree), engine=NAME, min_member=size, phase="Pending", queue=queue)


NAME = "Tiny"
MEANING = "All of a troupe or none of it."
SCHEDULER = "tiny-scheduler"
QUEUE_LABEL, GROUP_LABEL = f"{GROUP}/lane", f"{GROUP}/troupe"


def attach(manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    if not queue:
        raise BadInput("queue: Tiny needs a lane")
    tree = copied(manifest)
    tree["metadata"].setdefault("labels", {})[QUEUE_LABEL] = queue
    label_pods(tree, GROUP_LABEL, tree["metadata"]["name"])
    set_scheduler(tree, SCHEDULER)
    return Attached(tree, (), (MEANING,))


def reason(group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
    return Finding(sentence=f"lane {group.queue} waits for {group.min_member} at once")


def queue_state(queue: Queue) -> QueueState:
    is_open = isinstance(queue, TinyQueue) and queue.is_open
    return QueueState("active", "") if is_open else QueueState("stopped", "the lane is closed")


def suspend(tree: Mapping[str, Any], suspend: bool) -> SuspendChange | None:
    name = tree["metadata"]["name"]
    path = f"/apis/{GROUP}/v1/namespaces/{tree['metadata']['namespace']}/troupes/{name}/rest"
    call = Call(method="PUT", path=path, body={"resting": suspend}, target=f"troupe {name}")
    return SuspendChange((call,), (f"Tiny lets troupe {name} {'rest' if suspend else 'go on'}",), suspend)


TINY = Engine(
    name=NAME,
    meaning=MEANING,
    attach=attach,
    option="[:LANE]",
    controller=ControllerSigns(GROUP, "troupes", (SCHEDULER,)),
    watched=(
        Watched(QUEUES, GROUP, "lanes", ("v1",), record=read_queue),
        Watched(Kind.POD_GROUP, GROUP, "troupes", ("v1",), NAME, record=read_gang),
    ),
    marks=Marks(queue_label=QUEUE_LABEL, group_label=GROUP_LABEL),
    queues=Queues(queue_state, local=QUEUES, types=(TinyQueue,), source="tiny-lanes"),
    scheduling=Scheduling(SCHEDULER),
    reason=reason,
    suspends_job=SuspendsJob(suspend, path=lambda api_version, namespace: ("", "")),
)
"""Everybody or nobody, by lanes."""


@pytest.fixture(autouse=True)
def tiny() -> Iterator[None]:
    with registry.registered(TINY):
        yield
    assert registry.engine_called("tiny") is None, "it is forgotten again"


# ---- what its objects become


def lane(name: str, *, is_open: bool, waiting: int) -> dict[str, Any]:
    return {"metadata": meta(name), "spec": {"open": is_open, "waiting": waiting}}


TREES: dict[str, list[dict[str, Any]]] = {
    f"/apis/{GROUP}/v1/lanes": [
        lane("fast\x1b[31m", is_open=True, waiting=1),
        lane("slow", is_open=False, waiting=0),
    ],
    f"/apis/{GROUP}/v1/troupes": [{"metadata": meta("hamlet"), "spec": {"size": 2, "lane": "fast"}}],
    "/apis/batch/v1/jobs": [
        {
            "metadata": meta("hamlet", uid="uid-job", labels={QUEUE_LABEL: "fast"}),
            "spec": {"parallelism": 2, "template": {"spec": {"containers": [gpu_container()]}}},
        }
    ],
    "/api/v1/pods": [
        {
            "metadata": meta(
                f"hamlet-{rank}",
                labels={GROUP_LABEL: "hamlet"},
                ownerReferences=[
                    {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "name": "hamlet",
                        "uid": "uid-job",
                        "controller": True,
                    }
                ],
            ),
            "spec": {"schedulerName": SCHEDULER, "containers": [gpu_container()]},
            "status": {"phase": "Pending"},
        }
        for rank in (0, 1)
    ],
}


async def batches(server: FakeServer, session: ApiSession, clock: ManualClock) -> list[Batch]:
    """What the feed delivers of a cluster with the engine's objects."""
    serve_core(server, group(GROUP, v1=[entry("lanes", "Lane"), entry("troupes", "Troupe")]))
    for path, trees in TREES.items():
        server.on(
            path, stream(*(event("ADDED", one) for one in trees), bookmark("9", ends_list=True), stays=True)
        )
    hearing = Hearing()
    feed = Feed(session, hearing, clock=clock, rng=random.Random(3), watched=registry.watched())
    await hearing.until(feed.run(), lambda: len(hearing.ended()) == 7)
    return hearing.batches


def the_row(index: JobIndex) -> Job:
    (found,) = (one for one in index.jobs.values() if one.name == "hamlet")
    return found


async def test_its_job_is_a_row_with_state_and_reason(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    store = Store()
    index = JobIndex(store)
    for batch in await batches(server, session, clock):
        store.apply(batch)
        index.update(store.take_delta())
    found = the_row(index)
    assert (found.engine, found.queue, found.state) == ("Tiny", "fast", JobState.QUEUED)
    assert (said_of(found, store, index), found.position) == ("lane fast waits for 2 at once", 1)
    gone = tuple(store.records(Kind.POD_GROUP))
    store.apply(Batch(kind=Kind.POD_GROUP, scope=f"troupes.{GROUP}", removed=gone))
    index.update(store.take_delta())
    assert the_row(index).state == JobState.PENDING, "the row moves with the engine's own object"


async def test_it_is_a_row_in_queues_and_a_choice_of_the_form(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    app = OfferingApp(Estate(), write=True, place="queues")
    for batch in await batches(server, session, clock):
        if batch.kind == QUEUES:
            app.attachment.store.apply(batch)
    troupes = Resource(GROUP, "v1", "troupes", "Troupe", namespaced=True)
    assert app.attachment.served is not None
    app.attachment.served = Served((*app.attachment.served.resources, ServedResource(troupes, ("list",))))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        rows = re.compile(
            r"\W*team-a/.* Tiny "
        )  # not the detail, which names the engine in a column of facts
        lines = [line for line in looking.text(app).splitlines() if rows.match(line)]
        assert len(lines) == 2
        assert any("team-a/fast[31m" in line and "active" in line for line in lines), "escape codes go"
        assert any("team-a/slow" in line and "stopped" in line for line in lines)
        assert any("the lane is closed" in line for line in lines)
        form: Form = await opened(pilot, app)
        assert "tiny" in row(form, "engine").spec.choices
        await fill(pilot, form, namespace="team-a")
        form.set_value("engine", "tiny")
        await until(lambda: "slow" in row(form, "queue").spec.choices, "its lanes", pilot=pilot)
        assert isinstance(app.screen, SubmitScreen)
        assert "Tiny needs a lane" in app.screen._make()[1]
        form.set_value("queue", "slow")
        await settle(pilot)
        plan = plan_of(app)
        body = plan.calls[0].body
        assert body["metadata"]["labels"][QUEUE_LABEL] == "slow"
        worker = body["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
        assert worker["spec"]["schedulerName"] == SCHEDULER
        assert "--engine tiny:slow" in plan.shell and MEANING in plan.lines


def test_its_jobs_are_suspended_and_resumed_its_way() -> None:
    tree = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("hamlet")}
    one = Job(
        key="job.batch/team-a/hamlet", uid="uid-hamlet", api_version="batch/v1", kind="Job",
        namespace="team-a", name="hamlet", state=JobState.RUNNING, engine="Tiny",
    )  # fmt: skip
    suspend, resume = plan_suspend(one, tree, Store()), plan_resume(one, tree, Store())
    (call,) = suspend.calls
    assert call.path == f"/apis/{GROUP}/v1/namespaces/team-a/troupes/hamlet/rest"
    assert (call.body, resume.calls[0].body) == ({"resting": True}, {"resting": False})
    assert suspend.title == "Suspend job team-a/hamlet" and suspend.is_destructive
    assert "Tiny lets troupe hamlet rest" in suspend.lines


def test_it_stands_in_the_help_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    from cockpit.cli import main

    with pytest.raises(SystemExit):
        main(["job", "submit", "--help"])
    assert "tiny[:LANE]" in " ".join(capsys.readouterr().out.split())
