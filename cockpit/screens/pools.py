"""Place 5: pools of machines, who owns their size, and what is in flight."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import ClassVar

from cockpit_widgets import ResourceTable
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.demand import MachineMemory, PoolDemand, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.pools.owner_log import log_pod, why_no_log
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.logs import LogsScreen
from cockpit.screens.pool import PoolPanel, PoolScreen, seen_of
from cockpit.screens.pool_rows import PoolRows
from cockpit.screens.table_place import TablePlace
from cockpit.views import pools as view
from cockpit.views.pool_json import ON_ITS_PAGE, Learnt, page_with
from cockpit.views.states import why_empty

_FRAME_LINES = 5
"""Header, titles of the columns, a blank, title of the panel, footer."""
_LEAST_TOLD_LINES = 16
"""With fewer left beneath the rows nothing is told of the pool under the cursor; enter shows it."""


class PoolsScreen(TablePlace):
    """The pools, and where lines are left what is known of the one under the cursor."""

    DEFAULT_CSS = """
    PoolsScreen #told, PoolsScreen .title { display: none; }
    PoolsScreen.tall #told { display: block; height: 1fr; }
    PoolsScreen.tall .title { display: block; height: 1; padding: 0 1; }
    PoolsScreen .title { color: $text-muted; background: $surface; }
    """
    kinds = ("pool",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open", "why", "verbs", "filter", "sort", "back", "help", "logs", "reverse", "mark", kinds=kinds
        ),
        *bindings(*EVERYWHERE),
    ]
    place = "pools"
    said_column = "resize"

    def __init__(self) -> None:
        super().__init__()
        self._pools = PoolRows()
        self._machines = MachineMemory()
        self._whose = ""  # name of the pool that is told of
        self._demand: Mapping[str, PoolDemand] | None = None  # of every pool; None: not every pod is seen

    def body(self) -> Iterable[Widget]:
        yield from super().body()
        yield Static(id="whose", classes="title", markup=False)
        yield PoolPanel()

    def project(self) -> None:
        super().project()
        self._tell()

    def _tell(self) -> None:
        """What is known of the pool under the cursor, but for what only its page reads."""
        if self.is_going:
            return
        rows = len(self.table.source)
        left = self.size.height - _FRAME_LINES - rows
        pool = self.row("pool", self.table.cursor_key or "")
        is_tall = pool is not None and left >= _LEAST_TOLD_LINES
        self.set_class(is_tall, "tall")
        self.table.styles.height = rows + 2 if is_tall else "1fr"
        if pool is None or not is_tall:
            return
        cockpit, cluster = self.cockpit, self.cockpit.cluster
        now_seconds = cockpit.clock.cluster_now()
        learnt = seen_of(cockpit, pool, Learnt(held=ON_ITS_PAGE))
        page = page_with(pool, cluster.store, cluster.jobs, now_seconds, learnt, by_pool=self._demand)
        if pool.name != self._whose:
            self._whose = pool.name
            self.query_one("#whose", Static).update(f"Pool {pool.name}")
        self.query_one(PoolPanel).set_page(page, self.size.height)

    def on_resize(self) -> None:
        self.call_after_refresh(self._tell)

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        self._tell()
        pool = self.row("pool", event.key or "")
        if pool is not None:
            self.cockpit.spawn(partial(self._recall, pool.key), "pools")

    async def _recall(self, key: str) -> None:
        """Read once what this host remembers of the pool."""
        await self.cockpit.pool_watch.recall(key)
        self._tell()

    def source(self) -> tuple[TableSource, str]:
        cluster = self.cockpit.cluster
        store, now = cluster.store, self.cockpit.clock.cluster_now()
        pools = pools_of(store)
        self._demand = demand_by_pool(store, pools, self._machines)
        beside = view.PoolsBeside(cluster.trends, self._demand, self.cockpit.prices)
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

    def action_logs(self) -> None:
        """The log of the owner of the pool under the cursor."""
        pool, store = self.thing("pool"), self.cockpit.cluster.store
        if pool is None:
            self.say("no pool under the cursor")
        elif (found := log_pod(pool, store)) is not None:
            self.app.push_screen(LogsScreen(f"pod/{found.namespace}/{found.name}", found.uid))
        else:
            self.say(why_no_log(pool, store))

    def open_row(self, key: str) -> None:
        pool = self._pools.find(self.cockpit.cluster.store, key)
        if pool is not None:
            self.app.push_screen(PoolScreen(key))
