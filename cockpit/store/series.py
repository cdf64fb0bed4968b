"""Recent history in fixed memory: ring buffers of numbers, made once and never grown."""

import math
from array import array

_MISSING = math.nan


class Series:
    """The newest `capacity` samples of one number; a gap is None, never zero. 16 bytes a sample.

    With `step_seconds` at most one sample stays of each step of the clock, its newest: what is drawn of the
    series then moves on once a step, not with every sample.
    """

    __slots__ = ("_capacity", "_count", "_next", "_seconds", "_step_seconds", "_values")

    def __init__(self, capacity: int, step_seconds: float = 0.0) -> None:
        if capacity < 1:
            raise ValueError(f"a series holds at least one sample, got {capacity}")
        self._capacity = capacity
        self._step_seconds = step_seconds
        self._seconds = array("d", bytes(8 * capacity))
        self._values = array("d", bytes(8 * capacity))
        self._next = 0
        self._count = 0

    def add(self, seconds: float, value: float | None) -> None:
        """Append a sample taken at `seconds`; one that is not newer than the last is ignored."""
        if self._count:
            last_seconds = self._seconds[self._next - 1]
            if seconds <= last_seconds:
                return
            step = self._step_seconds
            if step and seconds // step == last_seconds // step:
                self._next = (self._next - 1) % self._capacity
                self._count -= 1
        self._seconds[self._next] = seconds
        self._values[self._next] = _MISSING if value is None else value
        self._next = (self._next + 1) % self._capacity
        self._count = min(self._count + 1, self._capacity)

    def __len__(self) -> int:
        return self._count

    def values(self) -> tuple[float | None, ...]:
        """Samples from the oldest to the newest."""
        return tuple(None if math.isnan(self._values[i]) else self._values[i] for i in self._order())

    def points(self) -> tuple[tuple[float, float | None], ...]:
        """(seconds, value) from the oldest to the newest."""
        return tuple(zip((self._seconds[i] for i in self._order()), self.values(), strict=True))

    @property
    def last_seconds(self) -> float | None:
        """When the newest sample was taken, None while there is none."""
        return self._seconds[self._next - 1] if self._count else None

    def _order(self) -> list[int]:
        first = (self._next - self._count) % self._capacity
        return [(first + i) % self._capacity for i in range(self._count)]


class SeriesShelf:
    """Series by key with a bound on keys: the one that was asked for longest ago makes room."""

    def __init__(self, keys: int, capacity: int, step_seconds: float = 0.0) -> None:
        if keys < 1:
            raise ValueError(f"a shelf holds at least one series, got {keys}")
        self._keys = keys
        self._capacity = capacity
        self._step_seconds = step_seconds
        self._series: dict[str, Series] = {}

    def add(self, key: str, seconds: float, value: float | None) -> None:
        """Append a sample to the key's series, which is made when it is not there."""
        self.series(key).add(seconds, value)

    def series(self, key: str) -> Series:
        """The key's series, now the most recently used."""
        found = self._series.pop(key, None)
        if found is None:
            if len(self._series) >= self._keys:
                del self._series[next(iter(self._series))]
            found = Series(self._capacity, self._step_seconds)
        self._series[key] = found
        return found

    def drop(self, key: str) -> None:
        self._series.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self._series

    def __len__(self) -> int:
        return len(self._series)
