"""People at notebooks, small servers and pods that are left behind, as exporters and kubelets measure them: a
sample of the card every so often, which misses short kernels, and counters of the pod, which forget nothing.

What a pod does is drawn a second, what Prometheus remembers of it is made of that, and read by
`telemetry/pod_lines`. Engine and energy are there where they are collected. Levels: CPU of idle notebook
servers and of probed model servers from their own metrics; power of an idle context from arXiv 2605.23918;
sampling as of dcgm-exporter and cAdvisor.
"""

import random
from itertools import accumulate
from typing import Any, NamedTuple

from cockpit.model.pod import Pod
from cockpit.model.trace import Trace
from cockpit.telemetry import uses
from cockpit.telemetry.pod_lines import CARD_STEP_SECONDS, RANGE_SECONDS, STEP_SECONDS, pod_lines

START_SECONDS = 1_790_000_000
RATE_SECONDS = 180
COLLECT_SECONDS = 30
LABELS = {"UUID": "GPU-0", "exported_pod": "p", "exported_namespace": "ns", "Hostname": "n"}


class Second(NamedTuple):
    """What a pod does in one second: duty 0..1, cores, bytes either way."""

    duty: float = 0.0
    cores: float = 0.0
    received: float = 0.0
    sent: float = 0.0


class Sampled(NamedTuple):
    """A life of a pod, a second each, and when it fell idle for good (None: never)."""

    seconds: list[Second]
    interval: int
    idle_from: int | None
    collects: frozenset[str] = frozenset()
    """Which of `engine` and `energy` are."""

    def trace(self, end: int) -> Trace:
        """What Prometheus remembers of it at that second."""
        pod = Pod(uid="u", name="p", namespace="ns", phase="Running", gpus=1)
        cards, used = self._cards(end), self._used(end)
        lines = pod_lines(cards, used, [pod], START_SECONDS + end)
        return Trace(
            end_seconds=lines.end_seconds,
            step_seconds=lines.step_seconds,
            cards=lines.cards["u"],
            pods=(lines.pods["u"],),
            started_seconds=float(START_SECONDS),
        )

    def _cards(self, end: int) -> list[dict[str, Any]]:
        first = max(0, end - RANGE_SECONDS)
        grid = range(first, end + 1, CARD_STEP_SECONDS)
        taken = [(START_SECONDS + at, self.seconds[at - at % self.interval].duty) for at in grid]
        rows = {
            "DCGM_FI_DEV_GPU_UTIL": [(at, str(round(100 * duty))) for at, duty in taken],
            "DCGM_FI_DEV_POWER_USAGE": [(at, str(115 + 500 * duty)) for at, duty in taken],
            "DCGM_FI_DEV_FB_USED": [(at, "30000") for at, _ in taken],
        }
        if self.collects:
            read = [at - at % self.interval for at in grid]
            busy = list(accumulate((one.duty for one in self.seconds), initial=0.0))
        if "engine" in self.collects:  # DCGM's mean over its interval
            rows["DCGM_FI_PROF_GR_ENGINE_ACTIVE"] = [
                (
                    START_SECONDS + at,
                    f"{(busy[to] - busy[max(0, to - COLLECT_SECONDS)]) / COLLECT_SECONDS:.6f}",
                )
                for at, to in zip(grid, read, strict=True)
            ]
        if "energy" in self.collects:
            rows["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"] = [
                (START_SECONDS + at, str(round(1000 * (7e6 + 115 * to + 500 * busy[to]))))
                for at, to in zip(grid, read, strict=True)
            ]
        return [{"metric": {**LABELS, "__name__": name}, "values": of} for name, of in rows.items()]

    def _used(self, end: int) -> list[dict[str, Any]]:
        fields = list(uses.FIELDS) + list(uses.DISK_FIELDS)
        rows = []
        for place, field in enumerate(fields, 1):
            each = [one[place] if place < len(one) else 0.0 for one in self.seconds[:end]]
            total = list(accumulate(each, initial=0.0))
            grid = range(max(RATE_SECONDS, end - RANGE_SECONDS), end + 1, STEP_SECONDS)
            values = [
                (START_SECONDS + at, str((total[at] - total[at - RATE_SECONDS]) / RATE_SECONDS))
                for at in grid
            ]
            rows.append(
                {"metric": {"pod": "p", "namespace": "ns", uses.FIELD_LABEL: field}, "values": values}
            )
        return rows


