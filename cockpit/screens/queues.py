"""Place 4: queues with quota, who waits and why."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import KeyValues
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.queue import QueueScreen
from cockpit.screens.shared_list import SharedList
from cockpit.views import queue_page
from cockpit.views import queues as view
from cockpit.views.detail import Detail
from cockpit.views.engines import engine_pairs
from cockpit.views.lazy_table import ListRows
from cockpit.views.next_steps import no_queues
from cockpit.views.row_details import queue_detail

ENGINES_SECONDS = 10.0


class QueuesScreen(SharedList):
    kinds = ("queue",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "filter", "sort", "back", "help", "verbs", "reverse", "mark", kinds=kinds),
        *bindings("order.own", "detail", *EVERYWHERE),
    ]
    place = "queues"
    has_detail = True
    DEFAULT_CSS = """
    QueuesScreen #engines { height: auto; max-height: 6; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._looked_at = float("-inf")

    def foot(self) -> Iterable[Widget]:
        yield KeyValues(id="engines")
        yield from super().foot()

    def project(self) -> None:
        super().project()
        self._tell_engines()

    def _tell_engines(self) -> None:
        """Which engines are there and at work: both facts, looked up now and then, for it reads every pod."""
        now = self.cockpit.clock.monotonic()
        if now - self._looked_at < ENGINES_SECONDS:
            return
        found = [(each.context, each.cluster.engines()) for each in self.clusters]
        known = [(context, engines) for context, engines in found if engines is not None]
        if not known:
            return
        self._looked_at = now
        pairs = [(context, pair) for context, engines in known for pair in engine_pairs(engines)]
        if self.is_several:
            pairs = [(context, pair._replace(name=f"{context} {pair.name}")) for context, pair in pairs]
        self.query_one("#engines", KeyValues).set_pairs([pair for _, pair in pairs])

    def listed(self) -> ListRows[view.QueueRow]:
        return view.listed(self.cockpit.cluster.store)

    def why_none(self) -> str:
        cluster = self.cockpit.cluster
        return no_queues(cluster.store, cluster.namespaces)

    def detail(self, key: str) -> Detail | None:
        cluster, now_seconds = self.cockpit.cluster, self.cockpit.clock.cluster_now()
        row = queue_page.row_of(cluster.store, key)
        if row is None:
            return None
        return queue_detail(row, cluster.store, cluster.jobs, now_seconds, explain=cluster.verdicts.of)

    def open_row(self, key: str) -> None:
        self.app.push_screen(QueueScreen(key))

    def row(self, kind: str, key: str) -> LocalQueue | ClusterQueue | None:
        found = queue_page.row_of(self.cockpit.cluster.store, key) if kind == "queue" else None
        return None if found is None else found.local or found.cluster
