"""The tour as a recording (asciicast v2) and a picture of it: keys on a cluster that moves when told.

The clock and the seed are passed in; how long a key takes is said here, not measured.
"""

import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from textual.strip import Strip
from textual.widgets import Input

from cockpit.app import AppOptions, CockpitApp
from cockpit.sim.scenarios.loading import find, load
from tests.screenshots.scenes import picture_of
from tests.tui.on_the_bed import Headless
from tests.tui.stepped import Ground, OurClock, ground
from tests.tui.tour_way import Way

CAST, PICTURE = "tour.cast", "tour.svg"
SIZE = (96, 28)
WARM_SECONDS, STEP_SECONDS = 30, 0.5
KEY_SECONDS, READ_SECONDS = 0.12, 2.5
IN_THE_PICTURE = "grow pool t4"


class Recording:
    """Frames of the app, each as the lines that changed."""

    def __init__(self, app: CockpitApp, screen: Headless, place: Ground) -> None:
        self._app = app
        self._screen = screen
        self._ground = place
        self._strips = [Strip.blank(0)] * SIZE[1]
        self._at_seconds = 0.0
        self.events: list[tuple[float, str, str]] = []
        self.picture = ""

    async def seen(self, key: str) -> None:
        """Note what is shown after a key, or once what was waited for is there; time goes on."""
        await self._ground.cluster.engine.advance(KEY_SECONDS if key else STEP_SECONDS)
        await asyncio.sleep(KEY_SECONDS)
        for field in self._app.screen.query(Input):
            field.cursor_blink = False
        self._at_seconds += KEY_SECONDS
        self._note()
        if not key:
            self._at_seconds += READ_SECONDS
        drawn = self._screen.screen()
        is_asked_for = self.picture and key != "down"  # then the cursor goes no further, and the pool grows
        if IN_THE_PICTURE in drawn and "Tour · Take the offer" in drawn and not is_asked_for:
            self.picture = picture_of(self._app, "cockpit tour")

    def _note(self) -> None:
        console = Console(color_system="truecolor", force_terminal=True, legacy_windows=False)
        strips = [strip.simplify() for strip in self._app.screen._compositor.render_strips()]
        rows = enumerate(zip(strips, self._strips, strict=True), 1)
        changed = [_changed(row, *pair, console) for row, pair in rows if pair[0] != pair[1]]
        if changed:
            self.events.append((round(self._at_seconds, 2), "o", "".join(changed)))
            self._strips = strips


def _changed(row: int, strip: Strip, before: Strip, console: Console) -> str:
    """What to send for that row: its cells from the first that changed to the last."""
    cells, old = _cells(strip), _cells(before)
    if len(cells) != len(old):
        return f"\x1b[{row};1H{strip.render(console)}\x1b[0m"
    other = [at for at, pair in enumerate(zip(cells, old, strict=True)) if pair[0] != pair[1]]
    piece = strip.crop(other[0], other[-1] + 1) if other else Strip.blank(0)
    return f"\x1b[{row};{other[0] + 1}H{piece.render(console)}\x1b[0m" if other else ""


def _cells(strip: Strip) -> list[tuple[str, Style | None]]:
    """Each cell of the strip; the second one of a wide character is empty."""
    return [
        (part, segment.style)
        for segment in strip
        for character in segment.text
        for part in (character, *[""] * (cell_len(character) - 1))
    ]


async def record() -> tuple[str, str]:
    """The recording as text, and the picture as SVG."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        async with ground(folder / "cluster", load(find("default")), 1.0) as place:
            await place.cluster.engine.advance(WARM_SECONDS)
            options = AppOptions(
                replace(place.options, write=True),
                state_folder=folder / "state",
                has_tour=True,
            )
            app = CockpitApp(options, clock=OurClock(place.clock))
            async with app.run_test(size=SIZE) as pilot:
                screen = Headless(app, pilot)
                recording = Recording(app, screen, place)
                going = asyncio.create_task(_go_on(place))
                try:
                    way = Way(screen, recording.seen)
                    await way.submit("mine")
                    await way.start()
                    await way.kill()
                finally:
                    going.cancel()
    head = {"version": 2, "width": SIZE[0], "height": SIZE[1], "title": "cockpit tour"}
    events = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in recording.events)
    return f"{json.dumps(head)}\n{events}", recording.picture


async def _go_on(place: Ground) -> None:
    """The cluster's time while something is waited for: machines come, containers start."""
    while True:
        await asyncio.sleep(STEP_SECONDS / 2)
        await place.cluster.engine.advance(STEP_SECONDS)
