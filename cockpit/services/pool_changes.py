"""Leases of pool changes from this session: each change is followed to its end in the background.

One that was begun before the cockpit was left is taken up again, by the Lease that still names this user and
host: once a session, as soon as it may write.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cockpit.actions.pool_follow import End, Follower, bad_end, standing
from cockpit.actions.pool_lease import clock_words, hold_of, read_lease
from cockpit.errors import CockpitError
from cockpit.model.lease import Lease, LeaseRead
from cockpit.model.plan import PoolLeaseHandle
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.services.host import Host
from cockpit.services.pool_watch import PoolWatch

if TYPE_CHECKING:
    from cockpit.model.store_reader import StoreReader

BEGINS_SECONDS: Final = 60.0
"""So long after its Lease was taken the size may still be written: what goes is cordoned first, and
settles."""
MOST_READ: Final = 50
"""Pools whose Lease is read for a change of before; those that cannot be resized from here have none."""


class PoolChanges:
    """The changes of this session by the Lease that holds their pool."""

    def __init__(
        self,
        host: Host,
        pool_watch: PoolWatch,
        lease_namespace: Callable[[], str],
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self._host = host
        self._pool_watch = pool_watch
        self._lease_namespace = lease_namespace
        self._sleep = sleep
        self._followed: dict[str, asyncio.Task[Any]] = {}  # by the path of the Lease
        self._searched: Any = None  # the attachment whose Leases were read

    async def read(self, pool: Pool) -> LeaseRead:
        """Who changes the pool now, or did last; what may not be read is said."""
        try:
            return await read_lease(self._host.cluster.connected(), pool, self._lease_namespace())
        except CockpitError as error:
            return LeaseRead(trouble=error.sentence)

    def follow(self, hold: PoolLeaseHandle) -> None:
        """Keep the hold until its change is over, and tell who undid it."""
        self._pool_watch.note_asked(hold)
        self._follow(hold, None)

    def look(self) -> None:
        """Take up what was begun before, once everything is listed and writes are let through."""
        cluster = self._host.cluster
        if (
            self._searched is cluster
            or cluster.is_read_only
            or not cluster.is_settled((Kind.NODE, Kind.POOL))
        ):
            return
        self._searched = cluster
        self._host.spawn(self._take_up, "changes")

    async def _take_up(self) -> None:
        host, cluster = self._host, self._host.cluster
        pools = [item for item in pools_of(cluster.store) if item.owner_kind and not item.why_not]
        for pool in pools[:MOST_READ]:
            lease = (found := await self.read(pool)).lease
            if lease is None or not found.is_ours or not lease.is_in_force(host.clock.cluster_now()):
                continue
            hold = hold_of(pool, lease, self._lease_namespace())
            young = host.clock.cluster_now() - (lease.acquired_seconds or 0.0) < BEGINS_SECONDS
            if hold is None or (young and pool.target != hold.to):
                continue  # another terminal of this person is about to write it
            if hold.path not in self._followed and host.cluster is cluster:
                self._follow(hold, lease)

    def _follow(self, hold: PoolLeaseHandle, lease: Lease | None) -> None:
        self._host.spawn(partial(self._to_the_end, hold, lease), f"hold {hold.pool_key}")

    async def _to_the_end(self, hold: PoolLeaseHandle, lease: Lease | None) -> None:
        """`lease` is that of a change that is taken up again."""
        host, cluster = self._host, self._host.cluster
        try:
            session = cluster.connected()
        except CockpitError:
            return  # the hold lapses by itself

        def looked_at() -> "StoreReader":
            cluster.outside.ask_keyed(hold.pool_key)  # what is not watched is read while it is followed
            store: StoreReader = cluster.store
            return store

        follower = Follower(
            hold,
            looked_at,
            session,
            audit=host.audit,
            clock=host.clock,
            sleep=self._sleep,
            is_resumed=lease is not None,
        )
        task = asyncio.current_task()
        assert task is not None
        if (former := self._followed.get(hold.path)) is not None:
            former.cancel()
        self._followed[hold.path] = task
        try:
            if lease is not None and self._tell_resumed(hold, lease):
                await follower.to_the_end()
                return
            told = await bad_end(await follower.to_the_end(), hold, session, cluster.store)
        finally:
            if self._followed.get(hold.path) is task:
                del self._followed[hold.path]
        if told:
            host.notify(told, severity="error")

    def _tell_resumed(self, hold: PoolLeaseHandle, lease: Lease) -> bool:
        """Say how a change of before stands; whether it is over by now, one way or the other."""
        found = standing(self._host.cluster.store, hold, was_told=True)
        since = "" if lease.acquired_seconds is None else f" of {clock_words(lease.acquired_seconds)}"
        change = f"your change{since} of pool {hold.pool} {lease.change}"
        told = {
            End.GOING: f"{change} goes on: it is followed again",
            End.REACHED: f"{change} is done: the pool is free for others",
            End.SET_BACK: f"{change} is not in force, it is set to {found.target}: it is free for others",
        }.get(found.end, f"{change} is over: the pool is gone")
        is_bad = found.end not in (End.GOING, End.REACHED)
        self._host.notify(told, severity="warning" if is_bad else "information")
        return found.end is not End.GOING
