"""Place 8: what the fleet could do with less, and what keeps it from more."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import ClassVar

from cockpit_widgets import ResourceTable
from cockpit_widgets.flow_text import ToneLines
from cockpit_widgets.text import plain
from cockpit_widgets.types import Line
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from cockpit.daemon_thread import apart
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.row_sentence import RowSentence
from cockpit.screens.shared_place import SharedPlace
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.views import fleet_use as view
from cockpit.views.cards import short_model
from cockpit.views.load import LEAST_CHART_LINES, load_charts
from cockpit.views.states import why_empty

LEAST_SECONDS = 1.0
"""Minimum interval between two counts."""
MOST_GAP_LINES = 12
_LEAST_GAP_LINES = 3
_LEAST_WASTE_LINES = 4
_MARGIN_CELLS = 4
_FRAME_LINES = 6
"""Header, tabs, keys, the sentence at the foot, and the blank lines above both tables."""


class FleetScreen(SharedPlace):
    """The answers in a sentence each; kinds of cards, and of the one under the cursor what is free on its
    nodes; GPUs that do nothing, by owner; the last hour where there is room.

    Counting waits for no key: the store is read between two of them, and the packing done apart.
    """

    DEFAULT_CSS = """
    FleetScreen #answers { height: auto; padding: 0 1; }
    FleetScreen #cards { height: auto; min-height: 2; max-height: 35%; margin-top: 1; }
    FleetScreen #gaps { height: auto; padding: 0 1; margin-top: 1; color: $text-primary; }
    FleetScreen #waste { height: auto; min-height: 2; margin-top: 1; }
    FleetScreen #hour { height: auto; padding: 0 1; margin-top: 1; }
    FleetScreen .none { display: none; }
    """
    kinds = ("job", "node")
    place = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "panel", "help", "logs", "yaml", "verbs", kinds=kinds),
        *bindings(*EVERYWHERE),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._page: view.FleetPage | None = None
        self._revision = (-1, -1)  # of the store, and of what was judged of idle jobs
        self._moved = asyncio.Event()
        self._drawn: dict[str, str] = {}

    def body(self) -> Iterable[Widget]:
        yield Static("", id="answers", markup=False)
        yield ResourceTable(id="cards", can_mark=False)
        yield Static("", id="gaps", classes="none", markup=False)
        yield ResourceTable(id="waste", idle_cursor=False)
        yield ToneLines(id="hour", classes="none")

    def foot(self) -> Iterable[Widget]:
        yield RowSentence()

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#cards"))
        self.cockpit.keep(self, "fleet", self._count_on)

    def focus_body(self) -> None:
        self.set_focus(self.query_one("#cards"))

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    # ---- counting

    async def _count_on(self) -> None:
        """Recount when the store has changed, at a bounded share of the time."""
        while True:
            await self._moved.wait()
            self._moved.clear()
            clock, cluster = self.cockpit.clock, self.cockpit.cluster
            idle = cluster.verdicts.on_demand.idle
            began, revision = clock.monotonic(), (cluster.store.revision, idle.revision)
            sight = view.fleet_sight(cluster.store, cluster.jobs, idle, clock.cluster_now())
            cost_seconds = clock.monotonic() - began
            self._page, self._revision = await apart(sight.solved), revision
            self.show()
            await asyncio.sleep(max(LEAST_SECONDS, cost_seconds / SHARE_OF_TIME))

    # ---- what is shown

    def project(self) -> None:
        cluster, now_seconds = self.cockpit.cluster, self.cockpit.clock.cluster_now()
        if (cluster.store.revision, cluster.verdicts.on_demand.idle.revision) != self._revision:
            self._moved.set()
        page = self._page
        if page is None:
            self._draw("answers", [cluster.trouble or "Counting."])
            return
        cards, waste = self._table("cards"), self._table("waste")
        cards.set_source(view.card_table(page.use, now_seconds, view.CARD_FIELDS_DRAWN))
        waste.set_source(view.waste_table(page, now_seconds, is_drawn=True))
        for table in (cards, waste):
            table.set_class(not len(table.source), "none")
        if self.focused is None and len(cards.source):
            self.set_focus(cards)
        nodes = cluster.store.status(Kind.NODE)
        is_listed = nodes is None or nodes.is_current
        answers = view.head_lines(page) if is_listed or page.use.nodes else [why_empty("GPU nodes", nodes)]
        self._draw("answers", [cluster.trouble] if cluster.trouble else answers)
        self._fit(page)

    def _fit(self, page: view.FleetPage) -> None:
        """What is free on the nodes gets what the tables leave: of the card under the cursor, of all where
        the last hour has room below it, too."""
        waste_lines = 1 + max(1, len(view.wastes(page)))
        tops = len(view.head_lines(page)) + 1 + max(1, len(page.use.models))
        free = self.size.height - _FRAME_LINES - tops
        watch, width = self.cockpit.now_watch, self.size.width - _MARGIN_CELLS
        hour_lines = 1 + LEAST_CHART_LINES if watch.loads else 0
        gaps = view.gaps_of_all(page.use, width)
        if len(gaps) > free - waste_lines - hour_lines - 1:
            gaps = self._gaps_under_cursor(page, width, free - 1 - min(waste_lines, _LEAST_WASTE_LINES))
        self._draw("gaps", gaps)
        free -= len(gaps) + bool(gaps)
        self._table("waste").styles.max_height = max(2, free)
        lines: list[Line] = []
        if hour_lines and free - waste_lines >= hour_lines:
            lines = load_charts(watch.loads, watch.load, width, free - waste_lines - 1)
        hour = self.query_one("#hour", ToneLines)
        hour.set_class(not lines, "none")
        hour.set_lines(lines)

    def _gaps_under_cursor(self, page: view.FleetPage, width: int, room: int) -> tuple[str, ...]:
        key = self._table("cards").cursor_key
        card = next((item for item in page.use.models if view.card_key(item) == key), None)
        if card is None or not page.use.is_use_known or room < _LEAST_GAP_LINES:
            return ()
        return view.gap_lines(card, width, min(MOST_GAP_LINES, room))

    def _draw(self, name: str, lines: Iterable[str]) -> None:
        text = "\n".join(map(plain, lines))
        if text != self._drawn.get(name):
            self._drawn[name] = text
            part = self.query_one(f"#{name}", Static)
            part.set_class(not text, "none")
            part.update(text)

    def _table(self, name: str) -> ResourceTable:
        return self.query_one(f"#{name}", ResourceTable)

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        event.stop()
        if self._page is not None and not self.is_going:
            self._fit(self._page)
            self.look_at_rights()
            self._say()

    def on_descendant_focus(self) -> None:
        self._say()

    def _say(self) -> None:
        """Of a row whose cell is cut the whole sentence."""
        waste, row = self._table("waste"), self._waste_row
        is_needed = row is not None and waste.has_focus and waste.is_cut("words")
        self.query_one(RowSentence).say(
            row.words if row is not None and is_needed else "", marked=self.marked_count
        )

    # ---- keys

    @property
    def _waste_row(self) -> view.Waste | None:
        return self._waste(self._table("waste").cursor_key)

    def _waste(self, key: str | None) -> view.Waste | None:
        rows = () if self._page is None else view.wastes(self._page)
        return next((row for row in rows if row.key == key), None)

    @property
    def cursor_row(self) -> str | None:
        waste = self._table("waste")
        return waste.cursor_key if self.focused is waste else None

    @property
    def marked_rows(self) -> Collection[str]:
        return self._table("waste").marked

    def clear_marks(self) -> None:
        self._table("waste").clear_marks()

    def row(self, kind: str, key: str) -> Job | Node | None:
        """The job that has idle GPUs, or the node with lost ones."""
        row, cluster = self._waste(key), self.cockpit.cluster
        if row is None:
            return None
        if kind == "job" and row.job:
            jobs = cluster.jobs.jobs.values()
            return next((job for job in jobs if f"{job.namespace}/{job.name}" == row.job), None)
        found = cluster.store.by_key(Kind.NODE, row.node) if kind == "node" and row.node else None
        return found if isinstance(found, Node) else None

    def on_resource_table_marks_changed(self) -> None:
        self._say()

    def action_panel(self) -> None:
        self.focus_next()

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        if event.table.id == "cards":
            self._open_nodes(event.key)
        elif isinstance(found := self.thing("job") or self.thing("node"), Job):
            self.cockpit.open_job(found.key)
        elif found is not None:
            self.cockpit.open_node(found.name)

    def _open_nodes(self, key: str) -> None:
        """The nodes with that kind of card."""
        models = () if self._page is None else self._page.use.models
        card = next((item for item in models if view.card_key(item) == key), None)
        if card is not None:
            state = replace(self.cockpit.state_of("nodes"), filter=f"model:{short_model(card.model)}")
            self.cockpit.keep_state("nodes", state)
            self.cockpit.go("nodes")
