"""The page of one queue: its quota, who holds it, and who waits, in the order in which they will start."""

import asyncio
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, ClassVar

from cockpit_widgets import KeyValues, ResourceTable
from cockpit_widgets.panel import FRAMED, Panel
from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.containers import Container
from textual.widget import Widget

from cockpit.actions.verdict_reads import SharedReads
from cockpit.errors import CockpitError
from cockpit.gangs.queue_line import member_of
from cockpit.model.finding import Subject
from cockpit.model.gang import PodGroup, SchedulerQueue
from cockpit.model.job import Job
from cockpit.model.record import Kind
from cockpit.screens.explanation import Explanation
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.views import queue_page
from cockpit.views import queues as view
from cockpit.views.queues import QueueRow
from cockpit.views.states import why_empty

AHEAD_SECONDS, BETWEEN_SECONDS = 1.0, 0.3
"""Least time between two looks for what starts those in sight, and between two of them."""
MOST_AHEAD = 100
"""Rows that are known with what was read for them: more than a screen has."""
TOP_SHARE = 0.45
"""The facts and the holders take that share of the height at most: below them stand those who wait."""
FRAME_LINES, FRAME_CELLS, SENTENCE_LINES = 3, 4, 2
"""Border and titles of the columns; border and blanks at both sides of the facts; why there is none."""


