"""Seeded traces of what jobs on GPUs do besides: shapes from operations, each by itself, ranks that differ,
and monitors that lie.

Of each shape the truth is known: `idle_from` as in `job_traces`. Lines are padded to their whole length as
Prometheus' answer is, and `skew_seconds` is how far its clock runs ahead of the API server's.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from cockpit.model.trace import CardTrace, Line, PodTrace, Trace
from tests.unit.triage.job_traces import (
    GIB,
    KIB,
    MIB,
    Minute,
    Told,
    card_trace,
    checkpoint,
    load_weights,
    outages,
    pod_trace,
    polls,
    prepare,
    silence,
    sleeps,
    train,
    youngest,
)

POINTS = 181
WATTS = ((11.0, 27.0, 70.0), (45.0, 62.0, 300.0), (68.0, 118.0, 700.0))
Ranks = list[list[Minute]]
T = TypeVar("T", CardTrace, PodTrace)


class Field(NamedTuple):
    """A trace in full, and how far the clock of whoever measures runs ahead."""

    told: Told
    skew_seconds: float = 0.0
    known_from: int = 0
    """The minute from which on its habits can have been seen."""

    def until(self, minute: int) -> Trace:
        """What is remembered at that minute, padded as an answer is."""
        trace = self.told.until(minute)
        started = trace.started_seconds
        return msgspec.structs.replace(
            trace,
            cards=tuple(_padded(one) for one in trace.cards),
            pods=tuple(_padded(one) for one in trace.pods),
            started_seconds=None if started is None else started - self.skew_seconds,
        )


def _padded(one: T) -> T:
    lines = {name: getattr(one, name) for name in one.__struct_fields__ if name not in ("uuid", "uid", "key")}
    return msgspec.structs.replace(one, **{name: _whole(line) for name, line in lines.items()})


def _whole(line: Line) -> Line:
    return (None,) * (POINTS - len(line)) + line if line else line


def _rest(rng: random.Random, minutes: int, memory: float) -> list[Minute]:
    """Ranks that wait for the one that works."""
    return list(silence(rng, minutes, memory))


def _alike(parts: Sequence[Minute], ranks: int) -> Ranks:
    return [list(parts) for _ in range(ranks)]


def _then(ranks: Ranks, more: Ranks) -> None:
    for rank, part in zip(ranks, more, strict=True):
        rank.extend(part)


def _one_works(
    rng: random.Random, ranks: Ranks, memory: float, part: Sequence[Minute], waits: float | None = None
) -> None:
    """Rank 0 does `part`, the others wait."""
    for at, rank in enumerate(ranks):
        rank.extend(part if at == 0 else _rest(rng, len(part), memory if waits is None else waits))


def _works(rng: random.Random, ranks: Ranks, memory: float, low: int = 8, high: int = 50) -> None:
    part = list(train(rng, rng.randint(low, high), memory))
    _then(ranks, _alike(part, len(ranks)))


# ---- at work


def long_compile(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """torch.compile or XLA: a core of one rank for up to two hours, at the start and for a new shape."""
    cores = rng.choice((0.95, 1.0, 3.5))
    for _ in range(rng.randint(1, 2)):
        minutes = rng.randint(40, 115)
        _one_works(rng, ranks, memory, [Minute(0.0, memory, 0.0, cores * rng.uniform(0.9, 1.0))] * minutes)
        _works(rng, ranks, memory)


def slow_download(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """A mirror that throttles: the network and nothing else."""
    rate = rng.uniform(0.12, 30.0) * MIB
    minutes = rng.randint(40, 150)
    part = [
        Minute(0.0, 0.0, 0.0, rng.uniform(0.01, 0.1), rate * rng.uniform(0.7, 1.2), context=False)
        for _ in range(minutes)
    ]
    _one_works(rng, ranks, memory, part, 0.0)
    _works(rng, ranks, memory)


def evaluation_on_cpu(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """Between epochs one rank scores what the others made."""
    for _ in range(rng.randint(2, 3)):
        _works(rng, ranks, memory)
        _one_works(rng, ranks, memory, list(prepare(rng, rng.randint(20, 90), memory)))
    _works(rng, ranks, memory, 5, 6)


def rare_requests(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """A server that is asked now and then, for some seconds of a core each time."""
    _then(ranks, _alike(list(load_weights(rng, rng.randint(5, 20), 0.0)), len(ranks)))
    for _ in range(rng.randint(8, 14)):
        seconds = rng.uniform(15.0, 50.0)
        is_seen = rng.random() < seconds / 30.0
        part = [
            Minute(rng.uniform(0.2, 0.9) if is_seen else 0.0, memory, 0.1, seconds / 60.0, 3 * KIB, 3 * KIB)
        ]
        part += [
            Minute(0.0, memory, 0.0, rng.uniform(0.005, 0.02), KIB, KIB) for _ in range(rng.randint(3, 25))
        ]
        _then(ranks, _alike(part, len(ranks)))


def trickle(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """A small model that is asked all the time: a few percent of duty, hardly any CPU."""
    _then(ranks, _alike(list(load_weights(rng, rng.randint(5, 20), 0.0)), len(ranks)))
    cpu = rng.uniform(0.03, 0.15)
    for _ in range(rng.randint(60, 200)):
        one = Minute(rng.uniform(0.01, 0.019), memory, 0.03, cpu * rng.uniform(0.8, 1.2), 10 * KIB, 20 * KIB)
        _then(ranks, _alike([one], len(ranks)))


def hourly(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """A person who comes back to a notebook every hour or so: a habit once it has been seen."""
    for _ in range(rng.randint(4, 6)):
        part = [
            Minute(rng.uniform(0.1, 0.9), memory, 0.5, rng.uniform(0.4, 1.2))
            for _ in range(rng.randint(3, 9))
        ]
        part += [
            Minute(0.0, memory, 0.0, rng.uniform(0.005, 0.03), KIB, KIB) for _ in range(rng.randint(48, 66))
        ]
        _then(ranks, _alike(part, len(ranks)))


def actors(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """Reinforcement learning: CPU actors play for long, the learner takes a step."""
    for _ in range(rng.randint(3, 5)):
        part = [
            Minute(0.0, memory, 0.0, rng.uniform(0.01, 0.05), rng.uniform(0.1, 3.0) * MIB)
            for _ in range(rng.randint(10, 70))
        ]
        _one_works(rng, ranks, memory, part)
        _works(rng, ranks, memory, 1, 5)


def pipeline(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """One stage is at work, the others wait for what it hands on."""
    for _ in range(rng.randint(2, 4)):
        _one_works(rng, ranks, memory, list(train(rng, rng.randint(20, 80), memory)))
        _works(rng, ranks, memory, 1, 3)


def collective_hang(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """Ranks spin in a collective: duty at its top, a low draw, a core each. A hang, and no idleness."""
    _works(rng, ranks, memory)
    part = [Minute(1.0, memory, 0.15, rng.uniform(0.95, 1.05), KIB, KIB) for _ in range(rng.randint(60, 150))]
    _then(ranks, _alike(part, len(ranks)))


def peers_to_come(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """Those that are there hold their cards until the gang is whole."""
    part = [
        Minute(0.0, 0.0, 0.0, rng.uniform(0.001, 0.03), KIB, KIB, coming=2)
        for _ in range(rng.randint(40, 180))
    ]
    _then(ranks, _alike(part, len(ranks)))
    _then(ranks, _alike(list(load_weights(rng, rng.randint(3, 10), 0.0)), len(ranks)))
    _works(rng, ranks, memory)


def slow_checkpoint(rng: random.Random, ranks: Ranks, memory: float) -> None:
    """20 minutes to storage that throttles: seen as disk or network, or mounted by the host and not seen."""
    for _ in range(rng.randint(2, 4)):
        _works(rng, ranks, memory)
        minutes = rng.randint(15, 24)
        is_unseen = rng.random() < 0.5
        part = list((silence if is_unseen else checkpoint)(rng, minutes, memory))
        _one_works(rng, ranks, memory, part)
    _works(rng, ranks, memory, 5, 6)


LIVELY: dict[str, Callable[[random.Random, Ranks, float], None]] = {
    one.__name__: one
    for one in (
        long_compile,
        slow_download,
        evaluation_on_cpu,
        rare_requests,
        trickle,
        hourly,
        actors,
        pipeline,
        collective_hang,
        peers_to_come,
        slow_checkpoint,
    )
}


# ---- idle


def serves_nobody(rng: random.Random, minutes: int, memory: float) -> list[Minute]:
    """A server whose scheduler loops, probed for its health."""
    cpu = rng.uniform(0.05, 0.18)
    return [Minute(0.0, memory, 0.0, cpu * rng.uniform(0.9, 1.1), 2 * KIB, 4 * KIB) for _ in range(minutes)]


def sidecars(rng: random.Random, minutes: int, memory: float) -> list[Minute]:
    """A shipper of logs, a proxy and its scrapes, and a clean-up every ten minutes."""
    chat, every = rng.uniform(5.0, 25.0) * KIB, rng.randint(8, 15)
    return [
        Minute(0.0, memory, 0.0, 0.02 + (0.05 if at % every == 0 else 0.0), chat, chat, 0.0, 20 * KIB)
        for at in range(minutes)
    ]


def ended(rng: random.Random, minutes: int, memory: float) -> list[Minute]:
    """The script is through."""
    return list(sleeps(rng, minutes, memory))


def lost_peer(rng: random.Random, minutes: int, memory: float) -> list[Minute]:
    """Heartbeats of those that are left."""
    return list(polls(rng, minutes, memory))


IDLE = {one.__name__: one for one in (serves_nobody, sidecars, ended, lost_peer)}


# ---- whoever measures


def _gaps(rng: random.Random, minutes: int) -> frozenset[int]:
    """Scrapes fail for some minutes again and again."""
    found: set[int] = set()
    at = rng.randint(5, 40)
    while at < minutes:
        found.update(range(at, at + rng.randint(1, 7)))
        at += rng.randint(45, 90)
    return frozenset(found)


def _restarting(rng: random.Random, card: CardTrace) -> CardTrace:
    """An exporter that restarts: a gap, then a minute of zeros."""
    duty, memory, power = list(card.duty), list(card.memory_bytes), list(card.power_watts)
    at = rng.randint(10, 60)
    while at + 2 < len(duty):
        duty[at] = memory[at] = power[at] = None
        if rng.random() < 0.5:
            duty[at + 1] = memory[at + 1] = 0.0
        at += rng.randint(50, 120)
    return msgspec.structs.replace(
        card, duty=tuple(duty), memory_bytes=tuple(memory), power_watts=tuple(power)
    )


def _looping(rng: random.Random, card: CardTrace) -> CardTrace:
    """An exporter that dies and comes back all the time: a minute of four is measured."""
    at = rng.randrange(4)

    def kept(line: Line) -> Line:
        return tuple(one if place % 4 == at else None for place, one in enumerate(line))

    return msgspec.structs.replace(
        card, duty=kept(card.duty), memory_bytes=kept(card.memory_bytes), power_watts=kept(card.power_watts)
    )


def _stuck(rng: random.Random, card: CardTrace) -> CardTrace:
    """An exporter that tells the same for up to an hour: from the card's next quiet on, where it has one."""
    size = len(card.duty)
    first = next((at for at in range(rng.randrange(size), size) if not card.duty[at]), None)
    if first is None:
        return card
    end = min(size, first + rng.randint(20, 60))

    def held(line: Line) -> Line:
        return (*line[:first], *([line[first]] * (end - first)), *line[end:])

    return msgspec.structs.replace(
        card, duty=held(card.duty), memory_bytes=held(card.memory_bytes), power_watts=held(card.power_watts)
    )


