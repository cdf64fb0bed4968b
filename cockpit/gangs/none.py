"""Jobs that no engine queues: the scheduler takes their pods one by one."""

from cockpit.gangs.verdict import GangState, GangVerdict

NAME = "none"


def verdict() -> GangVerdict:
    """Nothing holds the job before the scheduler."""
    return GangVerdict(state=GangState.ADMITTED)
