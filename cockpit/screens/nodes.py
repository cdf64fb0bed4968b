"""Place 3: nodes and their devices."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.telemetry.look import Look
from cockpit.views import nodes as view
from cockpit.views.states import why_empty


class NodesScreen(TablePlace):
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "filter", "yaml", "sort", "back", "help", "reverse", "mark", *EVERYWHERE)
    ]
    place = "nodes"

    def rows(self) -> tuple[Node, ...] | None:
        """Only these nodes; None for all."""
        return None

    def source(self) -> tuple[TableSource, str]:
        store = self.deck.attachment.store
        source = view.table(store, self.state, self.deck.clock.now(), self.memory, nodes=self.rows())
        self.say_problem(source.problem)
        return source, why_empty(
            "nodes", store.status(Kind.NODE), total=source.total, filter_text=self.state.filter
        )

    def look(self) -> Look:
        """The nodes on screen before all others."""
        return Look(nodes=self.table.visible_keys)

    def open_row(self, key: str) -> None:
        from cockpit.screens.node import NodeScreen

        self.app.push_screen(NodeScreen(key))

    def action_yaml(self) -> None:
        from cockpit.screens.text import YamlScreen

        if self.table.cursor_key is not None:
            self.app.push_screen(YamlScreen("v1", "Node", "", self.table.cursor_key))
