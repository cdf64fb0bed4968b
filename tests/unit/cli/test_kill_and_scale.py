"""`cockpit job kill` and `cockpit pool scale`: what is asked, refused, done, and with which exit code."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.test_commands import Capture, gang
from tests.unit.pools.builders import deployment, machine, node, pod

# ---- job kill


def test_kill(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    code, out, err = run(capsys, "job", "kill", "llm", "--write", "--yes")
    assert (code, err) == (0, "")
    assert out.startswith("Killed mpijob team-a/llm")
    (call,) = cluster.sent
    assert call.method == "DELETE"
    assert call.body["preconditions"] == {"uid": "uid-team-a-llm", "resourceVersion": "41"}


def test_kill_by_namespace_lists_only_that_namespace(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    assert run(capsys, "job", "kill", "mpijob/team-a/llm", "--write", "--yes")[0] == 0
    assert cluster.namespaces == ["team-a"]


def test_kill_dry_run_shows_what_would_go(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    code, out, _err = run(capsys, "job", "kill", "llm", "--dry-run")
    assert code == 0
    assert "2 pods will be deleted, 2 of them running" in out
    assert "4 GPUs become free on 1 node" in out
    assert cluster.sent == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("llm", "'llm' is ambiguous: mpijob/team-a/llm, mpijob/team-b/llm; choose one of them"),
        ("lmm", "there is no job 'lmm'; did you mean team-a/llm"),
        ("team-c/llm", "there is no job 'team-c/llm'"),
    ],
)
def test_kill_of_an_unclear_name(name: str, part: str, cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    gang(cluster, "llm", "team-b")
    code, _out, err = run(capsys, "job", "kill", name, "--write", "--yes")
    assert code == 2
    assert part in err
    assert cluster.sent == []


# ---- pool scale


def _pool(cluster: Cluster, **more: Any) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"), node("n2", pool="h100"))
    cluster.add(Kind.POOL, deployment(**more))


def test_scale(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster)
    code, out, err = run(capsys, "pool", "scale", "h100", "--to", "4", "--write", "--yes", "-n", "team-a")
    assert (code, err) == (0, "")
    assert out.startswith("Growing pool h100 from 2 to 4")
    (call,) = cluster.sent
    assert (call.method, call.body["spec"]) == ("PATCH", {"replicas": 4})
    assert cluster.namespaces == [""]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("h100", "--to", "11"), "11 is above its maximum of 10"),
        (("h100", "--to", "-1"), "-1 nodes are too few"),
        (("v100", "--to", "1"), "there is no pool 'v100'; did you mean h100?"),
    ],
)
def test_scale_refusals(words: tuple[str, ...], part: str, cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster, maximum=10)
    code, _out, err = run(capsys, "pool", "scale", *words, "--write", "--yes")
    assert code == 2
    assert part in err
    assert cluster.sent == []


def test_scale_to_what_is_set_already_is_done(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster)
    code, out, _err = run(capsys, "pool", "scale", "h100", "--to", "2", "--write", "--yes")
    assert (code, out) == (0, "pool h100 is already set to 2; nothing was changed\n")
    assert (cluster.sent, cluster.rehearsed) == ([], [])


# ---- pool scale --wait, pool limit


def test_waiting_ends_with_the_nodes_and_with_the_hold_given_back(
    cluster: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pool(cluster)
    _until_the_table_tells(cluster, monkeypatch, 3)
    words = ("pool", "scale", "h100", "--to", "3", "--wait", "--write", "--yes")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    told = [line.split("  ")[-1] for line in out.splitlines()[1:]]
    assert told[0] == "2 of 3 nodes with their GPUs"
    assert "asked: 1 of 1" in told, "the steps of the ladder, each once"
    assert told[-2:] == ["3 of 3 nodes with their GPUs", "pool h100 has its 3 nodes"]
    assert len(set(told)) == len(told)


def test_waiting_for_what_never_comes_ends_at_the_deadline(
    cluster: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pool(cluster)
    monkeypatch.setattr("cockpit.actions.pool_follow.LOOK_SECONDS", 0.001)
    words = ("pool", "scale", "h100", "--to", "3", "--wait", "--deadline", "0.01s", "--write", "--yes")
    code, _out, err = run(capsys, *words)
    assert code == 1
    assert "pool h100: 2 of 3 nodes after 0.01 s; the change goes on" in err


def _until_the_table_tells(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """The owner, then the node, come with the looks."""
    from cockpit.actions.pool_follow import Follower
    from cockpit.model.batch import Batch

    looks = 0
    look = Follower._look

    def looked(self: Follower) -> Any:
        nonlocal looks
        looks += 1
        store: Any = self._store()
        if looks == 2:
            store.apply(Batch(kind=Kind.POOL, changed=(deployment(replicas=size),)))
        elif looks == 3:
            store.apply(Batch(kind=Kind.NODE, changed=(node("n3", pool="h100"),)))
        return look(self)

    monkeypatch.setattr(Follower, "_look", looked)
    monkeypatch.setattr("cockpit.actions.pool_follow.LOOK_SECONDS", 0.001)


def test_so_many_as_the_context_states_go_unasked(cluster: Cluster, capsys: Capture, home: Path) -> None:
    cluster.add(Kind.NODE, *(node(f"n{at}", pool="h100") for at in range(20)))
    cluster.add(Kind.POOL, deployment(replicas=20))
    words = ("pool", "scale", "h100", "--to", "17", "--write", "--yes")
    code, _out, err = run(capsys, *words)
    assert (code, cluster.sent) == (2, []) and "--confirm 3" in err
    (home / "config" / "gpu-cockpit" / "config.toml").write_text('[context."prod"]\nshrink-at-once = 3\n')
    code, _out, err = run(capsys, *words)
    assert (code, err, len(cluster.sent)) == (0, "", 1)


def test_a_limit_is_set_through_the_owner(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster, maximum=10)
    code, out, err = run(capsys, "pool", "limit", "h100", "--max", "12", "--write", "--yes")
    assert (code, err) == (0, "")
    assert out.startswith("Raised the maximum of pool h100 from 10 to 12")
    (call,) = cluster.sent
    assert call.method == "PATCH" and call.body["metadata"]["resourceVersion"] == "77"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--max", "1"), "pool h100: a maximum of 1 is below what it has, 2 nodes: shrink it first"),
        (("--max", "-3"), "pool h100: a maximum of -3 is too small, at least 0"),
        (("--max", "many"), "--max: 'many' is not a whole number of nodes"),
        (("--max", "99999"), "pool h100: a maximum of 99999 is too large, at most 10000"),
    ],
)
def test_limit_refusals(words: tuple[str, ...], part: str, cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster, maximum=10)
    code, _out, err = run(capsys, "pool", "limit", "h100", *words, "--write", "--yes")
    assert code == 2
    assert part in err
    assert cluster.sent == []


def test_a_limit_that_is_set_already_is_done(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster, maximum=10)
    code, out, _err = run(capsys, "pool", "limit", "h100", "--max", "10", "--write", "--yes")
    assert (code, out) == (0, "the maximum of pool h100 is already 10; nothing was changed\n")


def test_a_pool_without_a_maximum_says_so(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster)
    code, _out, err = run(capsys, "pool", "limit", "h100", "--max", "10", "--write", "--yes")
    assert (code, cluster.sent) == (2, [])
    assert "the maximum of pool h100 cannot be changed from here: no maximum is set" in err


def test_a_time_to_wait_that_is_none_is_a_sentence(cluster: Cluster, capsys: Capture) -> None:
    words = ("pool", "scale", "h100", "--to", "3", "--wait", "--deadline", "soon", "--write", "--yes")
    code, _out, err = run(capsys, *words)
    assert code == 2
    assert "--deadline: 'soon' is not a valid duration: write 90s, 12h or 1d12h" in err


# ---- pool reclaim


def _idle(cluster: Cluster, **more: Any) -> None:
    """Two nodes with their machines, one in use."""
    _pool(cluster, **more)
    own = {"pool_kind": "MachineDeployment", "pool_key": "capi/h100"}
    cluster.add(Kind.MACHINE, *(msgspec.structs.replace(machine(one), **own) for one in ("n1", "n2")))
    cluster.add(Kind.POD, pod("busy", "n1"))


def test_an_idle_node_is_cordoned_and_the_busy_one_is_left_alone(cluster: Cluster, capsys: Capture) -> None:
    _idle(cluster)
    code, out, err = run(capsys, "pool", "reclaim", "h100", "--include-unknown", "--write", "--yes")
    assert (code, err) == (0, "")
    assert out.startswith("Cordoned 1 idle node of pool h100; reclaim again to remove them")
    (call,) = cluster.sent
    assert (call.path, call.body["spec"]) == ("/api/v1/nodes/n2", {"unschedulable": True})
    assert (
        call.body["metadata"]["annotations"]["gpu-cockpit/reclaim"]
        == "MachineDeployment.cluster.x-k8s.io/capi/h100"
    )


def test_the_plan_names_the_nodes_the_saving_and_the_way_back(cluster: Cluster, capsys: Capture) -> None:
    _idle(cluster)
    code, out, _err = run(capsys, "pool", "reclaim", "h100", "--include-unknown", "--dry-run")
    assert (code, cluster.sent) == (0, [])
    for part in (
        "cordon 1 idle node (8 GPUs): n2",
        "n2: 8 GPUs, empty now; since when is not known",
        "saves 8 GPU-hours an hour; money not known: the setting prices has no price for p5.48xlarge",
        "removal: PATCH machine capi/m-n2, PATCH machinedeployment capi/h100",
        "undo: cockpit node uncordon n2 --context prod --write",
    ):
        assert part in out, part


def test_a_node_of_which_nobody_knows_since_when_it_is_idle_stays(cluster: Cluster, capsys: Capture) -> None:
    _idle(cluster)
    code, out, _err = run(capsys, "pool", "reclaim", "h100", "--write", "--yes")
    assert (code, cluster.sent) == (0, [])
    assert "pool h100 has no node to reclaim (since when is not known, left out: n2" in out
    assert "--include-unknown takes them" in out


def test_a_pool_whose_nodes_all_work_says_so(cluster: Cluster, capsys: Capture) -> None:
    _idle(cluster)
    cluster.add(Kind.POD, pod("serves", "n2", gpus=4))
    code, out, _err = run(capsys, "pool", "reclaim", "h100", "--write", "--yes")
    assert (code, cluster.sent) == (0, [])
    assert out == "pool h100 has no node to reclaim: pods run on each of its 2 nodes; 4 GPUs there are free\n"


def test_idle_nodes_are_listed_without_the_right_to_write(cluster: Cluster, capsys: Capture) -> None:
    _idle(cluster)
    code, out, err = run(capsys, "pool", "reclaim", "h100", "--list")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "n2: 8 GPUs, empty now; since when is not known",
        "pool h100 has 1 idle node of 2",
    ]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--idle-for", "soon"), "--idle-for: 'soon' is not a valid duration: write 90s, 12h or 1d12h"),
        (("--most", "0"), "--most: 0 is too few; write 1 or more"),
        (("--most", "all"), "--most: 'all' is not a whole number of nodes"),
    ],
)
def test_reclaim_refusals(words: tuple[str, ...], part: str, cluster: Cluster, capsys: Capture) -> None:
    _idle(cluster)
    code, _out, err = run(capsys, "pool", "reclaim", "h100", *words, "--write", "--yes")
    assert (code, cluster.sent) == (2, [])
    assert part in err


def test_a_pool_that_nobody_removes_nodes_of_says_so(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"), node("n2", pool="h100"))
    code, _out, err = run(capsys, "pool", "reclaim", "h100", "--include-unknown", "--write", "--yes")
    assert (code, cluster.sent) == (2, [])
    assert "pool h100: known only from the label example.com/pool: no object in this cluster" in err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--grace", "5m"), "--grace is for jobs: add --jobs"),
        (("--jobs", "--most", "2"), "are about nodes: leave out --jobs"),
        (("--jobs", "--idle-for", "1m"), "too short to tell idle from a pause"),
    ],
)
def test_refusals_of_a_reclaim_of_jobs(words: tuple[str, ...], part: str, capsys: Capture) -> None:
    code, _out, err = run(capsys, "pool", "reclaim", "h100", *words, "--write", "--yes")
    assert code == 2 and part in err
