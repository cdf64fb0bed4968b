"""The API server hangs, dies, comes back or comes late; no Prometheus: told in place, without a key."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.estate import gpu_node
from tests.tui.on_the_bed import Opened, Shell, opened, quits, until
from tests.tui.terminal import line_with

__all__ = ["opened"]
pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def bare() -> Iterator[Bed]:
    """An API server with two nodes and three pods, and nothing else: no Prometheus, no Kueue."""
    with Bed({"apiserver"}, namespace=False) as bed:
        api = bed.api()
        for index in range(2):
            api.create("/api/v1/nodes", gpu_node(f"gpu-{index:03d}", index))
        for name in ("one", "two", "three"):
            add_pod(api, name)
        yield bed


def add_pod(api: Api, name: str) -> None:
    container = {"name": "main", "image": "example/train:1"}
    spec = {"nodeName": "gpu-000", "containers": [container], "automountServiceAccountToken": False}
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    api.create("/api/v1/namespaces/team-a/pods", tree)


def test_without_a_prometheus_the_rows_come_and_the_reason_is_noted(bare: Bed, tmp_path: Path) -> None:
    done = Shell(bare.kubeconfig, tmp_path).run("get", "gpus")
    assert done.returncode == 0
    rows = done.stdout.splitlines()[1:]
    assert len(rows) == 16
    assert all(row.split().count("n/c") >= 5 and "0%" not in row for row in rows), done.stdout
    assert done.stderr == (
        "cockpit: gpus: No Prometheus found: set --prometheus-url; "
        "no Service of this cluster is named or labelled like one.\n"
    )
    named = Shell(bare.kubeconfig, tmp_path).run("get", "gpus", "--prometheus-url", "http://127.0.0.1:1")
    assert named.returncode == 0
    assert "Prometheus at http://127.0.0.1:1 cannot be reached: connection refused" in named.stderr


def test_without_a_prometheus_the_screen_says_what_to_set(bare: Bed, opened: Opened) -> None:
    terminal = opened(bare.kubeconfig)
    sentence = "No Prometheus found: set --prometheus-url"
    terminal.until("2 nodes", "Fleet by duty", sentence)
    terminal.keys("3")
    terminal.until("gpu-000", "GPU model")
    terminal.keys("Enter")
    seen = terminal.until("Throttle", "telemetry", sentence, "duty n/c")
    assert "0%" not in seen
    quits(terminal)


# ---- the server goes away while we look


def rows_of_pods(screen: str) -> list[str]:
    words = [line.lstrip(" ▌│").split() for line in screen.splitlines()]
    return sorted(one[0] for one in words if one and one[0].startswith("team-a/"))


def pods_now(api: Api) -> list[str]:
    return sorted(f"team-a/{one['metadata']['name']}" for one in api.items("/api/v1/namespaces/team-a/pods"))


def delete_pod(api: Api, name: str) -> None:
    api.delete(f"/api/v1/namespaces/team-a/pods/{name}", {"gracePeriodSeconds": 0})


def test_a_server_that_dies_and_returns_leaves_no_ghost_and_no_double(bare: Bed, opened: Opened) -> None:
    api = bare.api()
    terminal = opened(bare.kubeconfig)
    terminal.until("live · ro")
    terminal.keys("7")
    before = pods_now(api)
    until("the pods of the cluster", lambda: True if rows_of_pods(terminal.screen()) == before else None)
    bare.signal("apiserver", signal.SIGKILL)
    try:
        terminal.until_one("backing off, last update", "stale: no answer for")
        assert rows_of_pods(terminal.screen()) == before, "what was known stands"
        for key in "1237":
            terminal.keys(key)
        terminal.until("Owner")
    finally:
        bare.restart("apiserver")
    api = bare.api()  # the connection of the former one died with the server
    # what moves while nobody listens: one goes, another comes, one is made anew under its old name
    delete_pod(api, "one")
    delete_pod(api, "two")
    add_pod(api, "two")
    add_pod(api, "four")
    after = pods_now(api)
    assert after == ["team-a/four", "team-a/three", "team-a/two"]
    until(
        "the pods of now, each once, without a key",
        lambda: True if rows_of_pods(terminal.screen()) == after else None,
    )
    terminal.until("live · ro", without=("backing off", "stale:"))
    assert rows_of_pods(terminal.screen()) == after
    quits(terminal)
    delete_pod(api, "four")
    add_pod(api, "one")


def test_a_server_that_hangs_is_called_stale_with_its_age(bare: Bed, opened: Opened) -> None:
    terminal = opened(bare.kubeconfig)
    terminal.until("live · ro")
    terminal.keys("7")
    before = pods_now(bare.api())
    until("the pods of the cluster", lambda: True if rows_of_pods(terminal.screen()) == before else None)
    bare.signal("apiserver", signal.SIGSTOP)
    try:
        first = terminal.until("stale: no answer for")
        age = line_with(first, "stale: no answer for").partition("answer for ")[2].split()[0]
        terminal.until("stale: no answer for", without=(f"answer for {age}",))
        assert rows_of_pods(terminal.screen()) == before
        terminal.keys("3")
        terminal.until("gpu-000", "gpu-001", "stale: no answer for")
        terminal.keys("y")
        terminal.until("reading Node/gpu-000")
        terminal.keys("Escape")
        terminal.until("GPU model", "stale: no answer for")
        terminal.keys("7")
        terminal.until("team-a/three", "stale: no answer for")
    finally:
        bare.signal("apiserver", signal.SIGCONT)
    terminal.until("live · ro", without=("stale:", "backing off"))
    assert rows_of_pods(terminal.screen()) == before


def test_quitting_does_not_wait_for_a_server_that_hangs(bare: Bed, opened: Opened) -> None:
    terminal = opened(bare.kubeconfig)
    terminal.until("live · ro")
    bare.signal("apiserver", signal.SIGSTOP)
    try:
        terminal.keys("3")
        terminal.until("GPU model")
        terminal.keys("y")
        terminal.until("reading Node/")
        terminal.keys("Escape")
        terminal.until("GPU model")
        quits(terminal)
    finally:
        bare.signal("apiserver", signal.SIGCONT)


def test_a_server_that_comes_later_is_found_without_a_key(bare: Bed, opened: Opened) -> None:
    bare.signal("apiserver", signal.SIGKILL)
    try:
        terminal = opened(bare.kubeconfig)
        terminal.until("waiting to reconnect", "Retrying automatically.")
    finally:
        bare.restart("apiserver")
    terminal.until("live · ro", "2 nodes")
    quits(terminal)
