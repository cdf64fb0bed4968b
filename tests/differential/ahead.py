"""The plays of a module, several at a time: a play waits for controllers nearly all of its time.

They are begun together when the first test asks for its own; each test tells what became of its play.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import pytest

AT_ONCE = 4
"""More of them would be late because of each other: steps of a play are a second apart."""

_OURS = threading.Lock()
"""Our side is played by one at a time: it waits for nothing, and embedded servers belong to one thread."""

PlayT = TypeVar("PlayT")


class _Ours(Protocol):
    sights: list[Any]

    def events(self) -> list[str]: ...
    def close(self) -> None: ...


OursT = TypeVar("OursT", bound=_Ours)


def played(make: Callable[[], OursT], play: Callable[[OursT], None]) -> tuple[list[Any], list[str]]:
    """What our side shows at each look of the play, and the events that it told in the end."""
    with _OURS:
        ours = make()
        try:
            play(ours)
            told = ours.events()
        finally:
            ours.close()
    assert ours.sights, "a play looks at least once"
    return ours.sights, told


class Ahead(Generic[PlayT]):
    """Plays under way. They must not touch what belongs to another one."""

    def __init__(self, results: dict[PlayT, Future[None]]) -> None:
        self._results = results

    def end(self, play: PlayT) -> None:
        """Waits for the play; raises what it raised."""
        self._results[play].result()


@contextmanager
def ahead(request: pytest.FixtureRequest, perform: Callable[[PlayT], None]) -> Iterator[Ahead[PlayT]]:
    """Begins the chosen plays of the module of `request`: the parameter `play` of its tests."""
    chosen: list[Any] = [
        item.callspec.params["play"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    ]
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        yield Ahead({play: pool.submit(perform, play) for play in chosen})
    finally:
        pool.shutdown(cancel_futures=True)
