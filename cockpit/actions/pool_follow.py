"""A change of a pool's size from its call to its end: the hold is renewed, and given back when it is over.

What is looked at are the tables: the size that the owner was told, and the nodes. A size that another client
changes meanwhile ends it, and is told with who wrote it, for that is not seen at the time of the call.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, Final, NamedTuple

from cockpit.actions.execute.execute_plan import AuditLog, carry_out
from cockpit.actions.pool_lease import RENEW_SECONDS, release_call, renew_call
from cockpit.actions.read import read_tree
from cockpit.clock import Clock
from cockpit.errors import CockpitError
from cockpit.kube.decode.times import from_text
from cockpit.model.plan import Call, Plan, PoolLeaseHandle
from cockpit.model.pool import PoolObject
from cockpit.model.session import Reader, Session
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pool_keyed, pool_object
from cockpit.pools.owner import HasMachines, PoolFailure
from cockpit.pools.plan import nodes_named
from cockpit.pools.registry import holder
from cockpit.sanitise import clean

LOOK_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 3_600.0
"""So long a change is followed at most; its hold lapses by itself after that."""
_LONGEST_NAME: Final = 60


class End(Enum):
    """How it ended; `GOING` where it did not yet."""

    GOING = "goes on"
    REACHED = "reached"
    SET_BACK = "set back"  # another client wrote another size
    GONE = "gone"  # the pool is not there any more
    FAILED = "failed"  # its owner says why machines do not come
    TIMED_OUT = "timed out"


class ChangeStanding(NamedTuple):
    """Where a change stands: the size that the owner has by now, the nodes that are there and whole, and why
    no more come."""

    end: End
    target: int | None = None
    whole: int = 0
    failure: PoolFailure | None = None


def standing(store: StoreReader, hold: PoolLeaseHandle, *, was_told: bool) -> ChangeStanding:
    """`was_told`: the owner's object has been seen with the new size."""
    pool = pool_keyed(store, hold.pool_key)
    if pool is None:
        return ChangeStanding(End.GONE)
    unseen = max(0, (pool.target or 0) - pool.nodes_now)  # those count as joining, too
    whole = pool.nodes_now - min(pool.nodes_now, max(0, pool.nodes_joining - unseen))
    if pool.target not in (None, hold.to):
        return ChangeStanding(End.SET_BACK if was_told else End.GOING, pool.target, whole)
    if pool.target is None:  # it is not set: nodes come by demand, ours and that of others
        is_reached = pool.nodes_now >= hold.to and not pool.nodes_joining
    else:
        is_reached = was_told and pool.nodes_now == hold.to and not pool.nodes_joining
    return ChangeStanding(End.REACHED if is_reached else End.GOING, pool.target, whole)


def failure_since(
    store: StoreReader, hold: PoolLeaseHandle, since_seconds: float, now_seconds: float
) -> PoolFailure | None:
    """The newest word of the pool's owner on why machines do not come, none from before the change."""
    pool = pool_keyed(store, hold.pool_key)
    if pool is None:
        return None
    found, nodes = pool_object(store, pool), nodes_named(store, pool)
    makes = holder(found, nodes)
    told = makes.failures(found, nodes, store, now_seconds) if isinstance(makes, HasMachines) else ()
    return next((one for one in told if (one.since_seconds or 0.0) >= since_seconds), None)


