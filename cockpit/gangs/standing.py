"""What every engine answers about where a job's gang stands, and what waits in its queues."""

from typing import NamedTuple

import msgspec

from cockpit.model.finding import Finding


class QueueState(NamedTuple):
    """`state`: active, stopped, inactive, ending, unknown, or open, closing and closed of engines that say
    so; `why` is "" for a queue that takes jobs."""

    state: str
    why: str

    @property
    def takes_jobs(self) -> bool:
        """True for a queue that is active or open."""
        return self.state in ("active", "open")


class GangState:
    """Where a gang stands with its engine, in plain words."""

    QUEUED = "queued"  # waits for quota or for its turn
    CHECKING = "checking"  # quota is reserved, admission checks are not through
    ADMITTED = "admitted"  # may run; its pods are not all ready
    STARTED = "started"  # all pods reached readiness
    EVICTED = "evicted"  # was admitted, is being taken off
    DEACTIVATED = "deactivated"  # suspended by a person or by the engine
    FINISHED = "finished"

    WAITING = ("queued", "checking", "evicted", "deactivated")


NOT_HELD = Finding()
"""Nothing holds it, or what does stands on its members."""


class GangStanding(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Where one gang stands. `why` is what holds it, with the engine's own words as evidence.

    `again_seconds` is when it is tried again (epoch seconds), where the engine has set a time.
    `position` 1 is next; `is_estimate` where it was computed here and not told by the engine.
    """

    state: str
    why: Finding = NOT_HELD
    position: int | None = None
    is_estimate: bool = False
    queue: str = ""
    cluster_queue: str = ""
    again_seconds: float | None = None

    @property
    def is_waiting(self) -> bool:
        return self.state in GangState.WAITING


class WaitingView(msgspec.Struct, frozen=True, gc=False):
    """One workload or group of pods in line, by its uid. `job` is "namespace/name" of the job it stands for,
    else its own. GPUs and priority are None where nothing tells them."""

    workload_uid: str
    namespace: str
    job: str
    position: int
    is_estimate: bool
    gpus: int | None
    priority: int | None
    created_seconds: float | None
    reason: str


class QueueDay(NamedTuple):
    """The last 24 hours of a queue, by the workloads that are still there: `admitted` were let in for the
    first time, after `median_wait_seconds` (None: none was); `preempted` made room for others."""

    median_wait_seconds: float | None
    admitted: int
    preempted: int
