"""Readers of the app go on after a bad round, whatever made it bad, and tell it until it is over."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cockpit import supervise
from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.services.row_reads import RowReads
from cockpit.supervise import kept_up


async def html() -> None:
    ApiAnswer(200, "text/html", b"<html>log in</html>").json()


async def refused() -> None:
    raise Refused("HTTP 500 without an explanation")


async def nesting() -> None:
    ApiAnswer(200, "application/json", b"[" * 100_000).json()


async def undecodable() -> None:
    json.loads(b"\xff\xfe\xfd")


async def no_descriptor() -> None:
    raise OSError(24, "Too many open files")


async def cancelled_part() -> None:
    part = asyncio.ensure_future(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(part.cancel)
    await part


BAD_ROUNDS = (html, refused, nesting, undecodable, no_descriptor, cancelled_part)


@pytest.mark.parametrize("bad", BAD_ROUNDS)
async def test_reads_on_demand_survive_a_bad_round(bad: Callable[[], Awaitable[None]]) -> None:
    rounds: list[int] = []
    looked, told, naps = asyncio.Event(), list[str](), list[float]()

    class Api:
        async def read_on_demand(self, _rows: object) -> bool:
            rounds.append(1)
            if len(rounds) <= 2:
                await bad()
            return True

        async def read_idle_jobs(self) -> bool:
            return False

        async def read_left_over(self, _audit: object) -> bool:
            return False

    unread = SimpleNamespace(unread=lambda _rows: True)
    cluster: Any = SimpleNamespace(
        is_connected=True, is_settled=lambda _kinds: True, verdicts=SimpleNamespace(on_demand=unread)
    )
    host: Any = SimpleNamespace(cluster=cluster, api=Api(), looked_up=looked.set, audit=object)
    reads = RowReads(host)

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) > 5:
            looked.set()  # it never goes on: told below
            await asyncio.Event().wait()
        reads._due.set()
        await asyncio.sleep(0)

    reads._due.set()
    task = asyncio.create_task(
        kept_up(
            "rows",
            reads.read_on,
            lambda error, name: f"{name}: {type(error).__name__}",
            told.append,
            monotonic=ManualClock().monotonic,
            sleep=sleep,
        )
    )
    async with asyncio.timeout(10):
        await looked.wait()
    assert naps == [1.0, 2.0]
    assert len(told) == 2
    assert all(told)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_fault_is_told_until_the_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "GOES_ON_SECONDS", 0.0)
    told: list[str] = []
    over = asyncio.Event()

    async def work() -> None:
        if not told:
            await html()
        await asyncio.Event().wait()

    def tell(sentence: str) -> None:
        told.append(sentence)
        if not sentence:
            over.set()

    async def sleep(_seconds: float) -> None: ...

    task = asyncio.create_task(
        kept_up("x", work, lambda _error, _name: "", tell, monotonic=ManualClock().monotonic, sleep=sleep)
    )
    async with asyncio.timeout(10):
        await over.wait()
    assert told == ["The server's answer is not JSON; is a proxy or login page in between?", ""]
    task.cancel()
