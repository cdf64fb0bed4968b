"""What a subject is judged by: the store, the time, and what was read on demand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.gangs.standing import GangStanding
from cockpit.jobs.owner_chain import owner_record
from cockpit.model.finding import Finding, Funnel
from cockpit.model.job import Job, JobObject, OwnerObject
from cockpit.model.job_reader import JobReader
from cockpit.model.listing import listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.remembered import PastRun
from cockpit.model.store_reader import StoreReader
from cockpit.pools.forecast import PoolExperience
from cockpit.triage.funnel import Sifted, sift
from cockpit.triage.idle_jobs import IdleJobs

Tree = Mapping[str, Any]
Trees = Mapping[tuple[str, str], Sequence[Tree]]
"""Objects as the API gave them, by (kind, namespace); "" where the kind has no namespace. A pair that is
missing was not read, or may not be: nothing is known of such objects. Objects of a pair may hold their
metadata only."""
NO_TREES: Trees = {}


def tree_in(value: object) -> Tree:
    """A part of an object that nobody decoded, {} where it is something else."""
    return value if isinstance(value, Mapping) else {}


def trees_in(value: object) -> Sequence[Tree]:
    """A list of such parts, without what is something else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a subject is judged by. `now_seconds` None: causes that take time are not told yet. `last_lines`
    are the last lines that crashed containers wrote, by the pod's uid. `waiting` counts the members of a
    pod's job that have no node and ask for GPUs. `sift` makes the funnel of a shape; None: made each time."""

    store: StoreReader
    now_seconds: float | None = None
    last_lines: Mapping[str, str] = {}
    around: Surroundings = UNKNOWN
    trees: Trees = NO_TREES
    waiting: int = 1
    sift: Callable[[Shape], Sifted] | None = None

    @property
    def knows_nodes(self) -> bool:
        """False where nodes may not be listed: nothing may be said of what there is."""
        return listing(self.store, Kind.NODE).has_all

    def sifted(self, shape: Shape) -> Sifted:
        """The funnel of pods of that shape; an empty one that stops nowhere where nodes are not known."""
        if not self.knows_nodes:
            return Sifted(Funnel(nodes=0), "", {}, (), shape, {})
        if (shape.near or shape.spreads) and not listing(self.store, Kind.POD).has_all:
            shape = replace(shape, near=(), spreads=())  # who is there is not known
        if self.sift is not None:
            return self.sift(shape)
        return sift(self.store, shape, self.around)

    def tree(self, kind: str, namespace: str, name: str) -> Tree | None:
        """The object as it was read, None where it was not."""
        for one in self.trees.get((kind, namespace), ()):
            meta = one.get("metadata")
            if isinstance(meta, Mapping) and meta.get("name") == name:
                return one
        return None

    def lacks(self, kind: str, namespace: str, name: str) -> bool:
        """True where all objects of the kind were read and it is not among them."""
        return (kind, namespace) in self.trees and self.tree(kind, namespace, name) is None

    def is_within(self, last_seconds: float | None, seconds: float) -> bool:
        """Whether what came last then came so lately; False where that is not known."""
        now = self.now_seconds
        return now is not None and last_seconds is not None and now - last_seconds <= seconds

    def is_older(self, created_seconds: float | None, seconds: float) -> bool:
        """Whether what was made then is there for that long; False where that is not known."""
        now = self.now_seconds
        return now is not None and created_seconds is not None and now - created_seconds >= seconds


class Walk(Context, frozen=True, kw_only=True):
    """A job and everything that its verdict is reached from. `now_seconds` None: nothing that takes time is
    told, as in the rows of jobs, which are drawn for changes only."""

    job: Job
    pods: tuple[Pod, ...]
    gang: GangStanding | None = None

    @property
    def object_(self) -> JobObject | OwnerObject | None:
        """The object that the job's row stands for."""
        return owner_record(self.store, self.job.uid)

    @property
    def own_tree(self) -> Tree | None:
        """That object as it was read, None where it was not."""
        return self.tree(self.job.kind, self.job.namespace, self.job.name)


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
