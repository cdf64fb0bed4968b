"""The base of the app: an error boundary around widgets, timers and workers, and serialised keys.

Textual ends the app at the first uncaught exception and stops the widget that raised it. Here the app goes
on: a failed message handler is abandoned, and a widget that cannot be drawn shows the error sentence instead.
An error before the first screen is mounted still ends the app.
"""

import math
import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ClassVar

from cockpit_widgets.calm_themes import CALM, DARK
from cockpit_widgets.frugal_app import FrugalApp
from cockpit_widgets.text import fit
from rich.segment import Segment
from textual.app import App
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.events import Event, InputEvent
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import Worker, WorkerFailed, WorkType

from cockpit.clock import Clock
from cockpit.gc_tuning import ClosedPages
from cockpit.local_state.state import Choice, Choices
from cockpit.screens.toasts import Toasts
from cockpit.screens.typed_ahead import TypedAhead
from cockpit.supervise import Work, kept_up

Note = Callable[[BaseException, str], str]


_APP = "app"
"""What the choices of the whole app are kept under."""


def _keep(choices: Choices, theme: str) -> None:
    choices.keep(_APP, Choice(theme=theme))


class AppBase(FrugalApp[int]):
    """`note` writes a report and returns its sentence; None lets an error end the app, as tests want it.

    Keys act in the order in which they were typed, each on what the key before it shows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "ask_again", "Redraw, ask again for what was refused", show=False, priority=True),
    ]

    def __init__(self, note: Note | None, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.typed_at = -math.inf
        """When the last key or click came, by the monotonic clock."""
        self._note = note
        self._is_up = False
        self._shown: set[str] = set()
        self._typed_ahead = TypedAhead(self, super().on_event)
        self._closed_pages = ClosedPages(self.set_timer)
        self._toasts = Toasts(super().notify, self.clear_notifications, time.monotonic)

    def exit(self, result: int | None = None, return_code: int = 0, message: Any | None = None) -> None:
        """End the app, by a key or by the signal of a terminal that is closed: forms keep their drafts."""
        for screen in self.screen_stack:
            if (keep := getattr(screen, "keep_draft", None)) is not None:
                keep()
        super().exit(result, return_code, message)

    def on_mount(self) -> None:
        self.screen_change_signal.subscribe(self, lambda _: self._page_changed(), immediate=True)
        self._typed_ahead.follow()

    def take_theme(self, choices: Choices | None, configured: str) -> None:
        """Use the theme that was chosen last, else the configured one, else ours; keep what is chosen."""
        for theme in CALM.values():
            self.register_theme(theme)
        chosen = choices.of(_APP).theme if choices else ""
        self.theme = chosen if chosen in self.available_themes else configured or DARK.name
        if choices:
            self.theme_changed_signal.subscribe(self, lambda theme: _keep(choices, theme.name))

    def _page_changed(self) -> None:
        self._typed_ahead.follow()
        self._closed_pages.changed()

    async def on_event(self, event: Event) -> None:
        if isinstance(event, InputEvent):
            self.typed_at = self.clock.monotonic()
        await self._typed_ahead.take(event)

    def notify(self, message: str, **options: Any) -> None:
        """Show a remark; for how long is a matter of its `severity`."""
        self._toasts.add(message, options)

    def run_foreground(self, work: WorkType[None], name: str) -> None:
        """Run what a key opens in a worker. Later keys wait until it asks a question or ends."""
        self._typed_ahead.opens(self.run_worker(work, name=name, group="commands", exclusive=False))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.worker.is_finished:
            self._typed_ahead.opened(event.worker)

    async def push_screen_wait(self, screen: Screen[Any] | str, *, mode: str | None = None) -> Any:
        with self._typed_ahead.asking():
            return await super().push_screen_wait(screen, mode=mode)

    def on_ready(self) -> None:
        self._is_up = True

    @property
    def goes_on(self) -> bool:
        """True where an error does not end the app any more."""
        return self._note is not None and self._is_up

    def action_ask_again(self) -> None:
        """Draw everything again, and ask again for what was refused."""
        self.action_redraw_screen()
        self.ask_again()

    def ask_again(self) -> None:
        """Ask now for what was refused or not served."""
        raise NotImplementedError

    def tell_fault(self, sentence: str) -> None:
        """Show a person that something went wrong inside."""
        raise NotImplementedError

    def internal_error(self, error: BaseException, where: str) -> str:
        """Report and show an unexpected error, once for each place; returns its sentence."""
        assert self._note is not None
        sentence = self._note(error, where)
        if sentence not in self._shown:
            self._shown.add(sentence)
            self.tell_fault(sentence)
        return sentence

    def keep_running(self, host: App[Any] | Widget, name: str, work: Work) -> "Worker[None]":
        """Start what lasts as long as `host`, this app or a page; an error is told and it begins again."""

        def note(error: BaseException, where: str) -> str:
            if not self.goes_on:
                raise error
            return self.internal_error(error, where)

        async def kept() -> None:
            await kept_up(name, work, note, partial(self.tell_task, name), monotonic=time.monotonic)

        worker: Worker[None] = host.run_worker(kept, name=name, group=name, exclusive=True)
        return worker

    def tell_task(self, name: str, sentence: str) -> None:
        """Show where a task of the app stands that could not go on; "" once it does."""
        raise NotImplementedError

    @property
    def fault(self) -> Exception | None:
        """The unexpected error that ended the app, None where there was none."""
        return _inner(self._exception) if self._exception is not None else None

    def _fatal_error(self) -> None:
        """Textual would print a page with the values of variables; who runs the app is handed the error."""
        self._close_messages_no_wait()

    def _handle_exception(self, error: Exception) -> None:
        if self.goes_on:
            self.internal_error(_inner(error), "the screens")
        else:
            super()._handle_exception(error)

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if not self.goes_on:
                raise
            self.internal_error(error, "the app")

    def _register_child(self, parent: DOMNode, child: Widget, before: int | None, after: int | None) -> None:
        self._steady(child)
        super()._register_child(parent, child, before, after)

    def _start_widget(self, parent: Widget, widget: Widget) -> None:
        self._steady(widget)
        super()._start_widget(parent, widget)

    def _steady(self, widget: Widget) -> None:
        """Let this widget outlive what its handlers raise, and its screen what its drawing raises."""
        if self._note is None or "render_lines" in vars(widget):
            return
        dispatch, render, where = widget._dispatch_message, widget.render_lines, type(widget).__name__
        changing: Any = widget

        @wraps(dispatch)
        async def dispatched(message: Message) -> None:
            try:
                await dispatch(message)
            except Exception as error:
                if not self.goes_on:
                    raise
                self.internal_error(error, where)

        @wraps(render)
        def rendered(crop: Region) -> list[Strip]:
            try:
                return render(crop)
            except Exception as error:
                if not self.goes_on:
                    raise
                return _sentence_lines(self.internal_error(error, where), crop)

        changing._dispatch_message = dispatched
        changing.render_lines = rendered


def _inner(error: Exception) -> Exception:
    inner = error.error if isinstance(error, WorkerFailed) else None
    return inner if isinstance(inner, Exception) else error


def _sentence_lines(sentence: str, crop: Region) -> list[Strip]:
    """The sentence over the lines that were asked for, cut in pieces of their width."""
    width = max(crop.width, 1)
    return [
        Strip([Segment(fit(sentence[line * width : (line + 1) * width], width))], width)
        for line in range(crop.y, crop.bottom)
    ]
