"""The page of one pool: its growth under way, size against demand, who waits, what it may lose; its nodes."""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import Line
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.errors import CockpitError
from cockpit.model.node import Node
from cockpit.model.plan import Outcome
from cockpit.model.pool import Pool, StandingRead
from cockpit.model.record import Kind
from cockpit.model.scaler import ScalersRead
from cockpit.pools.ladder import Ladder
from cockpit.pools.owner_log import log_pod, why_no_log
from cockpit.screens.app_protocol import Cockpit
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.logs import LogsScreen
from cockpit.screens.nodes import NodesScreen
from cockpit.screens.pool_rows import PoolRows
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.history import Past
from cockpit.views import pools as pools_view
from cockpit.views.pool_json import Learnt, page_of
from cockpit.views.pool_page import PoolPage, facts, page_lines
from cockpit.views.pools import size_text

READ_SECONDS = 30.0
"""Interval at which unwatched objects are read again while the page is open."""


class PoolPanel(FlowText):
    """Everything of the pool that is not a row of its nodes."""

    DEFAULT_CSS = "PoolPanel { padding: 0 1;" + FLOW_CSS + "}"

    def __init__(self) -> None:
        super().__init__(id="told")
        self._page: PoolPage | None = None
        self._height = 0

    def set_page(self, page: PoolPage | None, height: int) -> None:
        """Show this on a terminal of this height; the same again costs nothing."""
        if (page, height) != (self._page, self._height):
            self._page, self._height = page, height
            self.reflow()

    def flow(self, width: int) -> list[Line]:
        page = self._page
        if page is None:
            return []
        return page_lines(page, width, self._height) + pair_lines(facts(page), width)


def seen_of(cockpit: Cockpit, pool: Pool, learnt: Learnt) -> Learnt:
    """The same with all that this host remembers and this session has seen of the pool."""
    watch = cockpit.pool_watch
    return learnt._replace(
        prices=cockpit.prices,
        growths=watch.growths,
        seen=cockpit.cluster.sightings,
        asked=watch.asked(pool.key),
        reclaims=watch.reclaims(pool.key),
        samples=watch.samples(pool.key),
        empty_since=watch.empty_since,
        budgets=cockpit.cluster.verdicts.on_demand.budgets,
    )


