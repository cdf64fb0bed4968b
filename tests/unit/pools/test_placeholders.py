"""Placeholders of ours hold room: they are no job, no demand, no use of a node; the page tells who asked."""

from collections.abc import Iterable
from typing import Any

import pytest

from cockpit.actions.store_overlay import record_of
from cockpit.jobs.index import JobIndex
from cockpit.kube.decode.decoders import JOB, POD
from cockpit.kube.decode.demands import demand_of
from cockpit.model.batch import Batch
from cockpit.model.pod import POOL_MARK, Pod
from cockpit.model.pool import Pool, StandingRead
from cockpit.model.record import Kind
from cockpit.pools.capacity import BY_NOTE, NODES_NOTE, CapacityWish, DemandWay, plan_capacity
from cockpit.pools.demand import waiting_pods
from cockpit.pools.idle import EmptyWatch, users_of
from cockpit.pools.sightings import Sightings
from cockpit.triage.starters import starters
from cockpit.views.pool_page import PoolPage, facts
from tests.unit.pools.builders import node, pod, store_of

AT = 1_790_000_000.0  # 2026-09-21 14:13:20 UTC
WISH = CapacityWish(
    name="ask-spot-1f2e3d4c", namespace="default", pods=2, gpus=8, resource="nvidia.com/gpu",
    selector=(("pool", "spot"),), nodes=2, by="alice@bastion\x1b[2J",
)  # fmt: skip


def job_tree(way: DemandWay = DemandWay.PLACEHOLDER) -> dict[str, Any]:
    """What is sent, as the server gives it back."""
    body: dict[str, Any] = plan_capacity(way, WISH).calls[-1].body
    stamped = {**body["metadata"], "uid": "u-ask", "creationTimestamp": "2026-09-21T14:02:00Z"}
    return {**body, "metadata": stamped}


def placeholder(name: str, *, on: str = "") -> Pod:
    template = job_tree()["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": WISH.name, "uid": "u-ask", "controller": True}
    meta = {
        **template["metadata"],
        "name": name,
        "namespace": "default",
        "uid": name,
        "ownerReferences": [owner],
    }
    spec = {**template["spec"], **({"nodeName": on} if on else {})}
    tree = {
        "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }  # fmt: skip
    found: Pod = record_of(POD, tree, name, name)
    return found


def told(pods: Iterable[Pod], *, has_job: bool = True) -> tuple[Any, JobIndex]:
    store = store_of(nodes=[node("n1", labels=(("pool", "spot"),))], pods=pods)
    if has_job:
        store.apply(Batch(kind=Kind.JOB, changed=(record_of(JOB, job_tree(), "u-ask", "job"),)))
    index = JobIndex(store)
    index.update(store.take_delta())
    return store, index


@pytest.mark.parametrize("has_job", [True, False], ids=["job is seen", "its pods alone are"])
def test_they_are_no_job_no_demand_and_nobody_s_start(has_job: bool) -> None:
    store, index = told([placeholder("waits"), placeholder("sits", on="n1")], has_job=has_job)
    assert not index.jobs
    assert index.strays() == []
    assert waiting_pods(store) == []
    assert starters(store, index.jobs.values(), [node("to-come")]).jobs == ()


def test_a_node_that_only_holds_them_has_no_user_and_is_not_idle_yet() -> None:
    store, _ = told([placeholder("sits", on="n1")])
    assert users_of("n1", store) == ()
    watch = EmptyWatch(60.0)
    watch.look(store, AT)
    assert watch.since == {}, "what was asked for is not counted as idle while it is"
    store, _ = told([placeholder("sits", on="n1"), pod("works", "n1", gpus=1)])
    assert [one.name for one in users_of("n1", store)] == ["works"]


def test_a_pod_that_comes_and_goes_between_two_looks_begins_the_time_anew() -> None:
    store, _ = told([])
    seen = Sightings()
    watch = EmptyWatch(60.0, seen)
    watch.look(store, AT)
    seen.note_pods([pod("works", "n1", gpus=1)], AT + 10.0)
    watch.look(store, AT + 30.0)
    assert watch.since["n1"] == AT + 30.0, "it may have gone right before"
    watch.look(store, AT + 60.0)
    assert watch.since["n1"] == AT + 30.0
    seen.note_pods(
        [pod("exporter", "n1", 0, owner_kind="DaemonSet"), placeholder("sits", on="n1")], AT + 70.0
    )
    watch.look(store, AT + 90.0)
    assert watch.since["n1"] == AT + 30.0, "nobody's work"


def test_where_the_cluster_s_time_runs_faster_looks_further_apart_are_no_gap() -> None:
    store, _ = told([])
    watch = EmptyWatch(60.0)
    watch.look(store, AT)
    assert "n1" in watch.since
    watch.look(store, AT + 300.0, every_seconds=120.0)
    assert watch.since["n1"] == AT
    watch.look(store, AT + 600.0)
    assert watch.since["n1"] == AT + 600.0, "nobody looked for five minutes"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (job_tree(), "2 nodes by alice@bastion[2J, until 15:02 (job default/ask-spot-1f2e3d4c)"),
        (
            {**job_tree(), "status": {"active": 2, "startTime": "2026-09-21T14:03:00Z"}},
            "2 nodes by alice@bastion[2J, until 15:03 (job default/ask-spot-1f2e3d4c, 2 pods)",
        ),
        (
            {**job_tree(), "status": {"active": 1, "startTime": "2026-09-21T14:03:00Z"}},
            "2 nodes by alice@bastion[2J, until 15:03 (job default/ask-spot-1f2e3d4c, 1 pod)",
        ),
        (
            job_tree(DemandWay.REQUEST),
            "2 nodes by alice@bastion[2J, until 15:02 (provisioningrequest default/ask-spot-1f2e3d4c,"
            " no autoscaler has answered it yet)",
        ),
        (
            job_tree(DemandWay.BUFFER),
            "2 nodes by alice@bastion[2J (capacitybuffer default/ask-spot-1f2e3d4c,"
            " no autoscaler has answered it yet)",
        ),
    ],
)
def test_the_page_tells_who_asked_and_until_when(tree: dict[str, Any], words: str) -> None:
    plural = f"/apis/x/v1/{tree['kind'].lower()}s"
    found = demand_of(tree, tree["kind"], plural, (POOL_MARK, NODES_NOTE, BY_NOTE))
    assert found is not None
    page = PoolPage(Pool(name="spot"), AT, standing=StandingRead(found=(found,)))
    assert [one.value for one in facts(page) if one.name == "asked for"] == [f"{words}; S withdraws it"]


def test_an_end_on_another_day_says_so() -> None:
    tree = job_tree()
    tree["spec"] = {**tree["spec"], "activeDeadlineSeconds": 2 * 86_400}
    found = demand_of(tree, "Job", "/apis/batch/v1/jobs", (POOL_MARK, NODES_NOTE, BY_NOTE))
    assert found is not None
    page = PoolPage(Pool(name="spot"), AT, standing=StandingRead(found=(found,)))
    assert any("until 14:02 in 2 days (" in one.value for one in facts(page))
