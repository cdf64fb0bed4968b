"""What goes wrong on a real cluster: one sentence with the remedy, in place, and the cockpit goes on."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.estate import gpu_job
from tests.bed.fixtures import bed_full
from tests.bed.gpu_holders import gpu_pod
from tests.bed.layout import free_ports
from tests.tui.on_the_bed import Opened, Shell, estate, node_names, opened, quits
from tests.tui.terminal import Terminal

__all__ = ["bed_full", "opened"]
pytestmark = pytest.mark.real

PLACES = "1234567"


@pytest.fixture(scope="module")
def fleet(bed_full: Bed) -> Iterator[Bed]:
    """Two GPU nodes, and a job in each of two namespaces."""
    estate(bed_full, nodes=2)
    api = bed_full.api()
    for space in ("team-a", "team-b"):
        job = gpu_job(f"only-{space}", gpus=1, namespace=space, queue="")
        api.create(f"/apis/batch/v1/namespaces/{space}/jobs", job)
    yield bed_full
    for space in ("team-a", "team-b"):
        path = f"/apis/batch/v1/namespaces/{space}/jobs/only-{space}"
        api.delete(path, {"propagationPolicy": "Background"})


# ---- kubeconfigs that cannot be used


def changed(bed: Bed, folder: Path, text: str | None = None, server: str = "") -> Path:
    """The bed's kubeconfig with another server, or another text altogether."""
    path = folder / "kubeconfig"
    if text is None:
        tree = yaml.safe_load(bed.kubeconfig.read_text())
        tree["clusters"][0]["cluster"]["server"] = server
        text = yaml.safe_dump(tree)
    path.write_text(text)
    return path


def closed_port() -> int:
    return free_ports(["nobody"])["nobody"]


BROKEN = {
    "not yaml": ("a: [", "is not YAML"),
    "no mapping": ("just words", "kubeconfig"),
    "empty": ("", "kubeconfig"),
}


# ---- on the command line


@pytest.mark.parametrize("kind", ["nodes", "jobs", "gpus", "overview"])
def test_an_unreachable_server_is_one_sentence(fleet: Bed, tmp_path: Path, kind: str) -> None:
    path = changed(fleet, tmp_path, server=f"https://127.0.0.1:{closed_port()}")
    done = Shell(path, tmp_path).run("get", kind)
    assert (done.returncode, done.stdout) == (2, "")
    assert "127.0.0.1:" in done.stderr
    assert "cannot be reached (Connection refused); is the cluster running" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kubeconfig_is_one_sentence(fleet: Bed, tmp_path: Path, name: str) -> None:
    text, part = BROKEN[name]
    path = changed(fleet, tmp_path, text)
    done = Shell(path, tmp_path).run("get", "nodes")
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr
    assert str(path) in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


