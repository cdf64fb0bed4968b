"""Place 7: every pod, for those who think in pods."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.row_detail import detail_of_pod
from cockpit.screens.table_place import TablePlace
from cockpit.views import pods as view
from cockpit.views.detail import Detail
from cockpit.views.next_steps import no_pods


class PodsScreen(TablePlace):
    kinds = ("pod",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "filter", "logs", "verbs", "yaml", "sort", "back", "help", kinds=kinds),
        *bindings("reverse", "order.own", "detail", "mark", *EVERYWHERE),
    ]
    place = "pods"
    has_detail = True

    def source(self) -> tuple[TableSource, str]:
        store = self.cockpit.cluster.store
        source = view.table(store, self.state, self.cockpit.clock.cluster_now(), self.memory)
        self.say_problem(source.problem)
        return source, no_pods(store.status(Kind.POD), self.state.namespaces)

    def said(self, key: str) -> str:
        pod = self._pod(key)
        return view.message(pod) if pod else ""

    def detail(self, key: str) -> Detail | None:
        pod = self._pod(key)
        return None if pod is None else detail_of_pod(self.cockpit, pod)

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
