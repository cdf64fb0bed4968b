"""What this host remembers of pools: a sample of each every two minutes, growths that are over.

One for the app, beside `NowWatch`. Files are read and written in a thread; the loop waits for none.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from cockpit.daemon_thread import apart
from cockpit.local_state.audit import local_user
from cockpit.model.plan import PoolLeaseHandle
from cockpit.model.pool import Pool, SizeAsked
from cockpit.model.remembered import Growth, PoolSample, Reclaim
from cockpit.model.store_reader import StoreReader
from cockpit.pools.demand import NO_DEMAND, MachineMemory, demand_by_pool
from cockpit.pools.idle import EmptyWatch
from cockpit.pools.index import pools_of
from cockpit.pools.ladder import Ladder, Rung, growth
from cockpit.pools.sightings import Sightings
from cockpit.services.host import Cluster, Host
from cockpit.services.problems import is_settled
from cockpit.views.pool_curves import SHOWN_SECONDS
from cockpit.views.pool_page import sample_of

if TYPE_CHECKING:
    from cockpit.local_state.history import LocalHistory

LOOK_SECONDS: Final = 30.0
"""Interval between two samples, in the cluster's time: a demo that runs faster is sampled more often."""
LEAST_LOOK_SECONDS: Final = 0.5
"""Never more often than this, in ours."""
SAMPLE_SECONDS: Final = 120.0
MOST_OWN: Final = 400
"""Samples of a pool that this session keeps: as many as are shown, and some."""


class PoolWatch:
    """The pools of the cluster in force over time. `history` gives where it is kept; None: nowhere."""

    def __init__(self, app: Host, history: "Callable[[], LocalHistory | None]") -> None:
        self._app = app
        self._history = history
        self._cluster: Cluster | None = None
        self._machines = MachineMemory()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._samples: dict[str, dict[int, PoolSample]] = defaultdict(dict)
        self._unwritten: list[PoolSample] = []
        self._growths: tuple[Growth, ...] = ()
        self._unwritten_growths: list[Growth] = []
        self._reclaims: tuple[Reclaim, ...] = ()
        self.growth_log = GrowthLog(self._app.cluster.sightings)
        self._asked: dict[str, SizeAsked] = {}
        self.empty = EmptyWatch(3 * LOOK_SECONDS, self._app.cluster.sightings)
        self._recalled: set[str] = set()

    def _follow(self) -> None:
        """Forget the pools of the former cluster."""
        if self._cluster is not self._app.cluster:
            self._begin_anew()
            self._cluster = self._app.cluster

    # ---- what is known

    @property
    def growths(self) -> tuple[Growth, ...]:
        """Growths that are over, the newest first: what was remembered, and those of this session."""
        self._follow()
        return self._growths

    def reclaims(self, pool_key: str) -> tuple[Reclaim, ...]:
        """Reclaimed nodes of that pool, the newest first: from the history, and by this session."""
        self._follow()
        return tuple(item for item in self._reclaims if item.pool_key == pool_key)

    async def reclaimed(self, found: tuple[Reclaim, ...]) -> None:
        """Store the nodes that were just reclaimed."""
        self._follow()
        self._reclaims = (*found, *self._reclaims)
        history = self._history()
        if history is not None:
            for item in found:
                await apart(partial(history.put_reclaim, item))

    def asked(self, pool_key: str) -> SizeAsked | None:
        """When this session asked for another size of that pool last, where no Lease tells."""
        self._follow()
        return self._asked.get(pool_key)

    def note_asked(self, hold: PoolLeaseHandle) -> None:
        """A change was sent just now: the Lease that holds it tells who and when, to everybody the same."""
        self._follow()
        if not hold.path:
            self._asked[hold.pool_key] = SizeAsked(self._app.clock.cluster_now(), local_user())

    @property
    def empty_since(self) -> Mapping[str, float]:
        """Since when this session has seen nodes empty, epoch seconds by name."""
        self._follow()
        return self.empty.since

    def samples(self, pool_key: str) -> tuple[PoolSample, ...]:
        """How that pool stood over the last hours, the oldest first."""
        self._follow()
        found = self._samples.get(pool_key, {})
        return tuple(found[at] for at in sorted(found))

    # ---- looking

    def look_every(self) -> float:
        """Seconds of ours between two looks."""
        return max(LEAST_LOOK_SECONDS, LOOK_SECONDS / max(1.0, self._app.clock.cluster_pace()))

    def look(self) -> None:
        """Note how the pools stand, once in a while; not before everything is listed."""
        self._follow()
        cluster, now_seconds = self._app.cluster, self._app.clock.cluster_now()
        if not is_settled(cluster):
            return
        every_seconds = self.look_every() * self._app.clock.cluster_pace()
        self.empty.look(cluster.store, now_seconds, every_seconds)
        pools = pools_of(cluster.store)
        for ended in self.growth_log.look(pools, cluster.store, now_seconds):
            self._growths = (ended, *self._growths)
            self._unwritten_growths.append(ended)
        if all(_slot(now_seconds) in self._samples.get(pool.key, {}) for pool in pools):
            return
        demand = demand_by_pool(cluster.store, pools, self._machines)
        for pool in pools:
            waits = None if demand is None else demand.get(pool.name, NO_DEMAND)
            self.keep_sample(sample_of(pool, waits, now_seconds))

    def keep_sample(self, sample: PoolSample) -> None:
        """One of this session; it is written with the next round."""
        self._take((sample,))
        self._unwritten.append(sample)

    def remember(self, growths: Iterable[Growth], samples: Iterable[PoolSample]) -> None:
        """What former sessions saw."""
        self._follow()
        self._growths = tuple(dict.fromkeys((*self._growths, *growths)))
        self._take(samples)

    def _take(self, samples: Iterable[PoolSample]) -> None:
        for sample in samples:
            own = self._samples[sample.pool_key]
            own[_slot(sample.at_seconds)] = sample
            while len(own) > MOST_OWN:
                del own[min(own)]

    # ---- what is kept

    async def keep_on(self) -> None:
        """Look, and write what was seen, until cancelled."""
        while True:
            await asyncio.sleep(self.look_every())
            if self._app.cluster.is_connected:
                self.look()
                await self.keep()

    async def keep(self) -> None:
        """Write what was seen; what could not be written is tried again."""
        history, samples = self._history(), tuple(self._unwritten)
        growths = tuple(self._unwritten_growths)
        if history is None or not (samples or growths):
            self._unwritten.clear()
            return

        def write() -> bool:
            return history.put_pool_samples(samples) and all(map(history.put_growth, growths))

        if await apart(write) or not history.may_recover:
            self._unwritten = self._unwritten[len(samples) :]
            self._unwritten_growths = self._unwritten_growths[len(growths) :]

    async def recall(self, pool_key: str) -> None:
        """Read what is remembered of that pool, and of growths of all; once."""
        self._follow()
        history, cluster = self._history(), self._cluster
        if history is None or pool_key in self._recalled:
            return
        self._recalled.add(pool_key)
        since = self._app.clock.cluster_now() - SHOWN_SECONDS
        samples = await apart(partial(history.pool_samples, pool_key, since))
        growths = await apart(history.growths)
        back = await apart(partial(history.reclaims, pool_key))
        if self._cluster is cluster:
            own = self._samples.pop(pool_key, {})
            self.remember(growths, samples)
            self._reclaims = tuple(dict.fromkeys((*self._reclaims, *back)))
            self._samples[pool_key].update(own)


