"""Train an image classifier with Horovod: `horovodrun -np 2 python train.py`, or mpirun; elastic as well.

CIFAR-10 from `--data`, or a synthetic set of its shape. What it prints is told in README.md beside this file.
"""

import argparse
import math
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

import checkpoints
import horovod.torch as hvd
import images
import torch
from cifar import BadData
from compute_time import ComputeTime
from networks import NETWORKS
from number_options import at_least, more_than_zero, not_negative
from progress_line import Meter, Value, say
from stopping import STOPPED, Stopping
from torch.nn import functional

IS_ELASTIC = os.environ.get("HOROVOD_ELASTIC") == "1"
MOMENTUM, WEIGHT_DECAY = 0.9, 1e-4


class Stopped(Exception):
    """Training ends before its last step because a rank was asked to."""


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="train.py", description="Train an image classifier with Horovod.")
    add = parser.add_argument
    count, positive = at_least(0), at_least(1)
    add(
        "--data",
        default="",
        metavar="FOLDER",
        help="folder with the files of CIFAR-10; without them a synthetic set",
    )
    add("--samples", type=count, default=0, help="images to train with (0: all; 50,000 synthetic ones)")
    add("--model", choices=sorted(NETWORKS), default="resnet20")
    add("--batch", type=positive, default=64, help="images of one rank in a step (64)")
    add("--epochs", type=positive, default=10, help="passes over the data (10)")
    add("--steps", type=count, default=0, help="end after this step (0: after the epochs)")
    add(
        "--lr",
        type=more_than_zero,
        default=0.02,
        help="learning rate of one rank; that of the job grows with the ranks (0.02)",
    )
    add("--warmup", type=count, default=50, help="steps in which the rate grows from that of one rank (50)")
    add(
        "--compression",
        choices=("none", "fp16"),
        default="none",
        help="of gradients while they are exchanged",
    )
    add("--checkpoints", default="", metavar="FOLDER", help="where checkpoints are written, and resumed from")
    add("--checkpoint-every", type=positive, default=100, metavar="STEPS", help="(100)")
    add("--keep", type=positive, default=3, help="checkpoints that are kept (3)")
    add("--tensorboard", default="", metavar="FOLDER", help="where event files are written")
    add("--interval", type=positive, default=10, metavar="STEPS", help="between two lines of progress (10)")
    add(
        "--grace",
        type=not_negative,
        default=20.0,
        metavar="SECONDS",
        help="to end after SIGTERM (20)",
    )
    add(
        "--pace",
        type=not_negative,
        default=0.0,
        metavar="SECONDS",
        help="a step takes at least this long; to watch it (0)",
    )
    add("--seed", type=count, default=1)
    return parser.parse_args(arguments)


def learning_rate(base: float, size: int, step: int, warmup: int, steps: int) -> float:
    """For a step: the rate of one rank times the ranks, reached in a straight line, then half a cosine to 0.

    The warm-up is that of Goyal and others (2017): the large rate of many ranks does harm at the beginning.
    """
    scaled = base * size
    if step < warmup:
        return base + (scaled - base) * (step + 1) / warmup
    return scaled * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(steps - warmup, 1))))


def optimizer_of(model: torch.nn.Module, lr: float, compression: str) -> Any:
    """SGD with momentum whose gradients are averaged over the ranks.

    The momentum exists from the beginning. Horovod would make it by a step with zero gradients on each rank
    that has none, after the parameters were sent round: with weight decay a rank that joins would differ
    from the others.
    """
    sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    for parameter in model.parameters():
        sgd.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return hvd.DistributedOptimizer(
        sgd, named_parameters=model.named_parameters(), compression=getattr(hvd.Compression, compression)
    )


class ElasticState(hvd.elastic.TorchState):
    """Horovod's own, but for hosts that come while ranks are being exchanged: 0.28 forgets their notice, and
    takes two within a second for one. A job that was to grow by two workers would stay one short."""

    _host_messages: Any

    def on_hosts_updated(self, timestamp: float, update_res: Any) -> None:
        """By the launcher, in whole seconds: one in the second of the last is one more."""
        super().on_hosts_updated(max(timestamp, self._last_updated_timestamp + 1), update_res)

    def on_reset(self) -> None:
        """Ranks were exchanged. What came meanwhile is looked at again: at worst for nothing."""
        notices = self._host_messages
        super().on_reset()
        self._host_messages = notices


