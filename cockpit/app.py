"""Wiring: the clusters that are open, one signal, the places."""

import asyncio
import random
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

from cockpit_widgets import ConfirmDialog
from cockpit_widgets.text import plain
from textual.actions import ActionParseResult, parse
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.worker import WorkType

from cockpit import gc_tuning
from cockpit.clock import Clock, SystemClock
from cockpit.daemon_thread import apart
from cockpit.local_state.crashes import Crashes
from cockpit.local_state.kept_forms import KeptForms
from cockpit.local_state.state import Choices
from cockpit.open_cluster import AppOptions, FurtherCluster, OpenCluster
from cockpit.screens.app_base import AppBase
from cockpit.screens.app_protocol import acting_in, cockpit_of
from cockpit.screens.kept_views import KeptViews
from cockpit.screens.key_rights import tell_missing
from cockpit.screens.keymap import VERB
from cockpit.screens.now import NowScreen
from cockpit.screens.pages import PageOpener
from cockpit.screens.place import Place
from cockpit.services.problems import PAUSE_SECONDS
from cockpit.store.signal import Signal
from cockpit.terminal import end_with_terminal

__all__ = ["AppOptions", "CockpitApp", "run"]

CALM_SECONDS = 0.5
"""Seconds between the first complete lists and the freeze of the garbage collector, for the first paint."""


