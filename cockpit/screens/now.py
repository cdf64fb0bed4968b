"""Place 1: what needs a human, then the fleet at a glance, pools and queues."""

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from cockpit_widgets import Heatmap, ResourceTable
from cockpit_widgets.flow_text import ToneLines
from cockpit_widgets.text import plain
from cockpit_widgets.types import Line
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static

from cockpit.errors import CockpitError
from cockpit.model.batch import Phase
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.screens.acknowledge import acknowledge
from cockpit.screens.alike import AlikeScreen
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place
from cockpit.screens.problem_subject import open_subject, thing_of
from cockpit.screens.row_sentence import RowSentence
from cockpit.screens.since_left import SinceLeftScreen
from cockpit.services.problems import is_settled
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import Past
from cockpit.triage.judgement import quiet
from cockpit.triage.left_over import BROKEN_OFF
from cockpit.triage.troubles import Trouble
from cockpit.views import heatmap
from cockpit.views import now as view
from cockpit.views.attention import SINCE_LEFT, attention_table, sentence, since_left_row
from cockpit.views.fleet import fleet
from cockpit.views.load import load_charts
from cockpit.views.states import telemetry_trouble, why_empty

NARROW_CELLS = 100
PANEL_LINES = 30
LOAD_LINES = 36
"""From this height on the last hour stands below what needs a human."""
_LEAST_SHARE = 0.4
"""What needs a human gets this share of the height at least, and whatever the rest leaves."""
_EMPTY_LINES = 6
_MORE = ("logs", "metric", "panel")


