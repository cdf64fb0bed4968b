"""Place 6: cluster events that concern GPUs, jobs and nodes."""

from typing import Any, ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.event import Event
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.row_detail import detail_of_job, detail_of_node, detail_of_pod
from cockpit.screens.table_place import TablePlace
from cockpit.views import events as view
from cockpit.views.detail import Detail
from cockpit.views.row_details import event_detail
from cockpit.views.states import why_empty


class EventsScreen(TablePlace):
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "filter", "sort", "back", "help", "reverse", "order.own", "detail"),
        *bindings("mark", *EVERYWHERE),
    ]
    place = "events"
    noun = "events of GPUs, jobs or nodes"
    said_column = "message"
    has_detail = True

    def source(self) -> tuple[TableSource, str]:
        store = self.cockpit.cluster.store
        source = view.table(store, self.state, self.cockpit.clock.cluster_now(), self.memory)
        self.say_problem(source.problem)
        return source, why_empty(self.noun, store.status(Kind.EVENT), within=self.state.namespaces)

    @property
    def why_kinds(self) -> tuple[str, ...]:
        """What the event is about."""
        return ("pod", "node", "job")

    def row(self, kind: str, key: str) -> Any | None:
        cluster = self.cockpit.cluster
        event = cluster.store.get(Kind.EVENT, key)
        if not isinstance(event, Event):
            return None
        if kind in ("pod", "node"):
            return cluster.store.get(Kind.POD if kind == "pod" else Kind.NODE, event.object_uid)
        uid = event.object_uid
        return next((job for job in cluster.jobs.jobs.values() if uid in (job.uid, job.workload_uid)), None)

    def detail(self, key: str) -> Detail | None:
        cockpit = self.cockpit
        event = cockpit.cluster.store.get(Kind.EVENT, key)
        if not isinstance(event, Event):
            return None
        job, node, pod = (self.row(kind, key) for kind in ("job", "node", "pod"))
        about = None
        if job is not None:
            about = detail_of_job(cockpit, job.key)
        elif node is not None:
            about = detail_of_node(cockpit, node.name)
        elif pod is not None:
            about = detail_of_pod(cockpit, pod)
        return event_detail(event, cockpit.cluster.store, cockpit.clock.cluster_now(), about)

    def said(self, key: str) -> str:
        event = self.cockpit.cluster.store.get(Kind.EVENT, key)
        return event.message if isinstance(event, Event) else ""

    def open_row(self, key: str) -> None:
        """An event opens what it is about: its job, or its node."""
        cluster = self.cockpit.cluster
        event = cluster.store.get(Kind.EVENT, key)
        if not isinstance(event, Event):
            return
        for job in cluster.jobs.jobs.values():
            if event.object_uid in (job.uid, job.workload_uid, *job.pod_uids):
                self.cockpit.open_job(job.key)
                return
        if event.object_kind == "Node":
            self.cockpit.open_node(event.object_name)
        else:
            self.app.notify(
                f"{event.object_kind} {event.object_namespace}/{event.object_name} has no page",
            )
