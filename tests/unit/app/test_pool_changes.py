"""A change of a pool is followed by one task, whoever begins it and however soon after another."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.services.pool_changes import PoolChanges


async def test_of_two_changes_begun_together_the_later_one_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going: list[str] = []

    class Endless:
        def __init__(self, hold: Any, *_: Any, **__: Any) -> None:
            self._name = hold.name

        async def to_the_end(self) -> None:
            going.append(self._name)
            try:
                await asyncio.Event().wait()
            finally:
                going.remove(self._name)

    monkeypatch.setattr("cockpit.services.pool_changes.Follower", Endless)
    tasks: list[asyncio.Task[None]] = []

    def spawn(work: Callable[[], Coroutine[Any, Any, None]], _name: str) -> None:
        tasks.append(asyncio.ensure_future(work()))

    cluster = SimpleNamespace(connected=lambda: None, store=None)
    host: Any = SimpleNamespace(cluster=cluster, spawn=spawn, audit=None, clock=None)
    watch: Any = SimpleNamespace(note_asked=lambda _hold: None)
    changes = PoolChanges(host, watch, lambda: "default")
    for name in ("first", "second"):
        hold: Any = SimpleNamespace(name=name, path="/lease", pool_key="h100")
        changes.follow(hold)
    for _ in range(5):
        await asyncio.sleep(0)
    assert going == ["second"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert changes._followed == {}
