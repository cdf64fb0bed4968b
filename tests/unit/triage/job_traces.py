"""Seeded traces of jobs that hold GPUs: what a Prometheus would remember of them, and what is true of each.

A job is a chain of phases. Each phase says what cards and pods do in a minute; on top come noise,
housekeeping of drivers, missing samples, outages of scrapes, and counters that begin again. Rates are made
of the counters as Prometheus makes them (`rate` over three minutes): a gap loses no work of a counter, but of
a gauge.
"""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from cockpit.model.trace import CardTrace, Line, PodTrace, Trace

END_SECONDS = 1_800_000_000.0
STEP_SECONDS = 60.0
GIB, MIB, KIB = 2.0**30, 2.0**20, 2.0**10
RATE_POINTS = 3


class Minute(NamedTuple):
    """What a job does in a minute: of each card and of each pod."""

    duty: float = 0.0
    memory_bytes: float = 0.0
    power_ratio: float = 0.0  # 0 idle, 1 full
    cpu_cores: float = 0.005
    receive: float = 0.0
    transmit: float = 0.0
    disk_read: float = 0.0
    disk_write: float = 0.0
    coming: int = 0
    context: bool = True


class Told(NamedTuple):
    """A trace in full. `idle_from` is the minute from which on it is really idle, None where it never is;
    `coming` are members yet to start at each minute, `started` the minute in which the youngest that is there
    began."""

    name: str
    minutes: int
    cards: tuple[CardTrace, ...]
    pods: tuple[PodTrace, ...]
    coming: tuple[int, ...]
    started: tuple[int, ...]
    idle_from: int | None

    def until(self, minute: int, lookback: int = 181) -> Trace:
        """What is remembered at that minute."""
        first = max(0, minute + 1 - lookback)

        def cut(line: Line) -> Line:
            return line[first : minute + 1]

        return Trace(
            end_seconds=END_SECONDS + minute * STEP_SECONDS,
            step_seconds=STEP_SECONDS,
            cards=tuple(
                CardTrace(
                    uuid=one.uuid,
                    duty=cut(one.duty),
                    memory_bytes=cut(one.memory_bytes),
                    power_watts=cut(one.power_watts),
                )
                for one in self.cards
            ),
            pods=tuple(
                PodTrace(
                    uid=one.uid,
                    cpu_cores=cut(one.cpu_cores),
                    receive=cut(one.receive),
                    transmit=cut(one.transmit),
                    disk_read=cut(one.disk_read),
                    disk_write=cut(one.disk_write),
                )
                for one in self.pods
            ),
            started_seconds=END_SECONDS + self.started[minute] * STEP_SECONDS - 30.0,
            coming=self.coming[minute],
        )


# ---- phases: generators of minutes


def train(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """Steps, with loaders at work beside them."""
    duty, cpu = rng.uniform(0.35, 0.97), rng.uniform(0.4, 6.0)
    for _ in range(minutes):
        yield Minute(
            min(1.0, max(0.06, rng.gauss(duty, 0.08))),
            memory,
            duty,
            cpu * rng.uniform(0.7, 1.3),
            4 * MIB,
            MIB,
        )


def download(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """Weights or data come over the network; hardly any CPU."""
    rate = rng.uniform(0.15, 400.0) * MIB
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.03, 0.5), rate * rng.uniform(0.6, 1.2))


def stage(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """An archive is unpacked, or a data set is copied to the local disk."""
    rate = rng.uniform(5.0, 800.0) * MIB
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.1, 1.5), 0.0, 0.0, rate, rate * rng.uniform(0.5, 1.0))


def read_slowly(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """A disk that throttles."""
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.02, 0.1), 0.0, 0.0, rng.uniform(1.0, 8.0) * MIB)


def load_weights(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """Memory of the cards fills; from a file system that no counter of the pod sees."""
    each = rng.uniform(30.0, 3_000.0) * MIB
    for at in range(minutes):
        yield Minute(0.0, memory + each * at, 0.05, rng.uniform(0.02, 1.0))


def compile_kernels(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """One core or some, and nothing else."""
    cores = rng.choice((0.9, 1.0, 4.0, 8.0))
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, cores * rng.uniform(0.85, 1.0))


def prepare(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """Tokens, shuffles, decoding."""
    cores = rng.uniform(0.5, 16.0)
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, cores * rng.uniform(0.6, 1.1))


def rendezvous(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """All that are there wait for a member that is on its way, or for an answer."""
    coming = rng.choice((0, 1, 3))
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.0, 0.05), rng.uniform(0, 8) * KIB, 0.0, coming=coming)


