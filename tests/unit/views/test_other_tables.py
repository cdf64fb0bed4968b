"""Pods, events, queues, pools."""

import pytest
from cockpit_widgets.columns import place_columns

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QuotaRow, Workload
from cockpit.model.namespaces import Namespaces
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.record import Condition, Kind, OwnerRef
from cockpit.store.trends import Trends
from cockpit.views import events, pods, pools, queue_page, queues
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import (
    NOW,
    cells,
    cluster_queue,
    event,
    line,
    live,
    local_queue,
    pod,
    pool,
    store,
    texts,
)


def test_a_pod() -> None:
    made = pods.table(
        store(
            pod(
                "llm-worker-0",
                job_label="llm",
                role="worker",
                rank=0,
                gpus=8,
                restarts=3,
                ready_containers=1,
                total_containers=1,
                image="x/y:1",
            )
        ),
        ViewState(),
        NOW,
    )
    assert line(made) == {
        "name": "team-a/llm-worker-0",
        "owner": "llm",
        "rank": "worker 0",
        "node": "gpu-1",
        "phase": "● running",
        "gpus": "8",
        "ready": "1/1",
        "restarts": "3",
        "age": "10m",
        "rdma": "",
        "queue": "",
        "priority": "",
        "image": "x/y:1",
    }


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (pod("x", phase="Pending", on=""), "waiting for a node"),
        (pod("x", phase="Pending", on="", is_gated=True), "gated by its queue"),
        (pod("x", phase="Pending"), "starting"),
        (pod("x", phase="Pending", waiting_reason="ContainerCreating"), "starting"),
        (pod("x", phase="Pending", waiting_reason="ImagePullBackOff"), "cannot pull its image"),
        (pod("x", waiting_reason="CrashLoopBackOff", is_ready=False), "crashed"),
        (pod("x", is_ready=False), "running, not ready"),
        (pod("x", phase="Failed", terminated_reason="OOMKilled"), "failed: out of memory"),
        (pod("x", phase="Failed", terminated_reason="Error", exit_code=137), "failed: exit code 137"),
        (pod("x", phase="Failed", status_reason="Evicted"), "failed: Evicted"),
        (pod("x", phase="Failed"), "failed"),
        (pod("x", phase="Succeeded"), "succeeded"),
        (pod("x", deleting_seconds=NOW), "ending"),
        (pod("x", phase=""), "unknown"),
    ],
)
def test_phases_in_plain_words(record: Pod, words: str) -> None:
    [cell] = cells(pods.table(store(record), ViewState(), NOW), "phase")
    assert cell.text[2:] == words
    assert cell.text[0] in "●◔▲×○"


def test_pods_by_name_and_narrowed() -> None:
    made = store(pod("w-10"), pod("w-9"), pod("z", namespace="team-b"))
    assert texts(pods.table(made, ViewState(), NOW), "name") == ["team-a/w-9", "team-a/w-10", "team-b/z"]
    assert len(pods.table(made, ViewState(namespaces=Namespaces(("team-b",))), NOW)) == 1
    assert len(pods.table(made, ViewState(), NOW, pods=[pod("w-9")])) == 1


def test_events_that_say_the_same_are_one_row() -> None:
    made = events.table(
        store(
            event("1", last_seconds=NOW - 600, first_seconds=NOW - 900, count=3),
            event("2", last_seconds=NOW - 60, count=2),
            event("3", reason="Rebooted", last_seconds=NOW - 30),
            event("4", name="gpu-2", last_seconds=NOW - 90),
        ),
        ViewState(),
        NOW,
    )
    assert [line(made, row) for row in range(len(made))][1] == {
        "type": "▲ warning",
        "age": "1m00s",
        "count": "5",
        "object": "Node gpu-1",
        "reason": "NodeNotReady",
        "message": "kubelet fell silent",
        "component": "",
    }
    assert texts(made, "object") == ["Node gpu-1", "Node gpu-1", "Node gpu-2"]
    assert made.row(1).first_seconds == NOW - 900
    assert made.key(1) == "2"


