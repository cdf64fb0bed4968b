"""TensorBoard of a job on the embedded cluster: by command and by key, with requests that go through it."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.kube.resource import JOBS, PODS
from tests.tui.on_the_bed import ROOT, Headless, Shell, until
from tests.tui.test_life_on_the_embedded_cluster import Cluster, cluster, do, shell

pytestmark = pytest.mark.waits

__all__ = ["cluster", "shell"]
SPACE = "students"
SECONDS = 90.0


@pytest.fixture(autouse=True)
def hears() -> Iterator[None]:
    """Children hear ctrl+c even if the runner was started without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def submitted(cluster: Cluster, shell: Shell, name: str) -> None:
    """A pod of the template with TensorBoard beside it, and it runs where the scenario's gang made room."""
    cluster.ask("DELETE", f"{JOBS.path(SPACE)}/homework", {"propagationPolicy": "Background"})
    words = ("--set", f"namespace={SPACE}", "--set", "tensorboard=/runs", "--set", "gpus=1")
    do(shell, "job", "submit", "pod", "--name", name, "--image", "registry.example/train:1", *words)
    until(f"{name} runs", lambda: cluster.running(SPACE, name) == 1 or None, SECONDS)


def delete(cluster: Cluster, name: str) -> None:
    cluster.ask("DELETE", f"{PODS.path(SPACE)}/{name}", {"gracePeriodSeconds": 0})


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def audit_steps(folder: Path) -> list[tuple[str, str, str]]:
    lines = [json.loads(one) for one in (folder / "audit.jsonl").read_text().splitlines()]
    return [
        (one["step"], one.get("state", ""), one.get("sentence", ""))
        for one in lines
        if one["verb"] == "forward"
    ]


def test_by_command_until_interrupted(cluster: Cluster, shell: Shell, tmp_path: Path) -> None:
    submitted(cluster, shell, "board-a")
    words = ["job", "tensorboard", f"{SPACE}/board-a"]
    refused = shell.run(*words)
    assert refused.returncode == 2 and "read-only" in refused.stderr
    child = subprocess.Popen(
        [sys.executable, "-m", "cockpit", *words, "--write"],
        cwd=ROOT,
        env=shell._environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None and child.stderr is not None
        url = child.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), child.stderr.read()
        seen = page(url)
        assert f"{SPACE}/board-a" in seen and "A simulated container" in seen
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert "port 6006 of pod students/board-a; press ctrl+c to stop" in err and "Traceback" not in err
    with pytest.raises(urllib.error.URLError):
        page(url)
    intent, outcome = audit_steps(tmp_path / "state/gpu-cockpit")
    assert intent[0] == "intent"
    assert outcome[:2] == ("outcome", "done") and outcome[2].startswith("closed; ")
    wrong = shell.run("job", "tensorboard", f"{SPACE}/board-a", "--port", "9", "--write")
    assert wrong.returncode == 1 and "connection refused" in wrong.stderr and wrong.stderr.count("\n") == 1
    delete(cluster, "board-a")


def test_by_command_the_end_of_the_pod_is_the_end(cluster: Cluster, shell: Shell) -> None:
    submitted(cluster, shell, "board-b")
    child = subprocess.Popen(
        [sys.executable, "-m", "cockpit", "job", "tensorboard", f"{SPACE}/board-b", "--write"],
        cwd=ROOT,
        env=shell._environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("http://127.0.0.1:")
        delete(cluster, "board-b")
        _, err = child.communicate(timeout=SECONDS)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0
    assert "ended: pod board-b " in err


async def test_by_key_on_the_page_of_the_job(cluster: Cluster, shell: Shell, tmp_path: Path) -> None:
    await asyncio.to_thread(submitted, cluster, shell, "board-c")
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    kept = tmp_path / "kept"
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=kept))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"board-c", "enter")
        await screen.until_text("board-c", "● running", seconds=SECONDS)
        await screen.press("enter")
        await screen.until_text("Members by rank", seconds=SECONDS)
        await screen.press("B")
        seen = await screen.until_text("TensorBoard of students/board-c", "kubectl", seconds=SECONDS)
        assert "port 6006 of pod students/board-c" in seen and "pod/board-c :6006" in seen
        await screen.press("y")
        await screen.until_text("http://127.0.0.1:", "0 open", seconds=SECONDS)
        url = _url(screen)
        async with aiohttp.ClientSession() as browser:

            async def get() -> str:
                async with browser.get(url) as answer:
                    assert answer.status == 200
                    return await answer.text()

            pages = await asyncio.gather(*(get() for _ in range(8)))
        assert all("A simulated container" in one for one in pages)
        await screen.until_text("0 open, 8 served", seconds=SECONDS)
        await screen.press("B")
        await screen.until_text("closed by key", seconds=SECONDS)
        await _is_closed(url)
        await screen.press("B")
        await screen.until_text("TensorBoard of students/board-c", seconds=SECONDS)
        await screen.press("y")
        await screen.until_text("http://127.0.0.1:", seconds=SECONDS)
        again = _url(screen)
        await asyncio.to_thread(delete, cluster, "board-c")
        await screen.until_text("ended: pod board-c", seconds=SECONDS)
        await _is_closed(again)
    done = [(one, said) for step, one, said in audit_steps(kept) if step == "outcome"]
    assert done[0] == ("done", "closed by key; 8 connections")
    assert done[1][0] == "done" and done[1][1].startswith("ended: pod board-c ")


@pytest.mark.parametrize("leave", ["escape", "q"], ids=["page", "app"])
async def test_by_key_it_ends_with_the_page_and_with_the_app(
    cluster: Cluster, shell: Shell, tmp_path: Path, leave: str
) -> None:
    await asyncio.to_thread(submitted, cluster, shell, "board-d")
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"board-d", "enter")
        await screen.until_text("board-d", "● running", seconds=SECONDS)
        await screen.press("enter")
        await screen.until_text("Members by rank", seconds=SECONDS)
        await screen.press("B")
        await screen.until_text("TensorBoard of students/board-d", seconds=SECONDS)
        await screen.press("y")
        await screen.until_text("http://127.0.0.1:", seconds=SECONDS)
        url = _url(screen)
        await screen.press(leave)
        await _is_closed(url)
    await asyncio.to_thread(delete, cluster, "board-d")
    (outcome,) = [said for step, _, said in audit_steps(tmp_path) if step == "outcome"]
    assert outcome == "closed; 0 connections"


def _url(screen: Headless) -> str:
    said = next(line for line in screen.lines() if "http://127.0.0.1:" in line and "served" in line)
    return next(word for word in said.split() if word.startswith("http://"))


async def _is_closed(url: str) -> None:
    """Nobody listens there any more, within a minute."""
    deadline = time.monotonic() + SECONDS
    port = int(url.rstrip("/").rpartition(":")[2])
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            return
        writer.close()
        assert time.monotonic() < deadline, "it listens still"
        await asyncio.sleep(0.1)
