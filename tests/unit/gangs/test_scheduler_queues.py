"""Queues of engines with a scheduler of their own: amounts, state, who waits and runs, and names."""

from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.actions.queue import plan_queue_resume, plan_queue_stop, queue_named
from cockpit.actions.subjects import subject_named
from cockpit.commands.get import NEEDS, item
from cockpit.errors import BadInput
from cockpit.gangs import kai, registry, volcano
from cockpit.gangs.kai import read_queue as read_kai
from cockpit.gangs.queue_line import running, waiting
from cockpit.gangs.volcano import read_queue as read_volcano
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup, QueueShare, SchedulerQueue
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef, Record
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views import queue_page, queues
from cockpit.views.view_state import ViewState

GPU = "nvidia.com/gpu"
VOLCANO, KAI = volcano.QUEUES, kai.QUEUES


def volcano_queue(name: str = "default", **status: Any) -> SchedulerQueue:
    spec = {
        "weight": 4,
        "parent": "root",
        "reclaimable": False,
        "deserved": {GPU: "6", "cpu": "10"},
        "capability": {GPU: "16", "memory": "64Gi"},
        "guarantee": {"resource": {GPU: "2"}},
    }
    said = {"state": "Open", "allocated": {GPU: "8", "cpu": "2500m"}, **status}
    return read_volcano({"metadata": {"name": name, "uid": f"v-{name}"}, "spec": spec, "status": said})


def kai_queue(name: str = "default", **status: Any) -> SchedulerQueue:
    gpu = {"quota": 1.5, "limit": -1, "overQuotaWeight": 2}
    spec = {"parentQueue": "research", "resources": {"gpu": gpu, "memory": {"quota": -1, "limit": 1000}}}
    said = {"allocated": {GPU: "0.5"}, **status}
    return read_kai({"metadata": {"name": name, "uid": f"k-{name}"}, "spec": spec, "status": said})


def group(name: str, engine: str = "Volcano", *, at: float = 0.0, **fields: Any) -> PodGroup:
    return PodGroup(
        uid=f"g-{name}", name=name, namespace="team-a", engine=engine, min_member=1, created_seconds=at,
        owner=OwnerRef("batch.volcano.sh/v1alpha1", "Job", name, f"job-{name}"), **fields,
    )  # fmt: skip


def pod(name: str, *, node: str = "", scheduler: str = "volcano", priority: int = 0, gpus: int = 8) -> Pod:
    return Pod(
        uid=f"p-{name}", name=name, namespace="team-a", gang=name, node=node, scheduler=scheduler,
        priority=priority, gpus=gpus, phase="Running" if node else "Pending",
    )  # fmt: skip


def store_of(**tables: tuple[Record, ...]) -> Store:
    store = Store()
    for kind, records in tables.items():
        store.apply(Batch(kind=kind, changed=records))
    return store


def only_row(store: Store) -> queues.QueueRow:
    (row,) = queues.rows(store)
    return row


def cells(row: queues.QueueRow, store: Store) -> dict[str, str]:
    table = queues.table(store, ViewState(), 0.0)
    at = table.index(row.key)
    assert at is not None
    return {column.id: cell.text for column, cell in zip(table.columns, table.cells(at), strict=True)}


def test_a_queue_of_volcano_says_what_it_deserves_uses_and_may_use() -> None:
    queue = volcano_queue()
    gpu = next(share for share in queue.shares if share.resource == GPU)
    assert gpu == QueueShare(GPU, deserved=6, limit=16, used=8, guaranteed=2)
    assert gpu.over == 2
    cpu = next(share for share in queue.shares if share.resource == "cpu")
    assert (cpu.deserved, cpu.limit, cpu.used) == (10_000, None, 2500)
    row = only_row(store_of(volcanoqueues=(queue,)))
    assert (row.name, row.state, queues.quota_text(row)) == ("volcano:default", "open", "8/6+2")
    told = {pair.name: pair.value for pair in queue_page.facts(row)}
    assert told[GPU] == "8 used, 6 deserved, 2 over, 2 guaranteed, limit 16"
    assert told["cpu"] == "2.5 used, 10 deserved, no limit"
    assert (told["memory"], told["parent"], told["share"]) == ("0B used, limit 64Gi", "root", "weight 4")


