"""What happened since the last session: a list whose rows open the job or the node."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.triage.since_left import Happened
from cockpit.views import since_left as view
from cockpit.views.format import age


class SinceLeftScreen(TablePlace):
    """It stays as it was at first sight: what happens from then on is on the places themselves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "logs", "filter", "sort", "back", "help", "reverse", *EVERYWHERE[2:])
    ]
    place = "since-left"
    noun = "changes since you left"
    said_column = "words"

    @property
    def heading(self) -> str:
        left = self.cockpit.now_watch.left_seconds
        ago = "" if left is None else f" {age(self.cockpit.clock.cluster_now() - left)} ago"
        return f"since you left{ago}"

    def source(self) -> tuple[TableSource, str]:
        found = self.cockpit.now_watch.happened
        source = view.table(found, self.state, self.cockpit.clock.cluster_now())
        self.say_problem(source.problem)
        return source, "Nothing happened, as far as it left a trace."

    def _find(self, key: str | None) -> Happened | None:
        found = self.cockpit.now_watch.happened
        return next((item for item in found if view.key_of_row(item) == key), None)

    def said(self, key: str) -> str:
        one = self._find(key)
        return "" if one is None else one.words

    def row(self, kind: str, key: str) -> Job | Node | None:
        one = self._find(key)
        if one is None or one.kind != kind:
            return None
        cluster = self.cockpit.cluster
        if kind == "job":
            return cluster.jobs.job(one.subject_key)
        found = cluster.store.by_key(Kind.NODE, one.subject_key)
        return found if isinstance(found, Node) else None

    def open_row(self, key: str) -> None:
        found = self.row("job", key) or self.row("node", key)
        if isinstance(found, Job):
            self.cockpit.open_job(found.key)
        elif found is not None:
            self.cockpit.open_node(found.name)
        else:
            self.say("it is not there any more")
