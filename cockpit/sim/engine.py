"""One loop that wakes actors: changes in the order of the server, timers in the order of time.

With a stepped clock (`advance`) and the local port the same seed gives the same history: nothing here
depends on the order in which tasks happen to run. Live (`run`) the same loop waits for the wall.
"""

import asyncio
import contextlib
import heapq
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from cockpit.clock import Clock, ManualClock
from cockpit.kube.resource import Resource
from cockpit.sim.port import ChangeType, ObjectChange, Port, PortError, Tree

_log = logging.getLogger(__name__)

Key = tuple[str, ...]
"""What an actor is asked to look at; the actor gives it its meaning, usually (namespace, name)."""

_SLICE_SECONDS = 0.01
_FIRST_RETRY_SECONDS = 0.05
_LAST_RETRY_SECONDS = 30.0


class Cache:
    """The current objects of one resource, as last handed over by the port. Trees are never changed."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._trees: dict[tuple[str, str], Tree] = {}

    def get(self, namespace: str, name: str) -> Tree | None:
        """The object, or None."""
        return self._trees.get((namespace, name))

    def keys(self) -> list[tuple[str, str]]:
        """(namespace, name) of every object, oldest first as far as the port told them so."""
        return list(self._trees)

    def __iter__(self) -> Iterator[Tree]:
        return iter(list(self._trees.values()))

    def __len__(self) -> int:
        return len(self._trees)

    def _take(self, change: ObjectChange) -> Tree | None:
        """Apply one change; answers what was there before."""
        metadata = change.tree["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self._trees.get(key)
        if change.type is ChangeType.DELETED:
            self._trees.pop(key, None)
        else:
            self._trees[key] = change.tree
        return before


class Actor:
    """One controller. Subclasses say what they watch, which keys a change wakes, and what to do for a key."""

    name = "actor"
    watches: tuple[Resource, ...] = ()

    def __init__(self) -> None:
        self._engine: ActorEngine | None = None

    @property
    def engine(self) -> "ActorEngine":
        """The engine that runs this actor. Raises RuntimeError before it was given to one."""
        if self._engine is None:
            raise RuntimeError(f"{self.name} runs in no engine")
        return self._engine

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Keys to reconcile after `change`; `before` is the object as it was. By default its own name."""
        metadata = change.tree["metadata"]
        yield (metadata.get("namespace", ""), metadata["name"])

    async def start(self) -> None:
        """Called once, when every cache is filled and before the first reconcile."""

    async def reconcile(self, key: Key) -> None:
        """Bring the world one step nearer to what is wanted. A PortError is tried again, later each time."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Called once at the end: end children, close sockets."""


