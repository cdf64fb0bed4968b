"""What the rows of jobs answer: the protocol through which everything that only looks sees them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from cockpit.model.job import Job
from cockpit.model.pod import Pod


class JobReader(Protocol):
    """The reading side of `cockpit.jobs.index.JobIndex`."""

    @property
    def jobs(self) -> Mapping[str, Job]:
        """Every job by its key; live, so copy before awaiting."""

    def job(self, key: str, /) -> Job | None:
        """The job of that key; None where it is gone."""

    def members(self, key: str, /) -> tuple[Pod, ...]:
        """Its pods: launcher first, then by rank."""

    def strays(self) -> Sequence[Pod]:
        """Pods that are part of no job and do not run as they should."""

    def job_of_pod(self, pod: Pod, /) -> Job | None:
        """The job that the pod is a member of."""

    def moved_since(self, number: int, /) -> tuple[int, Collection[str] | None]:
        """The number of the last update, and the keys of rows that were made again or went since the update
        of `number`; None where these are too many to be listed."""
