"""The page of one node: what it is, each of its devices and who holds it, its pods."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import KeyValues, ResourceTable
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import Past
from cockpit.views import node_page as view
from cockpit.views import pods as pods_view
from cockpit.views.states import why_empty
from cockpit.views.view_state import ViewState


class NodeScreen(TablePlace):
    DEFAULT_CSS = """
    NodeScreen #facts { height: auto; max-height: 40vh; padding: 0 1; }
    NodeScreen #devices { height: 1fr; min-height: 6; }
    NodeScreen #pods-panel { height: 1fr; min-height: 4; }
    """
    kinds = ("node", "pod")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "yaml", "verbs", "back", "help", "filter", "sort", "panel", kinds=kinds),
        *bindings("reverse", "mark", *EVERYWHERE),
    ]
    place = "node"
    noun = "GPUs on this node"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._node_name = name

    def body(self) -> Iterable[Widget]:
        with Panel(id="about", classes="bare"):
            yield KeyValues(id="facts")
        with Panel(id="devices"):
            yield from super().body()
        with Panel(id="pods-panel"):
            yield ResourceTable(id="pods", idle_cursor=False)

    @property
    def node(self) -> Node | None:
        found = self.cockpit.cluster.store.by_key(Kind.NODE, self._node_name)
        return found if isinstance(found, Node) else None

    def source(self) -> tuple[TableSource, str]:
        store = self.cockpit.cluster.store
        trends = self.cockpit.cluster.trends
        source = view.devices_table(
            self.node, store, self.state, self.cockpit.clock.cluster_now(), trends.card
        )
        self.say_problem(source.problem)
        return source, why_empty(self.noun, store.status(Kind.NODE))

    def project(self) -> None:
        store, now_seconds = self.cockpit.cluster.store, self.cockpit.clock.cluster_now()
        node, drained = self.node, self.cockpit.drains.status(self._node_name)
        known = self.cockpit.cluster.verdicts.on_demand
        known.want_budgets(now_seconds)
        self.query_one("#facts", KeyValues).set_pairs(
            view.facts(node, store, now_seconds, None if drained is None else drained.sentence, known.budgets)
            if node
            else view.gone(self._node_name, store.status(Kind.NODE))
        )
        self.query_one("#about", Panel).set_title(f"node {self._node_name}")
        pods = self.query_one("#pods", ResourceTable)
        pods.set_placeholder(why_empty("pods on this node", store.status(Kind.POD)))
        pods.set_source(pods_view.table(store, ViewState(), now_seconds, pods=store.pods_on(self._node_name)))
        super().project()
        self.query_one("#devices", Panel).set_title("GPUs", f"{len(self.table.source)}")
        self.query_one("#pods-panel", Panel).set_title("Pods on this node", f"{len(pods.source)}")

    def look(self) -> Focus:
        """This node with all its details, and its cards' last hour."""
        name = self._node_name
        return Focus(nodes=(name,), details=(name,), past=Past(node=name))

    def said(self, key: str) -> str:
        return view.said(self.node, self.cockpit.cluster.store, key)

    def open_row(self, key: str) -> None:
        """A device opens the job that holds it."""
        cluster = self.cockpit.cluster
        pod = view.holder_of(self.node, cluster.store, key)
        job = cluster.jobs.job_of_pod(pod) if pod is not None else None
        if job is not None:
            self.cockpit.open_job(job.key)

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        if event.table.id == "table":
            self.open_row(event.key)
            return
        cluster = self.cockpit.cluster
        pod = cluster.store.get(Kind.POD, event.key)
        job = cluster.jobs.job_of_pod(pod) if pod is not None else None
        if job is not None:
            self.cockpit.open_job(job.key)

    @property
    def why_kinds(self) -> tuple[str, ...]:
        """The pod or the card under the cursor before the node."""
        return ("pod", "node") if self.query_one("#pods", ResourceTable).has_focus else ("card", "node")

    def thing(self, kind: str) -> Node | Pod | Gpu | None:
        """The node of this page; the pod or card under the cursor, or the one that holds the card."""
        if kind == "card":
            key, cards = self.table.cursor_key, self.cockpit.cluster.store.gpus_on(self._node_name)
            return next((card for card in cards if card.uuid == key), None)
        return self.node if kind == "node" else self._pod() if kind == "pod" else None

    def _pod(self) -> Pod | None:
        store, pods = self.cockpit.cluster.store, self.query_one("#pods", ResourceTable)
        if pods.has_focus:
            found = store.get(Kind.POD, pods.cursor_key or "")
            return found if isinstance(found, Pod) else None
        return view.holder_of(self.node, store, self.table.cursor_key or "")

    def action_panel(self) -> None:
        self.focus_next()
