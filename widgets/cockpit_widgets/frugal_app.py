"""An app that sends its terminal only the cells that changed, however much Textual repaints."""

import curses
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, ClassVar, TypeVar

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, RenderableType
from rich.control import Control
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._styles_cache import StylesCache
from textual.app import App
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.driver import Driver
from textual.screen import Screen
from textual.style import Style
from textual.timer import Timer

from cockpit_widgets.shown_cells import Piece, ShownCells
from cockpit_widgets.stand_ins import terminal_encoding
from cockpit_widgets.terminal_writer import TerminalWriter

R = TypeVar("R")
_ATOMIC_CHARACTERS = 256
"""Characters from which a frame is sent as a synchronised update (mode 2026); less arrives in one read."""
_RESET_PEN = "\x1b[0m"


class FrugalApp(App[R]):
    """Base of an app whose screen goes over a slow line.

    What the terminal shows is unknown after a start, a return from a shell or from the background, and a
    resize; then, and on ctrl+l, everything is written.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "redraw_screen", "Redraw the screen", show=False, priority=True),
    ]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        mend_textual()
        self.shown_cells = ShownCells(erases_in_colour=erases_in_colour())
        super().__init__(*arguments, **options)

    def get_driver_class(self) -> type[Driver]:
        return forgetful(super().get_driver_class())

    def action_redraw_screen(self) -> None:
        """Rewrite every cell: another program wrote to the terminal."""
        self.shown_cells.forget()
        if self.screen_stack:
            self.screen.refresh()

    def on_resize(self, event: events.Resize) -> None:
        # a terminal that was made smaller and larger again has lost what it showed, at the same size
        self.action_redraw_screen()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        driver = self._driver
        if (
            not isinstance(renderable, ChopsUpdate | LayoutUpdate)
            or driver is None
            or driver.is_inline
            or self.is_headless
            or not self._running
            or self._closed
            or self._batch_count
        ):
            if renderable is not None and not self._batch_count:
                self.shown_cells.forget()
            super()._display(screen, renderable)
            return
        try:
            if not getattr(driver, "is_behind", False):
                self._write_frame(driver, self._frame(renderable))
        finally:
            self.post_display_hook()

    def catch_up(self) -> None:
        """Paint what changed while the terminal was behind; from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed
                self._loop.call_soon_threadsafe(self._repaint)

    def _repaint(self) -> None:
        if self._running and self.screen_stack:
            self.screen.refresh()

    def _frame(self, update: ChopsUpdate | LayoutUpdate) -> str:
        width, height = self.size
        self.shown_cells.resize(width, height)
        text = self.shown_cells.paint(pieces(update), self._color_system)
        cursor = self.screen.outer_size.clamp_offset(self.cursor_position)
        # the cursor is hidden: where it stands matters to input methods alone, while one types
        is_typed_in = getattr(self.focused, "cursor_screen_offset", None) is not None
        if is_typed_in and (text or cursor != self._previous_cursor_position):
            text += Control.move_to(*cursor).segment.text
        self._previous_cursor_position = cursor
        return text

    def _write_frame(self, driver: Driver, text: str) -> None:
        if not text:
            return
        is_atomic = len(text) >= _ATOMIC_CHARACTERS
        if is_atomic:
            self._begin_update()
        driver.write(text)
        if is_atomic:
            self._end_update()
        driver.flush()

    @property
    def _color_system(self) -> ColorSystem:
        return COLOR_SYSTEMS.get(self.console.color_system or "", ColorSystem.TRUECOLOR)


def pieces(update: ChopsUpdate | LayoutUpdate) -> Iterator[Piece]:
    """What an update paints, line by line from left to right."""
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            x = update.region.x
            for part in line:
                yield y, x, part
                x += part.cell_length
        return
    for y, left, right in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x <= right and end > left:
                yield y, x, strip if end <= right else strip.crop(0, right - x)


@cache
def forgetful(driver_class: type[Driver]) -> type[Driver]:
    """The driver, which tells the app when the terminal is taken over and leaves it with its own pen."""

    class ForgetfulDriver(driver_class):  # type: ignore[misc, valid-type]
        @property
        def _writer_thread(self) -> TerminalWriter | None:
            return self._writer

        @_writer_thread.setter
        def _writer_thread(self, thread: Any) -> None:
            """Ours in the place of the one that Textual has made and not started."""
            self._writer: TerminalWriter | None = None
            if thread is not None:
                encoding = terminal_encoding(os.environ)
                self._writer = TerminalWriter(thread.fileno(), encoding, self._app.catch_up)

        @property
        def is_behind(self) -> bool:
            """True while the terminal has not taken what it was sent: a frame would only wait."""
            writer = getattr(self, "_writer", None)
            return writer is not None and writer.is_behind

        _is_started = False

        def start_application_mode(self) -> None:
            self._app.shown_cells.forget()
            if self._is_started:
                # SIGCONT after a SIGSTOP, which tells nothing: a second reader would take keys from the first
                self._app.catch_up()
                return
            before = getattr(self, "_writer", None)
            super().start_application_mode()
            self._is_started = getattr(self, "_writer", None) is not before

        def stop_application_mode(self) -> None:
            self._is_started = False
            # without an alternate screen what follows would begin in the middle of one of our lines
            self.write(f"{_RESET_PEN}\x1b[{self._app.size.height};1H\x1b[K")
            super().stop_application_mode()
            self._app.shown_cells.forget()

    return ForgetfulDriver


def erases_in_colour() -> bool:
    """Whether the terminal gives what it erases the background of the pen (terminfo: bce)."""
    try:
        curses.setupterm(os.environ.get("TERM", ""), 1)
    except (ImportError, OSError, ValueError):
        return False
    except curses.error:
        return False
    return curses.tigetflag("bce") > 0


_run = Timer._run


def mend_textual() -> None:
    """Call before the first widget is made; again, it does nothing."""
    StylesCache.get_inner_outer = staticmethod(backgrounds)  # type: ignore[assignment, method-assign]
    Timer._run = _surely_run  # type: ignore[assignment, method-assign]


@lru_cache(1024)
def backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """Inside a widget, and around it."""
    return Style(background=base + background), Style(background=base)


async def _surely_run(timer: Timer) -> None:
    """As it is, but the only round of a timer is not skipped for being late."""
    timer._skip = timer._skip and timer._repeat != 0
    await _run(timer)
