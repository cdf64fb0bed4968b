"""Several clusters in one command: rows of all, each with its cluster; what is named acts in one of them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.errors import CockpitError, NoConnection
from cockpit.model.record import Kind
from tests.unit.cli.builders import Attached, Cluster, Line, read_json, run
from tests.unit.cli.test_commands import gang
from tests.unit.pools.builders import deployment, node

Capture = pytest.CaptureFixture[str]
ALL = ("--contexts", "a,b,c")


class ByContext(Attached):
    """An attachment to the one of several clusters that its context names."""

    clusters: dict[str, Cluster]

    async def run(self) -> None:
        self.cluster = self.clusters[self.options.context or ""]
        await super().run()


def line_of(cluster: Cluster, context: str) -> None:
    """Have sessions of the cluster say that they are of that context."""
    opened = cluster.open

    def named(options: object) -> Line:
        line = opened(options)
        line.context = context
        return line

    cluster.open = named  # type: ignore[method-assign]


@pytest.fixture
def clusters(home: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> dict[str, Cluster]:
    """Three clusters by context, in one kubeconfig."""
    found = {"a": cluster, "b": Cluster(), "c": Cluster()}
    for context, one in found.items():
        line_of(one, context)
    here = type("Here", (ByContext,), {"clusters": found})
    monkeypatch.setattr("cockpit.commands.attached.Attachment", here)
    names = [{"name": name, "context": {"cluster": name, "user": name}} for name in (*found, "d")]
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(yaml.safe_dump({"contexts": names}))
    return found


def fail(cluster: Cluster, error: CockpitError | None = None) -> None:
    cluster.failure = error or NoConnection("no answer from https://b.example")


def test_the_rows_of_all_clusters_are_one_list_with_a_cluster_column(
    clusters: dict[str, Cluster], capsys: Capture
) -> None:
    gang(clusters["a"], "llm")
    gang(clusters["b"], "asr")
    gang(clusters["c"], "llm")
    code, out, _ = run(capsys, "get", "jobs", *ALL)
    head, *rows = out.splitlines()
    assert code == 0 and head.split()[:2] == ["JOB", "CLUSTER"]
    found = [tuple(row.split()[:2]) for row in rows]
    assert found == [("team-a/asr", "b"), ("team-a/llm", "a"), ("team-a/llm", "c")]


@pytest.mark.parametrize("kind", ["nodes", "pools"])
def test_every_shared_list_names_the_cluster_of_each_row(
    kind: str, clusters: dict[str, Cluster], capsys: Capture
) -> None:
    for name, one in clusters.items():
        one.add(Kind.NODE, node(f"{name}-1", pool="h100"))
        one.add(Kind.POOL, deployment(replicas=1))
    code, out, _ = run(capsys, "get", kind, *ALL, "-o", "json")
    tree = read_json(out)
    assert code == 0 and tree["contexts"] == ["a", "b", "c"]
    assert sorted(item["cluster"] for item in tree["items"]) == ["a", "b", "c"]
    if kind == "nodes":
        assert all(item["name"] == f"{item['cluster']}-1" for item in tree["items"])


def test_a_filter_and_an_order_hold_over_all_clusters(clusters: dict[str, Cluster], capsys: Capture) -> None:
    gang(clusters["a"], "llm")
    gang(clusters["b"], "llm")
    _, out, _ = run(capsys, "get", "jobs", *ALL, "--filter", "cluster:b")
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["b"]
    _, out, _ = run(capsys, "get", "jobs", *ALL, "--sort", "cluster", "--descending")
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["b", "a"]
    code, _, err = run(capsys, "get", "jobs", *ALL, "--sort", "clustre")
    assert code == 2 and "there is no column 'clustre'" in err


def test_a_cluster_that_does_not_answer_is_noted_and_the_others_are_shown(
    clusters: dict[str, Cluster], capsys: Capture
) -> None:
    gang(clusters["a"])
    fail(clusters["b"])
    code, out, err = run(capsys, "get", "jobs", *ALL)
    assert code == 1 and "team-a/llm" in out
    assert "cockpit: b: no answer from https://b.example" in err
    _, out, _ = run(capsys, "get", "jobs", *ALL, "-o", "json")
    tree = read_json(out)
    assert tree["contexts"] == ["a", "c"] and list(tree["unanswered"]) == ["b"]


def test_where_none_answers_the_command_fails(clusters: dict[str, Cluster], capsys: Capture) -> None:
    for one in clusters.values():
        fail(one)
    code, out, err = run(capsys, "get", "nodes", *ALL)
    assert (code, out) == (2, "") and "none of the clusters answered" in err
    assert all(f"cockpit: {name}: no answer" in err for name in clusters)


def test_the_overview_tells_each_cluster_and_names_it_in_the_tables(
    clusters: dict[str, Cluster], capsys: Capture
) -> None:
    for name, one in clusters.items():
        one.add(Kind.NODE, node(f"{name}-1", pool="h100"))
        one.add(Kind.POOL, deployment(replicas=1))
    code, out, _ = run(capsys, "get", "overview", *ALL)
    assert code == 0 and all(f"{name}: 1 node" in out for name in clusters)
    pools = out[out.index("CLUSTER  POOL") :].splitlines()
    assert [line.split()[0] for line in pools[1:4]] == ["a", "b", "c"]
    _, out, _ = run(capsys, "get", "overview", *ALL, "-o", "json")
    assert [tree["context"] for tree in read_json(out)["clusters"]] == ["a", "b", "c"]


def test_triage_is_one_list_ranked_over_all_clusters(clusters: dict[str, Cluster], capsys: Capture) -> None:
    for name in ("a", "c"):
        clusters[name].add(Kind.NODE, node(f"{name}-1", pool="h100", ready="False"))
    code, out, _ = run(capsys, "triage", *ALL)
    assert code == 3 and "CLUSTER" in out
    assert {"a-1", "c-1"} <= {word.strip(",") for word in out.split()}
    _, out, _ = run(capsys, "triage", *ALL, "-o", "json")
    assert {item["cluster"] for item in read_json(out)["items"]} == {"a", "c"}
    code, _, err = run(capsys, "triage", *ALL, "--watch")
    assert code == 2 and "follows one cluster" in err


# ---- what is named


def test_why_finds_the_one_cluster_of_a_name(clusters: dict[str, Cluster], capsys: Capture) -> None:
    gang(clusters["b"], "llm")
    code, out, err = run(capsys, "why", "job/llm", *ALL, "-o", "json")
    assert code in (0, 3) and read_json(out)["context"] == "b"
    assert "found in b" in err


def test_a_name_in_two_clusters_asks_for_the_context(clusters: dict[str, Cluster], capsys: Capture) -> None:
    gang(clusters["a"], "llm")
    gang(clusters["c"], "llm")
    code, _, err = run(capsys, "why", "job/llm", *ALL)
    assert code == 2 and "in 2 clusters: job team-a/llm in a, job team-a/llm in c" in err
    assert "--context" in err
    code, _, err = run(capsys, "job", "kill", "llm", *ALL, "--write", "--yes")
    assert code == 2 and "in 2 clusters" in err
    assert not any(one.sent for one in clusters.values())


def test_a_name_in_no_cluster_is_one_sentence(clusters: dict[str, Cluster], capsys: Capture) -> None:
    code, _, err = run(capsys, "why", "job/llm", *ALL)
    assert code == 2 and "there is no job 'llm' in a, b, c" in err


def test_a_verb_acts_in_the_one_cluster_that_has_the_name(
    clusters: dict[str, Cluster], capsys: Capture
) -> None:
    gang(clusters["a"], "asr")
    gang(clusters["b"], "llm")
    code, _, err = run(capsys, "job", "kill", "llm", *ALL, "--write", "--yes", "--dry-run")
    assert code == 0 and "found in b" in err
    assert [session.context for session in clusters["b"].sessions] == ["b", "b"]
    assert len(clusters["a"].sessions) == len(clusters["c"].sessions) == 1  # looked at, and left


def test_a_verb_waits_for_no_guess_where_a_cluster_is_silent(
    clusters: dict[str, Cluster], capsys: Capture
) -> None:
    gang(clusters["a"], "llm")
    fail(clusters["b"])
    code, _, err = run(capsys, "job", "kill", "llm", *ALL, "--write", "--yes")
    assert code == 1 and "not every cluster answered" in err and "--context" in err
    assert not clusters["a"].sent
    code, out, err = run(capsys, "why", "job/llm", *ALL, "-o", "json")  # looking may go on
    assert read_json(out)["context"] == "a" and "b: no answer" in err


# ---- words that cannot be


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("get", "jobs", "--contexts", "a,,b"), "holds an empty name"),
        (("get", "jobs", "--contexts", "a,a"), "'a' is named twice"),
        (("get", "jobs", "--contexts", "a,bb"), "there is no context 'bb'"),
        (("get", "jobs", "--contexts", "a,b", "--context", "a"), "exclude each other"),
        (("get", "events", *ALL), "get events shows one cluster"),
        (("top", "node", *ALL), "are several, this acts in one"),
        (("get", "jobs", *ALL, "--prometheus-url", "http://p:9090"), "is of one cluster"),
        (("job", "kill", "--filter", "llm", *ALL, "--write", "--yes"), "only names tell the cluster"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    words: tuple[str, ...], sentence: str, clusters: dict[str, Cluster], capsys: Capture
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1


def test_csv_of_several_clusters_begins_with_the_cluster(
    clusters: dict[str, Cluster], capsys: Capture
) -> None:
    _, out, _ = run(capsys, "get", "nodes", *ALL, "-o", "csv")
    assert out.splitlines()[0].startswith("cluster,uid,name")


def test_several_clusters_cannot_be_watched(clusters: dict[str, Cluster], capsys: Capture) -> None:
    code, out, err = run(capsys, "get", "nodes", *ALL, "-w")
    assert (code, out) == (2, "")
    assert err == "cockpit: --watch: follows one cluster; give --context in the place of --contexts\n"


# ---- the screens


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The options with which screens were opened, where there is a terminal for them."""
    found: list[Any] = []

    def run_app(options: Any) -> int:
        found.append(options)
        return 0

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("cockpit.commands.screens.is_terminal", lambda: True)
    monkeypatch.setattr("cockpit.app.run", run_app)
    monkeypatch.setattr("cockpit.commands.screens._logged_in", lambda _chosen: None)
    return found


