"""Place 7: every pod, for those who think in pods."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.screens.verbs import PodVerbs
from cockpit.views import pods as view
from cockpit.views.states import why_empty


class PodsScreen(TablePlace, PodVerbs):
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "open",
            "filter",
            "logs",
            "pod.enter",
            "yaml",
            "sort",
            "back",
            "help",
            "reverse",
            "mark",
            *EVERYWHERE,
        )
    ]
    place = "pods"

    def source(self) -> tuple[TableSource, str]:
        store = self.deck.attachment.store
        source = view.table(store, self.state, self.deck.clock.now(), self.memory)
        self.say_problem(source.problem)
        return source, why_empty(
            "pods",
            store.status(Kind.POD),
            total=source.total,
            filter_text=self.state.filter,
            namespace=self.state.namespace,
        )

    def said(self, key: str) -> str:
        pod = self._pod(key)
        return (pod.waiting_message or pod.scheduled_message or pod.status_message) if pod else ""

    def open_row(self, key: str) -> None:
        """A pod opens the job it belongs to, or its node when it belongs to none."""
        from cockpit.screens.job import JobScreen
        from cockpit.screens.node import NodeScreen

        job = self._job_of(key)
        pod = self._pod(key)
        if job is not None:
            self.app.push_screen(JobScreen(job.key))
        elif pod is not None and pod.node:
            self.app.push_screen(NodeScreen(pod.node))

    def chosen_pod(self) -> Pod | None:
        return self._pod(self.table.cursor_key or "")

    def action_yaml(self) -> None:
        from cockpit.screens.text import YamlScreen

        pod = self._pod(self.table.cursor_key or "")
        if pod is not None:
            self.app.push_screen(YamlScreen("v1", "Pod", pod.namespace, pod.name))

    def _pod(self, uid: str) -> Pod | None:
        found = self.deck.attachment.store.get(Kind.POD, uid)
        return found if isinstance(found, Pod) else None

    def _job_of(self, uid: str) -> Job | None:
        pod = self._pod(uid)
        return self.deck.attachment.jobs.job_of_pod(pod) if pod is not None else None