SUBMIT = ("job", "submit", "mpijob", "--image", "i:1", "--dry-run")


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("get", "nodes", "--context", "nope"), 2, "There is no context 'nope' in "),
        (("get", "nodes", "--context", "expired"), 2, "the token or certificate has expired"),
        (("get", "nodes", "--context", "nobody"), 1, "You cannot list or watch nodes: ask for that right."),
        (("get", "pods", "--context", "nobody"), 1, "You cannot list or watch pods in default: ask for"),
        (
            ("get", "pods", "--context", "engineer", "-n", "team-b"),
            1,
            "watch pods in team-b: ask for that right.",
        ),
        (("get", "events", "--context", "nobody", "-n", "team-a"), 1, "You cannot list or watch events in"),
        (("get", "gpus", "--prometheus-url", "prom"), 2, "write http://host:port or namespace/service:port"),
        (("get", "nodes", "-n", "Team A"), 2, "--namespace: 'Team A' is not a valid namespace name"),
        (("get", "nodes", "--sort", "colour"), 2, "--sort: there is no column 'colour'; it has: "),
        (("get", "nodes", "--filter", "allocated>many"), 2, "--filter: "),
        (("get", "nodes", "--timeout", "soon"), 2, "'soon' is not a valid number of seconds"),
        (("get", "secrets"), 2, "invalid choice: 'secrets'"),
        (("template", "show", "nope"), 2, "there is no template 'nope'; known templates: "),
        (("job", "submit", "nope", "--dry-run"), 2, "there is no template 'nope'; known templates: "),
        ((*SUBMIT, "--name", "Foo"), 2, "name: 'Foo' is not a valid name"),
        ((*SUBMIT, "--name", "a", "--workers", "zero"), 2, "workers: 'zero'"),
        (("job", "submit", "mpijob", "--set", "colour=red", "--dry-run"), 2, "colour"),
        (("job", "kill", "nothing-there", "--dry-run"), 2, "there is no job 'nothing-there'"),
        (("pool", "scale", "h100", "--to", "many", "--dry-run"), 2, "'many' is not a whole number"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_a_mistake_is_one_sentence_with_its_code(
    fleet: Bed, tmp_path: Path, words: Sequence[str], code: int, part: str
) -> None:
    done = Shell(fleet.kubeconfig, tmp_path).run(*words)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert part in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_what_a_person_may_read_is_printed_with_a_note_on_the_rest(fleet: Bed, tmp_path: Path) -> None:
    shell = Shell(fleet.kubeconfig, tmp_path)
    done = shell.run("get", "jobs", "--context", "engineer", "-n", "team-a", "-o", "json")
    assert done.returncode == 0
    assert [one["name"] for one in json.loads(done.stdout)["items"]] == ["only-team-a"]
    assert "You cannot list or watch clusterqueues.kueue.x-k8s.io" in done.stderr
    pods = shell.run("get", "pods", "--context", "engineer")
    assert (pods.returncode, "only-team-a" in pods.stdout, "team-b" in pods.stdout) == (0, True, False)
    assert "only namespace team-a: you cannot list pods in all namespaces; others with -n" in pods.stderr
    queues = shell.run("get", "queues", "--context", "engineer", "-n", "team-a")
    assert "● active" in queues.stdout
    assert "is not there" not in queues.stdout, "what may not be read is not called missing"


# ---- on the screen, from the start


def visits(terminal: Terminal, wanted: dict[str, str]) -> None:
    """Every place by its key: its sentence stands where the rows would stand."""
    for key, sentence in wanted.items():
        terminal.keys(key)
        terminal.until_body(sentence)
    terminal.keys("?")
    terminal.until("Places", "esc leave")
    terminal.keys("Escape")
    terminal.until(without=("esc leave",))


@pytest.mark.parametrize("case", ["nope", "expired", "unreachable", "broken"])
def test_a_cluster_that_cannot_be_used_is_told_in_place(
    fleet: Bed, opened: Opened, tmp_path: Path, case: str
) -> None:
    kubeconfig, arguments, sentence = fleet.kubeconfig, ["--context", case], "ctrl+x"
    if case == "nope":
        sentence = "There is no context 'nope'"
    elif case == "expired":
        sentence = "the token or certificate has expired or is wrong; log in again and renew the kubeconfig."
    elif case == "unreachable":
        kubeconfig = changed(fleet, tmp_path, server=f"https://127.0.0.1:{closed_port()}")
        arguments, sentence = [], "is the cluster running, is a VPN needed? Retrying automatically."
    else:
        kubeconfig, arguments, sentence = changed(fleet, tmp_path, "a: ["), [], "is not YAML"
    terminal = opened(kubeconfig, *arguments)
    terminal.until_body(sentence)
    visits(terminal, dict.fromkeys(PLACES, sentence))
    quits(terminal)


def test_a_user_without_rights_reads_verb_and_resource_in_place(fleet: Bed, opened: Opened) -> None:
    terminal = opened(fleet.kubeconfig, "--context", "nobody")
    terminal.until(
        "nodes denied · ro", "only namespace default", "Fleet by duty", "You cannot list or watch nodes"
    )
    said = {
        "2": "pods in default",
        "3": "nodes",
        "4": "localqueues.kueue.x-k8s.io in default",
        "5": "nodes",
        "6": "events in default",
        "7": "pods in default",
    }
    visits(terminal, {key: f"You cannot list or watch {what}: ask" for key, what in said.items()})
    terminal.keys("1")
    terminal.until("you cannot list 8 kinds: clusterqueues, cronjobs.batch, deployments.apps, gpus")
    terminal.until("you cannot list events, jobs, localqueues, mpijobs, pods")
    quits(terminal)


def test_who_may_read_no_more_sees_the_contexts_namespace(fleet: Bed, opened: Opened) -> None:
    terminal = opened(fleet.kubeconfig, "--context", "engineer")
    terminal.until("nodes denied")
    terminal.keys("7")
    terminal.until("only namespace team-a", "team-a/only-team-a")
    # namespaces may not be listed: a name is typed
    for name, shown in (
        ("team-b", "cannot list or watch pods in team-b: ask"),
        ("team-a", "only-team-a"),
    ):
        terminal.keys("C-n")
        terminal.until("Namespace", "type to search")
        terminal.type(name)
        terminal.until(name)
        terminal.keys("Enter")
        terminal.until(f"namespace {name}", shown, without=("type to search",))
    terminal.keys("Enter")
    seen = terminal.until("only-team-a", without=("type to search",))
    assert "Traceback" not in seen
    terminal.keys("3")
    terminal.until_body("You cannot list or watch nodes: ask for that right.")
    quits(terminal)


def test_a_viewer_is_told_which_right_is_missing(fleet: Bed, opened: Opened) -> None:
    terminal = opened(fleet.kubeconfig, "--context", "viewer")
    terminal.until("live · ro")
    terminal.keys(":")
    terminal.until("Command palette")
    terminal.type("write")
    terminal.until("unlock the keys that change the cluster")
    terminal.keys("Enter")
    terminal.until("Unlock changes of viewer")
    terminal.keys("y")
    terminal.until("· rw")
    terminal.keys("2")
    terminal.until("State", "Why", "team-a/only-team-a")
    terminal.find("only-team-a")
    terminal.until("team-a/only-team-a", without=("team-b/only-team-b",))
    terminal.until("K×kill")  # the cluster has been asked what this user may do here
    terminal.keys("K")
    terminal.until("You cannot delete jobs.batch", without=("Kill job", "y or enter"))
    assert fleet.api().get("/apis/batch/v1/namespaces/team-a/jobs/only-team-a")["metadata"]["name"]


def test_a_wrong_value_is_told_beside_the_form(fleet: Bed, opened: Opened) -> None:
    terminal = opened(fleet.kubeconfig, "--write")
    terminal.until("live · rw")
    terminal.keys("2")
    terminal.until("State", "Why")
    terminal.keys("N")
    terminal.until("Name *", "Image *")
    terminal.type("Foo_Bar")
    terminal.until("'Foo_Bar' is not a valid name")
    terminal.keys("C-s")
    terminal.until("'Foo_Bar' is not a valid name", without=("y or enter",))
    terminal.keys("Escape")
    terminal.until("team-a/only-team-a", without=("Image *",))
    quits(terminal)


# ---- another context, another namespace


def choose(terminal: Terminal, key: str, title: str, name: str) -> None:
    """One entry of a choice, found by typing."""
    terminal.keys(key)
    terminal.until(title, "type to search")
    terminal.type(name)
    terminal.until(without=("type to search",))
    terminal.keys("Enter")
    terminal.until(without=("enter choose",))


def test_contexts_and_namespaces_are_never_mixed(fleet: Bed, opened: Opened) -> None:
    terminal = opened(fleet.kubeconfig)
    terminal.until("live · ro")
    both = ("team-a/only-team-a", "team-b/only-team-b")
    terminal.keys("2")
    terminal.until("bed · ", *both)
    choose(terminal, "C-x", "Context", "viewer")
    seen = terminal.until("viewer · ", *both, "live · ro")
    assert [seen.count(name) for name in both] == [1, 1]

    choose(terminal, "C-n", "Namespace", "team-a")
    for key, own, other in (
        ("2", "team-a/only-team-a", "team-b/"),
        ("7", "team-a/only-team-a", "team-b/"),
        ("6", "team-a/only-team-a", "team-b/"),
        ("4", "team-a/main", "team-b/"),
    ):
        terminal.keys(key)
        terminal.until("namespace team-a", own, without=(other, "monitoring/"))
    # nodes belong to all: what team-b holds is not free because nobody looks at it
    terminal.keys("1")
    total, allocated = gpus(fleet.api())
    terminal.until(f"{allocated}/{total} GPUs", f"{total - allocated} free", "namespace team-a")
    choose(terminal, "C-n", "Namespace", "all namespaces")
    terminal.keys("2")
    seen = terminal.until(*both, without=("namespace team-a",))
    assert [seen.count(name) for name in both] == [1, 1]

    # one that does not work, and back
    choose(terminal, "C-x", "Context", "expired")
    terminal.until_body("log in again and renew the kubeconfig. Retrying automatically.", without=both)
    choose(terminal, "C-x", "Context", "bed")
    seen = terminal.until("bed · ", *both, "live · ro")
    assert [seen.count(name) for name in both] == [1, 1]
    quits(terminal)


def gpus(api: Api) -> tuple[int, int]:
    """GPUs of the cluster, and those that pods hold."""
    trees = api.items("/api/v1/pods")
    placed = [tree for tree in trees if tree["spec"].get("nodeName")]
    allocated = [pod.containers for pod in map(gpu_pod, placed) if pod is not None]
    return 8 * len(node_names(api)), sum(count for one in allocated for _, count in one)


def test_who_sees_one_namespace_is_not_told_that_the_rest_is_free(
    fleet: Bed, opened: Opened, tmp_path: Path
) -> None:
    api, rbac = fleet.api(), "rbac.authorization.k8s.io"
    name = {"metadata": {"name": "engineers-see-nodes"}}
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}
    subject = {"kind": "Group", "apiGroup": rbac, "name": "bed:engineers"}
    role = {"kind": "ClusterRole", "apiGroup": rbac, "name": "engineers-see-nodes"}
    api.create(f"/apis/{rbac}/v1/clusterroles", {**name, "rules": [rule]})
    api.create(f"/apis/{rbac}/v1/clusterrolebindings", {**name, "roleRef": role, "subjects": [subject]})
    try:
        terminal = opened(fleet.kubeconfig, "--context", "engineer", "-n", "team-a")
        total, _ = gpus(api)
        terminal.until(f"{total} GPUs", "1 seen allocated", "free unknown", "live · ro")
        terminal.keys("3")
        seen = terminal.until("?/8", "namespace team-a", without=("0/8",))
        assert " free" not in seen.replace("free unknown", "")
        words = ("get", "overview", "--context", "engineer", "-n", "team-a")
        done = Shell(fleet.kubeconfig, tmp_path).run(*words)
        assert f"{total - 1} allocated or free: pods of other namespaces are not visible" in done.stdout, done
    finally:
        for kind in ("clusterrolebindings", "clusterroles"):
            api.delete(f"/apis/{rbac}/v1/{kind}/engineers-see-nodes")


