"""An MPIJob runs as processes: hosts, ranks, suspend and resume, workers that die, growth, its end."""

import os
import re
import signal
import socket
from pathlib import Path

import pytest

from cockpit.kube.resource import MPIJOBS, PODS
from cockpit.sim.resources import PERSISTENT_VOLUME_CLAIMS
from tests.unit.sim.training.trainer import TEAM, Trainer, is_sshd, training
from tests.waiting import until

pytestmark = pytest.mark.waits
RANKS = ("[0]<stdout>:progress step=10 ", "[1]<stdout>:progress step=10 ")


def kept(trainer: Trainer) -> list[Path]:
    """Checkpoints on the claim."""
    return sorted((trainer.folder / "pods" / ".claims").glob("*/cifar/checkpoint-*"))


async def test_suspend_leaves_a_checkpoint_resume_goes_on_from_it_and_kill_leaves_no_process(
    tmp_path: Path,
) -> None:
    async with training(tmp_path) as trainer:
        await until(lambda: all(map(trainer.says, RANKS)), "both ranks train")
        assert trainer.says("host=cifar-worker-1.cifar.vision.svc device=none")
        assert len(trainer.processes("/app/train.py")) >= 2

        await trainer.patch(MPIJOBS, "cifar", {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: not trainer.pods(), "all pods are gone")
        assert trainer.processes() == []
        (checkpoint,) = kept(trainer)
        step = checkpoint.read_text().strip()

        await trainer.patch(MPIJOBS, "cifar", {"spec": {"runPolicy": {"suspend": False}}})
        await until(lambda: trainer.says(f"[0]<stdout>:resumed step={step} "), "it goes on")

        await trainer.delete(MPIJOBS, "cifar")
        await until(lambda: not trainer.pods(), "all pods are gone")
        assert trainer.processes() == []

        await trainer.delete(PERSISTENT_VOLUME_CLAIMS, "checkpoints")
        await until(lambda: not kept(trainer), "what the claim held is gone, too")


async def test_a_deleted_worker_takes_its_ranks_with_it_and_the_job_is_tried_again(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await until(lambda: all(map(trainer.says, RANKS)), "both ranks train")
        await trainer.delete(PODS, "cifar-worker-1")
        await until(lambda: trainer.says("[1]<stdout>:stopping signal=SIGTERM rank=1"), "the rank heard")
        await until(lambda: trainer.says("[0]<stdout>:resumed step="), "it is resumed")
        assert trainer.says("Process name: 1") and trainer.says("Exit code: 143")

        def ranks() -> list[str]:
            found = [_environment(pid).get("HOROVOD_RANK") for pid in trainer.processes("/app/train.py")]
            return sorted(one for one in found if one)

        await until(lambda: ranks() == ["0", "1"], "two ranks run, and none of the first attempt")


async def test_a_worker_that_dies_ends_a_job_without_retries_as_failed_and_is_named(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        await trainer.submit("mpijob", name="once", retries="0", launcher="command", command=_STATIC)
        await until(lambda: all(map(trainer.says, RANKS)), "both ranks train")
        os.kill(next(filter(is_sshd, trainer.processes("sshd"))), signal.SIGKILL)
        heard = await trainer.failed("once")
        assert re.search(r"Connection to once-worker-[01].once.vision.svc closed by remote host", heard), (
            heard
        )
        assert "Failed" in (trainer.phase("once-worker-0"), trainer.phase("once-worker-1"))


_STATIC = "horovodrun --gloo -np 2 --hostfile /etc/mpi/hostfile python /app/train.py --steps 100000"


def _environment(pid: int) -> dict[str, str]:
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    except OSError:  # it has just ended
        return {}
    return dict(one.split("=", 1) for one in pairs if "=" in one)


async def test_a_wrong_host_ends_the_job_as_failed_and_is_named(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        command = "horovodrun --gloo -np 2 -H lost-worker-0:1,nobody:1 python /app/train.py"
        await trainer.submit("mpijob", name="lost", retries="0", launcher="command", command=command)
        heard = await trainer.failed("lost")
        assert "ssh not successful for host nobody" in heard
        assert "Could not resolve hostname nobody: Name or service not known" in heard


async def test_an_elastic_job_shrinks_and_grows_with_its_workers(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        await trainer.submit(
            "mpijob-elastic", name="grows", workers="2", min_workers="2", max_workers="4",
            command="python /app/train.py --steps 100000",
        )  # fmt: skip
        await until(lambda: trainer.says("rank=1 size=2"), "two ranks train")
        await trainer.patch(MPIJOBS, "grows", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 4}}}})
        await until(
            lambda: trainer.says("[3]<stdout>:progress ") and trainer.says(" size=4"), "four ranks train"
        )
        await trainer.patch(MPIJOBS, "grows", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}})
        await until(lambda: trainer.says("rank=2 size=3"), "three ranks train")
        assert not trainer.condition("grows", "Failed")
        await trainer.delete(MPIJOBS, "grows")
        await until(lambda: not trainer.processes(), "nothing of it runs")


async def test_a_data_set_that_is_not_there_ends_the_job_and_is_named(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        command = "horovodrun --gloo -np 2 --hostfile /etc/mpi/hostfile python /app/train.py --data /nowhere"
        await trainer.submit("mpijob", name="nodata", retries="0", launcher="command", command=command)
        assert "--data /nowhere: there is no such folder" in await trainer.failed("nodata")


async def test_a_port_in_use_is_refused_with_its_holder(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        program = (
            f"import socket,time;s=socket.create_server(('',{port}));print('up',flush=True);time.sleep(9999)"
        )
        ports = {"ports": [{"containerPort": port}]}
        await trainer.run("first", "", {**ports, "command": ["python3", "-c", program]})
        await until(lambda: trainer.says("up", "first"), "it listens")
        await trainer.run("second", "sleep 9999", ports)
        await until(lambda: trainer.phase("second") == "Failed", "the second has failed")
        tree = trainer.object(PODS, "second")
        assert tree is not None
        end = tree["status"]["containerStatuses"][0]["state"]["terminated"]
        assert end["reason"] == "StartError"
        assert f"port {port} of this machine is in use by pod {TEAM}/first, process " in end["message"]


async def test_each_pod_has_an_address_of_its_own_where_it_may_bind_the_same_port(tmp_path: Path) -> None:
    async with training(tmp_path) as trainer:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        program = (
            f"import os,socket,time;s=socket.create_server((os.environ['IP'],{port}));"
            "print('up',os.environ['IP'],flush=True);time.sleep(9999)"
        )
        env = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
        container = {"command": ["python3", "-c", program], "env": env, "ports": [{"containerPort": port}]}
        for name in ("left", "right"):
            await trainer.run(name, "", container)
        await until(
            lambda: trainer.says("up 127.", "left") and trainer.says("up 127.", "right"), "both listen"
        )
        addresses = {name: trainer.said(name)[-1] for name in ("left", "right")}
        assert addresses["left"] != addresses["right"]
