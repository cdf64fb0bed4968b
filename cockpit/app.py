"""Wiring: one attachment, one signal, the places, and what plans are made on."""

import asyncio
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cockpit_widgets import ConfirmDialog
from cockpit_widgets.text import plain
from textual.actions import ActionParseResult, parse
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.worker import WorkType

from cockpit import gc_tuning
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput, NoConnection
from cockpit.kube.logins import Logins
from cockpit.local_state.audit import Audit
from cockpit.local_state.config import Settings
from cockpit.local_state.crashes import Crashes
from cockpit.local_state.kept_forms import KeptForms
from cockpit.local_state.state import Choices
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.model.price import Prices
from cockpit.pools.forecast import PoolExperience
from cockpit.screens.app_base import AppBase
from cockpit.screens.app_protocol import Inspection
from cockpit.screens.kept_views import KeptViews
from cockpit.screens.key_rights import tell_missing
from cockpit.screens.keymap import VERB
from cockpit.screens.login import ScreensTerminal
from cockpit.screens.now import NowScreen
from cockpit.screens.pages import PageOpener
from cockpit.screens.place import Place, close_pages
from cockpit.services.pool_watch import PoolWatch
from cockpit.services.port_forwards import PortForwards
from cockpit.services.problems import PAUSE_SECONDS, Files, NowWatch
from cockpit.services.row_reads import RowReads
from cockpit.services.tab_counts import TabCounts
from cockpit.store.signal import Signal
from cockpit.terminal import end_with_terminal
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.actions.execute.bulk_plan import Result
    from cockpit.actions.planning import FreshPlanning, Planning
    from cockpit.actions.verbs.verb import Verb
    from cockpit.api_server import ApiServer
    from cockpit.local_state.history import LocalHistory
    from cockpit.model.finding import Finding
    from cockpit.model.job import Job
    from cockpit.services.drains import Drains
    from cockpit.services.pool_changes import PoolChanges

