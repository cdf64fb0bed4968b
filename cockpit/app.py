"""Wiring: one attachment, one signal, the places, and the way a confirmed plan is carried out."""

import asyncio
import random
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cockpit_widgets.calm_theme import CALM_DARK
from cockpit_widgets.text import plain
from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import WorkerFailed

from cockpit import collector
from cockpit.actions.address import Addressed
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.errors import BadInput, CockpitError
from cockpit.keep.config import Settings
from cockpit.keep.state import Choice, Choices
from cockpit.model.plan import Outcome, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.now import NowScreen
from cockpit.store.signal import Signal
from cockpit.terminal import end_with_terminal
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.actions.ground import Make
    from cockpit.actions.sweep import Sweep
    from cockpit.keep.audit import Audit

CALM_SECONDS = 0.5
"""So long after the big lists are in the collector puts them aside: what they hold is to be seen first."""


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the app starts. `attach=False` draws the first screen and connects to nothing; `state_folder`
    None keeps nothing on this host (tests, screenshots)."""

    attach_to: AttachOptions = field(default_factory=AttachOptions)
    attach: bool = True
    first_place: str = "now"
    settings: Settings = field(default_factory=Settings)
    state_folder: Path | None = None


class CockpitApp(App[int]):
    """The cockpit. Screens see it through `cockpit.screens.deck.Deck`."""

    TITLE = "cockpit"
    ENABLE_COMMAND_PALETTE = False
    CSS = "ToastRack { margin-bottom: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        # before any dialog, form or filter sees it: whatever is open, ctrl+c leaves
        Binding("ctrl+c", "quit", "Leave", show=False, priority=True),
    ]

    def __init__(
        self, options: AppOptions, *, clock: Clock | None = None, rng: random.Random | None = None
    ) -> None:
        super().__init__()
        self.options = options
        self.clock: Clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._states: dict[str, ViewState] = {}
        self._choices = Choices(options.state_folder / "choices.json") if options.state_folder else None
        self._signal = Signal(self.clock, self._later)
        self.attachment = self._new_attachment(options.attach_to)
        self._froze = False

    # ---- start and end

    def on_mount(self) -> None:
        self.register_theme(CALM_DARK)
        self.theme = self.options.settings.theme or CALM_DARK.name
        self.app_suspend_signal.subscribe(
            self, lambda _: self.attachment.step_away(is_away=True), immediate=True
        )
        self.app_resume_signal.subscribe(
            self, lambda _: self.attachment.step_away(is_away=False), immediate=True
        )
        self.push_screen(NowScreen())
        if self.options.first_place != "now":
            self.go(self.options.first_place)

    def on_ready(self) -> None:
        if not self.is_headless:
            # whoever ends us from outside finds the terminal as it was, too
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit, 128 + signal.SIGTERM)
        if self.options.attach:
            self._start()

    def _new_attachment(self, options: AttachOptions) -> Attachment:
        return Attachment(options, self.clock, self._rng, self._moved)

    def _moved(self) -> None:
        """The store moved. That the big lists are in is shown at once, and takes them out of the collector's
        rounds (p99 of a key: 40 to 11 ms)."""
        if self._froze or not self.attachment.has_listed:
            self._signal.notify()
            return
        self._froze = True
        self._signal.at_once()
        self._later(CALM_SECONDS, collector.settle)

    def _start(self) -> None:
        self.run_worker(self.attachment.run(), name="attachment", group="ingest", exclusive=True)

    def reattach(self, *, context: str = "", namespace: str = "") -> None:
        """Leave this context or namespace and attach anew: what was on screen goes at once.

        With a context its own settings are in force (write, namespace, Prometheus): what the command line
        said was said of another. Without one only the namespace changes; an unlocked session stays so.
        """
        options = self.attachment.options
        if not context and self.attachment.narrow(namespace):
            while len(self.screen_stack) > 2:
                self.pop_screen()
            return
        if context:
            own = self.options.settings.of_context(context)
            options = replace(
                options,
                context=context,
                namespace=own.namespace,
                write=own.write,
                prometheus_url=own.prometheus_url,
            )
        else:
            is_locked = self.attachment.is_read_only
            write = options.write if self.attachment.session is None else not is_locked
            options = replace(options, namespace=namespace, write=write)
        self.attachment = self._new_attachment(options)
        self._froze = False
        while len(self.screen_stack) > 2:
            self.pop_screen()
        self._start()
        self._signal.notify()

    def notify(self, message: str, **options: Any) -> None:
        """A small remark. It may quote a cluster or a file, so it is text, never markup or control codes."""
        super().notify(plain(message), **{**options, "markup": False})

    @property
    def fault(self) -> Exception | None:
        """The unexpected error that ended the app, None where there was none."""
        error = self._exception
        inner = error.error if isinstance(error, WorkerFailed) else None
        return inner if isinstance(inner, Exception) else error

    def _fatal_error(self) -> None:
        """Textual would print a page with the values of variables; `run` hands the error on instead."""
        self._close_messages_no_wait()

    def _later(self, seconds: float, fn: Callable[[], None]) -> None:
        self.set_timer(seconds, fn)

    # ---- the deck, as the screens know it

    @property
    def context(self) -> str:
        session = self.attachment.session
        return session.context if session is not None else self.attachment.options.context or ""

    @property
    def default_namespace(self) -> str:
        session = self.attachment.session
        return self.attachment.options.namespace or (session.namespace if session is not None else "")

    @property
    def template_folders(self) -> tuple[Path, ...]:
        return self.options.settings.template_folders

    @property
    def state_folder(self) -> Path | None:
        return self.options.state_folder

    def on_change(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call `fn` when the store moved, coalesced; the answer ends the subscription."""

        def absorbed() -> None:
            self.attachment.absorb()
            fn()

        return self._signal.subscribe(absorbed)

    def state_of(self, place: str) -> ViewState:
        state = self._states.get(place)
        if state is None:
            kept = self._choices.of(place) if self._choices else Choice()
            # a filter does not outlive the run: an old one would hide rows without a reason in sight
            state = self._states[place] = ViewState(sort=kept.sort, descending=kept.descending)
        return replace(state, namespace=self.attachment.options.namespace)

    def keep_state(self, place: str, state: ViewState) -> None:
        self._states[place] = state
        if self._choices is not None:
            self._choices.keep(place, Choice(sort=state.sort, descending=state.descending))

    def go(self, place: str) -> None:
        """Show a place; pages opened from the last one are closed."""
        from cockpit.screens.places import PLACES

        while len(self.screen_stack) > 2:
            self.pop_screen()
        self.switch_screen(PLACES[place]())

    def run_soon(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.run_worker(work, name=name, group="commands", exclusive=False)

    def lookup(self, api_version: str, kind: str) -> Addressed | None:
        served = self.attachment.served
        if served is None:
            return None
        group, _, version = api_version.rpartition("/")
        found: Addressed | None = served.find(group, kind, version) or served.find(group, kind)
        return found

    async def read_yaml(self, api_version: str, kind: str, namespace: str, name: str) -> list[str]:
        return await self.attachment.read_yaml(api_version, kind, namespace, name)

    def choices(self, source: str) -> tuple[str, ...]:
        """What the cluster offers for a parameter; empty where nobody knows."""
        store = self.attachment.store
        if source == "namespaces":
            names = {record.name for record in store.records(Kind.NAMESPACE).values()}
            return tuple(sorted(names))
        if source == "localqueues":
            namespace = self.attachment.options.namespace
            queues = store.records(Kind.LOCAL_QUEUE).values()
            return tuple(sorted({q.name for q in queues if not namespace or q.namespace == namespace}))
        if source == "gpu-models":
            models = {node.gpu_model for node in store.records(Kind.NODE).values()}
            return tuple(sorted(models - {""}))
        if source == "nodes":
            return tuple(sorted(node.name for node in store.records(Kind.NODE).values() if node.has_gpus))
        if source == "gpu-resources":
            named = {node.gpu_resource for node in store.records(Kind.NODE).values()}
            return tuple(sorted(named - {""}))
        if source == "pools":
            pools = store.records(Kind.NODE).values()
            told = {f"{node.pool_label}={node.pool}" for node in pools if node.pool_label and node.pool}
            return tuple(sorted(told))
        return ()

    def redraw(self) -> None:
        """The rights changed: keys appear or vanish, and the header says so."""
        for screen in self.screen_stack:
            screen.refresh_bindings()
        self._signal.notify()

    def choose_namespace(self) -> None:
        from cockpit.screens.palette import pick_namespace

        self.run_soon(pick_namespace(self), "namespace")

    def choose_context(self) -> None:
        from cockpit.screens.palette import pick_context

        self.run_soon(pick_context(self), "context")

    def open_palette(self) -> None:
        from cockpit.screens.palette import open_palette

        self.run_soon(open_palette(self), "palette")

    # ---- plans

    def confirm_and_carry(
        self,
        plan: Plan,
        *,
        again: "Make | None" = None,
        then: Callable[[Outcome], None] | None = None,
    ) -> None:
        """Show the plan; on yes carry it out, tell the outcome, and hand it to `then`.

        Where it would do something else by then, nothing is done: it is shown again with what changed.
        """
        self.run_soon(self._confirm_and_carry(plan, again, then), plan.verb)

    async def _confirm_and_carry(
        self,
        plan: Plan,
        again: "Make | None",
        then: Callable[[Outcome], None] | None,
    ) -> None:
        from cockpit.actions.same import Differs

        changes: tuple[str, ...] = ()
        while await self._confirmed(plan, changes):
            try:
                outcome = await self._carry(plan, again, reads=bool(changes))
            except Differs as error:
                plan, changes = error.now, error.changes
                continue
            except CockpitError as error:
                outcome = Outcome(state="refused", sentence=error.sentence)
            self._tell(outcome, then)
            return

    async def _confirmed(self, plan: Plan, changes: tuple[str, ...] = ()) -> bool:
        from cockpit_widgets import ConfirmDialog
        from cockpit_widgets.types import Cell

        from cockpit.actions.same import NOTHING_DONE

        first = [Cell(f"▲ {line}", "warn") for line in (NOTHING_DONE, *changes)] if changes else []
        dialog = ConfirmDialog(
            plan.title,
            [*first, *([Cell("")] if first else []), *plan.lines],
            warnings=plan.warnings,
            command=plan.shell,
            danger=plan.is_destructive,
            confirm_label=plan.verb,
        )
        return await self.push_screen_wait(dialog) is True

    def confirm_and_carry_all(self, sweep: "Sweep", *, then: Callable[[Outcome], None] | None = None) -> None:
        """Show one verb on many jobs; on yes carry it out and tell what became of each."""
        self.run_soon(self._carry_all(sweep, then), sweep.verb)

    async def _carry_all(self, sweep: "Sweep", then: Callable[[Outcome], None] | None) -> None:
        from cockpit.actions.sweep import carry_all, summary

        if not await self._confirmed(sweep.face):
            return
        session = self.attachment.session
        if session is None:
            self._tell(Outcome(state="failed", sentence="not attached to a cluster: nothing was sent"), then)
            return
        try:
            results = await carry_all(sweep, session, self._audit(), self.clock)
        except CockpitError as error:
            self._tell(Outcome(state="failed", sentence=error.sentence), then)
            return
        outcome = summary(sweep.verb, results, len(sweep.left_out))
        self._tell(outcome, then)
        if not outcome.is_done or sweep.left_out:
            from cockpit.screens.results import ResultsScreen

            self.push_screen(ResultsScreen(sweep.verb, results, sweep.left_out))

    def _tell(self, outcome: Outcome, then: Callable[[Outcome], None] | None) -> None:
        self.notify(
            outcome.sentence,
            severity="information" if outcome.is_done else "error",
            markup=False,
            timeout=8,
        )
        if then is not None:
            then(outcome)

    # ---- shells

    def enter_pod(self, pod: Pod) -> None:
        from cockpit.screens.enter import enter_pod

        self.run_soon(enter_pod(self, pod), "enter")

    async def _carry(self, shown: Plan, again: "Make | None", *, reads: bool) -> Outcome:
        """Carry a confirmed plan out, as it is made now; what the server says becomes an outcome."""
        from cockpit.actions.anew import carry_anew

        session = self.attachment.session
        if session is None:
            return Outcome(state="failed", sentence="not attached to a cluster: nothing was sent")
        return await carry_anew(shown, again, session, self._audit(), self.clock, reads=reads)

    def _audit(self) -> "Audit":
        """Where what is done is noted. Raises BadInput where nothing is kept on this host."""
        from cockpit.keep.audit import Audit

        if self.options.state_folder is None:
            raise BadInput("no state folder: without an audit line nothing is sent")
        return Audit(self.options.state_folder / "audit.jsonl")


def run(options: AppOptions) -> int:
    """Open the cockpit and stay until the person leaves. The exit code is 0 when they did so in peace.

    Raises what nobody expected, once the terminal is as it was: the caller tells it in a sentence.
    """
    collector.expect_many()
    end_with_terminal()
    app = CockpitApp(options)
    code = app.run()
    if app.fault is not None:
        raise app.fault
    return code or 0
