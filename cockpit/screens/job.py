"""The page of one job: what it is, why it waits, its members by rank with their devices, its events."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import KeyValues, ResourceTable
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from cockpit.model.batch import Phase
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.board import BoardForward
from cockpit.screens.job_run import RunReader
from cockpit.screens.keymap import EVERYWHERE, LIFE, bindings
from cockpit.screens.rank_grid import RankPage
from cockpit.screens.verbs import JobVerbs, PodVerbs
from cockpit.telemetry.look import Look
from cockpit.telemetry.past import Past
from cockpit.views import events as events_view
from cockpit.views import job_grid, timeline
from cockpit.views import job_page as view
from cockpit.views.states import why_empty
from cockpit.views.view_state import ViewState

SHORT_LINES = 30
NO_EVENTS = "No events of this job or its members are kept by the server."


class JobScreen(RankPage, JobVerbs, PodVerbs, RunReader, BoardForward):
    DEFAULT_CSS = """
    JobScreen #facts { height: auto; max-height: 45%; padding: 0 1; }
    JobScreen #table { height: 1fr; min-height: 4; }
    JobScreen .title { height: 1; padding: 0 1; color: $text-muted; background: $surface; }
    JobScreen #events { height: 30%; min-height: 4; }
    JobScreen.short #events, JobScreen.short #events-title { display: none; }
    JobScreen.short.eventful #events, JobScreen.short.eventful #events-title { display: block; height: 1fr; }
    JobScreen.short.eventful #events-title { height: 1; }
    JobScreen.short.eventful #table, JobScreen.short.eventful #members-title { display: none; }
    JobScreen.short.eventful #ranks, JobScreen.short.eventful #odd, JobScreen.short.eventful #rank {
        display: none;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open",
            "why",
            "logs",
            "events",
            "devices",
            "ranks",
            "job.kill",
            "pod.enter",
            "yaml",
            "back",
            "help",
            "filter",
        ),
        *bindings("panel", "job.board", "job.new", *LIFE, "sort", "reverse", "mark", *EVERYWHERE[3:]),
    ]
    place = "job"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def body(self) -> Iterable[Widget]:
        yield KeyValues(id="facts")
        yield Static("Members by rank", id="members-title", classes="title", markup=False)
        yield from super().body()
        yield Static("Events, newest first", id="events-title", classes="title", markup=False)
        yield ResourceTable(id="events", idle_cursor=False)

    def on_resize(self) -> None:
        self.set_class(self.size.height < SHORT_LINES, "short")

    def on_mount(self) -> None:
        super().on_mount()
        self.read_run()

    def run_job(self) -> tuple[Job, tuple[Pod, ...]] | None:
        job = self.chosen_job()
        return None if job is None else (job, tuple(self.deck.attachment.jobs.members(self._key)))

    def board_job(self) -> Job | None:
        return self.chosen_job()

    def board_members(self) -> tuple[Pod, ...]:
        return tuple(self.deck.attachment.jobs.members(self._key))

    def chosen_job(self) -> Job | None:
        return self.deck.attachment.jobs.job(self._key)

    def rank_members(self) -> tuple[Pod, ...]:
        return self.board_members()

    def can_be_grid(self) -> bool:
        return not self.has_class("devices")

    def chosen_pod(self) -> Pod | None:
        """The member under the cursor."""
        found = self.deck.attachment.store.get(Kind.POD, job_grid.pod_uid(self.row_key))
        return found if isinstance(found, Pod) else None

    def source(self) -> tuple[TableSource, str]:
        attachment = self.deck.attachment
        members = attachment.jobs.members(self._key)
        if self.has_class("devices"):
            return self._devices(members)
        source = view.members_table(members, attachment.store, self.state, self.deck.clock.now(), self.memory)
        self.say_problem(source.problem)
        return source, why_empty(
            "members", attachment.store.status(Kind.POD), total=source.total, filter_text=self.state.filter
        )

    def _devices(self, members: Iterable[Pod]) -> tuple[TableSource, str]:
        """Rank by device instead of members."""
        store = self.deck.attachment.store
        source = job_grid.table(members, store, self.state, self.deck.clock.now())
        self.say_problem(source.problem)
        return source, why_empty(
            "GPUs of this job", store.status(Kind.POD), total=source.total, filter_text=self.state.filter
        )

    def action_devices(self) -> None:
        """Members, or each of their devices; the title says which."""
        self.toggle_class("devices")
        self.turned()
        self.set_sort("", descending=False)

    def turned(self) -> None:
        if self.has_class("devices"):
            title = "Rank by device"
        else:
            title = "Members by rank, a cell each · x shows lines" if self.is_grid else "Members by rank"
        self.query_one("#members-title", Static).update(title, layout=False)

    def project(self) -> None:
        attachment, now_seconds = self.deck.attachment, self.deck.clock.now()
        job = self.chosen_job()
        members = attachment.jobs.members(self._key)
        self.watch_board()
        pairs = view.gone(self._key)
        if job is not None:
            run = timeline.facts(job, members, attachment.store, self.run)
            past = attachment.trends.job(self._key)
            pairs = timeline.merged(view.facts(job, attachment.store, now_seconds, members, past), run)
        self.query_one("#facts", KeyValues).set_pairs((*pairs[:3], *self.board_pairs(), *pairs[3:]))
        events = self.query_one("#events", ResourceTable)
        events.hold_top(True)
        status = attachment.store.status(Kind.EVENT)
        is_read = status is not None and status.phase is Phase.LIVE
        events.set_placeholder(NO_EVENTS if is_read else why_empty("events", status))
        found = view.events_of(job, attachment.jobs.members(self._key), attachment.store) if job else ()
        events.set_source(events_view.table(attachment.store, ViewState(), now_seconds, events=found))
        super().project()
        self.project_ranks(self.table.source)

    def holds_top(self) -> bool:
        """The first member stays under the cursor until somebody moves it, also while members come."""
        return True

    def look(self) -> Look:
        """The nodes of the members, and the members that hold GPUs."""
        job = self.chosen_job()
        holding = [pod for pod in self.deck.attachment.jobs.members(self._key) if pod.holds_gpus]
        names = tuple((pod.namespace, pod.name) for pod in holding)
        return Look(
            nodes=tuple(job.nodes) if job is not None else (),
            pods=tuple(pod.uid for pod in holding),
            past=Past(key=f"job/{self._key}", pods=names) if names else None,
        )

    def open_row(self, key: str) -> None:
        """A member opens its node."""
        from cockpit.screens.node import NodeScreen

        pod = self.deck.attachment.store.get(Kind.POD, job_grid.pod_uid(key))
        if isinstance(pod, Pod) and pod.node:
            self.app.push_screen(NodeScreen(pod.node))

    def action_object_events(self) -> None:
        self.toggle_class("eventful")
        if self.has_class("eventful"):
            self.query_one("#events").focus()
        else:
            self.focus_body()

    def action_panel(self) -> None:
        self.focus_next()
