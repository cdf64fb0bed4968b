"""What simulated containers print: made line by line from a seed when somebody reads it, never stored.

Line `i` of a container depends on the seed and `i` alone, so that any part of a long log costs only itself.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from random import Random

from cockpit.sim.actors.kubelet.behaviour import FOREVER
from cockpit.sim.actors.kubelet.runtime import STDERR, STDOUT, ContainerLogLine, Exit

KINDS = ("training", "service", "none")
KEPT_LINES = 20_000
"""More of the older lines are gone, as after a rotation."""
_WARM_UP_SECONDS = 1.5
_LOOK_AGAIN_SECONDS = 2.0
"""A container may be told to stop while somebody waits for its next line."""

Alarm = Callable[[float], Awaitable[float]]
"""Waits until a moment of the cluster's time (epoch seconds); answers what time it is then."""


class SimulatedLog:
    """The log of one run of a simulated container."""

    def __init__(
        self,
        kind: str,
        seed: str,
        *,
        job: str,
        gpus: int,
        started_at: float,
        step_seconds: float,
        alarm: Alarm,
    ) -> None:
        """`kind` is one of KINDS, `gpus` how many the container holds (they make images/sec), `job` what all
        members of a job have in common: they go through the same epochs on one curve of loss."""
        self._kind = kind
        self._seed = seed
        self._gpus = gpus
        self._start = started_at
        self._step = step_seconds if kind == "training" else max(step_seconds, 5.0)
        self._alarm = alarm
        self._end: Exit | None = None
        facts = Random(job)
        self._steps_per_epoch = facts.choice((50, 80, 100, 120))
        self._first_loss = facts.uniform(5.8, 7.1)
        self._last_loss = facts.uniform(0.6, 1.9)
        self._decay_steps = facts.uniform(150.0, 600.0)
        self._images_per_second = max(1, gpus) * Random(seed).uniform(760.0, 1480.0)

    def ends(self, end: Exit | None) -> None:
        """How and when the container ends, as far as it is known now."""
        self._end = end

    def lines(self, *, since: float, tail: int | None, now: float) -> Sequence[ContainerLogLine]:
        """Lines written from `since` until `now`; only the last `tail` of them when given."""
        last = self._count(now)
        first = max(0, last - KEPT_LINES, math.ceil(self._index(since)))
        final = [line for line in self._final_lines(now) if line.at >= since]
        if tail is not None:
            final = final[max(0, len(final) - tail) :] if tail else []
            first = max(first, last - max(0, tail - len(final)))
        return [self._line(index) for index in range(first, last)] + final

    async def follow(self, after: float) -> AsyncIterator[ContainerLogLine]:
        """Lines later than `after`, each at its time, until the container has ended."""
        index = max(0, math.floor(self._index(after)) + 1)
        now = after
        while True:
            at = FOREVER if self._kind == "none" else self._start_of(index)
            end = self._end
            if end is not None and end.at <= min(at, now):
                break
            if at > now:
                ends_at = FOREVER if end is None else end.at
                now = await self._alarm(min(at, ends_at, now + _LOOK_AGAIN_SECONDS))
                continue
            yield self._line(index)
            index += 1
        for line in self._final_lines(now):
            if line.at > after:
                yield line

    def _index(self, at: float) -> float:
        return (at - self._start - _WARM_UP_SECONDS) / self._step + 1

    def _start_of(self, index: int) -> float:
        return self._start if index == 0 else self._start + _WARM_UP_SECONDS + (index - 1) * self._step

    def _count(self, now: float) -> int:
        """Lines that are there at `now`."""
        until = now if self._end is None else min(now, self._end.at)
        if self._kind == "none" or until < self._start:
            return 0
        return max(1, math.floor(self._index(until)) + 1)

    def _line(self, index: int) -> ContainerLogLine:
        at = self._start_of(index)
        if self._kind == "service":
            return ContainerLogLine(at, STDOUT, self._service(index))
        return ContainerLogLine(at, STDOUT, self._training(index))

    def _training(self, index: int) -> bytes:
        if index == 0:
            return f"simulated training: {self._gpus} GPU(s), {self._steps_per_epoch} steps an epoch".encode()
        step = index - 1
        noise = Random(f"{self._seed}/{index}")
        loss = self._last_loss + (self._first_loss - self._last_loss) * math.exp(-step / self._decay_steps)
        rate = self._images_per_second * noise.uniform(0.96, 1.03)
        epoch, inside = divmod(step, self._steps_per_epoch)
        return (
            f"epoch {epoch + 1} step {inside + 1}/{self._steps_per_epoch} "
            f"loss {loss * noise.uniform(0.985, 1.015):.4f} images/sec {rate:.1f}"
        ).encode()

    def _service(self, index: int) -> bytes:
        if index == 0:
            return b"simulated service: listening"
        noise = Random(f"{self._seed}/{index}")
        return (
            f"GET /predict {noise.choice((200, 200, 200, 200, 404))} "
            f"{noise.uniform(3.0, 45.0):.1f}ms batch={noise.choice((1, 2, 4, 8))}"
        ).encode()

    def _final_lines(self, now: float) -> list[ContainerLogLine]:
        end = self._end
        if end is None or end.at > now or self._kind == "none":
            return []
        if end.reason == "OOMKilled":
            return []  # the kernel kills without a word
        if end.code == 0:
            return [ContainerLogLine(end.at, STDOUT, b"done")] if self._kind == "training" else []
        if end.code == 143:
            return [ContainerLogLine(end.at, STDERR, b"SIGTERM received, stopping")]
        return [
            ContainerLogLine(end.at, STDERR, text)
            for text in (
                b"Traceback (most recent call last):",
                b'  File "train.py", line 214, in <module>',
                f"RuntimeError: simulated failure, exit code {end.code}".encode(),
            )
        ]
