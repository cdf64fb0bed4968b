"""The rows of many objects with the same trouble, which *Now* shows as one."""

from typing import ClassVar

from cockpit_widgets.types import TableSource
from textual.binding import BindingType

from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.problem_subject import open_subject, thing_of
from cockpit.screens.table_place import TablePlace
from cockpit.triage.troubles import Trouble
from cockpit.views.attention import attention_table, sentence


class AlikeScreen(TablePlace):
    """`key` and `title` are those of the row of *Now*; the page is empty once that row is gone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "why", "logs", "filter", "sort", "back", "help", "reverse", *EVERYWHERE[2:])
    ]
    kinds = ("job", "node", "pod")
    place = "alike"
    noun = "objects"
    said_column = "sentence"

    def __init__(self, key: str, title: str) -> None:
        super().__init__()
        self._key = key
        self._rows: dict[str, Trouble] = {}
        self._heading = title

    @property
    def heading(self) -> str:
        return self._heading

    def source(self) -> tuple[TableSource, str]:
        now_seconds = self.cockpit.clock.cluster_now()
        whole = next((row for row in self.cockpit.now_watch.look() if row.key == self._key), None)
        rows: list[Trouble] = []
        if whole is not None:
            self._heading = whole.found.title
            rows = [
                Trouble(found=one, first_seconds=whole.first_seconds, last_seconds=now_seconds)
                for one in whole.found.alike
            ]
        self._rows = {row.key: row for row in rows}
        source = attention_table(
            rows, self.state, now_seconds, is_read_only=self.cockpit.cluster.is_read_only
        )
        self.say_problem(source.problem)
        return source, "No more than a few of these are left: they are on Now."

    def said(self, key: str) -> str:
        row = self._rows.get(key)
        return "" if row is None else sentence(row, self.cockpit.clock.cluster_now())

    def row(self, kind: str, key: str) -> Job | Node | Pod | None:
        return thing_of(self, kind, key)

    def open_row(self, key: str) -> None:
        open_subject(self, key)