_OF_CONTEXT = ("namespaces", "write", "prometheus", "outside", "autoscaler_status")
CALM_SECONDS = 0.5
"""Seconds between the first complete lists and the freeze of the garbage collector, for the first paint."""


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the app starts. `attach=False` draws the first screen and connects to nothing; `state_folder`
    None keeps nothing on this host (tests, screenshots). `goes_on`: report unexpected errors and continue.
    `first_note` is a toast on the first screen. `logins` were created before the app. `has_tour`: each page
    says what to press for the next step of the tour."""

    attach_to: AttachOptions = field(default_factory=AttachOptions)
    attach: bool = True
    first_place: str = "now"
    settings: Settings = field(default_factory=Settings)
    state_folder: Path | None = None
    goes_on: bool = False
    first_note: str = ""
    logins: Logins | None = None
    has_tour: bool = False


class CockpitApp(AppBase):
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
        self._rng = rng or random.Random()
        folder = options.state_folder
        self._choices = Choices(folder / "choices.json") if folder else None
        self.kept_views = KeptViews(self._choices)
        self.kept_forms = KeptForms(folder / "forms.json" if folder else None)
        self._signal = Signal(self.clock, self._later)
        self.terminal_lock = asyncio.Lock()
        self._logins = options.logins or Logins()
        self._logins.lender = ScreensTerminal(self)
        self.attachment = self._new_attachment(options.attach_to)
        self.now_watch = NowWatch(self, self.files, self.announce)
        self.tab_counts = TabCounts(self, self.now_watch)
        self.pool_watch = PoolWatch(self, self.run_history)
        self.row_reads = RowReads(self)
        self.port_forwards = PortForwards(self, folder / "ports.json" if folder else None)
        self.typed_namespaces: set[str] = set()
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
            self._pages.tour.begin()

    def _step_away(self, is_away: bool, _app: object) -> None:
        self.attachment.step_away(is_away=is_away)

    def on_ready(self) -> None:
        if not self.is_headless:
            # restore the terminal also when a signal ends the process
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        for note in (self.options.first_note, self._choices and self._choices.note, self.kept_forms.note):
            if note:
                self.notify(f"{note}.", severity="warning")
        if self.options.attach:
            self._start()
            self.keep(self, "rows", self.row_reads.read_on)
        if self.options.state_folder is not None:
            self.keep(self, "history", self.now_watch.keep_history)
            self.keep(self, "pools", self.pool_watch.keep_on)
        self.set_interval(PAUSE_SECONDS, self._look_behind)

    def _new_attachment(self, options: AttachOptions) -> Attachment:
        moved, listed, note = self._signal.notify, self._show_lists, self._note_task
        return Attachment(
            options, self.clock, self._rng, moved, listed=listed, note=note, logins=self._logins
        )

    def _note_task(self, error: BaseException, name: str) -> str:
        return self.internal_error(error, name) if self.goes_on else self._crashes.note(error, name)

    def _show_lists(self) -> None:
        """Repaint when the first lists are complete, and exempt their records from garbage collection (p99
        of a key: 40 to 11 ms)."""
        self._signal.at_once()
        self._later(CALM_SECONDS, gc_tuning.settle)
        self._later(CALM_SECONDS, lambda: self.spawn(partial(apart, _load_rest), "load"))

    def _start(self) -> None:
        work: WorkType[None] = self.attachment.run
        self.run_worker(work, name="attachment", group="ingest", exclusive=True)

    def reattach(self, *, context: str = "", namespaces: Namespaces = EVERY) -> None:
        """Leave this context or these namespaces and attach to others: the screen is emptied immediately.

        With a context its own settings are in force (write, namespace, Prometheus): what the command line
        said was said of another. Without one only the namespaces change; an unlocked session stays so.
        """
        options = self.attachment.options
        if not context and self.attachment.narrow(namespaces):
            close_pages(self)
            return
        if context:
            own = self.options.settings.of_context(context)
            options = replace(options, context=context, **{name: getattr(own, name) for name in _OF_CONTEXT})
        else:
            write = options.write if self.attachment.session is None else not self.attachment.is_read_only
            options = replace(options, namespaces=namespaces, write=write)
        if "drains" in self.__dict__:
            self.drains.leave()
        self.port_forwards.leave()
        gc_tuning.expect_others()
        self.attachment = self._new_attachment(options)
        close_pages(self)
        self._start()
        self._signal.notify()

    def notify(self, message: str, **options: Any) -> None:
        """A small remark. It may quote a cluster or a file, so it is text, never markup or control codes."""
        super().notify(plain(message), **{**options, "markup": False})

    def tell_fault(self, sentence: str) -> None:
        self.attachment.faults["screens"] = sentence
        self.notify(f"{sentence}.", severity="error")

    def tell_task(self, name: str, sentence: str) -> None:
        self.attachment.tell_fault(name, sentence)

    def ask_again(self) -> None:
        self.api.ask_again()

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

    @property
    def cluster(self) -> Attachment:
        return self.attachment

    @property
    def api(self) -> "ApiServer":
        from cockpit.api_server import ApiServer

        return ApiServer(self.attachment)

    @cached_property
    def drains(self) -> "Drains":
        from cockpit.services.drains import Drains

        return Drains(self)

    @cached_property
    def pool_changes(self) -> "PoolChanges":
        from cockpit.services.pool_changes import PoolChanges

        return PoolChanges(self, self.pool_watch, lambda: self.lease_namespace)

    @property
    def context(self) -> str:
        return self.attachment.context

    @property
    def default_namespace(self) -> str:
        """Where something new goes: the namespace shown; of several that of the context, or the first."""
        shown, home = self.attachment.namespaces, self.attachment.home_namespace
        return home if home in shown else shown.names[0]

    @property
    def configured_namespaces(self) -> tuple[str, ...]:
        return self.options.settings.of_context(self.context).namespaces.names

    @property
    def prices(self) -> Prices:
        return self.options.settings.prices

    @property
    def template_folders(self) -> tuple[Path, ...]:
        return self.options.settings.template_folders

    def on_change(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call `fn` when the store moved, coalesced; the answer ends the subscription."""

        def moved() -> None:
            try:
                self.attachment.jobs.catch_up(is_whole=False)
                fn()
            except Exception as error:  # noqa: BLE001
                # whoever moved the store, a stream or telemetry, must not end for what a screen makes of it
                self._handle_exception(error)

        return self._signal.subscribe(moved)

    def state_of(self, place: str) -> ViewState:
        at = self.attachment
        return replace(self.kept_views.of(place, at.context), namespaces=at.namespaces)

    def keep_state(self, place: str, state: ViewState) -> None:
        self.kept_views.keep(place, self.attachment.context, state)

    @cached_property
    def _pages(self) -> PageOpener:
        return PageOpener(self)

    def go(self, place: str) -> None:
        self._pages.go(place)

    def action_leave_tour(self) -> None:
        self._pages.tour.leave()

    def open_job(self, key: str, *, in_place: bool = False) -> None:
        self._pages.open_job(key, in_place=in_place)

    def open_node(self, name: str) -> None:
        self._pages.open_node(name)

    def inspect(self, place: Any, what: Inspection) -> None:
        self._pages.inspect(place, what)

    def open_verb(self, place: Any, verb: "Verb", things: Sequence[Any]) -> None:
        self._pages.open_verb(place, verb, things)

    def open_clone(self, place: Any, job: "Job", changed: Mapping[str, str]) -> None:
        self._pages.open_clone(place, job, changed)

    def open_results(self, verb: str, results: "Sequence[Result]", left_out: Sequence[str]) -> None:
        self._pages.open_results(verb, results, left_out)

    def spawn(self, work: WorkType[None], name: str) -> None:
        self.run_worker(work, name=name, group="background", exclusive=False)

    def unlock(self) -> None:
        if self.attachment.session is not None:
            self.attachment.session.unlock()
        self.redraw()

    def lock(self) -> None:
        if self.attachment.session is not None:
            self.attachment.session.lock()
        self.redraw()

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
        if name == VERB and screen.cockpit.cluster.is_read_only:
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

    def choose_namespace(self) -> None:
        self._pages.choose_namespace()

    def choose_context(self) -> None:
        self._pages.choose_context()

    def open_palette(self) -> None:
        self._pages.open_palette()

    def enter_pod(self, pod: Pod) -> None:
        self._pages.enter_pod(pod)

    # ---- what needs a human, over time (cockpit.services.problems)

    def _look_behind(self) -> None:
        """News comes behind other screens, too; a shell has the terminal for itself."""
        if not self.attachment.is_read_only:
            self.pool_changes.look()
        if not self.attachment.is_connected or self.attachment.is_away:
            return
        if self.now_watch.is_due(self.typed_at):
            self.attachment.jobs.catch_up(is_whole=False)
            self.now_watch.look()

    def files(self) -> Files:
        """Where what former sessions left is kept, and what a group shares."""
        from cockpit.local_state.history import LocalHistory, history_path
        from cockpit.local_state.shared_notes import SharedNotes

        session, folder = self.attachment.session, self.options.state_folder
        if session is None or folder is None:
            return Files()
        context, server = self.attachment.context, session.server
        shared = self.options.settings.of_context(context).acknowledgements_folder
        history = LocalHistory(history_path(folder, context, server))
        return Files(history, SharedNotes(shared, server) if shared is not None else None)

    def run_history(self) -> "LocalHistory | None":
        """Where this host keeps what training runs reached, and how pools grew."""
        return self.files().history

    def announce(self, news: "tuple[Finding, ...]") -> None:
        """New problems, each once: a toast, and the bell where the configuration wants it."""
        first, more = news[0], len(news) - 1
        also = f" and {more} more" if more else ""
        self.notify(
            f"{first.glyph} {first.title}: {first.sentence}{also}",
            title="New problem" if not more else f"{more + 1} new problems",
            severity="warning",
        )
        if self.options.settings.bell:
            self.bell()

    def looked_up(self) -> None:
        self._signal.at_once()

    # ---- plans

    def planner(self) -> "FreshPlanning":
        at_seconds, cluster_seconds = self.clock.now(), self.clock.cluster_now()
        own = self.options.settings.of_context(self.attachment.context)

        def fresh(*, reads: bool = False) -> "Planning":
            from cockpit.actions.planning import Planning, PoolTerms  # slow: it imports the session

            attachment = self.attachment
            if attachment.session is None:
                raise NoConnection("not connected to a cluster; nothing was sent")
            attachment.jobs.catch_up()
            return Planning(
                attachment.store,
                attachment.session,
                attachment.lookup,
                attachment.context,
                attachment.jobs.jobs,
                reads,
                self.template_folders,
                attachment.session.server_version,
                at_seconds,
                PoolTerms(
                    self.lease_namespace,
                    cluster_seconds,
                    outside=attachment.outside,
                    known=self.known_of_pools,
                    made_seconds=self.clock.cluster_now(),
                    shrink_at_once=self.shrink_at_once,
                    reclaim_idle_for_seconds=own.reclaim_idle_for_seconds,
                    reclaim_grace_seconds=own.reclaim_grace_seconds,
                ),
                self.pool_watch.empty_since,
                attachment.lines,
            )

        return fresh

    def known_of_pools(self) -> PoolExperience:
        return PoolExperience(self.prices, self.pool_watch.growths)

    @property
    def lease_namespace(self) -> str:
        return self.options.settings.of_context(self.attachment.context).lease_namespace

    @property
    def shrink_at_once(self) -> int | None:
        return self.options.settings.of_context(self.attachment.context).shrink_at_once

    def audit(self) -> Audit:
        """Where what is done is noted. Raises BadInput where nothing is kept on this host."""
        if (folder := self.options.state_folder) is None:
            raise BadInput("no state folder for the audit log; nothing was sent. Set XDG_STATE_HOME")
        return Audit(folder / "audit.jsonl", keep_seconds=self.options.settings.audit_keep_seconds)


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
