"""Place 7: every pod, for those who think in pods."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.views import pods as view
from cockpit.views.states import why_empty


class PodsScreen(TablePlace):
    kinds = ("pod",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "filter", "logs", "verbs", "yaml", "sort", "back", "help", kinds=kinds),
        *bindings("reverse", "mark", *EVERYWHERE),
    ]
    place = "pods"

    def source(self) -> tuple[TableSource, str]:
        store = self.cockpit.cluster.store
        source = view.table(store, self.state, self.cockpit.clock.cluster_now(), self.memory)
        self.say_problem(source.problem)
        return source, why_empty(
            "pods",
            store.status(Kind.POD),
            total=source.total,
            filter_text=self.state.filter,
            within=self.state.namespaces,
        )

    def said(self, key: str) -> str:
        pod = self._pod(key)
        return (pod.waiting_message or pod.scheduled_message or pod.status_message) if pod else ""

    def open_row(self, key: str) -> None:
        """A pod opens the job it belongs to, or its node when it belongs to none."""
        job = self._job_of(key)
        pod = self._pod(key)
        if job is not None:
            self.cockpit.open_job(job.key)
        elif pod is not None and pod.node:
            self.cockpit.open_node(pod.node)

    def row(self, kind: str, key: str) -> Pod | None:
        return self._pod(key) if kind == "pod" else None

    def _pod(self, uid: str) -> Pod | None:
        found = self.cockpit.cluster.store.get(Kind.POD, uid)
        return found if isinstance(found, Pod) else None

    def _job_of(self, uid: str) -> Job | None:
        pod = self._pod(uid)
        return self.cockpit.cluster.jobs.job_of_pod(pod) if pod is not None else None
