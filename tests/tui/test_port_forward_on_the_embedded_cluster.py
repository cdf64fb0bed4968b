"""A port of a pod on this machine, by key and by command, on the embedded cluster."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from tests.tui.on_the_bed import ROOT, Headless, Shell
from tests.tui.test_life_on_the_embedded_cluster import Cluster, cluster, shell
from tests.tui.test_tensorboard_on_the_embedded_cluster import (
    SECONDS,
    SPACE,
    _is_closed,
    audit_steps,
    delete,
    hears,
    page,
    submitted,
)

pytestmark = pytest.mark.waits

__all__ = ["cluster", "hears", "shell"]


@pytest.fixture
def board(cluster: Cluster, shell: Shell, request: pytest.FixtureRequest) -> Iterator[str]:
    """A pod that serves a page on port 6006."""
    name = f"port-{request.node.name[-6:].strip('_')}".replace("_", "-")
    submitted(cluster, shell, name)
    yield name
    delete(cluster, name)


def url(screen: Headless) -> str:
    """What the header says is forwarded first."""
    words = screen.lines()[0].split()
    return f"http://127.0.0.1{words[words.index('forwards') + 1]}/"


async def at_pods(screen: Headless, name: str) -> None:
    await screen.press("slash", *name, "enter")
    await screen.until_text(name, "● running", seconds=SECONDS)


async def remark(screen: Headless, *wanted: str) -> None:
    def look(_lines: list[str]) -> bool | None:
        told = " ".join(item.message for item in screen.app._notifications)
        return all(text in told for text in wanted) or None

    await screen.until(f"a remark with {wanted}", look, SECONDS)


async def forwarded(screen: Headless, name: str, *ports: str) -> None:
    """Press `F`, type the port, and say yes."""
    await screen.press("F")
    await screen.until_text(f"Forward a port of {name}", seconds=SECONDS)
    await screen.press(*ports, "enter")
    await screen.until_text(f"Forward to {SPACE}/{name}", seconds=SECONDS)
    await screen.press("y")


async def test_by_key_two_ports_are_shown_stopped_and_kept(
    cluster: Cluster, board: str, tmp_path: Path
) -> None:
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="pods", state_folder=tmp_path))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await at_pods(screen, board)
        await screen.press("F")
        seen = await screen.until_text(f"Forward a port of {board}", seconds=SECONDS)
        assert "6006" in seen and "tensorboard of container tensorboard" in seen
        await screen.press("escape")
        await forwarded(screen, board, *":6006")
        await screen.until_text("forwards :", seconds=SECONDS)
        first = url(screen)
        assert "A simulated container" in await asyncio.to_thread(page, first)
        port = first.rstrip("/").rpartition(":")[2]
        await forwarded(screen, board, *f"{port}:6006")
        await remark(screen, "Not forwarded: 127.0.0.1:", "choose another port")
        await forwarded(screen, board, *":6006")
        await screen.until("two ports", lambda lines: lines[0].count(" :") == 2 or None, SECONDS)
        await screen.press("2")  # it outlives the page
        await screen.until_text("Why", seconds=SECONDS)
        await screen.press("colon", *f"stop {port}")
        await screen.until_text(f"stop 127.0.0.1:{port}", "1 served", seconds=SECONDS)
        await screen.press("enter")
        await _is_closed(first)
        second = url(screen)
        await asyncio.to_thread(delete, cluster, board)
        await remark(screen, f"ended: pod {board}")
        await _is_closed(second)
        assert "forwards" not in screen.lines()[0]
    kept = json.loads((tmp_path / "ports.json").read_text())
    assert list(kept.values()) == [[[0, 6006]]]
    done = [(state, said) for step, state, said in audit_steps(tmp_path) if step == "outcome"]
    assert [state for state, _ in done] == ["failed", "done", "done"]
    assert done[1][1] == "stopped by key; 1 connection" and done[2][1].startswith("ended: pod ")


async def test_by_key_a_bad_port_is_refused_and_all_are_closed_with_the_app(
    cluster: Cluster, board: str, tmp_path: Path
) -> None:
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="pods", state_folder=tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Headless(app, pilot)
        await at_pods(screen, board)
        await screen.press("F")
        await screen.until_text(f"Forward a port of {board}", seconds=SECONDS)
        await screen.press(*"70000", "enter")
        await remark(screen, "invalid port 70000: use 1 to 65535")
        await forwarded(screen, board, *":6006")
        await screen.until_text("forwards :", seconds=SECONDS)
        address = url(screen)
        await screen.press("q")
        await _is_closed(address)


def test_by_command_until_interrupted(cluster: Cluster, board: str, shell: Shell) -> None:
    name = f"{SPACE}/{board}"
    assert "read-only" in shell.run("pod", "forward", name, "--port", "6006").stderr
    wrong = shell.run("pod", "forward", name, "--port", "six", "--write")
    assert wrong.returncode == 2 and "invalid port 'six'" in wrong.stderr
    unknown = shell.run("pod", "forward", f"{name}x", "--port", "6006", "--write")
    assert unknown.returncode == 2 and f"did you mean {name}" in unknown.stderr
    child = subprocess.Popen(
        [sys.executable, "-m", "cockpit", "pod", "forward", name, "--port", ":6006", "--write"],
        cwd=ROOT,
        env=shell._environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None and child.stderr is not None
        address = child.stdout.readline().strip()
        assert address.startswith("127.0.0.1:"), child.stderr.read()
        assert "A simulated container" in page(f"http://{address}/")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert "press ctrl+c to stop" in err and "Traceback" not in err
