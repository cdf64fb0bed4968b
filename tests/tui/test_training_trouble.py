"""What ends a training: the page of its job says which it was, the job has failed, no process is left."""

import os
import signal
import socket
from pathlib import Path

import pytest

from cockpit.kube.resource import JOBS, MPIJOBS
from tests.tui.on_the_bed import Headless, headless_app
from tests.unit.sim.training.trainer import TEAM, Trainer, is_sshd, training
from tests.waiting import until

pytestmark = pytest.mark.waits
SECONDS = 240.0
RUN = "horovodrun --gloo -np 2 --hostfile /etc/mpi/hostfile python /app/train.py --steps 100000"


async def said_on_page(screen: Headless, trainer: Trainer, name: str, *wanted: str) -> None:
    """The page of that job, opened from the list of jobs, until it says so; then back."""
    await until(lambda: not trainer.processes("/app/"), "nothing of it runs")
    await screen.press("2", "slash", *f"name:{name}", "enter")
    await screen.until_text(f"{TEAM}/{name}", seconds=SECONDS)
    await screen.press("enter")
    await screen.until_text("Members by rank", "failed", *wanted, seconds=SECONDS)
    await screen.press("escape")


async def test_the_page_says_what_ended_a_training(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        await until(lambda: not trainer.pods(), "room for others")
        app = headless_app(tmp_path / "kubeconfig")
        async with app.run_test(size=(160, 45)) as pilot:
            screen = Headless(app, pilot)
            given = {"retries": "0", "launcher": "command"}

            await trainer.submit("mpijob", name="nodata", command=f"{RUN} --data /nowhere", **given)
            await trainer.failed("nodata")
            await said_on_page(
                screen, trainer, "nodata", "train.py: --data /nowhere: there is no such folder"
            )
            await trainer.delete(MPIJOBS, "nodata")

            command = "horovodrun --gloo -np 2 -H lost-worker-0:1,nobody:1 python /app/train.py"
            await trainer.submit("mpijob", name="lost", command=command, **given)
            await trainer.failed("lost")
            await said_on_page(screen, trainer, "lost", "cannot resolve nobody")
            await trainer.delete(MPIJOBS, "lost")

            with socket.create_server(("", 0)) as held:
                port = held.getsockname()[1]
                await _wants_port(trainer, port)
                await screen.press("2", "slash", *"name:taken", "enter")
                await screen.until_text(f"{TEAM}/taken", seconds=SECONDS)
                await screen.press("enter")
                await screen.until_text(f"port {port} is in use by process ", seconds=SECONDS)


async def _wants_port(trainer: Trainer, port: int) -> None:
    main = {
        "name": "main",
        "image": trainer.image,
        "command": ["python", "/app/train.py"],
        "ports": [{"containerPort": port}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    pod = {"spec": {"restartPolicy": "Never", "containers": [main]}}
    tree = {"metadata": {"name": "taken"}, "spec": {"backoffLimit": 0, "template": pod}}
    await trainer.port.create(JOBS, tree, TEAM)


async def test_the_page_names_the_worker_that_died(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        await until(lambda: not trainer.pods(), "room for others")
        await trainer.submit("mpijob", name="once", retries="0", launcher="command", command=RUN)
        ranks = [f"[{rank}]<stdout>:progress step=10 " for rank in (0, 1)]
        await until(lambda: all(map(trainer.says, ranks)), "both ranks train")
        app = headless_app(tmp_path / "kubeconfig")
        async with app.run_test(size=(160, 45)) as pilot:
            screen = Headless(app, pilot)
            await screen.press("2", "slash", *"name:once", "enter")
            await screen.until_text(f"{TEAM}/once", seconds=SECONDS)
            await screen.press("enter")
            await screen.until_text("Members by rank", "● running", seconds=SECONDS)
            os.kill(next(filter(is_sshd, trainer.processes("sshd"))), signal.SIGKILL)
            await trainer.failed("once")
            (dead,) = (name for name in trainer.pods("once-worker") if trainer.phase(name) == "Failed")
            await screen.until_text("× failed", f"137: {dead.removeprefix('once-')}", seconds=SECONDS)
            await until(lambda: not trainer.processes(), "no process is left")
