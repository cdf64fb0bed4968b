"""The time of the embedded cluster: the wall's, or faster. Tests step a `cockpit.clock.ManualClock`."""

from cockpit.clock import Clock, SystemClock


class FastClock:
    """A clock that runs `speed` times as fast as `base`, from the moment it is made."""

    def __init__(self, speed: float, base: Clock | None = None) -> None:
        if speed <= 0:
            raise ValueError(f"speed {speed} is not above 0")
        self.speed = speed
        self._base = base or SystemClock()
        self._start = self._base.now()
        self._start_monotonic = self._base.monotonic()

    def now(self) -> float:
        """Seconds since the Unix epoch, in the cluster's time."""
        return self._start + self.monotonic()

    def monotonic(self) -> float:
        """Seconds of the cluster's time since this clock was made."""
        return (self._base.monotonic() - self._start_monotonic) * self.speed
