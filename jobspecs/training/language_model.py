"""Train a small language model with DistributedDataParallel: `torchrun --nproc-per-node 2 language_model.py`.

The text is every file of `--data`, or one that is made up. What it prints is told in README.md beside this
file.
"""

import argparse
import math
import os
import random
import socket
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

import checkpoints
import torch
from cifar import BadData
from compute_time import ComputeTime
from networks import SmallLanguageModel
from number_options import at_least, more_than_zero, not_negative
from progress_line import Meter, Value, say
from stopping import STOPPED, Stopping
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

WORDS = 200
"""Of the made-up language: each word is followed by one of three, so that there is something to learn."""


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="language_model.py", description="Train a small language model with DistributedDataParallel."
    )
    add = parser.add_argument
    count, positive = at_least(0), at_least(1)
    add("--data", default="", metavar="FOLDER", help="folder of text files; without them a made-up text")
    add("--batch", type=positive, default=16, help="sequences of one rank in a step (16)")
    add("--context", type=positive, default=64, help="bytes of a sequence (64)")
    add("--width", type=positive, default=64, help="of the model (64)")
    add("--layers", type=positive, default=2, help="(2)")
    add("--heads", type=positive, default=4, help="(4)")
    add("--steps", type=positive, default=500, help="(500)")
    add("--lr", type=more_than_zero, default=3e-3, help="learning rate (0.003)")
    add("--warmup", type=count, default=20, help="steps in which the rate grows from 0 (20)")
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
    chosen = parser.parse_args(arguments)
    if chosen.width % chosen.heads:
        parser.error(f"--heads: the width of {chosen.width} does not divide by {chosen.heads}")
    return chosen


def text_of(folder: str, seed: int) -> tuple[bytes, str]:
    """The text to learn, and why it is made up; "" where it is that of the folder. Raises BadData."""
    why = "no folder was named"
    if folder:
        if not Path(folder).is_dir():
            raise BadData(f"data: {folder} is no folder: mount the claim there, or leave --data out")
        files = sorted(path for path in Path(folder).iterdir() if path.is_file())
        if text := b"\n".join(path.read_bytes() for path in files):
            return text, ""
        why = f"{folder} has no text"
    drawn = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(drawn.choices(letters, k=drawn.randint(2, 7))) for _ in range(WORDS)]
    follows = [drawn.sample(range(WORDS), 3) for _ in range(WORDS)]
    told, word = [], 0
    for _ in range(100_000):
        told.append(words[word])
        word = drawn.choice(follows[word])
    return " ".join(told).encode(), why


