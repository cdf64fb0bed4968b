"""Place 5: pools of machines, who owns their size, and what is in flight."""

from dataclasses import replace
from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.node import Node
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.demand import MachineMemory, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.nodes import NodesScreen
from cockpit.screens.table_place import TablePlace
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import Past
from cockpit.views import pools as view
from cockpit.views.states import why_empty


class _Pools:
    """The pools by the key of their row, made anew when the store moved: each asks for one several times."""

    def __init__(self) -> None:
        self._made_of: tuple[StoreReader | None, int] = (None, 0)
        self._found: dict[str, Pool] = {}

    def find(self, store: StoreReader, key: str | None) -> Pool | None:
        if (store, store.revision) != self._made_of:
            self._made_of = (store, store.revision)
            self._found = {one.owner_uid or one.name: one for one in reversed(pools_of(store))}
        return None if key is None else self._found.get(key)


class PoolsScreen(TablePlace):
    kinds = ("pool",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "verbs", "filter", "sort", "back", "help", "reverse", "mark", kinds=kinds),
        *bindings(*EVERYWHERE),
    ]
    place = "pools"
    said_column = "resize"

    def __init__(self) -> None:
        super().__init__()
        self._pools = _Pools()
        self._machines = MachineMemory()

    def source(self) -> tuple[TableSource, str]:
        cluster = self.cockpit.cluster
        store, now = cluster.store, self.cockpit.clock.cluster_now()
        pools = pools_of(store)
        beside = view.Beside(
            cluster.trends, demand_by_pool(store, pools, self._machines), self.cockpit.prices
        )
        source = view.table(pools, self.state, now, self.memory, beside)
        self.say_problem(source.problem)
        return source, why_empty(
            "pools", store.status(Kind.NODE), total=source.total, filter_text=self.state.filter
        )

    def row(self, kind: str, key: str) -> Pool | None:
        return self._pools.find(self.cockpit.cluster.store, key) if kind == "pool" else None

    def said(self, key: str) -> str:
        pool = self._pools.find(self.cockpit.cluster.store, key)
        return pool.why_not if pool is not None else ""

    def open_row(self, key: str) -> None:
        pool = self._pools.find(self.cockpit.cluster.store, key)
        if pool is not None:
            self.app.push_screen(PoolNodesScreen(key))


class PoolNodesScreen(NodesScreen):
    """The nodes of one pool, with their stages on the way to being used."""

    kinds = ("pool", "node")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "verbs", "filter", "back", "help", "yaml", "sort", "reverse", kinds=kinds),
        *bindings("mark", *EVERYWHERE[3:]),
    ]
    place = "pool"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._pools = _Pools()

    @property
    def heading(self) -> str:
        pool = self.chosen_pool()
        return f"pool {pool.name}" if pool is not None else "pool: gone"

    @property
    def aside(self) -> str:
        pool = self.chosen_pool()
        return view.last_hour(pool, self.cockpit.cluster.trends) if pool is not None else ""

    def look(self) -> Focus:
        """The nodes on screen before all others, and the pool's last hour."""
        pool = self.chosen_pool()
        past = Past(key=f"pool/{pool.name}/duty", nodes=pool.node_names) if pool is not None else None
        return replace(super().look(), past=past)

    def rows(self) -> tuple[Node, ...] | None:
        pool = self.chosen_pool()
        names = frozenset(pool.node_names) if pool else frozenset()
        nodes = self.cockpit.cluster.store.records(Kind.NODE).values()
        return tuple(node for node in nodes if node.name in names)

    def chosen_pool(self) -> Pool | None:
        """The pool of this page; None where it is gone."""
        return self._pools.find(self.cockpit.cluster.store, self._key)

    @property
    def why_kinds(self) -> tuple[str, ...]:
        return ("node", "pool")

    def thing(self, kind: str) -> Pool | Node | None:
        return self.chosen_pool() if kind == "pool" else super().thing(kind)
