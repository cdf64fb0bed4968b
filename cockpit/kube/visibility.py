"""Places in line as a queueing engine itself tells them: an API that only answers when asked.

Places count from 0 there and from 1 here (source: kueue apis/visibility, pkg/visibility/storage). Where it is
not served or may not be read, nothing is told and places are estimates.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Never

from cockpit.clock import Clock
from cockpit.errors import CockpitError
from cockpit.kube.pulse import within
from cockpit.kube.refusal import refused
from cockpit.kube.resource import segment
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch
from cockpit.model.gang import QueuePlace
from cockpit.model.record import Kind, Record, Uid

QUEUE_SECONDS = 15.0
"""Between two questions about one queue."""
PACE_SECONDS = 4.0
"""Between two questions about any: 0.25 a second in all."""
IDLE_SECONDS = 0.5
"""Between two looks into the store while no queue is due; nothing is asked then."""
ABSENT_SECONDS = 60.0
LONGEST_SECONDS = 120.0
"""Of the back-off after failures, which doubles from the pace."""
MOST_PLACES = 1000

Lines = Mapping[str, Mapping[tuple[str, str], str]]
Waiting = Callable[[], Lines]
"""ClusterQueue -> (namespace, name) of each Workload in its line -> its uid."""


class QueuePlaces:
    """Asks again and again, and delivers what changed as batches of `Kind.PLACE`.

    `path` has {version}, of which `versions` are known, and {queue}.
    """

    def __init__(
        self,
        session: ApiSession,
        waiting: Waiting,
        sink: Callable[[Batch], None],
        clock: Clock,
        *,
        path: str,
        versions: tuple[str, ...],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._session = session
        self._waiting = waiting
        self._sink = sink
        self._clock = clock
        self._sleep = sleep
        self._asked_at: dict[str, float] = {}  # by queue, monotonic
        self._places: dict[str, dict[str, QueuePlace]] = {}  # by queue
        self._failures = 0
        self._told: dict[str, QueuePlace] = {}
        self._path = path
        self._versions = versions
        self._version = versions[0]

    async def run(self) -> Never:
        """Until cancelled. Trouble of one question is no trouble: it is asked again, later each time, or when
        a person asks again."""
        while True:
            await within(await self.step(), self._session.pulse.asked_again(), self._sleep)

    async def step(self) -> float:
        """Ask about the queue that waits longest for it, if one is due; seconds until the next look."""
        lines = self._waiting()
        now = self._clock.monotonic()
        for gone in self._asked_at.keys() - lines.keys():
            del self._asked_at[gone]
            self._places.pop(gone, None)
        due = [line for line in lines if now - self._asked_at.get(line, -QUEUE_SECONDS) >= QUEUE_SECONDS]
        if not due:
            self._deliver()
            return IDLE_SECONDS
        queue = min(due, key=lambda one: (self._asked_at.get(one, 0.0), one))
        self._asked_at[queue] = now
        try:
            items = await self._pending(queue)
        except CockpitError:
            self._failures += 1
            return min(PACE_SECONDS * 2.0 ** min(self._failures, 10), LONGEST_SECONDS)
        self._failures = 0
        if items is None:
            self._places.clear()
            self._deliver()
            return ABSENT_SECONDS
        self._places[queue] = _places(items, lines[queue])
        self._deliver()
        return PACE_SECONDS

    async def _pending(self, queue: str) -> list[object] | None:
        """The line of one queue, None where no version is served, or it may not be read."""
        for version in dict.fromkeys((self._version, *self._versions)):
            name = segment(queue, "queue")
            path = self._path.format(version=version, queue=name)
            answer = await self._session.request("GET", path, query=(("limit", str(MOST_PLACES)),))
            if answer.status == 200:
                self._version = version
                items = answer.json().get("items")
                return items if isinstance(items, list) else []
            if answer.status == 404 and "not found" in answer.message() and queue in answer.message():
                return []  # the API is there, the queue is gone
            if answer.status == 429 or answer.status >= 500:
                raise refused("The queue positions are unknown", answer, path)
        return None

    def _deliver(self) -> None:
        found = {uid: place for places in self._places.values() for uid, place in places.items()}
        changed: tuple[Record, ...] = tuple(
            place for uid, place in found.items() if self._told.get(uid) != place
        )
        removed = tuple(uid for uid in self._told if uid not in found)
        self._told = found
        if changed or removed:
            self._sink(Batch(kind=Kind.PLACE, changed=changed, removed=removed))


def _places(items: Iterable[object], line: Mapping[tuple[str, str], str]) -> dict[str, QueuePlace]:
    found: dict[str, QueuePlace] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        metadata = item.get("metadata") or {}
        key = (str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        place, uid = item.get("positionInClusterQueue"), line.get(key)
        if uid is not None and isinstance(place, int):
            found[uid] = QueuePlace(uid=Uid(uid), namespace=key[0], name=key[1], position=place + 1)
    return found
