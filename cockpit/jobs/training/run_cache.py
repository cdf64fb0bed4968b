"""The runs whose pages were open recently: what was read of their logs stays when the page is left."""

from typing import Final

from cockpit.jobs.progress import Patterns, fraction_done
from cockpit.jobs.training.run import TrainingRun

MOST_RUNS: Final = 32
"""256 points in three curves, 64 intervals of at most 1,024 ranks: 3 MB each at the very most."""


class RunShelf:
    """Runs by the key of their job; the one that was looked at longest ago makes room."""

    def __init__(self, most_runs: int = MOST_RUNS) -> None:
        self._most_runs = most_runs
        self._runs: dict[str, tuple[str, TrainingRun]] = {}

    def open(self, key: str, uid: str, patterns: Patterns) -> TrainingRun:
        """The run of a job, for reading on; a job of the same name with another uid gets a new run."""
        held = self._runs.pop(key, None)
        run = held[1] if held is not None and held[0] == uid else TrainingRun(patterns)
        while len(self._runs) >= self._most_runs:
            del self._runs[next(iter(self._runs))]
        self._runs[key] = (uid, run)
        return run

    def of(self, key: str) -> TrainingRun | None:
        """The run read from a job's log, None if its page was not opened."""
        held = self._runs.get(key)
        return None if held is None else held[1]

    def fractions(self) -> dict[str, float]:
        """How much is done, 0 to 1, by the key of the job, as far as logs told; as old as the last look."""
        found = {key: fraction_done(run.progress) for key, (_, run) in self._runs.items()}
        return {key: part for key, part in found.items() if part is not None}
