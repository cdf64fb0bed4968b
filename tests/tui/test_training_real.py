"""torch and Horovod train in the embedded cluster: an MPIJob over ssh, with checkpoints and growth."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.kube.resource import MPIJOBS, PODS
from cockpit.sim import training_env
from cockpit.sim.actors.kubelet.local_images import HOROVOD
from tests.unit.sim.training.trainer import Trainer, training
from tests.waiting import until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        training_env.ready() is None, reason="no training environment: make train-env makes it"
    ),
]
PROGRAM = "python /app/train.py --model small --samples 512 --batch 16 --seed 7 --interval 4 --epochs 1000"
FALLS_TO = 0.5
"""Of the first loss that is told."""
_LOSS = re.compile(r"\[0\]<stdout>:progress step=([0-9]+) .*\bloss=([0-9.]+)")


def losses(trainer: Trainer) -> Iterator[tuple[int, float]]:
    """Step and loss of each line of rank 0 that is there."""
    for line in trainer.said():
        found = _LOSS.match(line)
        if found is not None:
            yield int(found[1]), float(found[2])


def has_learned(trainer: Trainer) -> bool:
    """Whether the loss has fallen as far as this seed lets it."""
    found = [loss for _, loss in losses(trainer)]
    return bool(found) and found[-1] < FALLS_TO * found[0]


async def test_a_job_learns_stops_with_a_checkpoint_goes_on_and_survives_a_worker(tmp_path: Path) -> None:
    async with training(tmp_path, HOROVOD) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        await trainer.submit(
            "mpijob", name="learns", launcher="horovodrun", checkpoint="checkpoints:/checkpoints",
            command=f"{PROGRAM} --checkpoints /checkpoints/learns",
        )  # fmt: skip
        await until(lambda: has_learned(trainer), "the loss falls")
        assert trainer.says("[1]<stdout>:progress ") and trainer.says(" rank=1 size=2")

        await trainer.patch(MPIJOBS, "learns", {"spec": {"runPolicy": {"suspend": True}}})
        await until(lambda: not trainer.pods(), "all pods are gone")
        assert trainer.processes() == []
        kept = sorted((trainer.folder / "pods/.claims").glob("*/learns/checkpoint-*.pt"))
        step = int(kept[-1].stem.rpartition("-")[2])
        await trainer.patch(MPIJOBS, "learns", {"spec": {"runPolicy": {"suspend": False}}})
        await until(lambda: trainer.says(f"[0]<stdout>:resumed step={step} "), "it goes on")
        await until(lambda: any(one > step for one, _ in losses(trainer)), "it goes on learning")

        await trainer.delete(PODS, "learns-worker-1")
        await until(lambda: trainer.says("Process name: "), "it is told")
        await until(
            lambda: trainer.says("[0]<stdout>:resumed step=") and len(trainer.pods("worker")) == 2,
            "it is tried again",
        )

        await trainer.delete(MPIJOBS, "learns")
        await until(lambda: not trainer.processes(), "nothing of it runs")

        await trainer.submit(
            "mpijob", name="fails", launcher="horovodrun", retries="0", command=PROGRAM,
        )  # fmt: skip
        await until(lambda: trainer.says("[1]<stdout>:progress ", "fails-launcher"), "both ranks train")
        await trainer.delete(PODS, "fails-worker-1")
        said = await trainer.failed("fails")
        assert "Process name: " in said and "Exit code: " in said


async def test_an_elastic_job_grows_from_two_ranks_to_four(tmp_path: Path) -> None:
    async with training(tmp_path, HOROVOD) as trainer:
        await trainer.delete(MPIJOBS, "cifar")
        await trainer.submit(
            "mpijob-elastic", name="grows", workers="2", min_workers="2", max_workers="4", command=PROGRAM
        )
        await until(
            lambda: trainer.says("[1]<stdout>:progress ") and trainer.says(" size=2"), "two ranks train"
        )
        await trainer.patch(MPIJOBS, "grows", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 4}}}})
        await until(
            lambda: trainer.says("[0]<stdout>:resized ") and trainer.says(" size=4 "), "it is resized"
        )
        await until(lambda: trainer.says("[3]<stdout>:progress "), "four ranks train")
        await trainer.delete(PODS, "grows-worker-3")
        await until(lambda: trainer.says(" size=3 before=4"), "it shrinks")
        await until(lambda: trainer.says(" size=4 before=3"), "it grows again")
        assert not trainer.condition("grows", "Failed")
        await trainer.delete(MPIJOBS, "grows")
        await until(lambda: not trainer.processes(), "nothing of it runs")