def test_only_events_that_concern_gpus_jobs_and_nodes_unless_all_are_asked_for() -> None:
    made = store(
        pod("trains", gpus=1),
        pod("web", gpus=0),
        event("1", kind="Pod", name="trains", namespace="team-a", type="Normal"),
        event("2", kind="Pod", name="web", namespace="team-a"),
        event("3", kind="Pod", name="gone", namespace="team-a", type="Normal"),
        event("4", kind="Pod", name="gone-too", namespace="team-a"),
        event("5", kind="ReplicaSet", name="web-7f", namespace="team-a"),
        event("6", kind="MPIJob", name="llm", namespace="team-a"),
    )
    shown = events.table(made, ViewState(), NOW)
    assert {shown.key(row) for row in range(len(shown))} == {"1", "4", "6"}
    assert len(events.table(made, ViewState(filter="all"), NOW)) == 6
    assert texts(events.table(made, ViewState(filter="all web"), NOW), "object") == [
        "Pod team-a/web",
        "ReplicaSet team-a/web-7f",
    ]
    assert len(events.table(made, ViewState(filter="kind:mpijob"), NOW)) == 1
    assert len(events.table(made, ViewState(), NOW, events=[event("5", kind="ReplicaSet")])) == 1


def test_an_event_of_unknown_time_is_last() -> None:
    made = events.table(store(event("1", last_seconds=None), event("2", name="b")), ViewState(), NOW)
    assert [made.key(row) for row in range(2)] == ["2", "1"]
    assert texts(made, "age") == ["1m00s", "?"]


def test_a_queue() -> None:
    made = queues.table(store(local_queue(), cluster_queue()), ViewState(), NOW)
    shown = line(made)
    assert (shown["name"], shown["cluster_queue"], shown["cohort"]) == ("team-a/gpu-lq", "gpus", "all")
    assert (shown["quota"], shown["borrowed"], shown["pending"], shown["running"]) == (
        "256/320",
        "0",
        "7",
        "22",
    )
    assert (shown["state"], shown["why"]) == ("● active", "")
    assert len(made) == 1  # the cluster queue behind it is no row of its own


def test_quota_by_flavor_and_borrowed() -> None:
    quotas = (
        QuotaRow("a100", "nvidia.com/gpu", 8, 4, 0),
        QuotaRow("h100", "nvidia.com/gpu", 8, 10, 2),
        QuotaRow("any", "cpu", 5, 1),
    )
    made = queues.table(store(local_queue(), cluster_queue(quotas=quotas)), ViewState(), NOW)
    assert line(made)["quota"] == "a100 4/8 · h100 10/8+2"
    assert line(made)["borrowed"] == "2"


@pytest.mark.parametrize(
    ("local", "cluster", "state"),
    [
        (local_queue(), None, "× inactive"),
        (local_queue(stop_policy="Hold"), cluster_queue(), "‖ stopped"),
        (local_queue(), cluster_queue(stop_policy="HoldAndDrain"), "‖ stopped"),
        (local_queue(conditions=()), cluster_queue(), "? unknown"),
        (
            local_queue(),
            cluster_queue(conditions=(Condition("Active", "False", "FlavorNotFound", "x"),)),
            "× inactive",
        ),
    ],
)
def test_states_of_queues(local: LocalQueue, cluster: ClusterQueue | None, state: str) -> None:
    made = live(store(local, *([cluster] if cluster else [])), Kind.CLUSTER_QUEUE)
    assert line(queues.table(made, ViewState(), NOW))["state"] == state


def test_a_queue_whose_cluster_queue_may_not_be_read_is_not_called_inactive() -> None:
    made = store(local_queue())
    made.apply(
        Batch(
            kind=Kind.CLUSTER_QUEUE,
            status=StreamStatus(kind=Kind.CLUSTER_QUEUE, phase=Phase.DENIED, message="You cannot list them."),
        )
    )
    found = line(queues.table(made, ViewState(), NOW))
    assert (found["state"], found["quota"]) == ("● active", "?")
    assert found["why"] == "quota unknown: You cannot list them."


def test_unknown_counts_are_not_zero() -> None:
    made = queues.table(store(local_queue(pending=None, admitted=None)), ViewState(), NOW)
    assert (line(made)["pending"], line(made)["running"], line(made)["quota"]) == ("?", "?", "?")
    quotas = (QuotaRow("h100", "nvidia.com/gpu", 8),)
    made = queues.table(store(local_queue(), cluster_queue(quotas=quotas)), ViewState(), NOW)
    assert line(made)["quota"] == "?/8"