class Training:
    """One rank's training. What is equal on all ranks, and outlives a change of size, is in `state`."""

    def __init__(self, chosen: argparse.Namespace, stopping: Stopping) -> None:
        self.options = chosen
        self.stopping = stopping
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", hvd.local_rank())
            torch.cuda.set_device(self.device)
        torch.manual_seed(chosen.seed)
        self.train_set, self.test_set, why = images.load(chosen.data, chosen.samples, chosen.seed)
        if chosen.batch * hvd.size() > len(self.train_set):
            raise BadData(
                f"batch: {chosen.batch} images on each of {hvd.size()} ranks are more than the "
                f"{len(self.train_set)} there are: choose a smaller batch"
            )
        if hvd.rank() == 0:
            name = "synthetic" if why else "cifar-10"
            say("data", set=name, samples=len(self.train_set), why=why or None)
        self.model = NETWORKS[chosen.model]().to(self.device)
        self.optimizer = optimizer_of(self.model, chosen.lr, chosen.compression)
        step, epoch, seen = self.resume()
        # Sent from rank 0 to all by its `sync`: parameters, optimizer and place. Not here: a rank that
        # joins an elastic job makes all this while the others wait for it in their `sync`.
        self.state = ElasticState(self.model, self.optimizer, step=step, epoch=epoch, seen=seen)
        self.writer: Any = None
        self.size = hvd.size()
        self.loss = math.nan
        self.meter = Meter(time.perf_counter)
        self.compute = ComputeTime(self.device)
        self.losses: list[torch.Tensor] = []

    # --------------------------------------------------------------------------------------

    def resume(self) -> tuple[int, int, int]:
        """On rank 0 take the newest checkpoint that is whole: step, epochs done, images seen of the next.

        Raises BadData where it is of another network.
        """
        if hvd.rank() or not self.options.checkpoints:
            return 0, 0, 0
        path = checkpoints.newest_whole(
            Path(self.options.checkpoints), lambda path, why: say("refused", file=str(path), why=why)
        )
        if path is None:
            return 0, 0, 0
        held = torch.load(path, map_location=self.device, weights_only=True)
        if held["model_name"] != self.options.model:
            raise BadData(
                f"checkpoints: {path} is of {held['model_name']}, not of {self.options.model}: "
                "name another folder"
            )
        self.model.load_state_dict(held["model"])
        self.optimizer.load_state_dict(held["optimizer"])
        say("resumed", step=held["step"], file=str(path))
        return held["step"], held["epoch"], held["seen"]

    def checkpoint(self) -> None:
        """On rank 0 write a checkpoint of this step."""
        if hvd.rank() or not self.options.checkpoints:
            return
        held = {
            "model_name": self.options.model,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.state.step,
            "epoch": self.state.epoch,
            "seen": self.state.seen,
        }

        def fill(sink: BinaryIO) -> None:
            torch.save(held, sink)

        path = checkpoints.write(Path(self.options.checkpoints), self.state.step, fill, self.options.keep)
        say("checkpoint", step=self.state.step, file=str(path))

    def points(self, **values: float) -> None:
        """Add points to TensorBoard's event files; by whichever rank is 0 now."""
        if not self.options.tensorboard:
            return
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(self.options.tensorboard, purge_step=self.state.step, flush_secs=5)
        for name, value in values.items():
            self.writer.add_scalar(name, value, self.state.step)

    # -------------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """How many steps there will be with as many ranks as now."""
        if self.options.steps:
            return self.options.steps
        each = self.options.batch * hvd.size()
        left = max(len(self.train_set) - self.state.seen, 0) // each
        whole = max(self.options.epochs - self.state.epoch - 1, 0) * (len(self.train_set) // each)
        return self.state.step + left + whole

    def one_step(self) -> None:
        """Forward, backward, exchange, update; raises Stopped where a rank was asked to end."""
        begun = time.perf_counter()
        each = self.options.batch * hvd.size()
        if self.state.seen + each > len(self.train_set):
            self.validate()
            self.state.epoch, self.state.seen = self.state.epoch + 1, 0
        # Asked for beside the gradients: all ranks learn of a stop in the same step, and wait for nothing
        # more.
        asked = hvd.allreduce_async(torch.tensor([int(self.stopping.is_asked)]), op=hvd.Sum, name="stop")
        rate = learning_rate(self.options.lr, hvd.size(), self.state.step, self.options.warmup, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        begin = self.state.seen + hvd.rank() * self.options.batch
        mine = images.chosen(
            len(self.train_set), self.options.seed, self.state.epoch, begin, self.options.batch
        )
        with self.compute:
            pixels, labels = self.train_set.batch(mine, self.device, torch.float32)
            self.optimizer.zero_grad()
            loss = functional.cross_entropy(self.model(pixels), labels)
            loss.backward()
        self.optimizer.step()
        self.losses.append(loss.detach())
        self.state.step += 1
        self.state.seen += each
        if (left := self.options.pace - (time.perf_counter() - begun)) > 0:
            time.sleep(left)
        self.meter.step(each)
        self._after_step(rate, int(hvd.synchronize(asked).item()))

    def _after_step(self, rate: float, asking: int) -> None:
        is_last = self.state.step >= self.steps
        if self.state.step % self.options.interval == 0 or is_last or asking:
            self.report(rate)
        if asking:
            self._stop(asking)
        if self.state.step % self.options.checkpoint_every == 0 or is_last:
            self.checkpoint()
        if IS_ELASTIC and self.state.step % self.options.interval == 0:
            self.state.commit()

    def _stop(self, asking: int) -> None:
        """A checkpoint; then this rank ends, unless it is elastic and only others were asked."""
        self.checkpoint()
        if not IS_ELASTIC or asking == hvd.size() or self.stopping.is_asked:
            raise Stopped
        self.state.save()  # the ranks that leave end the exchange; the next one begins from here

    def report(self, rate: float) -> None:
        """The lines of this interval, and the points of TensorBoard."""
        samples_per_s, seconds = self.meter.interval()
        own: dict[str, Value] = {"seconds_per_step": seconds, "compute_s": self.compute.mean_s()}
        mean = torch.stack(self.losses).mean().cpu()
        self.losses.clear()
        self.loss = hvd.allreduce(mean, op=hvd.Average, name="loss").item()
        ranks = {"rank": hvd.rank(), "size": hvd.size()}
        if hvd.rank():
            say("progress", step=self.state.step, **own, **ranks)
            return
        counts = {"step": self.state.step, "steps": self.steps, "epoch": self.state.epoch + 1}
        say("progress", **counts, loss=self.loss, samples_per_s=samples_per_s, **own, **ranks)
        self.points(loss=self.loss, samples_per_s=samples_per_s, learning_rate=rate)

    @torch.no_grad()
    def validate(self) -> None:
        """Accuracy over the test images, each rank its share, averaged over the ranks."""
        self.model.eval()
        right, loss, count = 0, 0.0, 0
        for begin in range(hvd.rank() * 256, len(self.test_set), hvd.size() * 256):
            some = torch.arange(begin, min(begin + 256, len(self.test_set)))
            pixels, labels = self.test_set.batch(some, self.device, torch.float32)
            told = self.model(pixels)
            loss += functional.cross_entropy(told, labels, reduction="sum").item()
            right += int((told.argmax(1) == labels).sum())
            count += len(some)
        self.model.train()
        sums = torch.tensor([right, loss, count], dtype=torch.float64)
        right, loss, count = hvd.allreduce(sums, op=hvd.Sum, name="validation").tolist()
        if hvd.rank() == 0:
            say("validated", epoch=self.state.epoch + 1, accuracy=right / count, loss=loss / count)
            self.points(accuracy=right / count)
        self.meter.restart()
        self.compute.restart()


def loop(state: Any, training: Training) -> None:
    """Train to the last step. Called again, with all ranks in step, after ranks came or went."""
    if hvd.size() != training.size and hvd.rank() == 0:
        say("resized", step=state.step, size=hvd.size(), before=training.size)
    training.size = hvd.size()
    training.losses.clear()
    training.meter.restart()
    training.compute.restart()
    say("started", rank=hvd.rank(), size=hvd.size(), host=_host(), device=str(training.device))
    while state.step < training.steps:
        training.one_step()
    training.validate()


def _host() -> str:
    """horovodrun's name of the host: the pod's, also where several pods share a machine."""
    return os.environ.get("HOROVOD_HOSTNAME") or socket.gethostname()


def _ended(training: Training, why: str) -> None:
    if training.writer is not None:
        training.writer.close()
    if hvd.rank() == 0:
        rate, loss = training.meter.samples_per_s, training.loss
        told = None if math.isnan(loss) else loss
        say("ended", step=training.state.step, why=why, loss=told, samples_per_s=rate)


def main() -> int:
    """Train; the exit code."""
    chosen = options()
    hvd.init()
    stopping = Stopping(chosen.grace, lambda name: say("stopping", signal=name, rank=hvd.rank()))
    try:
        training = Training(chosen, stopping)
    except BadData as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        if IS_ELASTIC:
            hvd.elastic.run(loop)(training.state, training)
        else:
            training.state.sync()
            loop(training.state, training)
    except Stopped:
        _ended(training, "stopped")
        return STOPPED
    _ended(training, "done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