class NowScreen(Place):
    """Attention on top, the fleet below, pools and queues at the foot where there is room."""

    DEFAULT_CSS = """
    NowScreen .title { height: 1; padding: 0 1; color: $text-muted; background: $surface; }
    NowScreen #attention { height: auto; min-height: 3; max-height: 40%; }
    NowScreen #attention.empty { min-height: 6; }
    NowScreen #fleet { height: 1fr; min-height: 4; padding: 0 1; }
    NowScreen #panels { height: auto; max-height: 40%; margin-top: 1; }
    NowScreen #pools { width: 1fr; height: auto; min-height: 4; }
    NowScreen #queues { width: 1fr; height: auto; min-height: 4; margin-left: 2; }
    NowScreen #load { display: none; height: auto; padding: 0 2; margin-top: 1; color: $text-muted; }
    NowScreen.tall #load.known { display: block; }
    NowScreen.small #panels { display: none; }
    """
    kinds = ("job", "node", "pod")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "acknowledge", "N", "K", *_MORE, "help", "verbs", kinds=("job", "node")),
        *bindings(*EVERYWHERE),
    ]
    place = "now"

    def __init__(self) -> None:
        super().__init__()
        self._metric = heatmap.Metric.DUTY
        self._rows: dict[str, Trouble] = {}
        self._fleet_title = ""
        self._lines = (0, 0)

    def body(self) -> Iterable[Widget]:
        yield ResourceTable(id="attention")
        yield Static(f"Fleet by {self._metric.value}", id="fleet-title", classes="title", markup=False)
        yield Heatmap(id="fleet")
        with Horizontal(id="panels"):
            yield ResourceTable(id="pools", idle_cursor=False)
            yield ResourceTable(id="queues", idle_cursor=False)
        yield ToneLines(id="load")

    def foot(self) -> Iterable[Widget]:
        yield RowSentence()

    def on_mount(self) -> None:
        self._fold()
        self.set_focus(self.query_one("#attention"))

    def focus_body(self) -> None:
        self.set_focus(self.query_one("#attention"))

    def on_resize(self) -> None:
        self._fold()

    def _fold(self) -> None:
        is_small = self.size.width < NARROW_CELLS or self.size.height < PANEL_LINES
        self.set_class(is_small, "small")
        self.set_class(not is_small and self.size.height >= LOAD_LINES, "tall")
        self.call_after_refresh(self.show)

    def _fit(self, panel_rows: int) -> None:
        """The map takes the lines it needs and no more; what needs a human may take what is left by it, the
        panels and the foot; the last hour what is left then."""
        fleet = self.query_one("#fleet", Heatmap)
        map_lines = max(4, fleet.full_lines(self.size.width - 2))
        panel_lines = 2 + min(panel_rows, int(self.size.height * _LEAST_SHARE)) if panel_rows else 0
        others = 5 + 2 * self.has_class("tall") + map_lines + panel_lines
        lines = (map_lines, max(int(self.size.height * _LEAST_SHARE), self.size.height - others))
        if lines != self._lines:
            self._lines = lines
            fleet.styles.max_height, self.query_one("#attention").styles.max_height = lines
        self._draw_load(self.size.height - others - max(_EMPTY_LINES, 1 + len(self._rows)))

    def _draw_load(self, free_lines: int) -> None:
        """The last hour of what was asked for and used, where there is room and everything was listed."""
        watch, drawn = self.cockpit.now_watch, self.query_one("#load", ToneLines)
        lines: list[Line] = []
        if self.has_class("tall") and watch.loads:
            lines = load_charts(watch.loads, watch.load, self.size.width - 4, free_lines)
        drawn.set_class(bool(lines), "known")
        drawn.set_lines(lines)

    def project(self) -> None:
        cluster, now_seconds = self.cockpit.cluster, self.cockpit.clock.cluster_now()
        store = cluster.store
        watch = self.cockpit.now_watch
        rows = list(watch.look())
        self.cockpit.row_reads.show(row.found for row in rows if not row.is_resolved)
        if watch.happened and watch.left_seconds is not None:
            rows.insert(0, since_left_row(watch.happened, watch.left_seconds))
        self._rows = {row.key: row for row in rows}
        table = self.query_one("#attention", ResourceTable)
        table.hold_top(not is_settled(cluster))  # causes come in any order, the worst is to be first
        table.set_placeholder(self._quiet())
        is_wide = self.size.width >= NARROW_CELLS
        table.set_source(
            attention_table(rows, self.state, now_seconds, is_read_only=cluster.is_read_only, is_wide=is_wide)
        )
        table.set_class(not rows, "empty")
        self._say()
        self._name_fleet()
        self.query_one("#fleet", Heatmap).set_groups(
            heatmap.groups(store, self._metric, self.state.namespaces), self._legend(), ramp=self._metric.ramp
        )
        panel_rows = 0
        if not self.has_class("small"):
            pools = self.query_one("#pools", ResourceTable)
            queues = self.query_one("#queues", ResourceTable)
            pools.set_placeholder(self._why_no("pools", Kind.NODE))
            queues.set_placeholder(self._why_no("queues", Kind.LOCAL_QUEUE))
            pools.set_source(view.pools_panel(pools_of(store), now_seconds, cluster.trends))
            queues.set_source(view.queues_panel(store, now_seconds, self.state.namespaces))
            panel_rows = 1 + max(len(pools.source), len(queues.source))
        self._fit(panel_rows)

    def _why_no(self, what: str, kind: str) -> str:
        """Why a panel is empty; without an attachment the list above says it for all."""
        cluster = self.cockpit.cluster
        return "" if cluster.trouble else why_empty(what, cluster.store.status(kind))

    def _legend(self) -> str:
        store = self.cockpit.cluster.store
        cells = heatmap.cells(heatmap.groups(store, self._metric, self.state.namespaces))
        return f"{cells}   {heatmap.legend(store, self._metric)}"

    def _quiet(self) -> str:
        """What an empty list means: nothing is wrong only when everything was listed."""
        cluster = self.cockpit.cluster
        if cluster.trouble:
            return cluster.trouble
        for kind in (Kind.NODE, Kind.POD):
            status = cluster.store.status(kind)
            if status is None or status.phase is Phase.CONNECTING:
                return f"Connecting: {kind} are not listed yet."
            if not status.is_current:
                return why_empty(kind, status)
        told = quiet(cluster.store, self.state.namespaces)
        return f"{told[0].upper()}{told[1:]}."

    def _name_fleet(self) -> None:
        """The title over the map, and beside it why the map is empty or its readings are missing."""
        store = self.cockpit.cluster.store
        nodes = store.status(Kind.NODE)
        is_unread = nodes is not None and nodes.phase in (Phase.DENIED, Phase.NOT_LOGGED_IN)
        trouble = nodes.message if nodes is not None and is_unread else ""
        trouble = trouble or telemetry_trouble(store.status(Kind.GPU))
        title = f"Fleet by {self._metric.value}"
        room = self.size.width - 2 - len(title) - 2
        sums = view.fleet_sums(fleet(store), self.cockpit.cluster.trends, room)
        title += f": {trouble}" if trouble else f"  {sums}" if sums else ""
        if title != self._fleet_title:
            self._fleet_title = title
            self.query_one("#fleet-title", Static).update(plain(title), layout=False)

    def _say(self) -> None:
        table = self.query_one("#attention", ResourceTable)
        row = self._rows.get(table.cursor_key or "")
        self.query_one(RowSentence).say(
            sentence(row, self.cockpit.clock.cluster_now()) if row and table.is_cut("sentence") else ""
        )

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        if event.table.id == "attention":
            self._say()

    def look(self) -> Focus:
        """All cards, and their last hour."""
        return Focus(past=Past(key="fleet/duty", gpu_nodes=fleet(self.cockpit.cluster.store).gpu_nodes))

    # ---- keys

    def thing(self, kind: str) -> Job | Node | Pod | None:
        key = self.query_one("#attention", ResourceTable).cursor_key
        return None if key is None else thing_of(self, kind, key)

    def action_acknowledge(self) -> None:
        key = self.query_one("#attention", ResourceTable).cursor_key
        one = self._rows.get(key or "")
        if key == SINCE_LEFT:
            self.cockpit.now_watch.dismiss_happened()
        elif one is not None and one.found.finding == BROKEN_OFF:
            self._acknowledge_write(one)
        elif one is None or one.is_resolved:
            self.say("no problem under the cursor to acknowledge")
        else:
            self.cockpit.spawn_foreground(partial(acknowledge, self.app, one), "acknowledge")

    def _acknowledge_write(self, trouble: Trouble) -> None:
        """A write that was broken off is told until a person knows of it, and never after."""
        audit_id = trouble.found.row.partition("/")[0]
        try:
            write = self.cockpit.api.acknowledge_write(audit_id, self.cockpit.audit())
        except CockpitError as error:
            self.say(error.sentence)
            return
        self.say(f"acknowledged: {write.verb} {write.target}")
        self.project()

    def action_metric(self) -> None:
        self._metric = self._metric.next
        self.project()

    def action_panel(self) -> None:
        self.focus_next()

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        if event.key == SINCE_LEFT:
            self.app.push_screen(SinceLeftScreen())
        elif event.table.id == "attention":
            row = self._rows.get(event.key)
            if row is not None and row.found.alike:
                self.app.push_screen(AlikeScreen(event.key, row.found.title))
            else:
                open_subject(self, event.key)
        elif event.table.id == "pools":
            from cockpit.screens.pool import PoolScreen

            self.app.push_screen(PoolScreen(event.key))
        else:
            from cockpit.screens.queues import QueueScreen

            self.app.push_screen(QueueScreen(event.key))

    def on_heatmap_block_activated(self, event: Heatmap.BlockActivated) -> None:
        event.stop()
        self.cockpit.open_node(event.key)
