"""`cockpit pool scale --wait`: a change of a pool's size, followed to its end in lines."""

import asyncio

from cockpit.actions.pool_follow import ChangeStanding, End, Follower, bad_end
from cockpit.actions.pool_lease import clock_words
from cockpit.clock import Clock
from cockpit.commands.live import Live
from cockpit.commands.output import put
from cockpit.errors import NoConnection, Refused
from cockpit.gangs.sentence import counted
from cockpit.local_state.audit import Audit
from cockpit.model.plan import Hold

LONGEST_SECONDS = 1_800.0
"""Where nobody says how long to wait."""


async def until_there(live: Live, clock: Clock, deadline_seconds: float, hold: Hold) -> int:
    """Print each step once, until all nodes are there: 0.

    Raises Refused with why they do not come, or that they have not come in time; NoConnection.
    """
    session = live.attachment.session
    if session is None:
        raise NoConnection(live.attachment.sentence or "the connection was lost")
    steps = _Steps(hold, clock)
    follower = Follower(
        hold,
        lambda: live.attachment.store,
        session,
        audit=Audit,
        clock=clock,
        sleep=asyncio.sleep,
        stops_at_failure=True,
    )
    found = await follower.to_the_end(steps.tell, deadline_seconds)
    told = await bad_end(found, hold, session, live.attachment.store)
    if told:
        raise Refused(told)
    if found.end is End.TIMED_OUT:
        raise Refused(
            f"pool {hold.pool}: {found.whole} of {hold.to} nodes after {deadline_seconds:g} s;"
            f" the change goes on: see cockpit get pools"
        )
    put([f"pool {hold.pool} has its {counted(hold.to, 'node')}"])
    return 0


class _Steps:
    """What was printed already."""

    def __init__(self, hold: Hold, clock: Clock) -> None:
        self._hold = hold
        self._clock = clock
        self._told: int | None = None

    def tell(self, found: ChangeStanding) -> None:
        if found.whole != self._told:
            self._told = found.whole
            at = clock_words(self._clock.cluster_now())
            put([f"{at}  {found.whole} of {self._hold.to} nodes with their GPUs"])
