"""Nothing is mixed up: three stores with the same names change in any order while keys are pressed.

One of the clusters is read-only, one gives fewer rights, and each may die and come back. After every step
each row stands as its own cluster alone would draw it, and the keys are those of the cluster of the row.
"""

import random
from typing import Any, cast

import pytest
from cockpit_widgets import ConfirmDialog, ResourceTable

from cockpit.attach import Attachment, Link
from cockpit.model.batch import Batch
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from cockpit.model.right import Permission, Right
from cockpit.views import jobs, nodes
from cockpit.views.clusters import split_key
from cockpit.views.view_state import ViewState
from tests.tui.clusters_app import ClustersApp, Empty
from tests.tui.deck import settle
from tests.tui.estate import NOW

NAMES = ("free", "locked", "restricted")
WRITE = ("free", "restricted")
JOBS, NODES, STEPS = 5, 4, 60


class Denied:
    """Access reviews of a user who may change nothing; how often they were asked stays the same."""

    answers = 1

    def verdict(self, _right: Right) -> Permission:
        return Permission.DENIED

    def want(self, _rights: Any) -> None:
        """Everything is known."""

    def doubt(self, _rights: Any) -> None:
        """It stays so."""


def node(number: int, chance: random.Random) -> Node:
    ready = chance.choice(("True", "False", "Unknown"))
    return Node(
        uid=f"node-{number}",
        name=f"n{number}",
        created_seconds=NOW - 600.0,
        unschedulable=chance.random() < 0.3,
        conditions=(Condition("Ready", ready, changed_seconds=NOW - chance.randint(1, 500)),),
        gpu_resource="nvidia.com/gpu",
        gpu_capacity=8,
        gpu_allocatable=chance.choice((8, 7)),
    )


def job(number: int, chance: random.Random) -> tuple[JobObject, Pod]:
    api, name = "kubeflow.org/v2beta1", f"j{number}"
    owner = JobObject(
        uid=f"job-{number}",
        name=name,
        namespace="team",
        resource_version=str(chance.randint(1, 999)),
        created_seconds=NOW - chance.randint(1, 9_000),
        api_version=api,
        kind="MPIJob",
        replicas=(ReplicaSpec("worker", 1, chance.randint(0, 1), "nvidia.com/gpu"),),
    )
    pod = Pod(
        uid=f"pod-{number}",
        name=f"{name}-worker-0",
        namespace="team",
        phase=chance.choice(("Running", "Pending")),
        node=chance.choice(("", f"n{chance.randrange(NODES)}")),
        gpus=chance.choice((1, 2, 8)),
        gpu_resource="nvidia.com/gpu",
        owner_api_version=api,
        owner_kind="MPIJob",
        owner_name=name,
        owner_uid=owner.uid,
        job_label=name,
        role="worker",
        rank=0,
        is_ready=True,
    )
    return owner, pod


def change(attachment: Attachment, chance: random.Random) -> None:
    """Something comes, goes or becomes another in this cluster."""
    number = chance.randrange(JOBS)
    match chance.randrange(4):
        case 0:
            attachment.sink(Batch(kind=Kind.NODE, changed=(node(number % NODES, chance),)))
        case 1:
            attachment.sink(Batch(kind=Kind.NODE, removed=(f"node-{number % NODES}",)))
        case 2:
            owner, pod = job(number, chance)
            attachment.sink(Batch(kind=Kind.MPIJOB, changed=(owner,)))
            attachment.sink(Batch(kind=Kind.POD, changed=(pod,)))
        case _:
            attachment.sink(Batch(kind=Kind.MPIJOB, removed=(f"job-{number}",)))
            attachment.sink(Batch(kind=Kind.POD, removed=(f"pod-{number}",)))


def alone(place: str, attachment: Attachment, now_seconds: float) -> dict[str, tuple[str, ...]]:
    """The rows of this cluster by their keys, as a cockpit on it alone draws them."""
    if place == "jobs":
        found = attachment.jobs.jobs.values()
        explain = attachment.verdicts.of
        source: Any = jobs.table(found, attachment.store, ViewState(), now_seconds, explain=explain)
    else:
        source = nodes.table(attachment.store, ViewState(), now_seconds)
    return {source.key(at): tuple(cell.text for cell in source.cells(at)) for at in range(len(source))}


