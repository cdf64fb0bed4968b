"""A list that is read while it is in sight: nothing is watched for it."""

import asyncio
import math
from contextlib import suppress
from typing import Any, ClassVar, Final

from cockpit_widgets.types import TableSource

from cockpit.errors import CockpitError
from cockpit.screens.table_place import TablePlace
from cockpit.views.lazy_table import LazyTable

SHARE_OF_TIME: Final = 0.05
"""Reading takes at most this share of the time: a long list is read less often."""


def pause_seconds(read_seconds: float, took_seconds: float) -> float:
    """Pause after a read that took that time."""
    return max(read_seconds, took_seconds / SHARE_OF_TIME)


class ReadPlace(TablePlace):
    """Rows are read as the page opens, and again while it is in sight. A subclass says how (`read`), what
    they look like (`read_rows`), and what it means that there are none (`none_at_all`)."""

    read_seconds: ClassVar[float] = 10.0
    """Least pause between two reads."""

    def __init__(self) -> None:
        super().__init__()
        self._has_read = False
        self._trouble = ""  # why the last read failed
        self._due_at = math.inf  # monotonic
        self._wanted = asyncio.Event()

    @property
    def reading(self) -> str:
        """Shown until the first read is over."""
        return f"reading {self.noun} ..."

    async def read(self) -> None:
        """Read and keep what is read. Raises CockpitError."""
        raise TypeError(f"{type(self).__name__} reads nothing")

    def read_rows(self) -> LazyTable[Any]:
        """What was read last, as a table."""
        raise TypeError(f"{type(self).__name__} gives no rows")

    def none_at_all(self) -> str:
        """A sentence for a list that was read and holds nothing."""
        raise TypeError(f"{type(self).__name__} does not say what none means")

    def on_mount(self) -> None:
        self.cockpit.keep(self, "list", self._read_on)

    def on_screen_resume(self) -> None:
        if self.cockpit.clock.monotonic() >= self._due_at:
            self._wanted.set()

    def read_now(self) -> None:
        """Read before the next turn."""
        self._wanted.set()

    async def _read_on(self) -> None:
        clock = self.cockpit.clock
        while True:
            pause = self.read_seconds
            if not self._has_read or self.app.screen is self:
                began = clock.monotonic()
                await self._read_once()
                pause = pause_seconds(self.read_seconds, clock.monotonic() - began)
                self._due_at = clock.monotonic() + pause
            with suppress(TimeoutError):
                # not wait_for: on Python 3.11 that can lose a cancellation
                async with asyncio.timeout(pause):
                    await self._wanted.wait()
            self._wanted.clear()

    async def _read_once(self) -> None:
        try:
            await self.read()
            self._trouble = ""
        except CockpitError as error:
            self._trouble = error.sentence
        self._has_read = True
        self.show()

    def source(self) -> tuple[TableSource, str]:
        source = self.read_rows()
        self.say_problem(source.problem or (self._trouble if source.total else ""))
        if not self._has_read:
            return source, self.reading
        return source, self._trouble or self.none_at_all()

    def holds_top(self) -> bool:
        return False
