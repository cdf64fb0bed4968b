"""Place 5: pools of machines, who owns their size, and what is in flight."""

from dataclasses import replace
from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.node import Node
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.nodes import NodesScreen
from cockpit.screens.table_place import TablePlace
from cockpit.screens.verbs import PoolVerbs
from cockpit.telemetry.look import Look
from cockpit.telemetry.past import Past
from cockpit.views import pools as view
from cockpit.views.states import why_empty


class PoolsScreen(TablePlace, PoolVerbs):
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "pool.scale", "filter", "sort", "back", "help", "reverse", "mark", *EVERYWHERE)
    ]
    place = "pools"
    said_column = "resize"

    def source(self) -> tuple[TableSource, str]:
        attachment = self.deck.attachment
        store, now = attachment.store, self.deck.clock.now()
        source = view.table(pools_of(store), self.state, now, self.memory, attachment.trends)
        self.say_problem(source.problem)
        return source, why_empty(
            "pools", store.status(Kind.NODE), total=source.total, filter_text=self.state.filter
        )

    def chosen_pool(self) -> Pool | None:
        return _find(self, self.table.cursor_key)

    def said(self, key: str) -> str:
        pool = _find(self, key)
        return pool.why_not if pool is not None else ""

    def open_row(self, key: str) -> None:
        pool = _find(self, key)
        if pool is not None:
            self.app.push_screen(PoolNodesScreen(key))


class PoolNodesScreen(NodesScreen, PoolVerbs):
    """The nodes of one pool, with their stages on the way to being used."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "pool.scale", "filter", "yaml", "sort", "back", "help", "reverse"),
        *bindings("mark", *EVERYWHERE[3:]),
    ]
    place = "pool"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    @property
    def heading(self) -> str:
        pool = self.chosen_pool()
        return f"pool {pool.name}" if pool is not None else "pool: gone"

    @property
    def aside(self) -> str:
        pool = self.chosen_pool()
        return view.last_hour(pool, self.deck.attachment.trends) if pool is not None else ""

    def look(self) -> Look:
        """The nodes on screen before all others, and the pool's last hour."""
        pool = self.chosen_pool()
        past = Past(key=f"pool/{pool.name}/duty", nodes=pool.node_names) if pool is not None else None
        return replace(super().look(), past=past)

    def rows(self) -> tuple[Node, ...] | None:
        pool = self.chosen_pool()
        names = frozenset(pool.node_names) if pool else frozenset()
        nodes = self.deck.attachment.store.records(Kind.NODE).values()
        return tuple(node for node in nodes if node.name in names)

    def chosen_pool(self) -> Pool | None:
        return _find(self, self._key)


def _find(screen: PoolVerbs, key: str | None) -> Pool | None:
    for pool in pools_of(screen.deck.attachment.store):
        if (pool.owner_uid or pool.name) == key:
            return pool
    return None
