"""Place 1: what needs a human, then the fleet at a glance, pools and queues."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cockpit_widgets import Heatmap, ResourceTable
from cockpit_widgets.flow_text import ToneLines
from cockpit_widgets.panel import FRAMED, Panel, is_framed
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Line
from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.widget import Widget

from cockpit.errors import CockpitError
from cockpit.model.batch import Phase
from cockpit.model.job import Job
from cockpit.model.namespaces import Namespaces
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.screens.acknowledge import acknowledge
from cockpit.screens.alike import AlikeScreen
from cockpit.screens.detail_side import BELOW_LINES, DetailSide
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.problem_subject import as_it_stands, open_subject, thing_of
from cockpit.screens.row_sentence import RowSentence
from cockpit.screens.shared_place import SharedPlace
from cockpit.screens.since_left import SinceLeftScreen
from cockpit.services.host import Cluster
from cockpit.services.problems import is_settled
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import Past
from cockpit.triage.attention import BROKEN_OFF
from cockpit.triage.judgement import quiet
from cockpit.triage.troubles import Trouble
from cockpit.views import heatmap
from cockpit.views import now as view
from cockpit.views.attention import (
    SINCE_LEFT,
    attention_figure,
    attention_of_clusters,
    attention_table,
    ranked,
    sentence,
    since_left_row,
)
from cockpit.views.clusters import cluster_table, joined_key, sentences_of
from cockpit.views.detail import Detail
from cockpit.views.fleet import fleet
from cockpit.views.lazy_table import ListRows
from cockpit.views.load import load_charts
from cockpit.views.next_steps import no_gpus, no_pools, no_queues
from cockpit.views.states import telemetry_trouble, why_empty
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.screens.explanation import ProblemDetail

LOAD_LINES = 36
"""From this height on the last hour stands below what needs a human."""
_LEAST_SHARE = 0.4
"""What needs a human gets this share of the height at least, and whatever the rest leaves."""
_PANEL_SHARE, _LEAST_PANEL_ROWS = 0.2, 3
"""Pools and queues get at most this share of the height in rows, however many they are, and fewer where what
needs a human would have less than that beside its detail."""
_EMPTY_LINES = 6
_CHROME_LINES = 3
"""Header, tabs, keys. Without a detail the sentence under the cursor has a line too."""
_MAP_LINES = 4
_DETAIL_LINES, _DETAIL_SHARE = 14, 0.35
"""Least lines of the detail, and its least share of all, before the last hour gets any."""
_SMALL_LINES, _BRIEF_LINES, _NARROW_BRIEF_LINES = 24, 5, 7
"""From this height on the detail stands between list and fleet; there this many lines are enough for it, and
more where they are short."""
_MORE = ("logs", "metric", "panel")


class NowScreen(SharedPlace):
    """Attention on top, the fleet below, pools and queues at the foot where there is room."""

    DEFAULT_CSS = """
    NowScreen #split { height: 1fr; layout: horizontal; }
    NowScreen #needs { width: 1fr; height: 1fr; }
    NowScreen #needs.lone { border: none; }
    NowScreen #attention { height: 1fr; }
    NowScreen #detail { display: none; width: 1fr; height: 1fr; }
    NowScreen.beside #detail { display: block; width: 40%; }
    NowScreen.below #split { layout: vertical; }
    NowScreen.below #detail { display: block; }
    NowScreen #map { height: auto; }
    NowScreen #fleet { padding: 0 1; }
    NowScreen #panels { height: auto; }
    NowScreen #panels Panel { width: 1fr; }
    NowScreen #panels ResourceTable { height: auto; min-height: 3; }
    NowScreen #last-hour { display: none; }
    NowScreen #last-hour.known { display: block; }
    NowScreen #load { height: auto; padding: 0 1; color: $text-muted; }
    NowScreen.small #panels, NowScreen.unread #panels, NowScreen.unread #map { display: none; }
    """
    kinds = ("job", "node", "pod")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open", "why", "acknowledge", "N", "K", *_MORE, "help", "detail", "verbs", kinds=("job", "node")
        ),
        *bindings(*EVERYWHERE),
    ]
    place = "now"
    is_shared = True

    def __init__(self) -> None:
        super().__init__()
        self._metric = heatmap.Metric.DUTY
        self._rows: dict[str, Trouble] = {}
        self._lines: tuple[int | str, ...] = ()
        self._why: dict[str, ProblemDetail] = {}  # by the context of their cluster
        self.side = DetailSide(self, self._detail, lambda: self.cursor_row, below_lines=_SMALL_LINES)

    def body(self) -> Iterable[Widget]:
        with Container(id="split"):
            with Panel(id="needs"):
                yield ResourceTable(id="attention")
            yield self.side.panel
        with Panel(id="map"):
            yield Heatmap(id="fleet")
        with Horizontal(id="panels"):
            for name in ("pools", "queues"):
                with Panel(id=f"{name}-panel"):
                    yield ResourceTable(id=name, idle_cursor=False, can_mark=False)
        with Panel(id="last-hour"):
            yield ToneLines(id="load")

    @property
    def cursor_row(self) -> str | None:
        return self._attention.cursor_key

    @property
    def marked_rows(self) -> Collection[str]:
        return self._attention.marked

    def clear_marks(self) -> None:
        self._attention.clear_marks()

    @property
    def _attention(self) -> ResourceTable:
        return self.query_one("#attention", ResourceTable)

    def foot(self) -> Iterable[Widget]:
        yield RowSentence()

    def on_mount(self) -> None:
        self._fold()
        self.set_focus(self._attention)

    def focus_body(self) -> None:
        self.set_focus(self._attention)

    def on_resize(self) -> None:
        self._fold()

    def _fold(self) -> None:
        is_small = not is_framed(*self.size)
        self.set_class(is_small, "small")
        self.set_class(not is_small and self.size.height >= LOAD_LINES, "tall")
        self.call_after_refresh(self.show)

    def _fit(self, panel_rows: int) -> None:
        """The map takes the lines it needs and no more, panels theirs, the last hour what is left then; what
        needs a human and its detail have the rest."""
        fleet, frame = self.query_one("#fleet", Heatmap), 1 if self.has_class("small") else 2
        height, width = self.size.height, self.size.width - 2 * frame
        needs = (1 if self._rows else _EMPTY_LINES) + len(self._rows) + (frame if self.side.is_shown else 0)
        panel_lines = 1 + panel_rows + frame if panel_rows else 0
        room = height - _CHROME_LINES - (not self.side.is_shown) - panel_lines - frame
        wish = max(3, min(needs, int(height * _LEAST_SHARE)))
        if self.has_class("below"):
            least = self._least_detail()
            whole, most = self._attention.needed_lines(width) + frame, room - _MAP_LINES - least
            needs = max(3 + frame, min(needs, most) if whole > most else whole)
            wish = min(wish, needs) + least
        elif self.side.is_shown:
            wish = max(wish, _DETAIL_LINES, int(height * _DETAIL_SHARE))
        most = room - wish
        map_lines = max(_MAP_LINES, min(most, fleet.needed_lines(width, most)))
        if not fleet.cursor_key:  # a map without a cell says why, and no more
            map_lines = fleet.needed_lines(width, most)
        lines = (map_lines, needs if self.has_class("below") else "1fr")
        if lines != self._lines:
            self._lines = lines
            fleet.styles.height, self.query_one("#needs").styles.height = lines
        self._draw_load(width, room - map_lines - wish - frame)

    def _most_panel_rows(self) -> int:
        """How many pools and queues are shown."""
        height, frame = self.size.height, 2
        share = int(height * _PANEL_SHARE)
        needs = min(1 + len(self._rows), share) + frame
        detail = self._least_detail() if self.has_class("below") else 0
        left = height - _CHROME_LINES - needs - detail - _MAP_LINES - frame - 2 - frame
        return max(_LEAST_PANEL_ROWS, min(share, left))

    def _least_detail(self) -> int:
        if self.size.height >= BELOW_LINES:
            return _DETAIL_LINES
        is_small = self.has_class("small")
        return (1 if is_small else 2) + (_NARROW_BRIEF_LINES if is_small else _BRIEF_LINES)

    def _draw_load(self, width: int, free_lines: int) -> None:
        """The last hour of what was asked for and used, where there is room and everything was listed."""
        watch, drawn = self.cockpit.now_watch, self.query_one("#load", ToneLines)
        lines: list[Line] = []
        if self.has_class("tall") and watch.loads and free_lines > 0 and not self.is_several:
            lines = load_charts(watch.loads, watch.load, width, free_lines)
        panel = self.query_one("#last-hour", Panel)
        panel.set_class(bool(lines), "known")
        panel.set_title("GPUs wanted and allocated")
        drawn.set_lines(lines)

    def project(self) -> None:
        now_seconds = self.cockpit.clock.cluster_now()
        found = self._look(now_seconds)
        rows = [row for _, row in found]
        self._rows = {joined_key(of, row.key) if self.is_several else row.key: row for of, row in found}
        table = self._attention
        # causes come in any order, the worst is to be first
        table.hold_top(not all(is_settled(each.cluster) for each in self.clusters))
        table.set_placeholder(self._quiet())
        self.set_class(bool(self.trouble), "unread")  # the list says why for all panels
        is_titled = self.has_class(FRAMED) or self.side.is_shown
        if self.is_several:
            locked = {each.context for each in self.clusters if each.cluster.is_read_only}
            table.set_source(
                attention_of_clusters(found, self.state, now_seconds, read_only=locked, is_titled=is_titled)
            )
        else:
            is_locked = self.cockpit.cluster.is_read_only
            table.set_source(
                attention_table(rows, self.state, now_seconds, is_read_only=is_locked, is_titled=is_titled)
            )
        needs = self.query_one("#needs", Panel)
        needs.set_class(not is_titled, "lone")
        needs.set_title("Needs a human", attention_figure(rows, now_seconds))
        self.side.show()
        self._say()
        self._draw_fleet()
        self._fit(0 if self.has_class("small") else self._draw_panels(now_seconds))

    def _look(self, now_seconds: float) -> list[tuple[str, Trouble]]:
        """What needs a human in each cluster, with its name."""
        found: list[tuple[str, Trouble]] = []
        for cluster in self.clusters:
            watch = cluster.now_watch
            seen = watch.look()
            rows = [as_it_stands(row, cluster.cluster, now_seconds) for row in seen]
            cluster.row_reads.show(row.found for row in rows if not row.is_resolved)
            if watch.happened and watch.left_seconds is not None:
                rows.insert(0, since_left_row(watch.happened, watch.left_seconds))
            found += ((cluster.context, row) for row in rows)
        return ranked(found, now_seconds) if self.is_several else found

    def _draw_fleet(self) -> None:
        """The map; beside its title its sums, or why readings are missing: below it without room."""
        stores = {each.context: each.cluster for each in self.clusters}
        groups = {
            context: heatmap.groups(cluster.store, self._metric, self._shown(cluster))
            for context, cluster in stores.items()
        }
        if self.is_several:
            drawn = heatmap.groups_of_clusters(groups)
            told = heatmap.legend_of_clusters(
                {context: cluster.store for context, cluster in stores.items()}, self._metric
            )
        else:
            drawn = next(iter(groups.values()))
            told = heatmap.legend(self.cockpit.cluster.store, self._metric)
        title = f"Fleet by {self._metric.value}"
        trouble = self._of_each({context: _fleet_trouble(cluster) for context, cluster in stores.items()})
        room = self.size.width - 11 - len(title)
        is_long = width_of(trouble) > room
        words = f"{heatmap.cells(drawn)}   {trouble if is_long else told}" if drawn else trouble
        self.query_one("#fleet", Heatmap).set_groups(drawn, words, ramp=self._metric.ramp)
        if drawn and not trouble and not self.is_several:
            cluster = self.cockpit.cluster
            trouble = view.fleet_sums(fleet(cluster.store), cluster.trends, room)
        self.query_one("#map", Panel).set_title(title, trouble if drawn and not is_long else "")

    def _shown(self, cluster: Cluster) -> Namespaces:
        return cluster.namespaces if self.is_several else self.state.namespaces

    def _draw_panels(self, now_seconds: float) -> int:
        """Pools and queues, a line each; how many lines they take."""
        lists: dict[str, dict[str, ListRows[Any]]] = {
            "pools": {
                each.context: view.pool_lines(pools_of(each.cluster.store), each.cluster.trends)
                for each in self.clusters
            },
            "queues": {each.context: view.queue_lines(each.cluster.store) for each in self.clusters},
        }
        shown = {each.context: self._shown(each.cluster) for each in self.clusters}
        rows, most_rows = 0, self._most_panel_rows()
        for name, of in lists.items():
            table = self.query_one(f"#{name}", ResourceTable)
            table.set_placeholder(self._why_no(name))
            table.styles.max_height = 1 + most_rows
            if self.is_several:
                table.set_source(cluster_table(of, ViewState(), now_seconds, namespaces=shown).valued())
            else:
                own = next(iter(of.values()))
                state = ViewState(namespaces=self.state.namespaces)
                table.set_source(own.table(state, now_seconds).valued())
            count = len(table.source)
            figure = f"{most_rows} of {count:,}" if count > most_rows else ""
            self.query_one(f"#{name}-panel", Panel).set_title(name.capitalize(), figure)
            rows = max(rows, min(table.needed_lines(self.size.width // 2 - 4), 1 + most_rows))
        return rows

    def _why_no(self, what: str) -> str:
        """Why a panel is empty."""
        stores = {each.context: each.cluster.store for each in self.clusters}
        if what == "pools":
            return self._of_each({name: no_pools(store) for name, store in stores.items()})
        shown = {each.context: self._shown(each.cluster) for each in self.clusters}
        return self._of_each({name: no_queues(store, shown[name]) for name, store in stores.items()})

    def _of_each(self, sentences: Mapping[str, str]) -> str:
        """One sentence of each cluster, by its name where there are several."""
        return sentences_of(sentences) if self.is_several else next(iter(sentences.values()))

    def _quiet(self) -> str:
        """What an empty list means: nothing is wrong only when everything was listed."""
        return self._of_each({each.context: self._quiet_of(each.cluster) for each in self.clusters})

    def _quiet_of(self, cluster: Cluster) -> str:
        if cluster.trouble:
            return cluster.trouble
        for kind in (Kind.NODE, Kind.POD):
            status = cluster.store.status(kind)
            if status is None or status.phase is Phase.CONNECTING:
                return f"Connecting: {kind} are not listed yet."
            if not status.is_current:
                return why_empty(kind, status)
        told = quiet(cluster.store, self._shown(cluster))
        return f"{told[0].upper()}{told[1:]}. {no_gpus(cluster.store)}".rstrip()

    def _say(self) -> None:
        row, is_cut = self._rows.get(self.cursor_row or ""), self._attention.is_cut("sentence")
        is_needed = row is not None and is_cut and not self.side.is_shown
        said = sentence(row, self.cockpit.clock.cluster_now()) if row and is_needed else ""
        self.query_one(RowSentence).say(said, marked=self.marked_count)

    def _detail(self, key: str) -> Detail | None:
        """Why, and what would help: the top of the page that `w` opens."""
        row = self._rows.get(key)
        return None if row is None else self.at_row(key, lambda _key: self._explainer.of(row))

    @property
    def _explainer(self) -> "ProblemDetail":
        """That of the cluster that the place is about."""
        cockpit = self.cockpit
        if (found := self._why.get(cockpit.context)) is None:
            from cockpit.screens.explanation import ProblemDetail

            found = self._why[cockpit.context] = ProblemDetail(cockpit)
        return found

    def action_fold_detail(self) -> None:
        self.side.fold()

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        if event.table.id == "attention":
            self.side.moved()
            self._say()

    def on_resource_table_marks_changed(self) -> None:
        self._say()

    def look(self) -> Focus:
        """All cards, and their last hour."""
        return Focus(past=Past(key="fleet/duty", gpu_nodes=fleet(self.cockpit.cluster.store).gpu_nodes))

    # ---- keys

    def row(self, kind: str, key: str) -> Job | Node | Pod | None:
        return thing_of(self, kind, key)

    def action_acknowledge(self) -> None:
        one = self._rows.get(self.cursor_row or "")
        if one is not None and one.key == SINCE_LEFT:
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
        if event.table.id == "attention":
            if (row := self._rows.get(event.key)) is not None:
                self.at_row(event.key, partial(self._open, row))
        else:
            self.at_row(event.key, partial(self._open_panel, event.table.id or ""))

    def _open(self, row: Trouble, key: str) -> None:
        if key == SINCE_LEFT:
            self.app.push_screen(SinceLeftScreen())
        elif row.found.alike:
            self.app.push_screen(AlikeScreen(key, row.found.title))
        else:
            open_subject(self, key)

    def _open_panel(self, panel: str, key: str) -> None:
        from cockpit.screens.panel_pages import page_of_row

        self.app.push_screen(page_of_row(panel, key))

    def on_heatmap_block_activated(self, event: Heatmap.BlockActivated) -> None:
        event.stop()
        self.at_row(event.key, lambda name: self.cockpit.open_node(name))


def _fleet_trouble(cluster: Cluster) -> str:
    """Why the map of this cluster is empty or its readings are missing."""
    nodes = cluster.store.status(Kind.NODE)
    is_unread = nodes is not None and nodes.phase in (Phase.DENIED, Phase.NOT_LOGGED_IN)
    trouble = nodes.message if nodes is not None and is_unread else ""
    if trouble or no_gpus(cluster.store):
        return trouble
    return telemetry_trouble(cluster.store.status(Kind.GPU))