def drawn(app: ClustersApp) -> dict[tuple[str, str], tuple[str, ...]]:
    source: Any = app.screen.query_one("#table", ResourceTable).source
    found = {}
    for at in range(len(source)):
        of, key = split_key(source.key(at))
        first, cluster, *rest = (cell.text for cell in source.cells(at))
        assert cluster == of
        found[of, key] = (first, *rest)
    return found


def check(app: ClustersApp, place: str) -> None:
    """Each row is its own cluster's, no row is lost, and the keys are those of the row under the cursor."""
    page = cast(Any, app.screen)
    for each in app.clusters:
        each.attachment.jobs.catch_up()
    page.show()
    now_seconds = app.clock.cluster_now()
    wanted = {
        (each.context, key): cells
        for each in app.clusters
        for key, cells in alone(place, each.attachment, now_seconds).items()
    }
    assert drawn(app) == wanted
    table = page.query_one("#table", ResourceTable)
    if table.cursor_key is None:
        return
    context, key = split_key(table.cursor_key)
    cluster = next(each for each in app.clusters if each.context == context)
    assert page.cockpit is cluster
    kind = "job" if place == "jobs" else "node"
    own = (
        cluster.attachment.jobs.job(key) if kind == "job" else cluster.attachment.store.by_key(Kind.NODE, key)
    )
    assert page.thing(kind) is own
    may = page.check_action("verb", ("K" if kind == "job" else "X",))
    if not cluster.attachment.is_connected or context == "locked":
        assert may is False
    else:
        assert may is (None if context == "restricted" else True)


@pytest.mark.parametrize("place", ["jobs", "nodes"])
@pytest.mark.parametrize("seed", range(3))
async def test_rows_keys_and_writes_are_those_of_their_cluster(place: str, seed: int) -> None:
    chance = random.Random(f"{place} {seed}")
    app = ClustersApp(dict.fromkeys(NAMES, Empty()), write=WRITE, place=place)
    sessions = {each.context: each.attachment.session for each in app.clusters}
    app.clusters[2].attachment.access = cast(Any, Denied())
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        for _ in range(STEPS):
            cluster = chance.choice(app.clusters)
            attachment = cluster.attachment
            match chance.randrange(8):
                case 0:  # it dies, or comes back
                    is_dead = attachment.session is not None
                    attachment.session = None if is_dead else sessions[cluster.context]
                    attachment.link = Link.WAITING if is_dead else Link.ATTACHED
                case 1 | 2:
                    await pilot.press(chance.choice(("down", "up", "home", "end")))
                case _:
                    change(attachment, chance)
            check(app, place)
        assert not app.sent.writes
        for number in range(JOBS):  # at last each has every name, and each key acts in its own
            for each in app.clusters:
                owner, pod = job(number, chance)
                each.attachment.session = sessions[each.context]
                each.attachment.link = Link.ATTACHED
                each.attachment.sink(Batch(kind=Kind.MPIJOB, changed=(owner,)))
                each.attachment.sink(Batch(kind=Kind.POD, changed=(pod,)))
                each.attachment.sink(Batch(kind=Kind.NODE, changed=(node(number % NODES, chance),)))
        check(app, place)
        table = app.screen.query_one("#table", ResourceTable)
        keys = [table.source.key(at) for at in range(len(table.source))]
        for key in chance.sample(keys, 4):
            context, _ = split_key(key)
            assert table.move_to(key)
            await settle(pilot)
            page = cast(Any, app.screen)
            plan = page.acting.planner()()
            assert plan.context == context and plan.session.context == context
            assert plan.store is page.acting.cluster.store
            await pilot.press("w")
            await settle(pilot)
            assert cast(Any, app.screen).cockpit.context == context
            await pilot.press("escape")
            await settle(pilot)
            assert not isinstance(app.screen, ConfirmDialog)