def checkpoint(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """To the local disk, or over the network."""
    rate, is_local = rng.uniform(3.0, 900.0) * MIB, rng.random() < 0.5
    for _ in range(minutes):
        cpu = rng.uniform(0.05, 0.9)
        if is_local:
            yield Minute(0.0, memory, 0.0, cpu, disk_write=rate * rng.uniform(0.4, 1.0))
        else:
            yield Minute(0.0, memory, 0.0, cpu, transmit=rate * rng.uniform(0.4, 1.0))


def silence(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """Nothing at all, for a while: a lock, a feed that another job fills."""
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.001, 0.03), rng.uniform(0, 4) * KIB)


def cell(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """A cell of a notebook runs: for a part of a minute, or for some."""
    for _ in range(minutes):
        part = rng.uniform(0.3, 1.0)
        yield Minute(rng.uniform(0.1, 0.9), memory, rng.uniform(0.2, 0.8), part * rng.uniform(0.9, 1.5))


def sleeps(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """The script is through and nobody noticed."""
    kept, context = rng.choice(((0.0, False), (memory, True)))
    for _ in range(minutes):
        yield Minute(0.0, kept, 0.0, rng.uniform(0.0, 0.01), rng.uniform(0, 1) * KIB, context=context)


def polls(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """A rank crashed, the others ask each other for it: heartbeats, a thread that wakes all the time."""
    cpu, beat = rng.uniform(0.01, 0.12), rng.uniform(0.5, 20.0) * KIB
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, cpu * rng.uniform(0.8, 1.2), beat, beat)


def forgotten(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    """A notebook whose tab is open, or closed; the server saves and asks for its own health."""
    chat = rng.choice((0.2, 6.0)) * KIB
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.005, 0.04), chat * rng.uniform(0.5, 1.5), chat)


Phase = Callable[[random.Random, int, float], Iterator[Minute]]
STARTS: tuple[Phase, ...] = (download, stage, read_slowly, load_weights, compile_kernels, prepare, rendezvous)
LOADS: tuple[Phase, ...] = (download, stage, read_slowly, prepare)
ENDS: tuple[Phase, ...] = (sleeps, polls, forgotten)


# ---- jobs


def _warm_up(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    used = 0.0
    for _ in range(rng.randint(1, 4)):
        phase = rng.choice(STARTS)
        yield phase, rng.randint(4, 25 if phase is rendezvous else 55), used
        used = memory if phase is load_weights or rng.random() < 0.4 else used


def warm_up(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    """A long start, and then work."""
    yield from _warm_up(rng, memory)
    yield train, rng.randint(10, 60), memory


def data_pauses(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    """Work that waits for data again and again: as counters tell, or silent for less than the window."""
    phase = rng.choice((*LOADS, silence))
    for _ in range(rng.randint(2, 5)):
        yield train, rng.randint(3, 40), memory
        yield phase, rng.randint(3, 24 if phase is silence else 75), memory
    yield train, 5, memory


def checkpoints(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    """Work that is written down now and then, also for long; an evaluation on the CPU between."""
    for _ in range(rng.randint(3, 6)):
        yield train, rng.randint(5, 40), memory
        yield checkpoint, rng.randint(1, 45), memory
        if rng.random() < 0.3:
            yield prepare, rng.randint(2, 35), memory
    yield train, 5, memory


def notebook(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    """A kernel now and then, with less than the window between."""
    used = 0.0
    for _ in range(rng.randint(6, 14)):
        yield cell, rng.randint(1, 6), used
        used = memory * rng.uniform(0.2, 1.0) if rng.random() < 0.3 else used
        yield forgotten, min(27, 1 + int(rng.expovariate(1 / 12))), used
    yield cell, 2, used


def restarted(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    """Work that loses a member and waits for the next one: the pod is on its way."""
    yield train, rng.randint(20, 90), memory
    for _ in range(rng.randint(30, 60)):
        yield _waits, 1, memory
    yield load_weights, rng.randint(3, 10), memory
    yield train, 10, memory


def _waits(rng: random.Random, minutes: int, memory: float) -> Iterator[Minute]:
    for _ in range(minutes):
        yield Minute(0.0, memory, 0.0, rng.uniform(0.0, 0.05), KIB, KIB, coming=1)


LIVELY = {
    "warm-up": warm_up,
    "data pauses": data_pauses,
    "checkpoints": checkpoints,
    "notebook": notebook,
    "restarted": restarted,
}


def _idle(rng: random.Random, memory: float) -> Iterator[tuple[Phase, int, float]]:
    """Something lively, and then the end of it; or nothing from the start."""
    end = rng.choice(ENDS)
    minutes = rng.randint(100, 200)
    shape = rng.choice((notebook,) if end is forgotten else (warm_up, data_pauses, checkpoints))
    if rng.random() < 0.15:
        yield end, minutes + 100, 0.0
        return
    yield from shape(rng, memory)
    yield end, minutes, memory


# ---- what is remembered of it


def make(seed: int, *, idle: bool) -> Told:
    """The trace of that seed."""
    rng = random.Random(f"{seed}/{idle}")
    memory = rng.uniform(1.0, 70.0) * GIB
    name = "idle" if idle else rng.choice(tuple(LIVELY))
    chain = list(_idle(rng, memory) if idle else LIVELY[name](rng, memory))
    minutes: list[Minute] = []
    idle_from = None
    for phase, length, used in chain:
        if idle and phase in ENDS:  # the last of them: a notebook has such quiets within
            idle_from = len(minutes)
        minutes += phase(rng, length, used)
    cards, pods = rng.choice(((1, 1), (1, 1), (2, 1), (4, 1), (2, 2), (4, 4)))
    watts = rng.choice(((11.0, 27.0, 70.0), (45.0, 62.0, 300.0), (68.0, 118.0, 700.0)))
    out = outages(rng, len(minutes))
    no_disk = (
        not idle and rng.random() < 0.1
    )  # what is not collected is never idle: told by a test of its own
    return Told(
        name=name,
        minutes=len(minutes),
        cards=tuple(card_trace(rng, f"GPU-{at}", minutes, watts, out) for at in range(cards)),
        pods=tuple(pod_trace(rng, f"pod-{at}", minutes, out, no_disk=no_disk) for at in range(pods)),
        coming=tuple(one.coming for one in minutes),
        started=tuple(youngest(minutes)),
        idle_from=idle_from,
    )


def youngest(minutes: list[Minute]) -> Iterator[int]:
    """A member that was on its way starts when it is no longer."""
    last = 0
    for at, one in enumerate(minutes):
        if at and minutes[at - 1].coming and not one.coming:
            last = at
        yield last


def outages(rng: random.Random, minutes: int) -> frozenset[int]:
    """Minutes in which nothing was scraped."""
    found: set[int] = set()
    while rng.random() < 0.25:
        at = rng.randrange(minutes)
        found.update(range(at, at + rng.randint(1, 15)))
    return frozenset(found)


def card_trace(
    rng: random.Random,
    uuid: str,
    minutes: list[Minute],
    watts: tuple[float, float, float],
    out: frozenset[int],
) -> CardTrace:
    free, idle, full = watts
    missing = rng.choice((0.0, 0.0, 0.01, 0.03))
    duty: list[float | None] = []
    memory: list[float | None] = []
    power: list[float | None] = []
    for at, one in enumerate(minutes):
        if at in out or rng.random() < missing:
            duty.append(None)
            memory.append(None)
            power.append(None)
            continue
        keeps_house = rng.choice((0.0, 0.0, 0.0, 0.01, 0.03))
        duty.append(min(1.0, one.duty + keeps_house))
        memory.append(max(0.0, one.memory_bytes + rng.uniform(-12, 12) * MIB) if one.context else 0.0)
        rest = idle if one.context and one.memory_bytes else free
        power.append(rest + one.power_ratio * (full - rest) + rng.gauss(0.0, 0.02 * rest))
    return CardTrace(uuid=uuid, duty=tuple(duty), memory_bytes=tuple(memory), power_watts=tuple(power))


def pod_trace(
    rng: random.Random, uid: str, minutes: list[Minute], out: frozenset[int], *, no_disk: bool
) -> PodTrace:
    resets = {rng.randrange(len(minutes)) for _ in range(rng.choice((0, 0, 0, 1, 2)))}
    missing = rng.choice((0.0, 0.0, 0.01, 0.03))
    silent = {at for at in range(len(minutes)) if at in out or rng.random() < missing}

    def line(of: Callable[[Minute], float], noise: float) -> Line:
        total, counted = 0.0, list[float | None]()
        for at, one in enumerate(minutes):
            total = 0.0 if at in resets else total
            total += (of(one) + rng.random() * noise) * STEP_SECONDS
            counted.append(None if at in silent else total)
        return tuple(_rate(counted, at) for at in range(len(counted)))

    return PodTrace(
        uid=uid,
        cpu_cores=line(lambda one: one.cpu_cores, 0.003),
        receive=line(lambda one: one.receive, 2 * KIB),
        transmit=line(lambda one: one.transmit, 2 * KIB),
        disk_read=() if no_disk else line(lambda one: one.disk_read, KIB),
        disk_write=() if no_disk else line(lambda one: one.disk_write, 4 * KIB),
    )


def _rate(counted: list[float | None], at: int) -> float | None:
    """As Prometheus' rate over the last minutes: what is smaller than before began again at zero."""
    found = [
        (place, value)
        for place in range(max(0, at - RATE_POINTS), at + 1)
        if (value := counted[place]) is not None
    ]
    if len(found) < 2:
        return None
    grown = sum(now - before if now >= before else now for (_, before), (_, now) in pairwise(found))
    return grown / ((found[-1][0] - found[0][0]) * STEP_SECONDS)