class CockpitApp(OpenCluster, AppBase):
    """The cockpit. Screens see it through `cockpit.screens.app_protocol.Cockpit`."""

    TITLE = "cockpit"
    ENABLE_COMMAND_PALETTE = False
    CSS = "ToastRack { margin-bottom: 1; }"
    # before any dialog, form or filter sees it: ctrl+c always leaves
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "Leave", show=False, priority=True),
    ]

    def __init__(
        self, options: AppOptions, *, clock: Clock | None = None, rng: random.Random | None = None
    ) -> None:
        clock = clock or SystemClock()
        self._crashes = Crashes(options.state_folder, clock)
        super().__init__(self._crashes.note if options.goes_on else None, clock)
        self.options = options
        rng = rng or random.Random()
        folder = options.state_folder
        self._choices = Choices(folder / "choices.json") if folder else None
        self.kept_views = KeptViews(self._choices)
        self.kept_forms = KeptForms(folder / "forms.json" if folder else None)
        self._signal = Signal(self.clock, self._later)
        self.terminal_lock = asyncio.Lock()
        self.open(options.attach_to, options.logins, rng)
        self.clusters = (self, *(FurtherCluster(self, each, rng) for each in options.attach_also))
        self._is_leaving = False

    # ---- start and end

    def on_mount(self) -> None:
        self.take_theme(self._choices, self.options.settings.theme)
        for told, is_away in ((self.app_suspend_signal, True), (self.app_resume_signal, False)):
            told.subscribe(self, partial(self._step_away, is_away), immediate=True)
        self.push_screen(NowScreen())
        if self.options.first_place != "now":
            self.go(self.options.first_place)
        if self.options.has_tour:
            self.pages.tour.begin()

    def _step_away(self, is_away: bool, _app: object) -> None:
        for cluster in self.clusters:
            cluster.attachment.step_away(is_away=is_away)

    def on_ready(self) -> None:
        if not self.is_headless:
            # restore the terminal also when a signal ends the process
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        for note in (self.options.first_note, self._choices and self._choices.note, self.kept_forms.note):
            if note:
                self.notify(f"{note}.", severity="warning")
        for cluster in self.clusters:
            cluster.begin()
        self.set_interval(PAUSE_SECONDS, self._look_behind)

    def moved(self) -> None:
        """Something moved in a store."""
        self._signal.notify()

    def note_task(self, error: BaseException, name: str) -> str:
        return self.internal_error(error, name) if self.goes_on else self._crashes.note(error, name)

    def show_lists(self) -> None:
        """Repaint when the first lists are complete, and exempt their records from garbage collection (p99
        of a key: 40 to 11 ms)."""
        self._signal.at_once()
        self._later(CALM_SECONDS, gc_tuning.settle)
        self._later(CALM_SECONDS, lambda: self.spawn(partial(apart, _load_rest), "load"))

    def notify(self, message: str, **options: Any) -> None:
        """A small remark. It may quote a cluster or a file, so it is text, never markup or control codes."""
        super().notify(plain(message), **{**options, "markup": False})

    def tell_fault(self, sentence: str) -> None:
        self.attachment.faults["screens"] = sentence
        self.notify(f"{sentence}.", severity="error")

    def tell_task(self, name: str, sentence: str) -> None:
        self.attachment.tell_fault(name, sentence)

    def ask_again(self) -> None:
        for cluster in self.clusters:
            cluster.api.ask_again()

    def push_screen(self, screen: Any, *arguments: Any, **options: Any) -> Any:
        """As Textual does; a page belongs to the cluster that it was opened for."""
        return super().push_screen(self._bound(screen), *arguments, **options)

    def switch_screen(self, screen: Any) -> Any:
        return super().switch_screen(self._bound(screen))

    def _bound(self, screen: Any) -> Any:
        if isinstance(screen, Place) and screen.bound_cluster is None:
            screen.bind(cockpit_of(self))
        return screen

    async def action_quit(self) -> None:
        """Leave; where a form holds input after asking, which the same key once more answers with yes."""
        if self._is_leaving or not any(getattr(item, "has_input", False) for item in self.screen_stack):
            self.exit()
            return
        self._is_leaving = True
        self.spawn_foreground(self._ask_to_leave, "leave")

    async def _ask_to_leave(self) -> None:
        is_kept = any(getattr(item, "keeps_values", False) for item in self.screen_stack)
        lines = (f"a form is open; its {'draft is kept' if is_kept else 'input will be lost'}",)
        try:
            dialog = ConfirmDialog("Leave the cockpit?", lines, danger=True, confirm_label="leave")
            if await self.push_screen_wait(dialog):
                self.exit()
        finally:
            self._is_leaving = False

    def _later(self, seconds: float, fn: Callable[[], None]) -> None:
        self.set_timer(seconds, fn)

    # ---- what the screens ask (cockpit.screens.app_protocol)

    def on_change(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call `fn` when the store moved, coalesced; the answer ends the subscription."""

        def moved() -> None:
            try:
                for cluster in self.clusters:
                    cluster.attachment.jobs.catch_up(is_whole=False)
                with acting_in(None):
                    fn()
            except Exception as error:  # noqa: BLE001
                # whoever moved the store, a stream or telemetry, must not end for what a screen makes of it
                self._handle_exception(error)

        return self._signal.subscribe(moved)

    @cached_property
    def pages(self) -> PageOpener:
        return PageOpener(self)

    def go(self, place: str) -> None:
        self.pages.go(place)

    def action_leave_tour(self) -> None:
        self.pages.tour.leave()

    def spawn(self, work: WorkType[None], name: str) -> None:
        self.run_worker(work, name=name, group="background", exclusive=False)

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """As Textual does; a key of the screen that is barred says which right is missing, or what else."""
        if await super().run_action(action, default_namespace, namespaces):
            return True
        screen = self.screen
        if not isinstance(screen, Place) or default_namespace is not screen:
            return False
        _, name, parameters = parse(action) if isinstance(action, str) else action
        if name == VERB and screen.acting.cluster.is_read_only:
            screen.say("read-only: :write unlocks the keys that change the cluster")
            return True
        if name == VERB:
            return tell_missing(screen, str(parameters[0]))
        if sentence := screen.why_not_now(name):
            screen.say(sentence)
        return bool(sentence)

    def redraw(self) -> None:
        """The rights changed: keys appear or vanish, and the header says so."""
        for screen in self.screen_stack:
            screen.refresh_bindings()
        self._signal.notify()

    # ---- what needs a human, over time (cockpit.services.problems)

    def _look_behind(self) -> None:
        for cluster in self.clusters:
            cluster.look_behind(self.typed_at)

    def looked_up(self) -> None:
        self._signal.at_once()


def _load_rest() -> None:
    """What the first frame does without, so that no key has to wait for it."""
    import cockpit.api_server
    import cockpit.services.drains
    import cockpit.services.pool_changes  # noqa: F401


def run(options: AppOptions) -> int:
    """Open the cockpit and stay until the person leaves. The exit code is 0 when they did so in peace.

    Raises unexpected errors after the terminal is restored; the caller prints their sentence.
    """
    gc_tuning.expect_many()
    end_with_terminal()
    app = CockpitApp(replace(options, goes_on=True))
    code = app.run()
    gc_tuning.leave()
    if app.fault is not None:
        raise app.fault
    return code or 0
