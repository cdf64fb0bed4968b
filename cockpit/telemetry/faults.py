"""Why there is no telemetry: one sentence and the phase of the stream."""

from typing import NamedTuple

from cockpit.errors import Answered, CockpitError, LoginExpired, NoConnection, Refused
from cockpit.model.batch import Phase

LONGEST_THROTTLE_SECONDS = 600.0


class TelemetryError(CockpitError):
    """Prometheus gave no usable answer. `phase` is DENIED for a missing right, ABSENT where there is none to
    ask, BACKING_OFF for what may pass."""

    def __init__(self, sentence: str, phase: Phase = Phase.BACKING_OFF) -> None:
        super().__init__(sentence)
        self.phase = phase

    @property
    def wait_seconds(self) -> float:
        """How long nothing is to be asked at least."""
        return 0.0

    def told(self, pause_seconds: float) -> str:
        """The sentence shown until the next attempt."""
        return self.sentence


def refused_by_cluster(error: CockpitError, sentence: str = "") -> TelemetryError:
    """What a failure of the API server means for telemetry that is read through it; `sentence` in place of
    the error's own. Only a missing right, or what this cockpit does not send, is denied."""
    said = sentence or error.sentence
    if isinstance(error, LoginExpired) or (isinstance(error, Answered) and error.said.status == 401):
        return TelemetryError(said, Phase.NOT_LOGGED_IN)
    if isinstance(error, NoConnection):
        return Unheard(said)
    is_denied = isinstance(error, Refused) and error.said.status in (0, 403)
    return TelemetryError(said, Phase.DENIED if is_denied else Phase.BACKING_OFF)


class Complaint(NamedTuple):
    """What is wrong with answers that are data: in a sentence, and whether something may be missing."""

    sentence: str = ""
    is_partial: bool = False


class Unheard(TelemetryError):
    """No connection, or no answer in time: what is asked next may wait as long for nothing."""


class Throttled(Unheard):
    """Asked too often, or overloaded: nothing is to be asked for `retry_after_seconds`."""

    def __init__(self, sentence: str, retry_after_seconds: float) -> None:
        super().__init__(sentence)
        self.retry_after_seconds = retry_after_seconds

    def told(self, pause_seconds: float) -> str:
        """With the moment of the next try."""
        return f"{self.sentence}; next try in {pause_seconds:.0f} s."

    @property
    def wait_seconds(self) -> float:
        """Bounded: a server that wants more patience is asked all the same."""
        return min(max(self.retry_after_seconds, 0.0), LONGEST_THROTTLE_SECONDS)
