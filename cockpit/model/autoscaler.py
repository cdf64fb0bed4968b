"""What the autoscaler of a cluster writes of itself."""

import msgspec

from cockpit.model.record import Labels, Record

WORKING_SECONDS = 180.0
"""A status that is older was left by one that does not work (source: cluster-autoscaler pkg/FAQ.md)."""


class ScaledGroup(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One group of nodes as the autoscaler knows it; `name` is the provider's. None: it does not say.

    `up` is NoActivity, InProgress, Backoff or Unhealthy, `down` NoCandidates or CandidatesPresent.
    """

    name: str
    health: str = ""
    ready: int | None = None
    registered: int | None = None
    without_resources: int | None = None  # Ready nodes that do not show their devices yet
    target: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    up: str = ""
    up_since_seconds: float | None = None
    error_code: str = ""
    error_message: str = ""
    down: str = ""


class OwnerFlags(Record, frozen=True, gc=False, kw_only=True):
    """Flags with which a pool owner was started, as its pod or Deployment says; `name` is the owner's. One
    that stands nowhere has the default of its version. `trouble` says why they are not known."""

    flags: Labels = ()  # (name without hyphens, value); of those that its package reads
    pod_uid: str = ""  # whose they are; another pod may have others. "": they are a Deployment's
    read_seconds: float | None = None  # by the cluster's clock
    trouble: str = ""


class AutoscalerStatus(Record, frozen=True, gc=False, kw_only=True):
    """Its status as it was read. `written_seconds` and `read_seconds` are by the cluster's clock."""

    written_seconds: float | None = None
    read_seconds: float | None = None
    state: str = ""  # Running, Initializing; "" where it does not say
    message: str = ""
    health: str = ""
    groups: tuple[ScaledGroup, ...] = ()

    @property
    def is_working(self) -> bool:
        """Whether it wrote lately."""
        if self.written_seconds is None or self.read_seconds is None:
            return False
        return self.read_seconds - self.written_seconds < WORKING_SECONDS
