"""What a job's verdict is reached from."""

from cockpit.gangs.standing import GangStanding
from cockpit.jobs.owner_chain import owner_record
from cockpit.model.job import Job, JobObject, OwnerObject
from cockpit.model.pod import Pod
from cockpit.triage.context import Context, Tree


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
