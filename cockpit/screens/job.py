"""The page of one job: what it is, why it waits, its members by rank with their devices, its events."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from cockpit_widgets import CellGrid, KeyValues, ResourceTable
from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import Pair, TableSource
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.job_run import RunReader
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.rank_grid import RankPanel
from cockpit.screens.run_panel import MOST_SAID_SHORT, RunPanel
from cockpit.screens.table_place import TablePlace
from cockpit.screens.tensorboard import TensorBoardForward
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import Past
from cockpit.views import events as events_view
from cockpit.views import job_grid, training_panel
from cockpit.views import job_page as view
from cockpit.views.row_details import job_facts
from cockpit.views.run_curves import SHORT_LINES as SHORT_CURVES
from cockpit.views.states import job_cell, why_empty
from cockpit.views.view_state import ViewState

SHORT_LINES, CURVED_LINES = 30, 43
"""Of a terminal that has no place for the events unasked; where curves are drawn it takes more."""
FACTS_RATIO = 0.45
MEMBERS_LEAST, CHROME_LINES = 4, 4
"""Lines of the members' table at the least; header, tabs, its title, and footer."""
NO_EVENTS = "The server keeps no events of this job or its members."


class JobScreen(TablePlace):
    DEFAULT_CSS = """
    JobScreen #facts { height: auto; max-height: 45vh; padding: 0 1; }
    JobScreen.ranks.short #facts { max-height: 30vh; }
    JobScreen.ranks.short #run { display: none; }
    JobScreen #run.none { display: none; }
    JobScreen #members { height: 1fr; min-height: 5; }
    JobScreen.ranks #table { display: none; }
    JobScreen #events-panel { height: 30%; min-height: 5; }
    JobScreen.curved #events-panel { height: 12%; }
    JobScreen.crowded #events-panel { display: none; }
    JobScreen.crowded.eventful #events-panel { display: block; height: 1fr; }
    JobScreen.crowded.eventful #members { display: none; }
    """
    kinds = ("job", "pod")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open",
            "why",
            "logs",
            "events",
            "view",
            "K",
            "E",
            "yaml",
            "back",
            "help",
            "filter",
            "panel",
            "B",
            "verbs",
            kinds=kinds,
            is_page=True,
        ),
        *bindings("sort", "reverse", "mark", *EVERYWHERE[3:]),
    ]
    place = "job"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._ranks = RankPanel(self._turn)
        self._run = RunReader(self, self._job_and_members)
        self._board = TensorBoardForward(self, self._job_and_members)

    def body(self) -> Iterable[Widget]:
        with Panel(id="about", classes="bare"):
            yield KeyValues(id="facts")
        with Panel(id="run", classes="bare none"):
            yield RunPanel()
        with Panel(id="members"):
            yield self._ranks
            yield from super().body()
        with Panel(id="events-panel"):
            yield ResourceTable(id="events", idle_cursor=False)

    def on_resize(self) -> None:
        self.set_class(self.size.height < SHORT_LINES, "short")
        self._crowd()

    def _crowd(self) -> None:
        least = CURVED_LINES if self.has_class("curved") else SHORT_LINES
        self.set_class(self.size.height < least, "crowded")

    def _room(self, members: int, said: Sequence[Pair], *, is_drawn: bool) -> None:
        """In a low terminal few members leave lines of their table to the facts, a grid keeps its own."""
        facts = self.query_one("#facts")
        if not self.has_class("short") or self.is_grid:
            facts.styles.max_height = None
            return
        told = len(pair_lines(said, self.size.width - 2))
        run = SHORT_CURVES * is_drawn + min(MOST_SAID_SHORT, told)
        left = self.size.height - max(MEMBERS_LEAST, members + 1) - run - CHROME_LINES
        facts.styles.max_height = max(left, int(FACTS_RATIO * self.size.height))

    def on_mount(self) -> None:
        self._run.start()

    def _members(self) -> tuple[Pod, ...]:
        return self.cockpit.cluster.jobs.members(self._key)

    def _job_and_members(self) -> tuple[Job, tuple[Pod, ...]] | None:
        """None where the job is gone."""
        job = self.cockpit.cluster.jobs.job(self._key)
        return None if job is None else (job, self._members())

    def thing(self, kind: str) -> Job | Pod | None:
        """The job of this page; the member under the cursor."""
        if kind == "job":
            return self.cockpit.cluster.jobs.job(self._key)
        return self._member() if kind == "pod" else None

    @property
    def ranks(self) -> CellGrid:
        """The cells of the ranks."""
        return self._ranks.grid

    @property
    def is_grid(self) -> bool:
        """Whether the members are shown as cells now."""
        return self._ranks.is_shown

    @property
    def row_key(self) -> str:
        """The member under the cursor, in the grid or in the table; "" for none."""
        return (self.ranks.cursor_key if self.is_grid else self.table.cursor_key) or ""

    def _member(self) -> Pod | None:
        found = self.cockpit.cluster.store.get(Kind.POD, job_grid.pod_uid(self.row_key))
        return found if isinstance(found, Pod) else None

    @property
    def noun(self) -> str:
        return "GPUs of this job" if self.has_class("devices") else "members"

    def source(self) -> tuple[TableSource, str]:
        cluster = self.cockpit.cluster
        members = cluster.jobs.members(self._key)
        if self.has_class("devices"):
            return self._devices(members)
        source = view.members_table(
            members,
            cluster.store,
            self.state,
            self.cockpit.clock.cluster_now(),
            self.memory,
            computes=self._run.run.lens.computes,
        )
        self.say_problem(source.problem)
        return source, why_empty(self.noun, cluster.store.status(Kind.POD))

    def _devices(self, members: Iterable[Pod]) -> tuple[TableSource, str]:
        """Rank by device instead of members."""
        store = self.cockpit.cluster.store
        source = job_grid.table(members, store, self.state, self.cockpit.clock.cluster_now())
        self.say_problem(source.problem)
        return source, why_empty(self.noun, store.status(Kind.POD))

    def action_next_view(self) -> None:
        """Members as cells, as lines, then each of their GPUs as a line; the title says which."""
        member = job_grid.pod_uid(self.row_key)
        if self.has_class("devices") or not self.is_grid:
            self._ranks.choose(cells=self.has_class("devices"))
            self.toggle_class("devices")
            self._title()
            self.set_sort("", descending=False)
        else:
            self._ranks.choose(cells=False)
            self.show()
        source = self.table.source
        keys = () if source is None else (source.key(at) for at in range(len(source)))
        if (key := next((key for key in keys if job_grid.pod_uid(key) == member), None)) is not None:
            self._body.move_to(key)

    def action_tensorboard(self) -> None:
        self._board.toggle()

    def _turn(self) -> None:
        """The grid takes the table's place, or gives it back: cursor and focus go along."""
        before = self.row_key
        self._ranks.toggle_class("shown")
        self.set_class(self.is_grid, "ranks")
        self._title()
        body = self._body
        body.move_to(before)
        if self.focused is None or self.focused in (self.table, self.ranks):
            self.set_focus(body)

    @property
    def _body(self) -> CellGrid | ResourceTable:
        return self.ranks if self.is_grid else self.table

    def focus_body(self) -> None:
        self.set_focus(self._body)

    def on_cell_grid_activated(self, event: CellGrid.Activated) -> None:
        event.stop()
        self.open_row(event.key)

    def _title(self) -> None:
        if self.has_class("devices"):
            title = "Rank by device"
        else:
            title = "Members by rank, a cell each · x shows lines" if self.is_grid else "Members by rank"
        self.query_one("#members", Panel).set_title(title, f"{len(self._members())}")

    def project(self) -> None:
        cluster, now_seconds = self.cockpit.cluster, self.cockpit.clock.cluster_now()
        job = self.cockpit.cluster.jobs.job(self._key)
        members = cluster.jobs.members(self._key)
        self._board.watch()
        pairs = view.gone(self._key)
        if job is not None:
            past = cluster.trends.job(self._key)
            why = cluster.verdicts.of(job, now_seconds).sentence
            pairs = job_facts(job, members, cluster.store, self._run.run, now_seconds, past=past, why=why)
        self.query_one("#facts", KeyValues).set_pairs((*pairs[:3], *self._board.pairs(), *pairs[3:]))
        run = self._run.run
        said = training_panel.facts(run.lens)
        self.query_one(RunPanel).set_run(run.curves, said, self.size.height)
        self.query_one("#run", Panel).set_class(not (run.curves.is_drawn or said), "none")
        self._name_panels(job)
        self.set_class(run.curves.is_drawn, "curved")
        self._crowd()
        self._room(len(members), said, is_drawn=run.curves.is_drawn)
        events = self.query_one("#events", ResourceTable)
        events.hold_top(True)
        status = cluster.store.status(Kind.EVENT)
        is_read = status is not None and status.is_current
        events.set_placeholder(NO_EVENTS if is_read else why_empty("events", status))
        found = view.events_of(job, cluster.jobs.members(self._key), cluster.store) if job else ()
        events.set_source(events_view.table(cluster.store, ViewState(), now_seconds, events=found))
        super().project()
        is_allowed = not self.has_class("devices")
        computes = run.lens.computes
        self._ranks.update(members, cluster.store, self.table.source, computes, is_allowed=is_allowed)

    def _name_panels(self, job: Job | None) -> None:
        name = self._key.split("/", 1)[-1]
        self.query_one("#about", Panel).set_title(
            f"job {name}", "" if job is None else job_cell(job.state).text
        )
        self.query_one("#run", Panel).set_title("Training")
        self.query_one("#events-panel", Panel).set_title("Events, newest first")
        self._title()

    def holds_top(self) -> bool:
        """The first member stays under the cursor until a key moves it, also while members are added."""
        return True

    def look(self) -> Focus:
        """The nodes of the members, and the members that hold GPUs."""
        job = self.cockpit.cluster.jobs.job(self._key)
        holding = [pod for pod in self.cockpit.cluster.jobs.members(self._key) if pod.gpus_allocated]
        names = tuple((pod.namespace, pod.name) for pod in holding)
        return Focus(
            nodes=tuple(job.nodes) if job is not None else (),
            pods=tuple(pod.uid for pod in holding),
            past=Past(key=f"job/{self._key}", pods=names) if names else None,
        )

    def open_row(self, key: str) -> None:
        """A member opens its node."""
        pod = self.cockpit.cluster.store.get(Kind.POD, job_grid.pod_uid(key))
        if isinstance(pod, Pod) and pod.node:
            self.cockpit.open_node(pod.node)

    def action_object_events(self) -> None:
        self.toggle_class("eventful")
        if self.has_class("eventful"):
            self.query_one("#events").focus()
        else:
            self.focus_body()

    def action_panel(self) -> None:
        self.focus_next()