def _sliced(_rng: random.Random, card: CardTrace) -> CardTrace:
    """A slice of a card: no power of its own."""
    return msgspec.structs.replace(card, uuid=f"{card.uuid}/3", power_watts=())


MONITORS = ("whole", "whole", "gaps", "restarts", "loops", "stuck", "sliced", "skewed")


def make(seed: int, *, idle: bool, name: str = "", monitor: str = "") -> Field:
    """The trace of that seed: of that shape and seen by that monitor, where they are named."""
    rng = random.Random(f"field/{seed}/{idle}")
    memory = rng.uniform(1.0, 70.0) * GIB
    pods, each = rng.choice(((1, 1), (1, 4), (2, 1), (2, 4), (4, 2)))
    chosen = rng.choice(tuple(LIVELY))
    before = name if name and not idle else chosen
    seen_by = monitor or rng.choice(MONITORS)
    ranks: Ranks = [[] for _ in range(pods)]
    LIVELY[before](rng, ranks, memory)
    idle_from = None
    if idle:
        if before == "collective_hang":  # killed by its watchdog
            ranks = [rank[:60] for rank in ranks]
        idle_from = len(ranks[0])
        end = name or rng.choice(tuple(IDLE))
        part = IDLE[end](rng, rng.randint(150, 240), memory)
        _then(ranks, _alike(part, pods))
        before = f"{before}, {end}"
    told = _told(rng, f"{before} ({seen_by})", ranks, each, seen_by, idle_from)
    skew = rng.choice((-1.0, 1.0)) * rng.uniform(60.0, 1_500.0) if seen_by == "skewed" else 0.0
    return Field(told, skew, 80 if before.startswith("hourly") else 0)


def _told(
    rng: random.Random, name: str, ranks: Ranks, each: int, seen_by: str, idle_from: int | None
) -> Told:
    minutes = len(ranks[0])
    watts = rng.choice(WATTS)
    out = _gaps(rng, minutes) if seen_by == "gaps" else outages(rng, minutes)
    cards = [
        card_trace(rng, f"GPU-{at}-{one}", rank, watts, out)
        for at, rank in enumerate(ranks)
        for one in range(each)
    ]
    change = {"restarts": _restarting, "loops": _looping, "stuck": _stuck, "sliced": _sliced}.get(seen_by)
    if change is not None:
        cards = [change(rng, one) for one in cards]
    return Told(
        name=name,
        minutes=minutes,
        cards=tuple(cards),
        pods=tuple(pod_trace(rng, f"pod-{at}", rank, out, no_disk=False) for at, rank in enumerate(ranks)),
        coming=tuple(one.coming for one in ranks[0]),
        started=tuple(youngest(ranks[0])),
        idle_from=idle_from,
    )
