"""What a verdict is reached from: the store, the rows of jobs, the time, and what was read on demand."""

from collections.abc import Callable, Mapping, Sequence

from cockpit.fit.shape import Shape
from cockpit.model.finding import Finding
from cockpit.model.job_reader import JobReader
from cockpit.model.remembered import PastRun
from cockpit.pools.forecast import PoolExperience
from cockpit.triage.context import Context
from cockpit.triage.idle_jobs import IdleJobs


class ClusterView(Context, frozen=True, kw_only=True):
    """The cluster at one moment. `told` says what blocks so many pods of a shape at that time; None: made
    each time. `past` are jobs that ended and that this host remembers; `progress` says how far running jobs
    are (0..1), by key, of those whose logs tell it. `known` is what machines cost and how long pools took to
    grow; `idle` what jobs that look idle did lately; `ended_drains` are nodes whose drain has no end."""

    jobs: JobReader
    now_seconds: float
    told: Callable[[Shape, int, float], Sequence[Finding]] | None = None
    past: tuple[PastRun, ...] = ()
    progress: Mapping[str, float] = {}
    known: PoolExperience = PoolExperience()
    idle: IdleJobs | None = None
    ended_drains: frozenset[str] = frozenset()
