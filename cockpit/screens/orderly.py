"""An app that looks at a key once the key before it is done."""

from typing import Any

from textual.events import Event
from textual.screen import Screen
from textual.worker import Worker, WorkType

from cockpit.collector import ClosedPages
from cockpit.screens.steady import Note, SteadyApp
from cockpit.screens.typed_ahead import TypedAhead


class OrderlyApp(SteadyApp):
    """An app whose keys act in the order in which they were typed, each on what the one before it shows."""

    def __init__(self, note: Note | None) -> None:
        super().__init__(note)
        self._typed_ahead = TypedAhead(self, super().on_event)
        self._closed_pages = ClosedPages(self.set_timer)

    def on_mount(self) -> None:
        self.screen_change_signal.subscribe(self, lambda _: self._page_changed(), immediate=True)
        self._typed_ahead.follow()

    def _page_changed(self) -> None:
        self._typed_ahead.follow()
        self._closed_pages.changed()

    async def on_event(self, event: Event) -> None:
        await self._typed_ahead.take(event)

    def open_soon(self, work: WorkType[None], name: str) -> None:
        """Run what a key opens: the keys behind it wait until it asks something, or is over."""
        self._typed_ahead.opens(self.run_worker(work, name=name, group="commands", exclusive=False))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.worker.is_finished:
            self._typed_ahead.opened(event.worker)

    async def push_screen_wait(self, screen: Screen[Any] | str, *, mode: str | None = None) -> Any:
        with self._typed_ahead.asking():
            return await super().push_screen_wait(screen, mode=mode)
