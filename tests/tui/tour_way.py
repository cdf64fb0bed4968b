"""The way through the tour by the keys that its cards name."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.tui.on_the_bed import Headless

SECONDS = 150.0
LEAVES = "ctrl+t leaves the tour"
STEPS = 11
RUNS = "Tour · Kill it "
OVERTAKEN = "Another job took one of the nodes"
Seen = Callable[[str], Awaitable[None]]
"""What is done after a key, or with "" once what was waited for is shown."""


async def not_watched(_key: str) -> None:
    """Nobody looks on."""


class Way:
    """A person who does what each card says."""

    def __init__(self, screen: Headless, seen: Seen = not_watched) -> None:
        self._screen = screen
        self._seen = seen

    async def shows(self, *wanted: str) -> None:
        """Wait for the texts."""
        await self._screen.until_text(*wanted, seconds=SECONDS)
        await self._seen("")

    async def on(self, step: int, title: str) -> None:
        """Wait for the card of that step."""
        await self.shows(f"Tour · {title} ", f"{step} of {STEPS} · {LEAVES}")

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self._screen.press(key)
            await self._seen(key)

    async def onto(self, text: str) -> bool:
        """Down to the row that holds the text; False where the job runs before there is one."""
        async with asyncio.timeout(SECONDS):
            while text not in (row := self._row()):
                if RUNS in self._screen.screen():
                    return False
                if row and text in self._screen.screen():
                    await self.press("down")
                await asyncio.sleep(0.1)
        await self._seen("")
        return True

    def _row(self) -> str:
        lines = (line.lstrip("│") for line in self._screen.lines())
        return next((line for line in lines if line.startswith("▌")), "")

    async def submit(self, name: str) -> None:
        """Up to a job that waits."""
        await self.on(1, "The jobs")
        await self.shows("▌", "live · rw")
        await self.press("2")
        await self.on(2, "A new job")
        await self.press("N")
        await self.on(3, "Its name and image")
        await self.press(*name, "tab", *"train:1")
        await self.on(4, "Its GPU model")
        await self.press("pagedown", "tab", "tab", "tab", "T")
        await self.on(5, "More than there are")
        await self.press("pagedown", "6")
        await self.on(6, "Submit it")
        await self.press("ctrl+s")
        await self.shows("✓ server:")
        await self.press("y")

    async def start(self) -> None:
        """From the page of the job to the pool that grows for it."""
        await self.on(7, "Why it waits")
        await self.press("w")
        await self.on(8, "Take the offer")
        await self._grow()

    async def _grow(self) -> None:
        if await self.onto("grow pool t4"):
            await self.press("enter")
            await self.shows("Grow pool t4", "✓ server:")
            await self.press("y")

    async def _runs(self) -> None:
        """Until every worker runs; where another job took a node first, by one more node."""
        while RUNS not in self._screen.screen():
            if OVERTAKEN in self._screen.screen():
                await self.press("w")
                await self._grow()
                await self.press("escape")
                await self._screen.until_text("K kill", without=(OVERTAKEN,), seconds=SECONDS)
            await asyncio.sleep(0.2)

    async def kill(self) -> None:
        """Until it runs, and to its end; enter alone does not kill."""
        await self.on(9, "Watch it start")
        await self.press("escape")
        await self._runs()
        await self.press("K")
        await self.shows("✓ server:")
        await self.press("enter")
        await self.on(10, "Kill it")
        await self.press("y")
        await self.on(11, "That was the round")
