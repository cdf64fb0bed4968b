"""How long a rank computes by itself, on a processor or on a GPU, without making the GPU wait."""

import time
from types import TracebackType
from typing import Any

import torch


class ComputeTime:
    """From `begin` to the last `end` of each step; `mean_s` over the steps since it was asked last. Seconds.

    A GPU works on after Python has gone on, so there the times come from events in its own stream.
    """

    def __init__(self, device: torch.device) -> None:
        self._is_gpu = device.type == "cuda"
        self.restart()

    def restart(self) -> None:
        """Forget the steps so far."""
        self._steps: list[tuple[Any, Any]] = []
        self._begun: Any = None
        self._ended: Any = None

    def _now(self) -> Any:
        if not self._is_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def begin(self) -> None:
        """The step's own work begins."""
        self._begun, self._ended = self._now(), None

    def end(self) -> None:
        """It ends, as far as is known."""
        self._ended = self._now()

    def done(self) -> None:
        """The step is over: what `end` said last counts."""
        if self._begun is not None and self._ended is not None:
            self._steps.append((self._begun, self._ended))

    def __enter__(self) -> None:
        self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        self.done()

    def mean_s(self) -> float | None:
        """Mean of the steps since it was asked last; None where there was none."""
        if self._is_gpu:
            torch.cuda.synchronize()
            seconds = [first.elapsed_time(last) / 1000 for first, last in self._steps]
        else:
            seconds = [last - first for first, last in self._steps]
        self.restart()
        return sum(seconds) / len(seconds) if seconds else None
