"""The page of one node: what it is, each of its devices and who holds it, its pods."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import KeyValues, ResourceTable
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.screens.verbs import PodVerbs
from cockpit.telemetry.look import Look
from cockpit.telemetry.past import Past
from cockpit.views import node_page as view
from cockpit.views import pods as pods_view
from cockpit.views.states import why_empty
from cockpit.views.view_state import ViewState


class NodeScreen(TablePlace, PodVerbs):
    DEFAULT_CSS = """
    NodeScreen #facts { height: auto; max-height: 40%; padding: 0 1; }
    NodeScreen #table { height: 1fr; min-height: 5; }
    NodeScreen .title { height: 1; padding: 0 1; color: $text-muted; background: $surface; }
    NodeScreen #pods { height: 1fr; min-height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "yaml", "filter", "pod.enter", "sort", "back", "help", "panel", "reverse", "mark"),
        *bindings(*EVERYWHERE),
    ]
    place = "node"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._node_name = name

    def body(self) -> Iterable[Widget]:
        yield KeyValues(id="facts")
        yield Static("Devices", classes="title", markup=False)
        yield from super().body()
        yield Static("Pods on this node", classes="title", markup=False)
        yield ResourceTable(id="pods", idle_cursor=False)

    @property
    def node(self) -> Node | None:
        found = self.deck.attachment.store.by_key(Kind.NODE, self._node_name)
        return found if isinstance(found, Node) else None

    def source(self) -> tuple[TableSource, str]:
        store = self.deck.attachment.store
        trends = self.deck.attachment.trends
        source = view.devices_table(self.node, store, self.state, self.deck.clock.now(), trends.card)
        self.say_problem(source.problem)
        return source, why_empty(
            "GPUs on this node", store.status(Kind.NODE), total=source.total, filter_text=self.state.filter
        )

    def project(self) -> None:
        store, now_seconds = self.deck.attachment.store, self.deck.clock.now()
        node = self.node
        self.query_one("#facts", KeyValues).set_pairs(
            view.facts(node, store, now_seconds)
            if node
            else view.gone(self._node_name, store.status(Kind.NODE))
        )
        pods = self.query_one("#pods", ResourceTable)
        pods.set_placeholder(why_empty("pods on this node", store.status(Kind.POD)))
        pods.set_source(pods_view.table(store, ViewState(), now_seconds, pods=store.pods_on(self._node_name)))
        super().project()

    def look(self) -> Look:
        """This node with all its details, and its cards' last hour."""
        name = self._node_name
        return Look(nodes=(name,), details=(name,), past=Past(node=name))

    def said(self, key: str) -> str:
        return view.said(self.node, self.deck.attachment.store, key)

    def open_row(self, key: str) -> None:
        """A device opens the job that holds it."""
        from cockpit.screens.job import JobScreen

        attachment = self.deck.attachment
        pod = view.holder_of(self.node, attachment.store, key)
        job = attachment.jobs.job_of_pod(pod) if pod is not None else None
        if job is not None:
            self.app.push_screen(JobScreen(job.key))

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        if event.table.id == "table":
            self.open_row(event.key)
            return
        from cockpit.screens.job import JobScreen

        attachment = self.deck.attachment
        pod = attachment.store.get(Kind.POD, event.key)
        job = attachment.jobs.job_of_pod(pod) if pod is not None else None
        if job is not None:
            self.app.push_screen(JobScreen(job.key))

    def chosen_pod(self) -> Pod | None:
        """The pod under the cursor, or the one that holds the device under it."""
        store, pods = self.deck.attachment.store, self.query_one("#pods", ResourceTable)
        if pods.has_focus:
            found = store.get(Kind.POD, pods.cursor_key or "")
            return found if isinstance(found, Pod) else None
        return view.holder_of(self.node, store, self.table.cursor_key or "")

    def action_panel(self) -> None:
        self.focus_next()

    def action_yaml(self) -> None:
        from cockpit.screens.text import YamlScreen

        self.app.push_screen(YamlScreen("v1", "Node", "", self._node_name))
