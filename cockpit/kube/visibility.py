"""Places in line as a queueing engine itself tells them: an API that only answers when asked.

Places count from 0 there and from 1 here (source: kueue apis/visibility, pkg/visibility/storage). Where it is
not served or may not be read, nothing is told and places are estimates.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Never

from cockpit.errors import CockpitError
from cockpit.kube.resource import segment
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch
from cockpit.model.gang import QueuePlace
from cockpit.model.record import Kind, Record, Uid

ASK_SECONDS = 3.0
"""Between two rounds while somebody waits; a round is one request a ClusterQueue."""
IDLE_SECONDS = 0.5
"""Between two looks into the store while nobody waits, as at the start; nothing is asked then."""
ABSENT_SECONDS = 60.0
MOST_PLACES = 1000

Waiting = Callable[[], Mapping[str, Mapping[tuple[str, str], str]]]
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
        *,
        path: str,
        versions: tuple[str, ...],
    ) -> None:
        self._session = session
        self._waiting = waiting
        self._sink = sink
        self._told: dict[str, QueuePlace] = {}
        self._path = path
        self._versions = versions
        self._version = versions[0]

    async def run(self) -> Never:
        """Until cancelled. Trouble of one round is no trouble: the next one asks again."""
        while True:
            try:
                is_there = await self.ask()
            except CockpitError:
                is_there = True
            if not is_there:
                await asyncio.sleep(ABSENT_SECONDS)
            else:
                await asyncio.sleep(ASK_SECONDS if self._waiting() else IDLE_SECONDS)

    async def ask(self) -> bool:
        """One round; False where nothing is served for us. Raises NoConnection."""
        lines = self._waiting()
        found: dict[str, QueuePlace] = {}
        for queue, line in sorted(lines.items()):
            items = await self._pending(queue)
            if items is None:
                self._deliver({})
                return False
            found.update(_places(items, line))
        self._deliver(found)
        return True

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
        return None

    def _deliver(self, found: dict[str, QueuePlace]) -> None:
        changed: tuple[Record, ...] = tuple(
            place for uid, place in found.items() if self._told.get(uid) != place
        )
        removed = tuple(uid for uid in self._told if uid not in found)
        self._told = found
        if changed or removed:
            self._sink(Batch(kind=Kind.PLACE, changed=changed, removed=removed))


def _places(items: Iterable[object], line: Mapping[tuple[str, str], str]) -> dict[str, QueuePlace]:
    found: dict[str, QueuePlace] = {}
    for one in items:
        if not isinstance(one, dict):
            continue
        metadata = one.get("metadata") or {}
        key = (str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        place, uid = one.get("positionInClusterQueue"), line.get(key)
        if uid is not None and isinstance(place, int):
            found[uid] = QueuePlace(uid=Uid(uid), namespace=key[0], name=key[1], position=place + 1)
    return found
