"""Place 2: one row per training job of any kind."""

from typing import ClassVar

from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.row_detail import detail_of_job
from cockpit.screens.shared_list import SharedList
from cockpit.telemetry.focus import Focus
from cockpit.views import jobs as view
from cockpit.views.detail import Detail
from cockpit.views.lazy_table import ListRows
from cockpit.views.next_steps import no_jobs


class JobsScreen(SharedList):
    kinds = ("job",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "N", "K", "logs", "filter", "back", "help", "yaml", "verbs", kinds=kinds),
        *bindings("sort", "reverse", "order.own", "detail", "mark", "mark.all", *EVERYWHERE),
    ]
    place = "jobs"
    said_column = "why"
    has_detail = True

    def listed(self) -> ListRows[view.JobRow]:
        cluster, now_seconds = self.cockpit.cluster, self.cockpit.clock.cluster_now()
        jobs = cluster.jobs.jobs.values()
        return view.listed(jobs, cluster.store, now_seconds, explain=cluster.verdicts.of)

    def why_none(self) -> str:
        cluster = self.cockpit.cluster
        status, within = cluster.store.status(Kind.POD), cluster.namespaces
        return no_jobs(status, within, is_read_only=cluster.is_read_only)

    def row(self, kind: str, key: str) -> Job | None:
        return self.cockpit.cluster.jobs.job(key) if kind == "job" else None

    def look(self) -> Focus:
        """The nodes of the jobs on screen before all others."""
        jobs, keys = self.cockpit.cluster.jobs, self.visible_keys
        self.cockpit.row_reads.show_jobs(keys)
        shown = (jobs.job(key) for key in keys)
        return Focus(
            nodes=tuple(dict.fromkeys(node for job in shown if job is not None for node in job.nodes))
        )

    def said(self, key: str) -> str:
        cluster = self.cockpit.cluster
        job = cluster.jobs.job(key)
        return "" if job is None else cluster.verdicts.of(job, self.cockpit.clock.cluster_now()).sentence

    def detail(self, key: str) -> Detail | None:
        return detail_of_job(self.cockpit, key)

    def open_row(self, key: str) -> None:
        self.cockpit.open_job(key)