class Training:
    """One rank's training."""

    def __init__(self, chosen: argparse.Namespace, stopping: Stopping, device: torch.device) -> None:
        self.options, self.stopping, self.device = chosen, stopping, device
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        torch.manual_seed(chosen.seed)
        text, why = text_of(chosen.data, chosen.seed)
        if len(text) <= chosen.context + 1:
            raise BadData(f"data: a text of {len(text)} bytes is shorter than a context of {chosen.context}")
        self.text = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        if self.rank == 0:
            say(
                "data",
                set="synthetic" if why else "text",
                samples=len(text) // chosen.context,
                why=why or None,
            )
        self.model = SmallLanguageModel(chosen.width, chosen.layers, chosen.heads, chosen.context).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=chosen.lr)
        self.step = self.resume()
        self.compute = ComputeTime(device)
        self.meter = Meter(time.perf_counter)
        self.losses: list[torch.Tensor] = []
        self.loss = math.nan
        self.ranks = DistributedDataParallel(self.model)  # sends the parameters of rank 0 to all
        self.ranks.register_comm_hook(self.compute, _exchange)
        self.writer: Any = None

    def resume(self) -> int:
        """The step of the newest checkpoint that is whole, taken by every rank; 0 where there is none."""
        if not self.options.checkpoints:
            return 0
        path = checkpoints.newest_whole(Path(self.options.checkpoints), self._refused)
        # Rank 0 decides: the others may see the folder as it was a moment ago.
        decided = [str(path) if path else ""]
        distributed.broadcast_object_list(decided, src=0)
        if not decided[0]:
            return 0
        held = torch.load(decided[0], map_location=self.device, weights_only=True)
        sizes = [self.options.width, self.options.layers, self.options.heads, self.options.context]
        if held["sizes"] != sizes:
            told = ", ".join(map(str, held["sizes"]))
            raise BadData(
                f"checkpoints: {decided[0]} has width, layers, heads, context {told}: name another folder"
            )
        self.model.load_state_dict(held["model"])
        self.optimizer.load_state_dict(held["optimizer"])
        if self.rank == 0:
            say("resumed", step=held["step"], file=decided[0])
        return int(held["step"])

    def _refused(self, path: Path, why: str) -> None:
        if self.rank == 0:
            say("refused", file=str(path), why=why)

    def checkpoint(self) -> None:
        """On rank 0 write a checkpoint of this step."""
        if self.rank or not self.options.checkpoints:
            return
        sizes = [self.options.width, self.options.layers, self.options.heads, self.options.context]
        held = {
            "sizes": sizes,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
        }

        def fill(sink: BinaryIO) -> None:
            torch.save(held, sink)

        path = checkpoints.write(Path(self.options.checkpoints), self.step, fill, self.options.keep)
        say("checkpoint", step=self.step, file=str(path))

    def batch(self) -> torch.Tensor:
        """This rank's sequences of this step, a byte longer than the context; drawn by seed, step, rank."""
        drawn = torch.Generator().manual_seed((self.options.seed * 100_003 + self.step) * 4099 + self.rank)
        begins = torch.randint(len(self.text) - self.options.context, (self.options.batch,), generator=drawn)
        places = begins[:, None] + torch.arange(self.options.context + 1)
        return self.text[places].long().to(self.device)

    def run(self) -> bool:
        """Train to the last step; False where a rank was asked to end before it."""
        while self.step < self.options.steps:
            if self.one_step():
                self.checkpoint()
                return False
            if self.step % self.options.checkpoint_every == 0 or self.step == self.options.steps:
                self.checkpoint()
        return True

    def one_step(self) -> bool:
        """Forward, backward with the exchange in it, update; whether any rank was asked to end."""
        begun = time.perf_counter()
        rate = self.options.lr * min(1.0, (self.step + 1) / max(self.options.warmup, 1))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.compute.begin()
        text = self.batch()
        self.optimizer.zero_grad()
        told = self.ranks(text[:, :-1])
        loss = functional.cross_entropy(told.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        self.compute.done()
        self.losses.append(loss.detach())
        self.step += 1
        if (left := self.options.pace - (time.perf_counter() - begun)) > 0:
            time.sleep(left)
        self.meter.step(self.options.batch * self.size)
        asked = torch.tensor(float(self.stopping.is_asked), device=self.device)
        distributed.all_reduce(asked)
        is_asked = asked.item() > 0
        if self.step % self.options.interval == 0 or self.step == self.options.steps or is_asked:
            self.report(rate)
        return is_asked

    def report(self, rate: float) -> None:
        """The lines of this interval, and the points of TensorBoard."""
        samples_per_s, seconds = self.meter.interval()
        own: dict[str, Value] = {"seconds_per_step": seconds, "compute_s": self.compute.mean_s()}
        mean = torch.stack(self.losses).mean()
        self.losses.clear()
        distributed.all_reduce(mean)
        self.loss = mean.item() / self.size
        ranks = {"rank": self.rank, "size": self.size}
        if self.rank:
            say("progress", step=self.step, **own, **ranks)
            return
        counts = {"step": self.step, "steps": self.options.steps}
        say("progress", **counts, loss=self.loss, samples_per_s=samples_per_s, **own, **ranks)
        if not self.options.tensorboard:
            return
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(self.options.tensorboard, purge_step=self.step, flush_secs=5)
        for name, value in (("loss", self.loss), ("samples_per_s", samples_per_s), ("learning_rate", rate)):
            self.writer.add_scalar(name, value, self.step)


def _exchange(compute: ComputeTime, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A bucket of gradients is ready: the step's own work lasted at least until here. Then the usual mean."""
    compute.end()
    return allreduce_hook(None, bucket)


def main() -> int:
    """Train; the exit code."""
    chosen = options()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    rank = distributed.get_rank()
    stopping = Stopping(chosen.grace, lambda name: say("stopping", signal=name, rank=rank))
    host = socket.gethostname()
    say("started", rank=rank, size=distributed.get_world_size(), host=host, device=str(device))
    try:
        training = Training(chosen, stopping, device)
    except BadData as error:
        sys.stderr.write(f"{error}\n")
        return 2
    is_done = training.run()
    if training.writer is not None:
        training.writer.close()
    if rank == 0:
        why, loss = "done" if is_done else "stopped", None if math.isnan(training.loss) else training.loss
        say("ended", step=training.step, why=why, loss=loss, samples_per_s=training.meter.samples_per_s)
    distributed.destroy_process_group()
    return 0 if is_done else STOPPED


if __name__ == "__main__":
    sys.exit(main())
