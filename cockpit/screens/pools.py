"""Place 5: pools of machines, who owns their size, and what is in flight."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.demand import MachineMemory, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.pool import PoolScreen
from cockpit.screens.pool_rows import PoolRows
from cockpit.screens.table_place import TablePlace
from cockpit.views import pools as view
from cockpit.views.states import why_empty


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
        self._pools = PoolRows()
        self._machines = MachineMemory()

    def source(self) -> tuple[TableSource, str]:
        cluster = self.cockpit.cluster
        store, now = cluster.store, self.cockpit.clock.cluster_now()
        pools = pools_of(store)
        beside = view.PoolsBeside(
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
            self.app.push_screen(PoolScreen(key))