class ActorEngine:
    """Caches, timers and a queue of keys for a set of actors on one port."""

    def __init__(self, port: Port, clock: Clock, random: Random, actors: Sequence[Actor]) -> None:
        self.port = port
        self.clock = clock
        self.random = random
        self.actors = tuple(actors)
        self._caches: dict[Resource, Cache] = {}
        self._watchers: dict[Resource, list[Actor]] = {}
        self._inbox: deque[ObjectChange] = deque()
        self._queue: dict[tuple[Actor, Key], None] = {}
        self._timers: list[tuple[float, int, Actor, Key]] = []
        self._due: dict[tuple[Actor, Key], float] = {}
        self._count = 0
        self._retries: dict[tuple[Actor, Key], float] = {}
        self._stirred = asyncio.Event()
        self._is_live = False
        for actor in self.actors:
            actor._engine = self
            for resource in actor.watches:
                self._watchers.setdefault(resource, []).append(actor)

    def now(self) -> float:
        """Seconds since the Unix epoch, in the cluster's time."""
        return self.clock.now()

    def cache(self, resource: Resource) -> Cache:
        """The cache of a resource that some actor of this engine watches. Raises KeyError otherwise."""
        return self._caches[resource]

    def soon(self, actor: Actor, key: Key) -> None:
        """Reconcile `key` after what is queued already; once, however often it is asked for."""
        self._queue[(actor, key)] = None
        self._stirred.set()

    def after(self, seconds: float, actor: Actor, key: Key) -> None:
        """Reconcile `key` in `seconds` of the cluster's time. An earlier timer of the same key stands."""
        due = self.clock.now() + max(0.0, seconds)
        held = self._due.get((actor, key))
        if held is not None and held <= due:
            return
        self._due[(actor, key)] = due
        self._count += 1
        heapq.heappush(self._timers, (due, self._count, actor, key))
        self._stirred.set()

    async def start(self) -> None:
        """Fill every cache, then start every actor."""
        for resource in self._watchers:
            self._caches[resource] = Cache(resource)
        for resource in self._watchers:
            await self.port.follow(resource, self._hand_in)
        self._take_changes()
        for actor in self.actors:
            await actor.start()

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass on a stepped clock; everything due in them has happened when this returns.

        Raises TypeError when the clock is not a ManualClock.
        """
        clock = self.clock
        if not isinstance(clock, ManualClock):
            raise TypeError("only a ManualClock can be advanced")
        end = clock.now() + seconds
        await self._settle()
        while self._timers and self._timers[0][0] <= end:
            clock.advance(max(0.0, self._timers[0][0] - clock.now()))
            self._ring()
            await self._settle()
        clock.advance(max(0.0, end - clock.now()))

    async def run(self) -> None:
        """Go on until cancelled, by the wall or as much faster as the clock runs."""
        self._is_live = True
        speed = self.clock.cluster_pace()
        while True:
            self._stirred.clear()
            self._ring()
            self._take_changes()
            if self._queue:
                await self._work_off()
                await asyncio.sleep(0)
                continue
            wait = (self._timers[0][0] - self.clock.now()) / speed if self._timers else None
            if wait is not None and wait <= 0:
                await asyncio.sleep(0)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):  # wait_for of Python 3.11 may swallow a cancellation
                    await self._stirred.wait()

    async def stop(self) -> None:
        """Stop following and end every actor."""
        await self.port.close()
        for actor in reversed(self.actors):
            await actor.stop()

    def _hand_in(self, change: ObjectChange) -> None:
        self._inbox.append(change)
        self._stirred.set()

    def _take_changes(self) -> None:
        while self._inbox:
            change = self._inbox.popleft()
            before = self._caches[change.resource]._take(change)
            for actor in self._watchers[change.resource]:
                try:
                    for key in actor.wake(change, before):
                        self._queue[(actor, key)] = None
                except Exception as fault:  # noqa: BLE001 - told, and raised where time is stepped
                    self._survive(actor, change.tree["metadata"]["name"], fault)

    def _survive(self, actor: Actor, what: str, fault: Exception) -> None:
        """A fault of one actor about one object ends no live cluster; where time is stepped it is raised."""
        if not self._is_live:
            raise fault
        _log.error("%s failed at %s", actor.name, what, exc_info=fault)

    def _ring(self) -> None:
        """Queue what is due."""
        now = self.clock.now()
        while self._timers and self._timers[0][0] <= now:
            due, _, actor, key = heapq.heappop(self._timers)
            if self._due.get((actor, key)) == due:
                del self._due[(actor, key)]
                self._queue[(actor, key)] = None

    async def _settle(self) -> None:
        """Work until nothing is queued at this instant."""
        self._ring()
        self._take_changes()
        while self._queue:
            await self._one()
            self._take_changes()

    async def _work_off(self) -> None:
        """Work for one slice of the wall's time, so that the server beside this loop keeps answering."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _SLICE_SECONDS
        while self._queue and loop.time() < end:
            await self._one()
            self._take_changes()

    async def _one(self) -> None:
        entry = next(iter(self._queue))
        del self._queue[entry]
        actor, key = entry
        try:
            await actor.reconcile(key)
        except PortError as error:
            wait = self._again(entry)
            if not error.is_conflict:
                _log.warning("%s %s: %s; again in %.2f s", actor.name, "/".join(key), error, wait)
        except Exception as fault:  # noqa: BLE001 - told, and raised where time is stepped
            self._survive(actor, "/".join(key), fault)
            self._again(entry)
        else:
            self._retries.pop(entry, None)

    def _again(self, entry: tuple[Actor, Key]) -> float:
        """Tries a key again, later each time; answers in how many seconds."""
        wait = min(_LAST_RETRY_SECONDS, self._retries.get(entry, _FIRST_RETRY_SECONDS / 2) * 2)
        self._retries[entry] = wait
        self.after(wait, *entry)
        return wait