def _slot(seconds: float) -> int:
    return int(seconds // SAMPLE_SECONDS)


# ---- growths


class GrowthLog:
    """Looks at all pools now and then. A growth that was over when it was first seen counts where its objects
    date when it began; one that came while we looked began, at the latest, when it was first seen."""

    def __init__(self, seen: Sightings) -> None:
        """`seen` tells since when the GPUs of nodes are there."""
        self._seen = seen
        self._begun: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def look(self, pools: Iterable[Pool], store: StoreReader, now_seconds: float) -> tuple[Growth, ...]:
        """Growths that are over since the last look."""
        found = (self._ended(one, store, now_seconds) for one in pools)
        return tuple(one for one in found if one is not None)

    def _ended(self, pool: Pool, store: StoreReader, now_seconds: float) -> Growth | None:
        ladder = growth(pool, store, now_seconds, seen=self._seen)
        if ladder is None:
            self._begun.pop(pool.key, None)
            return None
        if not ladder.is_over:
            self._begun.setdefault(pool.key, now_seconds)
            return None
        asked = _asked(ladder, self._begun.pop(pool.key, None))
        if asked is None or self._told.get(pool.key) == asked:
            return None
        self._told[pool.key] = asked
        return _growth(pool, ladder, asked)


def _asked(ladder: Ladder, first_seen: float | None) -> float | None:
    """When the first of its machines was asked for, None where it is not known."""
    if ladder.asked_seconds is not None:
        return ladder.asked_seconds
    dated = [one.at(Rung.ACCEPTED) for one in ladder.machines]
    known = [one for one in (*dated, first_seen) if one is not None]
    return min(known, default=None)


def _growth(pool: Pool, ladder: Ladder, asked: float) -> Growth | None:
    """None where no step of it is dated."""
    stages = tuple(
        (str(one.step), max(0.0, one.at_seconds - asked))
        for one in ladder.stamps
        if one.is_reached and one.at_seconds is not None and one.step is not Rung.ASKED
    )
    if not stages:
        return None
    return Growth(
        pool_key=pool.key,
        asked_seconds=asked,
        machine_type=pool.machine,
        nodes=ladder.wanted,
        stages=stages,
    )
