"""The plays of a module, several at a time: a play waits for controllers nearly all of its time.

They are begun together when the first test asks for its own; each test tells what became of its play.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import pytest

AT_ONCE = 4
"""More of them would be late because of each other: steps of a play are a second apart."""

_OURS = threading.Lock()
"""Our side is played by one at a time: it waits for nothing, and embedded servers belong to one thread."""

PlayT = TypeVar("PlayT")


SeenT = TypeVar("SeenT")


class Record(NamedTuple):
    """What our side showed at each look, found at each step and told in the end, in order."""

    sights: list[Any]
    found: list[Any]
    told: list[str]


class _Ours(Protocol):
    sights: list[Any]
    found: list[Any]

    def events(self) -> list[str]: ...
    def close(self) -> None: ...


OursT = TypeVar("OursT", bound=_Ours)


def played(make: Callable[[], OursT], play: Callable[[OursT], None]) -> Record:
    """The play on our side."""
    with _OURS:
        ours = make()
        try:
            play(ours)
            told = ours.events()
        finally:
            ours.close()
    assert ours.sights, "a play looks at least once"
    return Record(ours.sights, ours.found, told)


def awaited(
    look: Callable[[], SeenT],
    expected: Callable[[SeenT], bool],
    seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> SeenT:
    """What `look` sees as soon as it is what is expected, or after `seconds`, whatever it is then."""
    deadline = time.monotonic() + seconds
    while not expected(seen := look()) and time.monotonic() < deadline:
        pause(0.3)
    return seen


class Ahead(Generic[PlayT]):
    """Plays under way. They must not touch what belongs to another one."""

    def __init__(self, results: dict[PlayT, Future[None]]) -> None:
        self._results = results

    def end(self, play: PlayT) -> None:
        """Waits for the play; raises what it raised."""
        self._results[play].result()


@contextmanager
def ahead(request: pytest.FixtureRequest, perform: Callable[[PlayT, str], None]) -> Iterator[Ahead[PlayT]]:
    """Begins the chosen plays of the module of `request`: the parameter `play` of its tests.

    `perform` plays it in a namespace of the given name, which nothing else on the bed is named after.
    """
    chosen: list[Any] = [
        item.callspec.params["play"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    ]
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        yield Ahead({play: pool.submit(perform, play, play.__name__.replace("_", "-")) for play in chosen})
    finally:
        pool.shutdown(cancel_futures=True)