def test_a_queue_of_kai_counts_parts_of_gpus_and_knows_no_bound() -> None:
    queue = kai_queue()
    gpu = next(share for share in queue.shares if share.resource == GPU)
    assert (gpu.deserved, gpu.limit, gpu.used) == (1.5, None, 0.5)
    memory = next(share for share in queue.shares if share.resource == "memory")
    assert (memory.deserved, memory.limit) == (None, 1e9)
    row = only_row(store_of(kaiqueues=(queue,)))
    assert (row.name, row.state, queues.quota_text(row)) == ("kai:default", "open", "0.5/1.5")
    assert queue.cohort == "research" and queue.strategy == "priority 100, weight 2"


@pytest.mark.parametrize(
    ("state", "expected"),
    [("Open", "open"), ("Closed", "closed"), ("Closing", "closing"), ("Unknown", "unknown"), ("", "unknown")],
)
def test_the_state_of_a_queue(state: str, expected: str) -> None:
    row = only_row(store_of(volcanoqueues=(volcano_queue(state=state),)))
    assert row.state == expected
    assert bool(row.why) == (expected != "open")


def test_use_that_was_never_told_is_not_zero() -> None:
    tree = {"metadata": {"name": "new", "uid": "v-new"}, "spec": {"capability": {GPU: "4"}}}
    row = only_row(store_of(volcanoqueues=(read_volcano(tree),)))
    assert (row.used, queues.quota_text(row), row.state) == (None, "?/4", "unknown")
    bare = read_volcano(
        {"metadata": {"name": "b", "uid": "b"}, "spec": {}, "status": {"allocated": {GPU: 3}}}
    )
    assert queues.quota_text(only_row(store_of(volcanoqueues=(bare,)))) == "3, no limit"


def test_who_waits_in_the_order_that_is_estimated_and_who_runs() -> None:
    groups = (
        group("late", phase="Pending", at=30.0),
        group("early", phase="Pending", at=10.0),
        group("urgent", phase="Pending", at=20.0),
        group("let-in", phase="Inqueue", at=40.0),
        group("runs", phase="Running", at=1.0),
        group("over", phase="Completed", at=1.0),
        group("elsewhere", phase="Pending", queue="other"),
    )
    pods = (pod("urgent", priority=1000), pod("let-in"), pod("runs", node="n1"))
    store = store_of(volcanoqueues=(volcano_queue(),), podgroups=groups, pods=pods)
    row = only_row(store)
    line = queues.waiting_rows(store, row)
    assert [view.job for view in line] == [f"team-a/{name}" for name in ("let-in", "urgent", "early", "late")]
    assert all(view.is_estimate for view in line)
    assert [view.gpus for view in line] == [8, 8, None, None], "no pods yet: unknown and not 0"
    assert [view.priority for view in line] == [0, 1000, None, None]
    assert (row.pending, row.admitted) == (4, 1)
    assert row.cluster is not None
    assert running(store, row.cluster) == ("team-a/runs",)


def test_a_group_of_kai_waits_until_its_pods_have_nodes() -> None:
    """It writes no phase: only pods tell."""
    groups = tuple(group(name, "KAI", queue="default") for name in ("waits", "runs"))
    pods = (pod("waits", scheduler="kai-scheduler"), pod("runs", node="n1", scheduler="kai-scheduler"))
    store = store_of(kaiqueues=(kai_queue(),), podgroups=groups, pods=pods)
    row = only_row(store)
    assert (row.pending, row.admitted) == (1, 1)
    assert [view.job for view in queues.waiting_rows(store, row)] == ["team-a/waits"]


