"""Place 4: queues with quota, who waits and why."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import KeyValues
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.gangs.presence import presences
from cockpit.model.job import Job
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, LIFE, bindings
from cockpit.screens.queue_verbs import QueueVerbs
from cockpit.screens.table_place import TablePlace
from cockpit.screens.verbs import JobVerbs
from cockpit.views import queue_page
from cockpit.views import queues as view
from cockpit.views.engines import engine_pairs
from cockpit.views.states import why_empty

ENGINES_SECONDS = 10.0


class QueuesScreen(TablePlace, QueueVerbs):
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "filter", "sort", "back", "help", "hold", "reverse", "mark", *EVERYWHERE)
    ]
    place = "queues"
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
        served, now = self.deck.attachment.served, self.deck.clock.monotonic()
        if served is None or now - self._looked_at < ENGINES_SECONDS:
            return
        self._looked_at = now
        store = self.deck.attachment.store
        found = presences(store, lambda group, plural: served.find(group, plural) is not None)
        self.query_one("#engines", KeyValues).set_pairs(engine_pairs(found))

    def source(self) -> tuple[TableSource, str]:
        store = self.deck.attachment.store
        source = view.table(store, self.state, self.deck.clock.now(), self.memory)
        self.say_problem(source.problem)
        return source, why_empty(
            "queues",
            store.status(Kind.LOCAL_QUEUE),
            total=source.total,
            filter_text=self.state.filter,
            namespace=self.state.namespace,
        )

    def open_row(self, key: str) -> None:
        self.app.push_screen(QueueScreen(key))

    def chosen_queue(self) -> view.QueueRow | None:
        return queue_page.row_of(self.deck.attachment.store, self.table.cursor_key or "")


class QueueScreen(TablePlace, JobVerbs):
    """One queue: its quota by flavor, and its jobs in the order in which they will start."""

    DEFAULT_CSS = """
    QueueScreen #facts { height: auto; max-height: 40%; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "job.new", "job.kill", "filter", "back", "help", "yaml", "sort"),
        *bindings(*LIFE, "reverse", "mark", "mark.all", *EVERYWHERE[2:]),
    ]
    place = "queue"
    said_column = "why"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def body(self) -> Iterable[Widget]:
        yield KeyValues(id="facts")
        yield from super().body()

    def source(self) -> tuple[TableSource, str]:
        store = self.deck.attachment.store
        row = queue_page.row_of(store, self._key)
        self.query_one("#facts", KeyValues).set_pairs(queue_page.facts(row) if row else ())
        source = view.waiting_table(
            store, row or view.QueueRow(None, None), self.state, self.deck.clock.now()
        )
        self.say_problem(source.problem)
        return source, why_empty(
            "jobs waiting in this queue",
            store.status(Kind.WORKLOAD),
            total=source.total,
            filter_text=self.state.filter,
        )

    def said(self, key: str) -> str:
        job = self.chosen_job()
        return job.why if job is not None else ""

    def marked_jobs(self) -> tuple[Job, ...]:
        found = (self._job_of(key) for key in sorted(self.table.marked))
        return tuple(job for job in found if job is not None)

    def clear_marks(self) -> None:
        self.table.clear_marks()

    def chosen_job(self) -> Job | None:
        return self._job_of(self.table.cursor_key or "")

    def _job_of(self, workload_uid: str) -> Job | None:
        workload = self.deck.attachment.store.get(Kind.WORKLOAD, workload_uid)
        owner_uid = workload.owner.uid if workload is not None and workload.owner is not None else ""
        for job in self.deck.attachment.jobs.jobs.values():
            if job.uid == owner_uid:
                return job
        return None

    def open_row(self, key: str) -> None:
        from cockpit.screens.job import JobScreen

        job = self.chosen_job()
        if job is not None:
            self.app.push_screen(JobScreen(job.key))
