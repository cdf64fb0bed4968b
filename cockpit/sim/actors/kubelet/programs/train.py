"""A stand-in for the programs of jobspecs/training: it prints what they print, waits, and trains nothing.

It knows their options for steps, interval, pace, seed and checkpoints; others it passes over. A checkpoint
holds the step alone. The first line says that this is a stand-in.
"""

import argparse
import math
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_STOPPED = 143
_BATCH = 64
_LEAST_SECONDS = 0.05
"""Of a step, so that somebody can watch it."""


def options(words: Sequence[str]) -> argparse.Namespace:
    """Of the options that the real programs have those that change what is printed."""
    parser = argparse.ArgumentParser(prog="train.py (stand-in)")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--interval", type=int, default=10)
    parser.add_argument("--batch", type=int, default=_BATCH)
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoints", default="")
    parser.add_argument("--checkpoint-every", type=int, default=100)
    parser.add_argument("--data", default="")
    return parser.parse_known_args(words)[0]


def say(event: str, **pairs: object) -> None:
    """One line, written at once."""
    told = (
        f"{key}={value:.5g}" if isinstance(value, float) else f"{key}={value}" for key, value in pairs.items()
    )
    sys.stdout.write(" ".join((event, *told)) + "\n")
    sys.stdout.flush()


def loss_at(step: int, seed: int) -> float:
    """A curve that falls as losses do, with noise that belongs to the step."""
    return 0.35 + 2.0 * math.exp(-step / 150) + random.Random(seed * 1_000_003 + step).gauss(0.0, 0.02)


class StandInRank:
    """One rank."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.rank = int(os.environ.get("HOROVOD_RANK", os.environ.get("RANK", "0")))
        self.size = int(os.environ.get("HOROVOD_SIZE", os.environ.get("WORLD_SIZE", "1")))
        self.folder = Path(given.checkpoints) if given.checkpoints else None
        self.step = int(os.environ.get("STAND_IN_STEP", "0"))
        self.told = ""
        self._since, self._steps = 0.0, 0

    def tell(self, number: int, frame: object) -> None:
        """A signal: end after this step."""
        self.told = signal.Signals(number).name

    def resume(self) -> None:
        """Go on from the newest checkpoint, where that is further."""
        kept = sorted(self.folder.glob("checkpoint-*.stand-in")) if self.folder else []
        for path in reversed(kept):
            text = path.read_text(encoding="ascii", errors="replace").strip()
            if not text.isdigit():
                self._by_first("refused", file=path.name, why="cut")
                continue
            if int(text) > self.step:
                self.step = int(text)
                self._by_first("resumed", step=self.step, file=path.name)
            return

    def checkpoint(self) -> None:
        """Rank 0 writes the step."""
        if self.folder is None or self.rank:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"checkpoint-{self.step:08d}.stand-in"
        half = path.with_name(f".{path.name}")
        half.write_text(f"{self.step}\n", encoding="ascii")
        half.replace(path)
        say("checkpoint", step=self.step, file=path.name)

    def train(self) -> int:
        """The exit code."""
        given = self.given
        self._by_first("stand-in", trains="nothing")
        say(
            "started",
            rank=self.rank,
            size=self.size,
            host=os.environ.get("HOROVOD_HOSTNAME", "localhost"),
            device="none",
        )
        if given.data and not Path(given.data).is_dir():
            sys.stderr.write(f"train.py: --data {given.data}: there is no such folder\n")
            return 2
        self._by_first("data", set="synthetic", samples=50_000, why="stand-in")
        self.resume()
        self._since, self._steps = time.monotonic(), 0
        while self.step < given.steps and not self.told:
            time.sleep(max(_LEAST_SECONDS, given.pace))
            self.step, self._steps = self.step + 1, self._steps + 1
            if self.step % given.interval == 0 or self.step == given.steps:
                self._progress()
            if self.step % given.checkpoint_every == 0:
                self.checkpoint()
        if self.told:
            say("stopping", signal=self.told, rank=self.rank)
            self.checkpoint()
        why = "stopped" if self.told else "done"
        self._by_first("ended", step=self.step, why=why, loss=loss_at(self.step, given.seed))
        return _STOPPED if self.told else 0

    def _progress(self) -> None:
        now = time.monotonic()
        seconds = (now - self._since) / self._steps
        self._since, self._steps = now, 0
        common = {
            "seconds_per_step": seconds,
            "compute_s": 0.8 * seconds,
            "rank": self.rank,
            "size": self.size,
        }
        if self.rank:
            say("progress", step=self.step, **common)
            return
        of_all = self.given.batch * self.size
        say(
            "progress", step=self.step, steps=self.given.steps, epoch=1 + self.step * of_all // 50_000,
            loss=loss_at(self.step, self.given.seed), samples_per_s=of_all / seconds, **common,
        )  # fmt: skip

    def _by_first(self, event: str, **pairs: object) -> None:
        if self.rank == 0:
            say(event, **pairs)


def main(words: Sequence[str]) -> int:
    """Run one rank."""
    run = StandInRank(options(words))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, run.tell)
    return run.train()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