class QueueScreen(TablePlace):
    """Keys act on the row under the cursor, of those who wait or of those who hold its quota."""

    DEFAULT_CSS = """
    QueueScreen #top { height: auto; max-height: 50%; }
    QueueScreen #about { height: auto; max-height: 10; }
    QueueScreen #facts { height: auto; padding: 0 1; }
    QueueScreen.framed #top { layout: horizontal; }
    QueueScreen.framed #about { width: 1fr; height: 100%; max-height: 100%; }
    QueueScreen.framed #holders-panel { width: 1fr; }
    QueueScreen #line { height: 1fr; }
    """
    kinds = ("job",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "N", "K", "filter", "back", "help", "yaml", "sort", "panel", kinds=kinds),
        *bindings("verbs", "reverse", "mark", "mark.all", *EVERYWHERE[2:]),
    ]
    place = "queue"
    noun = "jobs waiting in this queue"
    said_column = "why"

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._ahead: dict[str, Explanation] = {}  # by the uid of what waits
        self._starts: dict[str, str] = {}  # what would start it, as far as that is known
        self._lines: dict[tuple[str, int], str] = {}  # last lines of logs that were read for it

    def body(self) -> Iterable[Widget]:
        with Container(id="top"):
            with Panel(id="about", classes="bare"):
                yield KeyValues(id="facts")
            with Panel(id="holders-panel"):
                yield ResourceTable(id="holders", idle_cursor=False)
        with Panel(id="line"):
            yield from super().body()

    def on_mount(self) -> None:
        self.cockpit.keep(self, "starts", self._look_ahead)

    # ---- what is shown

    @property
    def queue(self) -> QueueRow | None:
        return queue_page.row_of(self.cockpit.cluster.store, self._key)

    @property
    def holders(self) -> ResourceTable:
        return self.query_one("#holders", ResourceTable)

    def project(self) -> None:
        super().project()
        cluster, now_seconds = self.cockpit.cluster, self.cockpit.clock.cluster_now()
        row = self.queue
        held = queue_page.holders_table(row, cluster.store, cluster.jobs, now_seconds, cluster.verdicts.of)
        facts = () if row is None else queue_page.page_facts(row, cluster.store, now_seconds)
        is_named = self.has_class(FRAMED)  # in the border
        self.query_one("#facts", KeyValues).set_pairs(facts[is_named:])
        self.query_one("#about", Panel).set_title(f"queue {row.name}" if row else "queue: gone")
        self.query_one("#line", Panel).set_title("Waiting", f"{len(self.table.source)}")
        self.query_one("#holders-panel", Panel).set_title("Holders", f"{len(held)}")
        table = self.holders
        table.set_placeholder(why_empty("jobs that hold it", cluster.store.status(self._line_kind(row))))
        table.hold_top(not table.has_focus)  # until it has the focus, the cursor stays on its first row
        table.set_source(held)
        self._fit_holders(len(held))

    def _fit_holders(self, held: int) -> None:
        """As many lines as rows, within its share; beside the facts no fewer than they take."""
        facts = self.query_one("#facts", KeyValues)
        is_beside = self.has_class(FRAMED)
        most = int(self.size.height * TOP_SHARE) - (0 if is_beside else len(facts.pairs))
        lines = (held or SENTENCE_LINES) + FRAME_LINES - (not is_beside)
        if is_beside:
            lines = max(lines, len(facts.flow(self.size.width // 2 - FRAME_CELLS)) + 2)
        lines = max(FRAME_LINES, min(most, lines))
        panel = self.query_one("#holders-panel", Panel)
        if panel.styles.height is None or panel.styles.height.value != lines:
            panel.styles.height = lines

    def source(self) -> tuple[TableSource, str]:
        store, row = self.cockpit.cluster.store, self.queue
        source = view.waiting_table(
            store,
            row or QueueRow(None, None),
            self.state,
            self.cockpit.clock.cluster_now(),
            starts=self._starts,
        )
        self.say_problem(source.problem)
        return source, why_empty(self.noun, store.status(self._line_kind(row)))

    def _line_kind(self, row: QueueRow | None) -> str:
        """The kind of what stands in the queue."""
        is_groups = row is not None and isinstance(row.cluster, SchedulerQueue)
        return Kind.POD_GROUP if is_groups else Kind.WORKLOAD

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    # ---- what would start those who wait

    async def _look_ahead(self) -> None:
        """Look for it row by row, of those in sight, at a bounded share of the time."""
        while True:
            shared = SharedReads()  # the same lists serve every row of a namespace
            for key in self.table.visible_keys if self.app.screen is self else ():
                if (job := self._job_of(key)) is not None:
                    cost_seconds = await self._look_at(key, job, shared)
                    await asyncio.sleep(max(BETWEEN_SECONDS, cost_seconds / SHARE_OF_TIME))
            await asyncio.sleep(AHEAD_SECONDS)

    async def _look_at(self, key: str, job: Job, shared: SharedReads) -> float:
        """What starts that job, with what is read on demand for it once; seconds that judging took."""
        about = self._ahead.pop(key, None)
        if about is None or about.subject.key != job.key:
            subject = Subject("job", job.namespace, job.name)
            about = Explanation(self.cockpit, subject)
            with suppress(CockpitError):  # without it less is known; the header tells the trouble
                about.take(
                    await self.cockpit.api.ask_verdict(subject, about.view(), self._lines, shared=shared)
                )
        self._ahead[key] = about  # the latest last
        known, clock = about.view(), self.cockpit.clock
        begun = clock.monotonic()
        words = queue_page.start_words(about.explained(known), known.now_seconds)
        cost_seconds = clock.monotonic() - begun
        if self._starts.get(key) != words:
            self._starts[key] = words
            self.show()
        while len(self._ahead) > MOST_AHEAD:  # a page that stays open sees thousands pass
            gone = next(iter(self._ahead))
            del self._ahead[gone]
            self._starts.pop(gone, None)
        return cost_seconds

    # ---- rows and keys

    @property
    def _in_hand(self) -> ResourceTable:
        """The table with the cursor."""
        return self.holders if self.holders.has_focus else self.table

    @property
    def cursor_row(self) -> str | None:
        return self._in_hand.cursor_key

    @property
    def marked_rows(self) -> Collection[str]:
        return self._in_hand.marked

    def clear_marks(self) -> None:
        for table in (self.holders, self.table):
            table.clear_marks()

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
        row = self.queue
        return None if row is None else row.local or row.cluster

    def row(self, kind: str, key: str) -> Job | None:
        return self._job_of(key) if kind == "job" else None

    def _job_of(self, key: str) -> Job | None:
        """The job of that key, or the one that a workload or a group of pods stands for."""
        store, jobs = self.cockpit.cluster.store, self.cockpit.cluster.jobs
        if (held := jobs.job(key)) is not None:
            return held
        found = store.get(Kind.WORKLOAD, key) or store.get(Kind.POD_GROUP, key)
        if found is None:
            return None
        owner_uid = found.owner.uid if found.owner is not None else ""
        for job in jobs.jobs.values():
            if owner_uid and job.uid == owner_uid:
                return job
        pod = member_of(store, found) if isinstance(found, PodGroup) else None
        return None if pod is None else jobs.job_of_pod(pod)

    def open_row(self, key: str) -> None:
        job = self._job_of(key)
        if job is not None:
            self.cockpit.open_job(job.key)

    def action_panel(self) -> None:
        self.set_focus(self.table if self.holders.has_focus else self.holders)
