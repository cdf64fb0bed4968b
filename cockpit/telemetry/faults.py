"""Why there is no telemetry: one sentence and the phase of the stream."""

from cockpit.errors import CockpitError
from cockpit.model.batch import Phase


class TelemetryError(CockpitError):
    """Prometheus gave no usable answer. `phase` is DENIED for a missing right, ABSENT where there is none to
    ask, BACKING_OFF for what may pass."""

    def __init__(self, sentence: str, phase: Phase = Phase.BACKING_OFF) -> None:
        super().__init__(sentence)
        self.phase = phase


class Unheard(TelemetryError):
    """No connection, or no answer in time: what is asked next may wait as long for nothing."""
