"""A number over a run of any length in fixed memory: neighbours become one point when there are too many."""

from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

MOST_POINTS: Final = 256
WARM_RATIO: Final = 0.1
"""A rate this near to the usual one is no warm-up any more."""

Place = tuple[int, int]
"""(epoch, step) of a reading, as its log counts."""


class Point(NamedTuple):
    """A mean over that many readings. `at_seconds` is when the last of them was written."""

    place: Place
    at_seconds: float | None
    value: float
    readings: int = 1


class Curve:
    """Points from the beginning of the run to now. With `is_rate` means are those of time, as of a rate:
    the same work at each reading."""

    def __init__(self, most_points: int = MOST_POINTS, *, is_rate: bool = False) -> None:
        if most_points < 2 or most_points % 2:
            raise ValueError(f"a curve holds an even number of points, got {most_points}")
        self._most_points = most_points
        self._is_rate = is_rate
        self._stride = 1
        self._points: list[Point] = []

    def add(self, place: Place, at_seconds: float | None, value: float) -> None:
        """A reading behind the others. One of an earlier place is of a run that began again there: what was
        read beyond that place counts no more."""
        self.cut(place)
        last = self._points[-1] if self._points else None
        one = Point(place, at_seconds, value)
        if last is not None and last.readings < self._stride:
            self._points[-1] = self._merged(last, one)
            return
        self._points.append(one)
        if len(self._points) > self._most_points:
            halves = zip(self._points[:-1:2], self._points[1::2], strict=True)
            self._points = [*(self._merged(first, second) for first, second in halves), one]
            self._stride *= 2

    def cut(self, place: Place) -> None:
        """Forget what was read beyond that place."""
        while self._points and self._points[-1].place > place:
            self._points.pop()

    def _merged(self, first: Point, second: Point) -> Point:
        count = first.readings + second.readings
        if self._is_rate and first.value > 0 and second.value > 0:
            value = count / (first.readings / first.value + second.readings / second.value)
        else:
            value = (first.value * first.readings + second.value * second.readings) / count
        return Point(second.place, second.at_seconds, value, count)

    @property
    def points(self) -> tuple[Point, ...]:
        """From the beginning of the run to now."""
        return tuple(self._points)

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(point.value for point in self._points)

    @property
    def last(self) -> float | None:
        return self._points[-1].value if self._points else None

    def __len__(self) -> int:
        return len(self._points)


class Steady(NamedTuple):
    """A rate without its warm-up: mean over time, standard deviation of the readings' means, how many."""

    mean: float
    deviation: float
    readings: int


def steady(points: Sequence[Point]) -> Steady | None:
    """The rate after the warm-up: from the first reading on that is near to the median of the later half.

    The first reading never counts where there are others. None without any.
    """
    if not points:
        return None
    usual = median(point.value for point in points[len(points) // 2 :])
    begin = 1 if len(points) > 1 else 0
    while begin < len(points) // 2 and abs(points[begin].value - usual) > WARM_RATIO * abs(usual):
        begin += 1
    kept = points[begin:]
    count = sum(item.readings for item in kept)
    if all(item.value > 0 for item in kept):
        mean = count / sum(item.readings / item.value for item in kept)
    else:
        mean = sum(item.value * item.readings for item in kept) / count
    square = sum(item.readings * (item.value - mean) ** 2 for item in kept) / count
    return Steady(mean, square**0.5, count)