@pytest.mark.parametrize("kind", [Kind.POD, Kind.POD_GROUP])
def test_counts_are_unknown_where_lists_are_denied(kind: str) -> None:
    store = store_of(kaiqueues=(kai_queue(),), podgroups=(group("g", "KAI", queue="default"),))
    store.apply(Batch(kind=kind, status=StreamStatus(kind=kind, phase=Phase.DENIED)))
    row = only_row(store)
    assert (row.pending, row.admitted) == (None, None)
    if kind == Kind.POD:
        assert queues.waiting_rows(store, row) == ()


def test_queues_of_one_name_are_told_apart_by_engine() -> None:
    kueue = ClusterQueue(uid="c-default", name="default")
    store = store_of(
        volcanoqueues=(volcano_queue(),), kaiqueues=(kai_queue(),), clusterqueues=(kueue,),
        podgroups=(group("v"), group("k", "KAI", queue="default")),
    )  # fmt: skip
    rows = {row.name: row for row in queues.rows(store)}
    assert set(rows) == {"default", "volcano:default", "kai:default"}
    assert len({row.key for row in rows.values()}) == 3
    assert [view.job for view in waiting(store, queue_named(store, "kai:default"))] == ["team-a/k"]
    assert queue_named(store, "volcano:default").uid == "v-default"
    assert queue_named(store, "clusterqueue/default").uid == "c-default"
    with pytest.raises(BadInput) as refused:
        queue_named(store, "default")
    assert "clusterqueue/default, kai:default, volcano:default" in str(refused.value)
    for name, engine in (("volcano:default", "Volcano"), ("kai:default", "KAI"), ("default", "Kueue")):
        tree = item(rows[name], SimpleNamespace(store=store))  # type: ignore[arg-type]
        assert (tree["name"], tree["engine"]) == (name, engine)


def test_a_namespace_that_is_called_like_an_engine_is_no_engine() -> None:
    local = LocalQueue(uid="l", name="default", namespace="volcano", cluster_queue="c")
    store = store_of(volcanoqueues=(volcano_queue(),), localqueues=(local,))
    assert queue_named(store, "volcano/default").uid == "l"
    assert queue_named(store, "volcano:default").uid == "v-default"
    assert registry.queue_of_key(store, "volcano/default") is local


@pytest.mark.parametrize("name", ["volcano:default", "kai:default"])
def test_no_queue_of_a_scheduler_is_stopped_here(name: str) -> None:
    store = store_of(volcanoqueues=(volcano_queue(),), kaiqueues=(kai_queue(),))
    queue = queue_named(store, name)
    for plan in (plan_queue_stop, plan_queue_resume):
        with pytest.raises(BadInput) as refused:
            plan(queue, store)
        assert str(refused.value).startswith(f"queue {name}: ")
        assert "not stopped or resumed here" in str(refused.value)


def test_parents_stand_where_cohorts_do() -> None:
    store = store_of(volcanoqueues=(volcano_queue(),))
    told = cells(only_row(store), store)
    assert (told["cohort"], told["strategy"], told["preemption"]) == ("root", "weight 4", "not reclaimable")
    assert told["borrowed"] == "2" and told["engine"] == "Volcano"


def test_without_the_kind_there_is_no_row() -> None:
    assert queues.rows(store_of(podgroups=(group("g"),))) == []


def test_why_of_a_closed_queue_counts_who_waits() -> None:
    store = store_of(
        volcanoqueues=(volcano_queue(state="Closed"),), kaiqueues=(kai_queue(),), podgroups=(group("v"),)
    )
    view = ClusterView(store=store, jobs=JobIndex(store), now_seconds=0.0)
    closed = explain(subject_named("queue", "volcano:default", view), view)
    assert closed.sentence == "closed: it takes no jobs until it is opened: 1 job waits"
    assert closed.subject.text == "queue volcano:default"
    fine = explain(subject_named("queue", "kai:default", view), view)
    assert not fine.sentence or "nothing" in fine.sentence


def test_get_queues_reads_groups_and_pods() -> None:
    assert {Kind.POD_GROUP, Kind.POD, VOLCANO, KAI} <= set(NEEDS["queues"])
