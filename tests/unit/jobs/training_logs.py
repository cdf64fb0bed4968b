"""Logs as the usual training programs write them, generated, and what is true of the run that they"
" tell of."""

import math
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

from cockpit.model.log import LogLine, LogSource

BEGUN = 1_700_000_000.0
LAUNCHER = LogSource("uid", "team-a", "job-launcher", "launcher", is_leader=True)
NOISE = (
    "NCCL INFO Channel 00/08 : 0 1 2 3 4 5 6 7",
    "UserWarning: The epoch parameter in scheduler.step() was not necessary",
    "Test: [ 10/196]\tTime  0.512 ( 0.734)\tLoss 9.9999e+00 (9.9e+00)\tAcc@1  10.00",
    "Validation DataLoader 0:  45%|####      | 450/1000 [00:32<00:39, 13.93it/s, val_loss=9.99]",
    'data set=synthetic samples=50000 why="no file step=7 loss=3 in /data"',
    "checkpoint step=3 file=/checkpoints/step-3.pt",
    "Downloading:  45%|####      | 450M/1000M [00:32<00:39, 13.93MB/s]",
    "",
    "\u2588" * 40,
)


class Told(NamedTuple):
    """One interval: what a program has to say of it."""

    step: int
    steps: int
    loss: float
    rate: float  # samples/s of all ranks together
    seconds_per_step: float
    size: int


class Log(NamedTuple):
    """Lines with the moments of their writing, and what is true: samples/s after the warm-up, and the end."""

    lines: list[tuple[float, str]]
    rate: float
    last: Told


BATCH = 128
Write = Callable[[Told], str]


def _own(one: Told) -> str:
    return (
        f"progress step={one.step} steps={one.steps} epoch=1 loss={one.loss:.4f}"
        f" samples_per_s={one.rate:.1f} seconds_per_step={one.seconds_per_step:.5f} rank=0 size={one.size}"
    )


def _bar(one: Told) -> str:
    done, speed = 100 * one.step // one.steps, 1 / one.seconds_per_step
    drawn = "#" * (done // 10)
    return f"{done:3d}%|{drawn:<10}| {one.step}/{one.steps} [00:32<00:39, {speed:.4f}it/s"


FORMATS: dict[str, Write] = {
    "own": _own,
    "horovod-benchmark": lambda one: f"Iter #{one.step}: {one.rate / one.size:.2f} img/sec per GPU",
    "imagenet": lambda one: (
        f"Epoch: [0][{one.step:5d}/{one.steps}]\tTime {one.seconds_per_step:6.4f} ( 0.7)\tData "
        f" 0.012 (  0.211)"
        f"\tLoss {one.loss:.4e} (7.0e+00)\tAcc@1   0.39 (  0.10)"
    ),
    "lightning": lambda one: (
        f"Epoch 0: {_bar(one)}, v_num=5, train_loss_step={one.loss:.4f}, train_loss_epoch=9.0]"
    ),
    "tqdm": lambda one: f"{_bar(one)}, loss={one.loss:.4f}]",
    "keras": lambda one: (
        f"{one.step}/{one.steps} [=====>....] - ETA: 3s - loss: {one.loss:.4f} - accuracy: 0.9000"
    ),
    "deepspeed": lambda one: (
        f"[2024-05-05 10:00:00,123] [INFO] [timer.py:260:stop]"
        f" epoch=0/micro_step={one.step}/global_step={one.step},"
        f" RunningAvgSamplesPerSec=1.0, CurrSamplesPerSec={one.rate:.3f}, MemAllocated=0.2GB,"
        f" MaxMemAllocated=1.3GB"
    ),
    "deepspeed-pipeline": lambda one: (
        f"steps: {one.step} loss: {one.loss:.4f} iter time (s): {one.seconds_per_step:.4f}"
        f" samples/sec: {one.rate:.3f}"
    ),
    "hugging-face": lambda one: (
        f"{_bar(one)}]\n{{'loss': {one.loss:.4f}, 'grad_norm': 1.25, 'learning_rate': 4.9e-05,"
        f" 'epoch': {one.step / one.steps:.4f}}}"
    ),
    "megatron": lambda one: (
        f" [2024-05-05 10:00:00] iteration {one.step:8d}/{one.steps:8d} | consumed samples:"
        f" {one.step * BATCH:12d} |"
        f" elapsed time per iteration (ms): {1e3 * one.seconds_per_step:.4f} | throughput per GPU"
        f" (TFLOP/s/GPU): 120.1"
        f" | learning rate: 1.500000E-04 | global batch size: {BATCH:5d} | lm loss: {one.loss:.6E}"
        f" | loss scale: 1.0 |"
        " grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    ),
}
TELLS_LOSS = frozenset(FORMATS) - {"horovod-benchmark", "deepspeed"}
TELLS_SAMPLES = frozenset(("own", "horovod-benchmark", "deepspeed", "deepspeed-pipeline", "megatron"))
TAGS: dict[str, Callable[[int], str]] = {
    "none": lambda _rank: "",
    "horovodrun": lambda rank: f"[{rank}]<stdout>:",
    "horovodrun-times": lambda rank: f"Thu Aug 29 16:41:02 2019[{rank}]<stdout>:",
    "mpirun": lambda rank: f"[1,{rank}]<stdout>:",
}


def log(
    name: str,
    seed: int,
    *,
    rate: float = 1784.0,
    intervals: int = 400,
    size: int = 4,
    tag: str = "horovodrun",
    restart: bool = False,
    noise: bool = True,
) -> Log:
    """A run of `intervals` of 10 steps: two slow ones at first, then the rate with 2 % of noise about it."""
    random, rates, write = Random(seed), Random(f"{seed}, rates"), FORMATS[name]
    lines: list[tuple[float, str]] = []
    at, samples, seconds_all = BEGUN, 0.0, 0.0
    steps = intervals * 10
    order: Iterable[int] = range(1, intervals + 1)
    if restart:
        order = [*range(1, intervals // 2 + 1), *range(intervals // 4 + 1, intervals + 1)]
    one = Told(0, steps, 0.0, 0.0, 0.0, size)
    for nth, interval in enumerate(order):
        now = rate * rates.gauss(1.0, 0.02) * (0.3 if nth < 2 else 1.0)
        per_step = BATCH / now
        at += 10 * per_step
        if nth >= 2:
            samples, seconds_all = samples + 10 * BATCH, seconds_all + 10 * per_step
        loss = 0.1 + 2.2 * math.exp(-interval / (intervals / 4))
        one = Told(interval * 10, steps, loss, now, per_step, size)
        lines.extend((at - random.random() * per_step, text) for text in _noise(random, noise, tag, size))
        lines.extend((at + n / 1e4, TAGS[tag](0) + text) for n, text in enumerate(write(one).split("\n")))
        if tag != "none" and random.random() < 0.5:
            rank = random.randrange(1, max(2, size))
            other = f"progress step={one.step} seconds_per_step=0.1 compute_s=0.05 rank={rank} size={size}"
            lines.append((at + 0.001, TAGS[tag](rank) + other))
    lines.sort(key=lambda pair: pair[0])
    return Log(lines, samples / seconds_all, one)


def _noise(random: Random, is_on: bool, tag: str, size: int) -> Iterator[str]:
    while is_on and random.random() < 0.4:
        yield TAGS[tag](random.randrange(size)) + random.choice(NOISE)


def as_lines(lines: Iterable[tuple[float, str]], source: LogSource = LAUNCHER) -> list[LogLine]:
    return [LogLine(source, text.replace("\t", " "), int(at * 1e9)) for at, text in lines]
