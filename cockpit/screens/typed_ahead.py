"""Keys typed ahead: each has acted, and what it leads to is shown, before the next one is looked at."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from cockpit_widgets.question import Question
from textual import events
from textual.app import App, ScreenStackError
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import Worker, get_current_worker

SHOW_SECONDS: Final = 5.0
"""A page stands within milliseconds, on a busy machine within a second. One that never does is a fault."""
OPEN_SECONDS: Final = 1.0
"""A worker that asks the server before it shows a form may hang. After this time keys act again."""
LEAVING: Final = frozenset({"ctrl+c", "ctrl+q"})


class TypedAhead:
    """Type-ahead behaves as if the keys had been typed slowly. It runs before the app handles input.

    Textual sends a key to what has the focus and takes the next one at once, while the first has still to
    bubble back to the app, which looks up what it means. Of `3y` in one packet of a slow line `y` went to the
    page that `3` was about to leave. Here keys, and what is pasted or clicked behind them, wait until the key
    before them has gone down and up, with all messages it left on its way, the page it led to is painted, and
    the worker in which it opens something (`opens`) asks or is over. Where all that is so when a key comes,
    it acts at once.

    Ctrl+c and ctrl+q never wait, what waits is sent before them; escape ends the waiting for a worker.

    No question is answered by who has not seen it: what was typed before a `Question` was painted is dropped,
    and it says so. `K` and `y` in one packet ask, and kill nothing. Only what says no counts.
    """

    def __init__(self, app: App[Any], act: Callable[[events.Event], Awaitable[None]]) -> None:
        """`act` is what the app does with an event whose turn it is."""
        self._app, self._act = app, act
        self._waiting: deque[events.Event] = deque()
        self._follower: asyncio.Task[None] | None = None
        self._way: tuple[MessagePump, ...] = ()
        self._shown: Screen[Any] | None = None
        self._opening: set[Worker[Any]] = set()
        self._has_opened = asyncio.Event()

    async def take(self, event: events.Event) -> None:
        """Act on what came to the app, now or when it is its turn."""
        key = event.key if isinstance(event, events.Key) and not event.is_forwarded else ""
        if not isinstance(event, events.InputEvent | events.Paste):
            await self._act(event)
        elif event.is_forwarded:
            # on its way back: what it means is looked up on the screen that stands by now
            await self._act_unless_blind(event)
        elif key in LEAVING:
            while self._waiting:
                await self._act_unless_blind(self._waiting.popleft())
            await self._act(event)
        elif self._waiting or self._follower is not None or not all(map(_is_idle, self._way)):
            self._waiting.append(event)
            self.follow()
            if key == "escape":
                self._opening.clear()
                self._has_opened.set()
        else:
            await self._act_in_turn(event)

    # ---- what a key opens in a worker

    def opens(self, worker: Worker[Any]) -> None:
        """Keys wait until this worker asks something (`asking`), or is over (`opened`)."""
        self._opening.add(worker)
        self.follow()

    def opened(self, worker: Worker[Any]) -> None:
        """That worker is not waited for any more."""
        self._opening.discard(worker)
        self._has_opened.set()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around the question of a worker: with the answer it may go on to open something else."""
        worker = get_current_worker()
        is_waited_for = worker in self._opening
        self.opened(worker)
        yield
        if is_waited_for:
            self.opens(worker)

    # ---- one after the other

    async def _act_unless_blind(self, event: events.Event) -> None:
        """Act, but where that would answer a question that had not been seen when this was typed."""
        if isinstance(event, events.Key | events.Paste):
            question = self._app.screen
            if isinstance(question, Question) and question.is_blind(event):
                question.tell_blind()
                return
        await self._act(event)

    async def _act_in_turn(self, event: events.Event) -> None:
        await self._act_unless_blind(event)
        target = self._app.focused or self._app.screen
        self._way = tuple(item for item in target.ancestors_with_self if isinstance(item, MessagePump))

    async def _go_on(self) -> None:
        try:
            if self._waiting and self._follower is None:
                await self._act_in_turn(self._waiting.popleft())
        finally:
            if self._waiting:
                self.follow()

    def follow(self) -> None:
        """Keys wait until the last one has gone its way, and what it led to is shown."""
        if self._follower is None:
            self._follower = asyncio.create_task(self._until_done())

    async def _until_done(self) -> None:
        try:
            async with asyncio.timeout(SHOW_SECONDS):
                await self._until_shown()
            while self._opening:
                async with asyncio.timeout(OPEN_SECONDS):
                    while self._opening:
                        self._has_opened.clear()
                        await self._has_opened.wait()
                async with asyncio.timeout(SHOW_SECONDS):
                    await self._until_shown()
        except (TimeoutError, ScreenStackError):
            self._opening.clear()  # each is waited for once
        finally:
            self._follower = None
            if self._waiting:
                self._app.call_later(self._go_on)

    async def _until_shown(self) -> None:
        # more than once: acting on a key posts more, as the row that is to be opened
        while any([await _worked_off(item) for item in self._way]):
            pass
        while self._shown is not self._app.screen:
            self._shown = screen = self._app.screen
            await _worked_off(screen)
            await _worked_off(self._app)
            painted = asyncio.Event()
            if screen.call_after_refresh(painted.set):
                await painted.wait()


def _is_idle(pump: MessagePump) -> bool:
    return pump._closing or (pump._message_queue.empty() and pump._pending_message is None)


async def _worked_off(pump: MessagePump) -> bool:
    """Wait until this pump has no message left; False if its queue was empty."""
    idle = asyncio.Event()

    def look() -> None:
        if not idle.is_set() and (_is_idle(pump) or not pump.call_later(look)):
            idle.set()

    if _is_idle(pump) or not pump.call_later(look):
        return False
    try:
        await idle.wait()
    finally:
        # given up: looks no more. Two that look would each find the other before the pump, for ever
        idle.set()
    return True
