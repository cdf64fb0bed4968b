"""What a job's verdict is reached from."""

from collections.abc import Callable, Mapping

import msgspec

from cockpit.fit.shape import Shape
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.gangs.standing import GangStanding
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader
from cockpit.triage.cluster_view import NO_TREES, Trees
from cockpit.triage.funnel import Sifted
from cockpit.triage.placement_context import PlacementContext


class Walk(msgspec.Struct, frozen=True, kw_only=True):
    """A job and everything that its verdict is reached from. `now_seconds` None: nothing that takes time is
    told, as in the rows of jobs, which are drawn anew for changes only."""

    job: Job
    pods: tuple[Pod, ...]
    store: StoreReader
    gang: GangStanding | None = None
    now_seconds: float | None = None
    last_lines: Mapping[str, str] = {}
    around: Surroundings = UNKNOWN
    trees: Trees = NO_TREES
    sift: Callable[[Shape], Sifted] | None = None

    def placement(self, waiting: int) -> PlacementContext:
        """What its pods without a node are judged by; `waiting` are those that ask for GPUs."""
        return PlacementContext(
            store=self.store,
            now_seconds=self.now_seconds,
            around=self.around,
            trees=self.trees,
            waiting=waiting,
            sift=self.sift,
        )