class PoolScreen(NodesScreen):
    DEFAULT_CSS = """
    PoolScreen #told { max-height: 70vh; }
    PoolScreen #nodes { height: 1fr; min-height: 5; }
    """
    kinds = ("pool", "node")
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open", "verbs", "back", "help", "why", "logs", "filter", "yaml", "sort", "reverse", kinds=kinds
        ),
        *bindings("mark", *EVERYWHERE[3:]),
    ]
    place = "pool"
    noun = "nodes"
    is_shared = False
    has_detail = False

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._pools = PoolRows()
        self._learnt = Learnt()
        self._has_log = False
        self._wanted: tuple[int | None, int] | None = None  # the size and machines to come, as last shown
        self._changes = 0  # of these that were seen here

    def body(self) -> Iterable[Widget]:
        with Panel(id="about", classes="bare"):
            yield PoolPanel()
        with Panel(id="nodes"):
            yield from super().body()

    def on_mount(self) -> None:
        self.set_interval(READ_SECONDS, self._read)

    def on_screen_resume(self) -> None:
        """Read again what a form above it may have changed."""
        self._read()

    @property
    def heading(self) -> str:
        pool = self.chosen_pool()
        return f"pool {pool.name}" if pool is not None else "pool: gone"

    @property
    def aside(self) -> str:
        pool = self.chosen_pool()
        return pools_view.last_hour(pool, self.cockpit.cluster.trends) if pool is not None else ""

    def look(self) -> Focus:
        """The nodes on screen before all others, and the pool's last hour."""
        pool = self.chosen_pool()
        past = Past(key=f"pool/{pool.name}/duty", nodes=pool.node_names) if pool is not None else None
        return replace(super().look(), past=past)

    def project(self) -> None:
        pool, cluster = self.chosen_pool(), self.cockpit.cluster
        page = None
        if pool is not None:
            now_seconds = self.cockpit.clock.cluster_now()
            cluster.verdicts.on_demand.want_budgets(now_seconds)
            self._learnt = seen_of(self.cockpit, pool, self._learnt)
            page = page_of(pool, cluster.store, cluster.jobs, now_seconds, self._learnt)
            if self._has_changed(pool, page.ladder):
                page = page._replace(held=self._learnt.held)
                self._read()
        self.query_one(PoolPanel).set_page(page, self.size.height)
        self.query_one("#about", Panel).set_title(self.heading, "" if pool is None else size_text(pool))
        super().project()
        self.query_one("#nodes", Panel).set_title("Nodes of the pool", f"{len(self.table.source)}")

    def _has_changed(self, pool: Pool, ladder: Ladder | None) -> bool:
        """Somebody asked, maybe elsewhere: who did is not known before it is read anew."""
        wanted = (pool.target, 0 if ladder is None else ladder.wanted)
        has_changed = self._wanted not in (None, wanted)
        self._wanted = wanted
        if has_changed:
            self._changes += 1
            self._learnt = self._learnt._replace(held=self._learnt.held._replace(is_old=True))
        return has_changed

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    def acted(self, outcome: Outcome) -> None:
        super().acted(outcome)
        self._read()  # who changes the pool is somebody else by now

    # ---- the log of the pool's owner

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The key of the log is barred where no pod of the owner is seen; pressing it says so."""
        if action == "logs" and not self._has_log:
            return None if self._learnt.no_log else False
        return super().check_action(action, parameters)

    def why_not_now(self, action: str) -> str:
        return (self._learnt.no_log or "") if action == "logs" and not self._has_log else ""

    def action_logs(self) -> None:
        pool, store = self.chosen_pool(), self.cockpit.cluster.store
        found = None if pool is None else log_pod(pool, store)
        if found is not None:
            self.app.push_screen(LogsScreen(f"pod/{found.namespace}/{found.name}", found.uid))

    def _look_for_log(self) -> None:
        pool, store = self.chosen_pool(), self.cockpit.cluster.store
        if pool is None:
            return
        found = log_pod(pool, store)
        has_log = found is not None
        self._learnt = self._learnt._replace(no_log="" if has_log else why_no_log(pool, store))
        if has_log != self._has_log:
            self._has_log = has_log
            self.refresh_bindings()

    # ---- what is read besides

    def _read(self) -> None:
        if self.app.screen is self:
            self.cockpit.spawn(self._read_besides, "pool")

    async def _read_besides(self) -> None:
        """Who changes the pool, the autoscalers of pods; what may not be read is said on the page."""
        await self._read_asked()
        try:
            scalers = await self.cockpit.api.read_scalers()
        except CockpitError as error:
            scalers = ScalersRead(trouble=error.sentence)
        pool = self.chosen_pool()
        if pool is not None:
            self.cockpit.cluster.outside.ask(pool)
            await self.cockpit.pool_watch.recall(pool.key)
        self._learnt = self._learnt._replace(scalers=scalers)
        if not self.is_going:
            self._look_for_log()
            self.show()

    async def _read_asked(self) -> None:
        """Who asked for the size. What was read before a change was seen is not what a later reading says."""
        pool, changes = self.chosen_pool(), self._changes
        if pool is None:
            return
        standing, held = await self._standing(pool), await self.cockpit.pool_changes.read(pool)
        held = held._replace(is_old=changes != self._changes)
        if held.is_old and not self._learnt.held.is_old:
            return
        self._learnt = self._learnt._replace(standing=standing, held=held)
        if not self.is_going:
            self.show()

    async def _standing(self, pool: Pool) -> StandingRead:
        """What of ours asks for it, where that is how it grows."""
        if not pool.grows_by_demand:
            return StandingRead()
        try:
            return await self.cockpit.api.read_standing(pool)
        except CockpitError as error:
            return StandingRead(trouble=error.sentence)

    # ---- rows

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
