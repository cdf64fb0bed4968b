"""The objects of any kind, with the columns that the server prints: opened by name in the palette."""

from typing import Any, ClassVar, Final

from textual.binding import BindingType

from cockpit.model.object_table import ObjectAddress, ObjectKind, ObjectTable, PrintedRow
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.read_place import ReadPlace
from cockpit.screens.text import DescribeScreen
from cockpit.views import object_table as view
from cockpit.views.lazy_table import LazyTable

_NOTHING: Final = ObjectTable((), ())


class KindScreen(ReadPlace):
    """What the server has of one kind now, in the namespaces in force. Nothing is watched for it."""

    kinds = ("object",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "filter", "yaml", "back", "help", "sort", "reverse", *EVERYWHERE),
    ]

    def __init__(self, kind: ObjectKind) -> None:
        super().__init__()
        self._kind = kind
        self._read = _NOTHING

    @property
    def kept_as(self) -> str:
        return f"kind/{self._kind.plural}"

    @property
    def heading(self) -> str:
        return self._kind.plural

    @property
    def aside(self) -> str:
        return f"first {len(self._read.rows):,} of more" if self._read.left_out else ""

    @property
    def noun(self) -> str:
        return self._kind.plural

    async def read(self) -> None:
        self._read = await self.cockpit.api.read_table(self._kind)

    def read_rows(self) -> LazyTable[PrintedRow]:
        return view.table(self._read, self.state, self.cockpit.clock.cluster_now(), self.memory)

    def none_at_all(self) -> str:
        where = " in the namespaces shown" if self._kind.is_namespaced else ""
        return f"There are no {self._kind.plural}{where}."

    def row(self, kind: str, key: str) -> Any | None:
        namespace, _, name = key.rpartition("/")
        return ObjectAddress(self._kind.api_version, self._kind.kind, namespace, name)

    def open_row(self, key: str) -> None:
        """Enter describes the object."""
        if (address := self.row("object", key)) is not None:
            self.app.push_screen(DescribeScreen(*address))
