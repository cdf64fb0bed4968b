"""Logs and the page of a gang on the embedded cluster, over the wire: by commands, then by keys."""

import asyncio
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from tests.tui.on_the_bed import Headless, Shell, until
from tests.tui.test_life_on_the_embedded_cluster import Cluster, cluster, shell

pytestmark = pytest.mark.waits

__all__ = ["cluster", "shell"]
GANG, RANKS = "students/homework", 4


def runs(cluster: Cluster) -> None:
    until("the gang runs", lambda: cluster.running("students", "homework") == RANKS or None)


def test_by_command_all_ranks_one_rank_and_the_run_before(cluster: Cluster, shell: Shell) -> None:
    runs(cluster)

    def printed() -> list[str] | None:
        done = shell.run("job", "logs", GANG, "--tail", "4", "--grep", "loss")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        return lines if {line[:6] for line in lines} == {f"rank {n}" for n in range(RANKS)} else None

    lines = until("every rank has written", printed, 90.0)
    assert len(lines) <= 4 * RANKS and all("images/sec" in line for line in lines)
    one = shell.run("job", "logs", GANG, "--rank", "2", "--since", "1h", "--times").stdout.splitlines()
    assert one and all(line[13:19] == "rank 2" for line in one)
    assert [line[:12] for line in one] == sorted(line[:12] for line in one)
    for stream, tells in (("stdout", True), ("stderr", False)):
        alone = shell.run("job", "logs", GANG, "--stream", stream, "--since", "1h", "--grep", "loss")
        assert (alone.returncode, bool(alone.stdout)) == (0, tells), alone.stderr
    refused = shell.run("job", "logs", GANG, "--previous")
    assert refused.returncode == 1 and "previous terminated container" in refused.stderr


async def test_by_keys_the_page_of_the_job_and_its_logs(cluster: Cluster, tmp_path: Path) -> None:
    await asyncio.to_thread(runs, cluster)
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig))
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"homework", "enter")
        await screen.until_text(GANG, "● running", "4/4")
        await screen.press("enter")
        seen = await screen.until_text("Members by rank", "epoch ", "loss ", "first step +", seconds=90.0)
        assert "containers +" in seen and "admitted +" in seen
        await screen.press("l")
        seen = await screen.until_text("4 members · following", "rank 0", "rank 3")
        await screen.press("slash", *"rank:1 loss", "enter")
        await screen.until_text("rank 1", without=("rank 0 ", "rank 3 "))