def _calm(rng: random.Random, seconds: float, cores: tuple[float, float], sent: float) -> list[Second]:
    """An open notebook, probes and scrapes, or a shell."""
    level, rate = rng.uniform(*cores), rng.uniform(0.1, 1.0) * sent
    return [Second(0.0, level * rng.uniform(0.5, 1.5), rate / 4, rate) for _ in range(int(seconds))]


def _runs(rng: random.Random, seconds: float, duty: tuple[float, float]) -> list[Second]:
    cores = rng.uniform(0.4, 1.3)
    return [Second(rng.uniform(*duty), cores, 5e3, 2e4) for _ in range(max(1, int(seconds)))]


NOTEBOOK, SERVER, SHELL = ((0.003, 0.04), 8e3), ((0.01, 0.18), 2e4), ((0.0, 0.002), 50.0)


def cells(rng: random.Random) -> Sampled:
    """A person at a notebook: thinks, and runs a cell of some seconds."""
    done = _runs(rng, 60, (0.2, 0.9))
    while len(done) < 5 * 3_600:
        done += _calm(rng, 60 * rng.uniform(3, 22), *NOTEBOOK)
        done += _runs(rng, rng.uniform(8, 60), (0.2, 0.9))
    return Sampled(done, rng.choice((15, 30, 60)), None)


def requests(rng: random.Random) -> Sampled:
    """A model of an internal tool: a request every few minutes."""
    done, mean = _runs(rng, 60, (0.5, 1.0)), rng.uniform(3, 9)
    while len(done) < 5 * 3_600:
        done += _calm(rng, min(1_800, 60 * rng.expovariate(1 / mean)), *SERVER)
        done += _runs(rng, rng.uniform(5, 40), (0.4, 1.0))
    return Sampled(done, rng.choice((15, 30, 60)), None)


def by_the_clock(rng: random.Random) -> Sampled:
    """A queue that is looked at at a fixed second of each half minute, never that of the sample."""
    second, duty = rng.randint(3, 26), rng.uniform(0.5, 1.0)
    done = _runs(rng, 60, (0.5, 1.0)) + _calm(rng, 5 * 3_600, *SERVER)
    for at in range(60 + second, len(done), 30):
        for kernel in (at, at + 1):
            done[kernel] = done[kernel]._replace(duty=duty)
    return Sampled(done, 30, None)


def short_requests(rng: random.Random) -> Sampled:
    """A request every few minutes whose kernel takes a second or three and hardly any CPU."""
    done, mean = _runs(rng, 60, (0.5, 1.0)), rng.uniform(3, 7)
    while len(done) < 5 * 3_600:
        quiet = _calm(rng, min(1_500, 60 * rng.expovariate(1 / mean)), *SERVER)
        done += quiet
        done += [Second(rng.uniform(0.4, 1.0), 0.1, 2e3, 5e3) for _ in range(rng.randint(1, 3))]
    return Sampled(done, rng.choice((15, 30, 60)), None)


def left(rng: random.Random) -> Sampled:
    """It worked, and is left: a notebook, a server that is probed, a shell."""
    head = _runs(rng, 60 * rng.uniform(5, 60), (0.3, 1.0))
    tail = _calm(rng, 60 * rng.uniform(150, 200), *rng.choice((NOTEBOOK, SERVER, SHELL)))
    return Sampled(head + tail, rng.choice((15, 30, 60)), len(head))
