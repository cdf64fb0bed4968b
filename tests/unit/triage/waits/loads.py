"""Three kinds of load on a cluster, drawn by seed. What an estimator may not know (how long each job will
run) is in `Planned.runs_seconds`; it reaches the simulated cluster only."""

import math
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

HOUR = 3_600.0


class Planned(NamedTuple):
    """A job that will be submitted. `tells` that it writes its progress."""

    shape: str
    members: int
    gpus: int
    submitted_seconds: float
    runs_seconds: float
    tells: bool


class Fleet(NamedTuple):
    """Machines of 8 GPUs; beyond `nodes` the pool grows on demand up to `most`, and shrinks when idle."""

    nodes: int
    most: int
    seconds_to_grow: Callable[[Random], float] = lambda _: 0.0


class Load(NamedTuple):
    """A fleet and what is submitted to it."""

    name: str
    fleet: Fleet
    jobs: Callable[[Random], Iterator[Planned]]


def _sweeps(random: Random) -> Iterator[Planned]:
    """Somebody submits dozens of alike short runs at once; every few minutes another one does."""
    now, number = 0.0, 0
    while True:
        now += random.expovariate(1 / 520.0)
        number += 1
        family = f"sweep-{random.randrange(25)}"
        usual = 60.0 * (3 + 2 * (hash_of(family) % 8))
        gpus = random.choice((1, 1, 2))
        tells = hash_of(family) % 2 == 0
        for _ in range(random.randint(6, 40)):
            yield Planned(family, 1, gpus, now, usual * math.exp(random.gauss(0, 0.25)), tells)
            now += random.uniform(0, 1.0)


def _heavy(random: Random) -> Iterator[Planned]:
    """Single jobs of all sizes, most short, a few for days: nobody could tell from the size."""
    now = 0.0
    while True:
        now += random.expovariate(1 / 400.0)
        family = f"user-{random.randrange(12)}"
        members, gpus = random.choice(((1, 1), (1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8)))
        usual = 60.0 * (10 + 5 * (hash_of(family) % 10))
        runs = min(usual * math.exp(random.gauss(0, 1.3)), 2 * 24 * HOUR)
        yield Planned(family, members, gpus, now, max(20.0, runs), random.random() < 0.5)


def _bursts(random: Random) -> Iterator[Planned]:
    """Quiet, then a burst that the pool has to grow for."""
    now = 0.0
    while True:
        now += random.uniform(0.5, 2.0) * HOUR
        for _ in range(random.randint(20, 90)):
            family = f"team-{random.randrange(8)}"
            members, gpus = random.choice(((1, 2), (1, 4), (1, 8), (2, 8)))
            usual = 60.0 * (8 + 6 * (hash_of(family) % 5))
            runs = usual * math.exp(random.gauss(0, 0.5))
            yield Planned(family, members, gpus, now, max(30.0, runs), random.random() < 0.3)
            now += random.expovariate(1 / 12.0)


def hash_of(text: str) -> int:
    """The same in every run of Python."""
    return sum(ord(one) * (at + 7) for at, one in enumerate(text))


def _minutes_to_grow(random: Random) -> float:
    return 60.0 * (4 + random.lognormvariate(0.6, 0.5))


LOADS = (
    Load("short sweeps", Fleet(6, 6), _sweeps),
    Load("heavy tails", Fleet(16, 16), _heavy),
    Load("bursts on a growing pool", Fleet(4, 24, _minutes_to_grow), _bursts),
)