def test_a_namespace_on_the_command_line_hides_rows_but_counts_everything(fleet: Bed, tmp_path: Path) -> None:
    shell = Shell(fleet.kubeconfig, tmp_path)
    total, allocated = gpus(fleet.api())
    for context in ("bed", "viewer"):
        found = shell.run("get", "overview", "--context", context, "-n", "team-a")
        assert f"{total - allocated} free" in found.stdout, found
        assert "team-b/" not in found.stdout
        (pool,) = shell.items("pools", "--context", context, "-n", "team-a")
        assert (pool["gpus_allocated"], pool["is_use_known"]) == (allocated, True)
        jobs = shell.items("jobs", "--context", context, "-n", "team-a")
        assert [one["name"] for one in jobs] == ["only-team-a"]


def test_a_context_brings_its_own_settings(fleet: Bed, opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "gpu-cockpit"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[context."viewer"]\nwrite = true\nnamespace = "team-b"\n')
    terminal = opened(fleet.kubeconfig)
    terminal.until("live · ro")
    terminal.keys("2")
    terminal.until("team-a/only-team-a", "team-b/only-team-b")
    choose(terminal, "C-x", "Context", "viewer")
    terminal.until("viewer · ", "namespace team-b", "· rw", "team-b/only-team-b", without=("team-a/",))
    choose(terminal, "C-x", "Context", "bed")
    terminal.until("bed · ", "· ro", "team-a/only-team-a", "team-b/only-team-b", without=("namespace team",))
