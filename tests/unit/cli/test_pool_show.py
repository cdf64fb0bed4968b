"""`cockpit pool show NAME`: what the page tells, as text and as a tree; unknown is never 0."""

import getpass
import socket
import time
from typing import Any

import pytest

from cockpit.actions.pool_lease import LEASES, lease_name, micro_time
from cockpit.model.batch import Phase
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.pools.builders import deployment, machine, node, pod

Capture = pytest.CaptureFixture[str]
PATH = LEASES.path(
    "default",
    lease_name(
        Pool(
            name="h100", owner_group="cluster.x-k8s.io", owner_kind="MachineDeployment", owner_key="capi/h100"
        )
    ),
)
ASKED = time.time() - 60.0
NOW, LONG_AGO = micro_time(ASKED), "2020-01-02T03:04:05.000000Z"
AT = micro_time(ASKED)[11:19]


def lease(holder: str, *, to: str = "3", at: str = NOW) -> dict[str, Any]:
    notes = {"gpu-cockpit/from-nodes": "1", "gpu-cockpit/to-nodes": to}
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 86_400,  # the suite may take long
        "acquireTime": at,
        "renewTime": at,
    }
    return {"metadata": {"name": "x", "uid": "u", "annotations": notes}, "spec": spec}


@pytest.fixture
def grows(cluster: Cluster) -> Cluster:
    """1 → 3: one node works, a machine starts, one is not seen yet; nobody else could serve who waits."""
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    cluster.add(Kind.POOL, deployment(replicas=3))
    of_pool = {"pool_kind": "MachineDeployment", "pool_key": "capi/h100"}
    comes = machine("", "m2", created_seconds=ASKED + 2, **of_pool)
    cluster.add(Kind.MACHINE, machine("n1", **of_pool), comes)
    cluster.add(Kind.POD, pod("p1", "n1", gpus=3))
    return cluster


def shown(capsys: Capture, *words: str) -> dict[str, Any]:
    code, out, _ = run(capsys, "pool", "show", "h100", "-o", "json", *words)
    assert code == 0
    tree: dict[str, Any] = read_json(out)
    return tree


def test_the_tree_has_all_that_the_page_tells(grows: Cluster, capsys: Capture) -> None:
    tree = shown(capsys)
    assert (tree["kind"], tree["name"], tree["target"], tree["nodes_now"]) == ("pool", "h100", 3, 1)
    assert tree["owner"]["name"] == "Cluster API" and tree["owner"]["may_resize"]["may"] is True
    assert (tree["gpus_idle"], tree["gpus_per_node"], tree["idle"]) == (5, 8, [])
    ladder = tree["ladder"]
    assert ladder["wanted"] == 2 and ladder["asked_seconds"] is None
    assert {one["step"] for one in ladder["stamps"]} >= {"asked", "accepted", "GPUs up"}
    assert tree["change"] == {
        "holder": None, "is_ours": False, "from_nodes": None, "to_nodes": None,
        "since_seconds": None, "lapses_seconds": None, "trouble": "",
    }  # fmt: skip
    assert tree["expected_wait_seconds"] is None and tree["hourly_cost"] is None, "unknown is not 0"


def test_whoever_holds_the_pool_is_named_and_dates_the_growth(grows: Cluster, capsys: Capture) -> None:
    grows.reads[PATH] = [lease("alice@bastion")]
    tree = shown(capsys)
    change = tree["change"]
    assert (change["holder"], change["is_ours"], change["from_nodes"], change["to_nodes"]) == (
        "alice@bastion", False, 1, 3,
    )  # fmt: skip
    assert tree["ladder"]["asked_seconds"] == change["since_seconds"]
    told = run(capsys, "pool", "show", "h100")[1]
    assert f"alice@bastion is growing it from 1 to 3 nodes since {AT}" in told
    assert f"asked {AT}" in told


def test_who_asked_is_told_when_the_change_is_over_and_given_back(grows: Cluster, capsys: Capture) -> None:
    given = lease("")
    del given["spec"]["holderIdentity"]
    given["metadata"]["annotations"]["gpu-cockpit/asked-by"] = "alice@bastion"
    grows.reads[PATH] = [given]
    tree = shown(capsys)
    assert tree["change"]["holder"] is None
    assert tree["ladder"]["asked_by"] == "alice@bastion"
    assert tree["ladder"]["asked_seconds"] == pytest.approx(ASKED, abs=0.001)
    told = run(capsys, "pool", "show", "h100")[1]
    assert f"alice@bastion asked for it at {AT} (from 1 to 3 nodes)" in told and f"asked {AT}" in told


def test_a_growth_that_no_cockpit_asked_for_says_so(grows: Cluster, capsys: Capture) -> None:
    told = run(capsys, "pool", "show", "h100")[1]
    assert "asked ? ── accepted" in told
    assert "asked for by no cockpit: its owner grows it, or a person set its size" in told
    assert shown(capsys)["ladder"]["asked_by"] is None


def test_a_lease_for_another_size_or_from_long_ago_dates_nothing(grows: Cluster, capsys: Capture) -> None:
    grows.reads[PATH] = [lease("alice@bastion", to="7")]
    assert shown(capsys)["ladder"]["asked_seconds"] is None
    grows.reads[PATH] = [lease("alice@bastion", at=LONG_AGO)]
    tree = shown(capsys)
    assert tree["ladder"]["asked_seconds"] is None and tree["change"]["holder"] is None


def test_ones_own_change_is_ones_own(grows: Cluster, capsys: Capture) -> None:
    grows.reads[PATH] = [lease(f"{getpass.getuser()}@{socket.gethostname()}")]
    assert "you are growing it from 1 to 3 nodes since" in run(capsys, "pool", "show", "h100")[1]


def test_text_has_the_page_and_the_nodes(grows: Cluster, capsys: Capture) -> None:
    code, out, _ = run(capsys, "pool", "show", "h100")
    lines = out.splitlines()
    assert code == 0 and lines[0] == "pool h100"
    assert lines[1].startswith("owner Cluster API MachineDeployment capi/h100")
    for said in ("1→3", "asked", "no pod waits for it", "5 GPUs free"):
        assert said in out, out
    assert any(line.startswith("n1 ") for line in lines) and "\x1b" not in out
    assert max(map(len, lines)) <= 200


def test_where_not_every_pod_is_seen_nothing_is_0(grows: Cluster, capsys: Capture) -> None:
    grows.phases[Kind.POD] = Phase.DENIED
    tree = shown(capsys)
    assert (tree["idle"], tree["idle_nodes"], tree["gpus_idle"], tree["gpus_allocated"], tree["demand"]) == (
        None, None, None, None, None,
    )  # fmt: skip


def test_a_name_that_no_pool_has_says_what_is_near(grows: Cluster, capsys: Capture) -> None:
    code, out, err = run(capsys, "pool", "show", "h10")
    assert (code, out) == (2, "") and "h100" in err
