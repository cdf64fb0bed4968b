"""Place 5: pools of machines, who owns their size, and what is in flight."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from cockpit.model.pool import Pool
from cockpit.pools.demand import MachineMemory, PoolDemand, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.pools.owner_log import log_pod, why_no_log
from cockpit.screens.app_protocol import Cockpit, acting_in
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.logs import LogsScreen
from cockpit.screens.pool import PoolScreen, seen_of
from cockpit.screens.pool_rows import PoolRows
from cockpit.screens.shared_list import SharedList
from cockpit.views import pools as view
from cockpit.views.detail import Detail
from cockpit.views.lazy_table import ListRows
from cockpit.views.next_steps import no_pools
from cockpit.views.pool_json import ON_ITS_PAGE, Learnt, page_with
from cockpit.views.row_details import pool_detail


@dataclass
class _PoolsOfOne:
    """What the list keeps of the pools of one cluster."""

    rows: PoolRows = field(default_factory=PoolRows)
    machines: MachineMemory = field(default_factory=MachineMemory)
    demand: Mapping[str, PoolDemand] | None = None  # of every pool; None: not every pod is seen


class PoolsScreen(SharedList):
    kinds = ("pool",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open", "why", "verbs", "filter", "sort", "back", "help", "logs", "reverse", "mark", kinds=kinds
        ),
        *bindings("order.own", "detail", *EVERYWHERE),
    ]
    place = "pools"
    said_column = "resize"
    has_detail = True

    def __init__(self) -> None:
        super().__init__()
        self._pools: dict[str, _PoolsOfOne] = {}  # by the context of their cluster
        self._recalled: set[tuple[str, str]] = set()

    @property
    def _here(self) -> "_PoolsOfOne":
        """What is kept of the cluster that the place is about."""
        return self._pools.setdefault(self.cockpit.context, _PoolsOfOne())

    def detail(self, key: str) -> Detail | None:
        """All of its page but what only that reads, and once it is read what this host remembers."""
        pool = self.row("pool", key)
        if pool is None:
            return None
        cockpit, cluster = self.cockpit, self.cockpit.cluster
        if (cockpit.context, key) not in self._recalled:
            self._recalled.add((cockpit.context, key))
            cockpit.spawn(partial(self._recall, cockpit, pool.key), "pools")
        learnt = seen_of(cockpit, pool, Learnt(held=ON_ITS_PAGE))
        now_seconds = cockpit.clock.cluster_now()
        demand = self._here.demand
        page = page_with(pool, cluster.store, cluster.jobs, now_seconds, learnt, by_pool=demand)
        return pool_detail(page)

    async def _recall(self, cockpit: Cockpit, key: str) -> None:
        await cockpit.pool_watch.recall(key)
        if not self.is_going:
            self.side.show()

    def listed(self) -> ListRows[Pool]:
        cluster, here = self.cockpit.cluster, self._here
        pools = pools_of(cluster.store)
        here.demand = demand_by_pool(cluster.store, pools, here.machines)
        return view.listed(pools, view.PoolsBeside(cluster.trends, here.demand, self.cockpit.prices))

    def why_none(self) -> str:
        return no_pools(self.cockpit.cluster.store)

    def row(self, kind: str, key: str) -> Pool | None:
        return self._here.rows.find(self.cockpit.cluster.store, key) if kind == "pool" else None

    def said(self, key: str) -> str:
        pool = self._here.rows.find(self.cockpit.cluster.store, key)
        return pool.why_not if pool is not None else ""

    def action_logs(self) -> None:
        """The log of the owner of the pool under the cursor."""
        pool, store = self.thing("pool"), self.cockpit.cluster.store
        if pool is None:
            self.say("no pool under the cursor")
        elif (found := log_pod(pool, store)) is not None:
            with acting_in(self.cockpit):
                self.app.push_screen(LogsScreen(f"pod/{found.namespace}/{found.name}", found.uid))
        else:
            self.say(why_no_log(pool, store))

    def open_row(self, key: str) -> None:
        pool = self._here.rows.find(self.cockpit.cluster.store, key)
        if pool is not None:
            self.app.push_screen(PoolScreen(key))
