"""Moments of one pod that its record leaves out: read for the page of its job alone."""

import msgspec


class PodTimes(msgspec.Struct, frozen=True, gc=False):
    """Epoch seconds; None where the server does not tell. `started_seconds` is of the last container that
    runs or ended, of its first run where it was never restarted (`restarts` 0)."""

    bound_seconds: float | None = None
    started_seconds: float | None = None
    restarts: int = 0
