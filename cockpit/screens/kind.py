"""The objects of any kind, with the columns that the server prints: opened by name in the palette."""

from typing import Any, ClassVar, Final

from cockpit_widgets.types import TableSource
from textual.binding import BindingType
from textual.worker import WorkType

from cockpit.errors import CockpitError
from cockpit.model.object_table import ObjectAddress, ObjectKind, ObjectTable
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.table_place import TablePlace
from cockpit.screens.text import DescribeScreen
from cockpit.views import object_table as view
from cockpit.views.states import none_matches
from cockpit.views.view_state import ViewState

READ_SECONDS: Final = 10.0
"""Between two reads of the list while its page is in sight."""
_NOTHING: Final = ObjectTable((), ())


class KindScreen(TablePlace):
    """What the server has of one kind now, in the namespaces in force. Nothing is watched for it."""

    kinds = ("object",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "filter", "yaml", "back", "help", "sort", "reverse", *EVERYWHERE),
    ]

    def __init__(self, kind: ObjectKind) -> None:
        super().__init__()
        self._kind = kind
        self._read = _NOTHING
        self._said = f"reading {kind.plural} ..."

    @property
    def state(self) -> ViewState:
        """Filter and order are kept for each kind."""
        return self.cockpit.state_of(f"kind/{self._kind.plural}")

    def _keep(self, state: ViewState) -> None:
        self.cockpit.keep_state(f"kind/{self._kind.plural}", state)
        self.show()

    @property
    def heading(self) -> str:
        return self._kind.plural

    @property
    def aside(self) -> str:
        return f"first {len(self._read.rows):,} of more" if self._read.left_out else ""

    def on_mount(self) -> None:
        self._ask()
        self.set_interval(READ_SECONDS, self._ask)

    def _ask(self) -> None:
        if self.is_current:
            work: WorkType[None] = self._renew
            self.run_worker(work, name="yaml", group="yaml", exclusive=True)

    async def _renew(self) -> None:
        try:
            self._read = await self.cockpit.api.read_table(self._kind)
            where = " in the namespaces shown" if self._kind.is_namespaced else ""
            self._said = f"There are no {self._kind.plural}{where}."
        except CockpitError as error:
            self._said = error.sentence
        self.show()

    def source(self) -> tuple[TableSource, str]:
        source = view.table(self._read, self.state, self.cockpit.clock.cluster_now(), self.memory)
        self.say_problem(source.problem)
        hidden = source.total and not len(source)
        return source, none_matches(
            self._kind.plural, source.total, self.state.filter
        ) if hidden else self._said

    def holds_top(self) -> bool:
        return False

    def row(self, kind: str, key: str) -> Any | None:
        namespace, _, name = key.rpartition("/")
        return ObjectAddress(self._kind.api_version, self._kind.kind, namespace, name)

    def open_row(self, key: str) -> None:
        """Enter describes the object."""
        if (address := self.row("object", key)) is not None:
            self.app.push_screen(DescribeScreen(*address))
