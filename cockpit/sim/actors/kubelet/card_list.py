"""A simulated container whose command is nvidia-smi: it lists its cards and ends, as the real one does."""

from collections.abc import AsyncIterator, Sequence

from cockpit.sim.actors.kubelet.behaviour import Habits
from cockpit.sim.actors.kubelet.runtime import STDOUT, Exit, LogLine, Start
from cockpit.sim.actors.kubelet.simulated import SimulatedRunning
from cockpit.sim.actors.kubelet.training import Alarm

_SECONDS = 1.5
_NO_CARDS = 6
"""Exit code of nvidia-smi where no device was found."""


def lists_cards(start: Start) -> bool:
    """True for a command that asks nvidia-smi, where no annotation tells how long the container lasts."""
    words = (*(start.container.get("command") or ()), *(start.container.get("args") or ()))
    return start.behaviour.duration_seconds is None and any("nvidia-smi" in str(one) for one in words)


class _Said:
    """A few lines, all at one moment."""

    def __init__(self, texts: Sequence[str], at: float, alarm: Alarm) -> None:
        self._lines = [LogLine(at, STDOUT, text.encode()) for text in texts]
        self._at = at
        self._alarm = alarm

    def lines(self, *, since: float, tail: int | None, now: float) -> Sequence[LogLine]:
        """Lines written from `since` until `now`, only the last `tail` of them when that is given."""
        told = [one for one in self._lines if since <= one.at <= now]
        return told if tail is None else told[max(0, len(told) - tail) :]

    async def follow(self, after: float) -> AsyncIterator[LogLine]:
        """Lines written later than `after`."""
        if after < self._at:
            await self._alarm(self._at)
            for one in self._lines:
                yield one


class CardList(SimulatedRunning):
    """The container: says `GPU 0: simulated (UUID: ...)` for each card that it was given."""

    def __init__(self, start: Start, now: float, habits: Habits, seed: int, alarm: Alarm) -> None:
        super().__init__(start, now, habits, seed, alarm)
        ids = [one for devices in start.devices.values() for one in devices]
        lines = [f"GPU {index}: simulated (UUID: {one})" for index, one in enumerate(ids)]
        self._said = _Said(lines or ["No devices were found"], now + _SECONDS / 2, alarm)
        self._exit = Exit(0 if ids else _NO_CARDS, now + _SECONDS)

    @property
    def log(self) -> _Said:  # type: ignore[override]
        """What it prints."""
        return self._said
