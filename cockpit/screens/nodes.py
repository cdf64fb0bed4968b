"""Place 3: nodes and their devices."""

from typing import ClassVar

from textual.binding import BindingType

from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.row_detail import detail_of_node
from cockpit.screens.shared_list import SharedList
from cockpit.telemetry.focus import Focus
from cockpit.views import nodes as view
from cockpit.views.detail import Detail
from cockpit.views.lazy_table import ListRows
from cockpit.views.states import why_empty


class NodesScreen(SharedList):
    kinds: ClassVar[tuple[str, ...]] = ("node",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open", "why", "filter", "yaml", "verbs", "sort", "back", "help", "reverse", "mark", kinds=kinds
        ),
        *bindings("order.own", "detail", "mark.all", *EVERYWHERE),
    ]
    place = "nodes"
    said_column = "state"
    has_detail = True

    def rows(self) -> tuple[Node, ...] | None:
        """Only these nodes; None for all."""
        return None

    def listed(self) -> ListRows[view.NodeRow]:
        return view.listed(self.cockpit.cluster.store, self.cockpit.clock.cluster_now(), self.rows())

    def why_none(self) -> str:
        return why_empty("nodes", self.cockpit.cluster.store.status(Kind.NODE))

    def look(self) -> Focus:
        """The nodes on screen before all others."""
        return Focus(nodes=self.visible_keys)

    def row(self, kind: str, key: str) -> Node | None:
        found = self.cockpit.cluster.store.by_key(Kind.NODE, key) if kind == "node" else None
        return found if isinstance(found, Node) else None

    def said(self, key: str) -> str:
        """How far its drain is, where it is in one."""
        node = self.row("node", key)
        return "" if node is None else view.said(node, self.cockpit.cluster.store)

    def detail(self, key: str) -> Detail | None:
        return detail_of_node(self.cockpit, key)

    def open_row(self, key: str) -> None:
        self.cockpit.open_node(key)