def test_a_cluster_queue_that_nobody_points_to_is_a_row() -> None:
    made = queues.table(store(local_queue(), cluster_queue(), cluster_queue("spare")), ViewState(), NOW)
    assert texts(made, "name") == ["team-a/gpu-lq", "spare"], "where jobs wait comes first"


def waiting(name: str, namespace: str, created: float, priority: int = 0) -> Workload:
    return Workload(
        uid=f"uid-{name}",
        name=name,
        namespace=namespace,
        queue="gpu-lq",
        owner=OwnerRef("kubeflow.org/v2beta1", "MPIJob", name, f"owner-{name}"),
        created_seconds=created,
        priority=priority,
        pod_sets=(PodSet("worker", 4, (("nvidia.com/gpu", 8), ("cpu", 4_000))),),
    )


def test_what_waits_in_a_queue_next_first() -> None:
    made = store(local_queue(), local_queue(namespace="team-b", uid="uid-lq-b"), cluster_queue())
    made.apply(
        Batch(
            kind=Kind.WORKLOAD,
            changed=(
                waiting("late", "team-a", NOW - 60),
                waiting("early", "team-b", NOW - 600),
                waiting("urgent", "team-a", NOW - 5, priority=9),
            ),
        )
    )
    row = queue_page.row_of(made, "uid-lq-gpu-lq")
    assert row is not None
    shown = queues.waiting_table(made, row, ViewState(), NOW)
    assert texts(shown, "gang") == ["team-a/urgent", "team-b/early", "team-a/late"]
    assert texts(shown, "position") == ["~1", "~2", "~3"]
    assert texts(shown, "gpus") == ["8", "8", "8"]
    assert all(texts(shown, "why"))
    assert len(queues.waiting_table(made, queues.QueueRow(None, None), ViewState(), NOW)) == 0


def test_facts_of_a_queue() -> None:
    row = queue_page.row_of(store(local_queue(), cluster_queue(stop_policy="Hold")), "uid-lq-gpu-lq")
    assert row is not None
    found = {pair.name: pair.value for pair in queue_page.facts(row)}
    assert found["state"] == "stopped"
    assert found["why"].startswith("ClusterQueue gpus: ")
    assert found["quota h100"] == "256/320 nvidia.com/gpu used"
    assert queue_page.row_of(store(), "x") is None


@pytest.mark.parametrize(
    ("record", "nodes", "allocated", "share", "owner"),
    [
        (pool("a"), "3", "12/24", "50%", "labels only"),
        (pool("a", maximum=3, target=3), "3/3 max", "12/24", "50%", "labels only"),
        (pool("a", target=5, maximum=9), "3→5", "12/24", "50%", "labels only"),
        (pool("a", gpus_total=0, gpus_allocated=0, maximum=9), "3/9", "none", "", "labels only"),
        (
            pool("a", owner_kind="MachineDeployment", owner_key="ns/a"),
            "3",
            "12/24",
            "50%",
            "MachineDeployment ns/a",
        ),
    ],
)
def test_a_pool(record: Pool, nodes: str, allocated: str, share: str, owner: str) -> None:
    shown = line(pools.table([record], ViewState(), NOW))
    assert (shown["now"], shown["gpus"], shown["share"], shown["owner"]) == (nodes, allocated, share, owner)


def test_pools_with_gpus_first_by_name() -> None:
    rows = [
        pool("cpu", gpus_total=0, gpus_allocated=0),
        pool("h100-10"),
        pool("h100-9"),
        pool("new", gpus_total=0, gpus_allocated=0, gpu_model="x"),
    ]
    assert texts(pools.table(rows, ViewState(), NOW), "name") == ["h100-9", "h100-10", "new", "cpu"]
    assert texts(pools.table(rows, ViewState(filter="share>40%"), NOW), "name") == ["h100-9", "h100-10"]


def test_a_pool_s_gpu_model_stands_beside_its_owner_at_120_columns() -> None:
    trends = Trends()
    beside = pools.PoolsBeside(trends)
    columns = pools.table([pool("a")], ViewState(), NOW, beside=beside).columns
    shown = {columns[one.index].id for one in place_columns(columns, 118)}
    assert {"owner", "model", "now", "ready", "joining", "gpus", "wanted", "duty", "idle"} <= shown
