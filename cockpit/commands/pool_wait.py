"""`cockpit pool scale --wait`: a change of a pool's size, followed to its end in lines."""

import asyncio
from collections.abc import Callable, Iterator

from cockpit.actions.pool_follow import ChangeStanding, End, Follower, bad_end
from cockpit.actions.pool_lease import clock_words
from cockpit.clock import Clock
from cockpit.commands.attached import Live
from cockpit.commands.output import put
from cockpit.commands.settings import audit_log
from cockpit.errors import NoConnection, Refused
from cockpit.gangs.sentence import counted
from cockpit.model.plan import PoolLeaseHandle
from cockpit.model.pool import SizeAsked
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pool_keyed
from cockpit.pools.ladder import growth

LONGEST_SECONDS = 1_800.0
"""Default timeout of `--wait`."""
_WHOLE = "nodes with their GPUs"


async def until_there(live: Live, clock: Clock, deadline_seconds: float, hold: PoolLeaseHandle) -> int:
    """Print each step once, until all nodes are there: 0.

    Raises Refused with why they do not come, or that they have not come in time; NoConnection.
    """
    session = live.attachment.session
    if session is None:
        raise NoConnection(live.attachment.sentence or "the connection was lost")
    steps = _Steps(hold, clock, lambda: live.attachment.store)

    def looked_at() -> StoreReader:
        live.attachment.outside.ask_keyed(hold.pool_key)  # what is not watched is read while it is followed
        return live.attachment.store

    follower = Follower(
        hold,
        looked_at,
        session,
        audit=audit_log,
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
    """What was printed already: how many machines have come to each step, and how many nodes are whole."""

    def __init__(self, hold: PoolLeaseHandle, clock: Clock, store: Callable[[], StoreReader]) -> None:
        self._hold = hold
        self._clock = clock
        self._store = store
        self._begun_seconds = clock.cluster_now()
        self._told: dict[str, int] = {}

    def tell(self, found: ChangeStanding) -> None:
        """Print what is new at this look."""
        for step, count, wanted in self._climbed():
            if count and count != self._told.get(step):
                self._told[step] = count
                self._put(f"{step}: {count} of {wanted}")
        if found.whole != self._told.get(_WHOLE):
            self._told[_WHOLE] = found.whole
            self._put(f"{found.whole} of {self._hold.to} {_WHOLE}")

    def _climbed(self) -> Iterator[tuple[str, int, int]]:
        store = self._store()
        pool = pool_keyed(store, self._hold.pool_key)
        if pool is None:
            return
        ladder = growth(pool, store, self._clock.cluster_now(), asked=SizeAsked(self._begun_seconds))
        if ladder is not None:
            for item in ladder.stamps:
                yield str(item.step), ladder.done(item.step), ladder.wanted

    def _put(self, text: str) -> None:
        put([f"{clock_words(self._clock.cluster_now())}  {text}"])
