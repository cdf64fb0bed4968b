"""Place 4: queues with quota, who waits and why."""

from collections.abc import Iterable
from typing import Any, ClassVar

from cockpit_widgets import KeyValues
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.gangs.queue_line import member_of, running
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup, SchedulerQueue
from cockpit.model.job import Job
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.shared_list import SharedList
from cockpit.screens.table_place import TablePlace
from cockpit.views import queue_page
from cockpit.views import queues as view
from cockpit.views.detail import Detail
from cockpit.views.engines import engine_pairs
from cockpit.views.lazy_table import ListRows
from cockpit.views.next_steps import no_queues
from cockpit.views.row_details import queue_detail
from cockpit.views.states import why_empty

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


class QueueScreen(TablePlace):
    """One queue: its quota by flavor, and its jobs in the order in which they will start."""

    DEFAULT_CSS = """
    QueueScreen #facts { height: auto; max-height: 40vh; padding: 0 1; }
    QueueScreen #line { height: 1fr; }
    """
    kinds = ("job",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "N", "K", "filter", "back", "help", "yaml", "sort", "verbs", kinds=kinds),
        *bindings("reverse", "mark", "mark.all", *EVERYWHERE[2:]),
    ]
    place = "queue"
    noun = "jobs waiting in this queue"
    said_column = "why"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def body(self) -> Iterable[Widget]:
        with Panel(id="about", classes="bare"):
            yield KeyValues(id="facts")
        with Panel(id="line"):
            yield from super().body()

    def project(self) -> None:
        super().project()
        row = queue_page.row_of(self.cockpit.cluster.store, self._key)
        self.query_one("#about", Panel).set_title(f"queue {row.name}" if row else "queue: gone")
        self.query_one("#line", Panel).set_title("Waiting", f"{len(self.table.source)}")

    def source(self) -> tuple[TableSource, str]:
        store = self.cockpit.cluster.store
        row = queue_page.row_of(store, self._key)
        runs = running(store, row.cluster) if row and row.cluster else ()
        self.query_one("#facts", KeyValues).set_pairs(queue_page.facts(row, runs) if row else ())
        source = view.waiting_table(
            store, row or view.QueueRow(None, None), self.state, self.cockpit.clock.cluster_now()
        )
        self.say_problem(source.problem)
        return source, why_empty(self.noun, store.status(self._line_kind(row)))

    def _line_kind(self, row: view.QueueRow | None) -> str:
        """The kind of what stands in the queue."""
        is_groups = row is not None and isinstance(row.cluster, SchedulerQueue)
        return Kind.POD_GROUP if is_groups else Kind.WORKLOAD

    def said(self, key: str) -> str:
        cluster = self.cockpit.cluster
        job = self._job_of(key)
        return "" if job is None else cluster.verdicts.of(job, self.cockpit.clock.cluster_now()).sentence

    @property
    def why_kinds(self) -> tuple[str, ...]:
        return ("job", "queue")

    def thing(self, kind: str) -> Any | None:
        """The job under the cursor, or the queue of this page."""
        if kind != "queue":
            return super().thing(kind)
        row = queue_page.row_of(self.cockpit.cluster.store, self._key)
        return None if row is None else row.local or row.cluster

    def row(self, kind: str, key: str) -> Job | None:
        return self._job_of(key) if kind == "job" else None

    def _job_of(self, uid: str) -> Job | None:
        """The job that a workload or a group of pods stands for."""
        store = self.cockpit.cluster.store
        found = store.get(Kind.WORKLOAD, uid) or store.get(Kind.POD_GROUP, uid)
        if found is None:
            return None
        owner_uid = found.owner.uid if found.owner is not None else ""
        jobs = self.cockpit.cluster.jobs
        for job in jobs.jobs.values():
            if owner_uid and job.uid == owner_uid:
                return job
        pod = member_of(store, found) if isinstance(found, PodGroup) else None
        return None if pod is None else jobs.job_of_pod(pod)

    def open_row(self, key: str) -> None:
        job = self._job_of(key)
        if job is not None:
            self.cockpit.open_job(job.key)
