"""The time of the embedded cluster: the wall's, or faster, and stepped for as long as it warms up."""

from cockpit.clock import Clock, ManualClock, SystemClock


class DemoClock(ManualClock):
    """Stands still and is stepped until `release`; then runs `speed` times as fast as the wall.

    A cluster begins `warm_seconds` in the past and is stepped to the present before anybody looks at it, so
    that it has a history from its first moment on.
    """

    def __init__(self, warm_seconds: float = 0.0, wall: Clock | None = None) -> None:
        self._wall = wall or SystemClock()
        super().__init__(self._wall.now() - warm_seconds)
        self._released_at: float | None = None
        self.speed = 1.0

    def release(self, speed: float = 1.0) -> None:
        """Run from now on. Raises ValueError for a speed that is not above 0."""
        if speed <= 0:
            raise ValueError(f"speed {speed} is not above 0")
        self.speed = speed
        self._released_at = self._wall.monotonic()

    def now(self) -> float:
        """Seconds since the Unix epoch, in the cluster's time."""
        return super().now() + self._ran()

    def monotonic(self) -> float:
        """Seconds of the cluster's time; only differences mean anything."""
        return super().monotonic() + self._ran()

    def cluster_pace(self) -> float:
        """How fast the cluster's time runs, measured by the wall's."""
        return self.speed

    def _ran(self) -> float:
        if self._released_at is None:
            return 0.0
        return (self._wall.monotonic() - self._released_at) * self.speed
