"""A sink that keeps what a reflector says, checks its promises, and can be waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from tests.bed.api import Api

DEADLINE_SECONDS = 120.0
_POLL_SECONDS = 0.02


async def eventually(
    predicate: Callable[[], Any], what: str = "", *, seconds: float = DEADLINE_SECONDS
) -> Any:
    """The first truthy answer of `predicate`, asked again and again; TimeoutError names `what`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not (found := predicate()):
        if loop.time() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {what or predicate}")
        await asyncio.sleep(_POLL_SECONDS)
    return found


async def in_time(ask: Callable[[], Awaitable[Any]], what: str, *, seconds: float = DEADLINE_SECONDS) -> Any:
    """As `eventually`, for a question that has to be awaited."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not (found := await ask()):
        if loop.time() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}")
        await asyncio.sleep(_POLL_SECONDS)
    return found


def _holds(predicate: Callable[[], Any]) -> bool:
    """A row that is not there yet (KeyError) is a condition that does not hold yet."""
    try:
        return bool(predicate())
    except KeyError:
        return False


class Mirror:
    """The rows of one kind as a store would hold them, and everything that was said on the way.

    Breaking a promise raises at once in the reflector and is kept in `broken`: a uid twice inside one list,
    an END without BEGIN, two uids of one key, a version that runs backwards inside a stream.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Any] = {}
        self.batches: list[Batch] = []
        self.statuses: list[StreamStatus] = []
        self.broken: list[str] = []
        self.fewest: int | None = None  # rows at any moment since the first list was complete
        self._listing: set[str] | None = None
        self._moved = asyncio.Event()
        self._failure: BaseException | None = None

    def __call__(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.status is not None:
            self.statuses.append(batch.status)
        if batch.mark is ListMark.BEGIN:
            self._listing = set()
        for record in batch.changed:
            self._take(record)
        for uid in batch.removed:
            self.rows.pop(uid, None)
        if batch.mark is ListMark.END:
            self._end()
        if self.fewest is not None or batch.mark is ListMark.END:
            known = len(self.rows) if self.fewest is None else self.fewest
            self.fewest = min(known, len(self.rows))
        self._moved.set()

    def ended(self, task: "asyncio.Task[Any]") -> None:
        """The reflector's task is over: whoever waits is told at once what it died of."""
        if not task.cancelled():
            self._failure = task.exception()
            self._moved.set()

    def _take(self, record: Any) -> None:
        if self._listing is not None:
            if record.uid in self._listing and record == self.rows.get(record.uid):
                self.broken.append(f"{record.key} twice in one list")
            self._listing.add(record.uid)
        self.rows[record.uid] = record

    def _end(self) -> None:
        if self._listing is None:
            self.broken.append("END without BEGIN")
            return
        for uid in [uid for uid in self.rows if uid not in self._listing]:
            del self.rows[uid]
        self._listing = None

    # ---- what is there

    @property
    def names(self) -> list[str]:
        return sorted(record.name for record in self.rows.values())

    @property
    def versions(self) -> dict[str, str]:
        """uid -> resource version: equal to the server's when nothing is missing, doubled or old."""
        return {uid: record.resource_version for uid, record in self.rows.items()}

    @property
    def status(self) -> StreamStatus | None:
        return self.statuses[-1] if self.statuses else None

    @property
    def phase(self) -> Phase | None:
        return self.statuses[-1].phase if self.statuses else None

    @property
    def phases(self) -> list[Phase]:
        """Phases in the order they were told, repeats folded."""
        out: list[Phase] = []
        for one in self.statuses:
            if not out or out[-1] is not one.phase:
                out.append(one.phase)
        return out

    @property
    def message(self) -> str:
        return self.statuses[-1].message if self.statuses else ""

    @property
    def lists_begun(self) -> int:
        return sum(batch.mark is ListMark.BEGIN for batch in self.batches)

    @property
    def lists_ended(self) -> int:
        return sum(batch.mark is ListMark.END for batch in self.batches)

    def named(self, name: str) -> Any:
        """The row of that name. Raises KeyError when there is none or more than one."""
        found = [record for record in self.rows.values() if record.name == name]
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows named {name}")
        return found[0]

    # ---- waiting

    async def until(
        self, predicate: Callable[[], Any], what: str = "", *, seconds: float = DEADLINE_SECONDS
    ) -> None:
        """Until `predicate` holds after some batch; TimeoutError tells what stands instead."""
        try:
            async with asyncio.timeout(seconds):
                while not _holds(predicate):
                    if self._failure is not None:
                        raise AssertionError(f"the reflector died: {self._failure!r}") from self._failure
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            told = [(one.phase.value, one.message) for one in self.statuses[-3:]]
            raise TimeoutError(
                f"not within {seconds:.0f} s: {what or predicate}; rows {self.names[:10]}, last told {told}"
            ) from None

    async def until_live(self, *, seconds: float = DEADLINE_SECONDS) -> None:
        await self.until(lambda: self.phase is Phase.LIVE, "live", seconds=seconds)

    async def until_equal(
        self, truth: Callable[[], dict[str, str]], *, seconds: float = DEADLINE_SECONDS
    ) -> None:
        """Until the rows are the server's, version for version."""
        wanted = truth()
        await self.until(
            lambda: self.versions == wanted, f"rows equal to {len(wanted)} of the server", seconds=seconds
        )
        assert self.broken == []


def truth(api: Api, path: str, *query: tuple[str, str]) -> Callable[[], dict[str, str]]:
    """Asks the server itself: uid -> resource version of everything below `path`."""

    def ask() -> dict[str, str]:
        return {
            item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
            for item in api.items(path, query=query)
        }

    return ask
