"""Place 2: one row per training job of any kind."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, LIFE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.screens.verbs import JobVerbs
from cockpit.telemetry.look import Look
from cockpit.views import jobs as view
from cockpit.views.states import why_empty

JOB_KEYS = ("open", "why", "job.new", "job.kill", "logs", "filter")


class JobsScreen(TablePlace, JobVerbs):
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            *JOB_KEYS, "back", "help", "yaml", *LIFE, "sort", "reverse", "mark", "mark.all", *EVERYWHERE
        )
    ]
    place = "jobs"
    said_column = "why"

    def source(self) -> tuple[TableSource, str]:
        attachment = self.deck.attachment
        source = view.table(
            attachment.jobs.jobs.values(), attachment.store, self.state, self.deck.clock.now(), self.memory
        )
        empty = why_empty(
            "jobs",
            attachment.store.status(Kind.POD),
            total=source.total,
            filter_text=self.state.filter,
            namespace=self.state.namespace,
        )
        self.say_problem(source.problem)
        return source, empty

    def chosen_job(self) -> Job | None:
        key = self.table.cursor_key
        return None if key is None else self.deck.attachment.jobs.job(key)

    def look(self) -> Look:
        """The nodes of the jobs on screen before all others."""
        jobs = self.deck.attachment.jobs
        shown = (jobs.job(key) for key in self.table.visible_keys)
        return Look(
            nodes=tuple(dict.fromkeys(node for job in shown if job is not None for node in job.nodes))
        )

    def marked_jobs(self) -> tuple[Job, ...]:
        jobs = self.deck.attachment.jobs
        found = (jobs.job(key) for key in sorted(self.table.marked))
        return tuple(job for job in found if job is not None)

    def clear_marks(self) -> None:
        self.table.clear_marks()

    def said(self, key: str) -> str:
        job = self.deck.attachment.jobs.job(key)
        return job.why if job is not None else ""

    def open_row(self, key: str) -> None:
        from cockpit.screens.job import JobScreen

        self.app.push_screen(JobScreen(key))