def contexts_of(options: Any) -> list[str | None]:
    return [each.context for each in (options.attach_to, *options.attach_also)]


def test_the_screens_open_the_clusters_that_are_named_else_those_of_the_configuration(
    home: Path, clusters: dict[str, Cluster], opened: list[Any], capsys: Capture
) -> None:
    assert run(capsys, "--contexts", "c,a") == (0, "", "")
    assert contexts_of(opened.pop()) == ["c", "a"]
    settings = 'contexts = ["a", "b"]\n[context.b]\nwrite = true\nnamespace = "team-b"\n'
    (home / "config" / "gpu-cockpit" / "config.toml").write_text(settings)
    assert run(capsys)[0] == 0
    options = opened.pop()
    assert contexts_of(options) == ["a", "b"]
    assert [each.write for each in (options.attach_to, *options.attach_also)] == [False, True]
    assert [str(each.namespaces) for each in (options.attach_to, *options.attach_also)] == ["", "team-b"]
    assert run(capsys, "--context", "c")[0] == 0
    assert contexts_of(opened.pop()) == ["c"]


def test_commands_stay_with_the_current_context_whatever_the_screens_open(
    home: Path, clusters: dict[str, Cluster], capsys: Capture
) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text('contexts = ["a", "b"]\n')
    gang(clusters["a"])
    code, out, _ = run(capsys, "get", "jobs", "--context", "a")
    assert code == 0 and "CLUSTER" not in out
    assert not clusters["b"].sessions