class Follower:
    """One change in flight. `sleep` waits so many seconds; `stops_at_failure` ends at the first one.

    `is_resumed`: the owner was told before, by a session that is over."""

    def __init__(
        self,
        hold: PoolLeaseHandle,
        store: Callable[[], StoreReader],
        session: Session,
        *,
        audit: Callable[[], AuditLog],
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]],
        stops_at_failure: bool = False,
        is_resumed: bool = False,
    ) -> None:
        self._hold = hold
        self._store = store
        self._session = session
        self._audit = audit
        self._clock = clock
        self._sleep = sleep
        self._stops_at_failure = stops_at_failure
        self._begun_seconds = clock.cluster_now()
        self._was_told = is_resumed
        self._renewed = clock.monotonic() - (RENEW_SECONDS if is_resumed else 0.0)
        self._is_ours = bool(hold.path)

    async def to_the_end(
        self,
        looked: Callable[[ChangeStanding], None] = lambda _standing: None,
        seconds: float = LONGEST_SECONDS,
    ) -> ChangeStanding:
        """Look until it is over or `seconds` have gone; the hold is given back but where time ran out.

        `looked` is called with each look.
        """
        begun = self._clock.monotonic()
        while True:
            found = self._look()
            looked(found)
            if found.end is not End.GOING:
                await self._send(release_call)
                return found
            if self._clock.monotonic() - begun >= seconds:
                return found._replace(end=End.TIMED_OUT)
            if self._clock.monotonic() - self._renewed >= RENEW_SECONDS:
                self._renewed = self._clock.monotonic()
                await self._send(renew_call)
            await self._sleep(LOOK_SECONDS)

    def _look(self) -> ChangeStanding:
        found = standing(self._store(), self._hold, was_told=self._was_told)
        if not self._was_told and found.target == self._hold.to:
            self._was_told = True
            found = standing(self._store(), self._hold, was_told=True)
        if self._stops_at_failure and found.end is End.GOING:
            now_seconds = self._clock.cluster_now()
            failure = failure_since(self._store(), self._hold, self._begun_seconds, now_seconds)
            if failure is not None:
                return found._replace(end=End.FAILED, failure=failure)
        return found

    async def _send(self, make: Callable[[PoolLeaseHandle, float], Call]) -> None:
        """Renew or give back; one that is not ours any more is left alone."""
        if not self._is_ours:
            return
        call = make(self._hold, self._clock.cluster_now())
        plan = Plan(verb="scale", title=f"Hold pool {self._hold.pool}", calls=(call,))
        try:
            outcome = await carry_out(plan, self._session, self._audit(), self._clock)
        except CockpitError:
            return
        self._is_ours = outcome.state != "refused"


async def bad_end(found: ChangeStanding, hold: PoolLeaseHandle, session: Reader, store: StoreReader) -> str:
    """Why it did not come to what was asked for, "" where it did or goes on. Raises NoConnection."""
    if found.end is End.SET_BACK:
        return await set_back_words(session, store, hold, found)
    if found.failure is not None:
        return f"{found.failure.sentence}: {found.failure.remedy}"
    return f"pool {hold.pool} is gone" if found.end is End.GONE else ""


async def set_back_words(
    session: Reader, store: StoreReader, hold: PoolLeaseHandle, found: ChangeStanding
) -> str:
    """`Group h100 was set from 4 to 2 by its controller`: who else writes the size of the pool."""
    what, by = f"pool {hold.pool}", ""
    with suppress(CockpitError):  # where it may not be read no writer is named
        pool = pool_keyed(store, hold.pool_key)
        owner = None if pool is None else pool_object(store, pool)
        if owner is not None:
            what = f"{owner.kind} {owner.key}"
            by = await _last_writer(session, owner)
    return (
        f"{what} was set from {hold.to} to {found.target} by {by or 'another client'}:"
        " two decide this size; agree on one, then scale again"
    )


async def _last_writer(session: Reader, owner: PoolObject) -> str:
    """Who wrote its size last, as the object's managed fields tell: who wrote it before has it no more."""
    tree = await read_tree(session, f"{owner.resource_path}/{owner.name}", owner.key)
    entries = tree["metadata"].get("managedFields")
    found: list[tuple[float, str]] = []
    for one in entries if isinstance(entries, list) else ():
        if isinstance(one, Mapping) and _writes(one, f"f:{holder(owner, ()).traits.size_field}"):
            at_seconds = from_text(str(one.get("time") or "")) or 0.0
            found.append((at_seconds, clean(str(one.get("manager") or ""), _LONGEST_NAME)))
    return max(found)[1] if found else ""


def _writes(entry: Mapping[str, Any], field: str) -> bool:
    fields = entry.get("fieldsV1")
    spec = fields.get("f:spec") if isinstance(fields, Mapping) else None
    return isinstance(spec, Mapping) and field in spec
