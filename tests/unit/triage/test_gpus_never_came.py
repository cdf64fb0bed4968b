"""A node that is Ready for long without its GPUs: node, pod, pool, *Now*, lists and pages say one thing of
it, with since when, and what of the GPU stack says why; *yet* is said of no such node."""

import msgspec
import pytest

from cockpit.model.finding import Subject
from cockpit.model.node import Node
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.pools.stage import GPUS_LIMIT_SECONDS
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views import node_page, nodes, pools
from cockpit.views.pool_page import PoolPage, head
from cockpit.views.view_state import ViewState
from tests.unit.triage.objects import NOW, Tree, node, view_of
from tests.unit.triage.test_lost_gpus import KARPENTER, PLUGIN, PRESENT, TOOLKIT, bare, claim, pod
from tests.unit.views.builders import line

MADE = NOW - 3_600.0
BY_CLAIM, BY_LABELS = {KARPENTER: "gpu-spot"}, {"pool": "gpu-spot", **PRESENT}
NODE_POOL = PoolObject(
    uid="np",
    name="gpu-spot",
    kind="NodePool",
    api_version="karpenter.sh/v1",
    resource_path="/apis/karpenter.sh/v1/nodepools",
)
NEVER = "joined, its GPUs never came: driver or device plugin is down"
BARE = "ready, but offers none of its GPUs (NV"
STACK = ("container-toolkit", "fails")


def world(labels: dict[str, str], *more: Tree, holds: bool = False, **shown: int) -> ClusterView:
    """Node sick is Ready since it was made, an hour ago; another pool is well and full."""
    key, value = next(iter(labels.items()))
    trees = [bare("sick", labels=labels, **shown), *more]
    trees += [claim("sick")] if labels is BY_CLAIM else []
    trees += [pod("had", 1, on="sick")] if holds else []
    trees += [node("well", 8, labels={"pool": "other"}), pod("holds", 8, on="well")]
    pools = [NODE_POOL] if labels is BY_CLAIM else []
    return view_of([*trees, pod("answer", 1, is_elsewhere=True, nodeSelector={key: value})], pools=pools)


def at(view: ClusterView, seconds: float) -> ClusterView:
    """So long after the node was made."""
    return msgspec.structs.replace(view, now_seconds=MADE + seconds)


def shown(view: ClusterView) -> dict[str, str]:
    """The state of node sick in the list and on its page, and how its pool counts it."""
    sick: Node | None = view.store.by_key(Kind.NODE, "sick")
    assert sick is not None
    pool: Pool = next(one for one in pools_of(view.store) if "sick" in one.node_names)
    row = line(nodes.table(view.store, ViewState(), view.now_seconds, nodes=[sick]))
    counted = line(pools.table([pool], ViewState(), view.now_seconds))
    return {
        "list": row["state"].split(" ", 1)[1],
        "page": node_page.facts(sick, view.store, view.now_seconds)[1].value.split(" ", 1)[1],
        "joining": counted["joining"],
        "pool": head(PoolPage(pool, view.now_seconds)),
    }


def told(view: ClusterView) -> dict[str, str]:
    """What `why` says of the node, its pool and the pod that waits for it, and *Now* of the node."""
    subjects = (
        Subject("node", "", "sick"),
        Subject("pool", "", "gpu-spot"),
        Subject("pod", "team-a", "answer"),
    )
    found = {subject.kind: explain(subject, view) for subject in subjects}
    rows = needs_human(view.store, view.jobs, view.now_seconds)
    now = [row for row in rows if row.subject == subjects[0]]
    assert len(now) == 1 and not [row for row in rows if row.subject == subjects[2]], "one row for the root"
    causes = {one.cause for one in (*found.values(), *now)}
    assert causes <= {"gpu-stack-down", "gpus-unhealthy"} and len(causes) == 1, causes
    assert found["pool"].root == found["pod"].root == subjects[0]
    sentences = {kind: one.sentence.removeprefix("node sick: ") for kind, one in found.items()}
    return {**sentences, "now": now[0].sentence.removesuffix("; 1 job on it")}


@pytest.mark.parametrize(
    ("labels", "sentence"), [(BY_CLAIM, NEVER), (BY_LABELS, BARE)], ids=["claim", "labels"]
)
def test_one_thing_is_said_everywhere_once_the_node_had_its_time(
    labels: dict[str, str], sentence: str
) -> None:
    view = world(labels)
    early, late = at(view, GPUS_LIMIT_SECONDS - 1), at(view, GPUS_LIMIT_SECONDS + 1)
    before = shown(early)
    assert before["list"] == before["page"] == "no GPUs yet" and before["joining"] == "1"
    assert "1 joining (without GPUs yet)" in before["pool"]
    after = shown(late)
    assert after["list"] == after["page"] == "GPUs never came" and after["joining"] == "0"
    assert after["pool"].endswith("GPUs of 1 node never came") and "yet" not in str(after)
    assert all(said.startswith(sentence) for said in told(late).values()), told(late)
    node_ = explain(Subject("node", "", "sick"), late)
    assert node_.since_seconds == MADE, "since when it is so"
    assert "machine is on its way" not in explain(Subject("pool", "", "gpu-spot"), late).sentence


@pytest.mark.parametrize("labels", [BY_CLAIM, BY_LABELS], ids=["claim", "labels"])
def test_what_of_the_stack_says_why_is_told_by_all(labels: dict[str, str]) -> None:
    view = world(labels, TOOLKIT, PLUGIN)
    assert all(word in one for one in told(view).values() for word in STACK), told(view)
    assert shown(view)["list"] == "GPUs never came"


@pytest.mark.parametrize(
    ("amounts", "holds", "state"),
    [
        ({"capacity": 16, "offered": 0}, False, "GPUs unhealthy"),
        ({"capacity": 0, "offered": 0}, False, "GPUs gone"),
        ({}, True, "GPUs gone"),
        ({}, False, "GPUs never came"),
        ({"capacity": 8, "offered": 8}, False, "ready"),
        ({"capacity": 8, "offered": 6}, False, "ready"),
    ],
)
def test_what_became_of_the_gpus_is_told_apart(amounts: dict[str, int], holds: bool, state: str) -> None:
    view = world(BY_LABELS, holds=holds, **amounts)
    assert shown(view)["list"] == shown(view)["page"] == state
    sentence = explain(Subject("node", "", "sick"), view).sentence
    assert ("never came" in sentence) is False, "labels alone do not tell that"
    assert (state == "GPUs unhealthy") is ("all 16 GPUs are unhealthy" in sentence)
