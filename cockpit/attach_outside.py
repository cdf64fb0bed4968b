"""Pools outside the cluster, read on demand: when a page of one is open, or a plan is made on it.

Only `read` waits for an answer; answers go into the store with their age. What could
not be read leaves what was read before where it was, with the reason beside it. The same pool is asked once
at a time, and not again while what is known is young.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

from cockpit.clock import Clock
from cockpit.clouds.errors import OutsideError
from cockpit.clouds.reading import read_pool
from cockpit.model.batch import Batch
from cockpit.model.pool import Machine, Pool, PoolObject
from cockpit.model.reach import Outside, Reach
from cockpit.model.record import Condition, Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import pool_keyed, pool_object
from cockpit.pools.outside import READ
from cockpit.pools.truth import nodes_of, objects_of

if TYPE_CHECKING:
    from cockpit.clouds.answer import PoolAnswer

FRESH_SECONDS = 20.0
"""What is younger is not asked for again by itself; what could not be read is not either."""
FOLLOW_SECONDS = 30 * 60.0
PAUSES_SECONDS = (2.0, 4.0, 8.0, 15.0, 30.0)
"""Between looks at a change that is under way."""

Sleep = Callable[[float], Awaitable[None]]


class ReadPool(Protocol):
    """Reads a pool from its cloud (`cockpit.clouds.reading.read_pool`); raises OutsideError."""

    def __call__(self, reach: Reach, now_seconds: float, /) -> "Awaitable[PoolAnswer]": ...


def _read_pool() -> ReadPool:
    return read_pool


class OutsideReads:
    """What is known of pools outside the cluster of one attachment."""

    def __init__(
        self,
        store: StoreReader,
        outside: Outside,
        sink: Callable[[Batch], None],
        clock: Clock,
        *,
        sleep: Sleep = asyncio.sleep,
        read_pool: ReadPool | None = None,
    ) -> None:
        self._store = store
        self._outside = outside
        self._sink = sink
        self._clock = clock
        self._sleep = sleep
        self._read_pool = read_pool
        self._asking: dict[str, asyncio.Task[None]] = {}  # by the pool's name
        self._tried_seconds: dict[str, float] = {}  # by our monotonic clock

    def is_asking(self, pool: Pool) -> bool:
        """Whether an answer is awaited."""
        return pool.name in self._asking

    def ask(self, pool: Pool) -> None:
        """Have it read, unless what is known is young. Returns at once; the answer comes into the store."""
        if not self._is_young(pool):
            self._begin(pool)

    def ask_keyed(self, key: str) -> None:
        """The same for the pool of that key, if there is one."""
        pool = pool_keyed(self._store, key)
        if pool is not None:
            self.ask(pool)

    async def read(self, pool: Pool, *, is_fresh: bool = True) -> bool:
        """Read it and wait for the answer or the error; False where its state is not outside.

        What is known by then tells how it went. `is_fresh` False: what is young will do.
        """
        found = self._object(pool)
        if found is None:
            return False
        if not is_fresh and found.read_seconds is not None and self._is_young(pool):
            return True
        task = self._begin(pool)
        if task is not None:
            await asyncio.shield(task)
        return True

    async def follow(self, pool: Pool) -> AsyncIterator[PoolObject]:
        """The pool as it is read again and again while a change is under way; ends where the caller stops,
        and after half an hour."""
        until = self._clock.monotonic() + FOLLOW_SECONDS
        looks = 0
        while self._clock.monotonic() < until:
            await self.read(pool)
            found = self._object(pool)
            if found is None:
                return
            yield found
            await self._sleep(PAUSES_SECONDS[min(looks, len(PAUSES_SECONDS) - 1)])
            looks += 1

    def stop(self) -> None:
        """Wait for nothing any more."""
        for task in self._asking.values():
            task.cancel()

    def _is_young(self, pool: Pool) -> bool:
        tried = self._tried_seconds.get(pool.name)
        return tried is not None and self._clock.monotonic() - tried < FRESH_SECONDS

    def _begin(self, pool: Pool) -> asyncio.Task[None] | None:
        found = self._object(pool)
        if found is None or found.reach is None:
            return None
        if pool.name not in self._asking:
            self._tried_seconds[pool.name] = self._clock.monotonic()
            task = asyncio.create_task(self._ask(pool.name, found), name=f"outside {pool.name}")
            self._asking[pool.name] = task
            task.add_done_callback(lambda _task: self._asking.pop(pool.name, None))
        return self._asking[pool.name]

    def _object(self, pool: Pool) -> PoolObject | None:
        """What stands for the pool: what was read, else how to read it."""
        found = pool_object(self._store, pool)
        if found is not None:
            return found if found.reach is not None else None
        members = frozenset(pool.node_names)
        nodes = [item for item in nodes_of(self._store) if item.name in members]
        read = [item for item in objects_of(self._store) if item.reach is not None]
        known = next((one for node in nodes if (one := registry.object_of(node, read)) is not None), None)
        return known or registry.unread(pool.name, nodes, self._outside)

    async def _ask(self, name: str, before: PoolObject) -> None:
        reach = before.reach
        if reach is None:
            return
        now_seconds = self._clock.cluster_now()
        try:
            read = await (self._read_pool or _read_pool())(reach, now_seconds)
        except OutsideError as error:
            trouble = Condition(READ, "False", error.code, error.message, now_seconds)
            kept = tuple(condition for condition in before.conditions if condition.type != READ)
            told = msgspec.structs.replace(before, conditions=(trouble, *kept))
            self._sink(Batch(kind=Kind.POOL, scope="outside", changed=(told,)))
            return
        self._put(before, read.pools, read.machines)

    def _put(self, before: PoolObject, pools: tuple[PoolObject, ...], machines: tuple[Machine, ...]) -> None:
        # Its identity was unknown until it was read; another one of its name takes its place.
        gone = () if any(pool.uid == before.uid for pool in pools) else (before.uid,)
        old = self._store.records(Kind.MACHINE)
        mine = tuple(f"{item.uid}/" for item in (before, *pools))
        left = {machine.uid for machine in machines}
        self._sink(Batch(kind=Kind.POOL, scope="outside", changed=pools, removed=gone))
        over = tuple(uid for uid in old if uid.startswith(mine) and uid not in left)
        if machines or over:
            self._sink(Batch(kind=Kind.MACHINE, scope="outside", changed=machines, removed=over))
