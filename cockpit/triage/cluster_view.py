"""What a verdict is reached from: the store, the rows of jobs, the time, and what was read on demand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.fit.shape import Shape
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.model.finding import Finding
from cockpit.model.job_reader import JobReader
from cockpit.model.remembered import PastRun
from cockpit.model.store_reader import StoreReader
from cockpit.pools.forecast import PoolExperience
from cockpit.triage.funnel import Sifted
from cockpit.triage.idle_jobs import IdleJobs

Trees = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Objects as the API gave them, by (kind, namespace); "" where the kind has no namespace. A pair that is
missing was not read, or may not be: nothing is known of such objects. Objects of a pair may hold their
metadata only."""

NO_TREES: Trees = {}


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster at one moment. `last_lines` are the last lines that crashed containers wrote, by the pod's
    uid. `sift` makes the funnel of a shape, `told` says what blocks so many pods of it at that time; None:
    made each time. `past` are jobs that ended and that this host remembers; `progress` says how far running
    jobs are (0..1), by key, of those whose logs tell it. `known` is what machines cost and how long pools
    took to grow; `idle` what jobs that look idle did lately; `ended_drains` are nodes whose drain nobody
    carries on."""

    store: StoreReader
    jobs: JobReader
    now_seconds: float
    last_lines: Mapping[str, str] = {}
    around: Surroundings = UNKNOWN
    trees: Trees = NO_TREES
    sift: Callable[[Shape], Sifted] | None = None
    told: Callable[[Shape, int, float], Sequence[Finding]] | None = None
    past: tuple[PastRun, ...] = ()
    progress: Mapping[str, float] = {}
    known: PoolExperience = PoolExperience()
    idle: IdleJobs | None = None
    ended_drains: frozenset[str] = frozenset()
