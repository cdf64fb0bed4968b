"""The lines that training writes for a program to read: `event key=value ...`; README.md tells them."""

import contextlib
import sys
from collections.abc import Callable

Value = str | int | float | None


def line(event: str, **pairs: Value) -> str:
    """One event as a line without its end. Pairs whose value is None are left out.

    Floats get five significant digits: enough to compare two runs to a thousandth, short enough to read.
    """
    told = [f"{key}={_text(value)}" for key, value in pairs.items() if value is not None]
    return " ".join([event, *told])


def say(event: str, **pairs: Value) -> None:
    """Write one event at once, in one piece: the launcher mixes the lines of all ranks.

    Where nobody reads any more (the launcher ended first) training goes on: a checkpoint may be due.
    """
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(line(event, **pairs) + "\n")
        sys.stdout.flush()


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.1f}"
    text = " ".join(str(value).split())
    if text and not any(sign in text for sign in ' "\\='):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Meter:
    """Adds up one interval of training, and the whole run without its first interval. Times in seconds.

    The first interval has what happens once: memory is taken, kernels are chosen, ranks find each other.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._intervals = 0
        self._run_samples, self._run_seconds = 0, 0.0
        self.restart()

    def restart(self) -> None:
        """Begin an interval here; what was in the one before is not counted."""
        self._begun = self._clock()
        self._steps, self._samples = 0, 0

    def step(self, samples: int) -> None:
        """One step is done, of so many samples of all ranks."""
        self._steps += 1
        self._samples += samples

    def interval(self) -> tuple[float, float]:
        """Samples a second, and seconds of a step, since the interval began; begins the next one."""
        seconds = max(self._clock() - self._begun, 1e-9)
        told = self._samples / seconds, seconds / max(self._steps, 1)
        if self._intervals:
            self._run_samples += self._samples
            self._run_seconds += seconds
        self._intervals += 1
        self.restart()
        return told

    @property
    def samples_per_s(self) -> float | None:
        """Of the run so far without its first interval; None before the second one ends."""
        return self._run_samples / self._run_seconds if self._run_seconds else None
