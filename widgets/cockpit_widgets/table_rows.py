"""What a table keeps beside its source: the empty source, the drawn strips, the ground of its messages."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.types import Cell, Column

if TYPE_CHECKING:
    from cockpit_widgets.resource_table import ResourceTable


class NoRows:
    """The source of a table that has none yet; `columns` may already be known."""

    def __init__(self, columns: tuple[Column, ...] = ()) -> None:
        self._columns = columns

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __len__(self) -> int:
        return 0

    def key(self, index: int) -> str:
        raise IndexError(index)

    def index(self, key: str) -> int | None:
        return None

    def cells(self, index: int) -> tuple[Cell, ...]:
        raise IndexError(index)

    def version(self, index: int) -> object:
        raise IndexError(index)


class StripCache:
    """Drawn lines by row and state, each good for one version and one layout; the longest unused leave."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, tuple[object, object, Strip]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()

    def get(self, key: Hashable, version: object, layout: object) -> Strip | None:
        """The strip, when it was drawn for this version and this very layout object."""
        kept = self._kept.pop(key, None)
        if kept is None or kept[1] is not layout or kept[0] != version:
            return None
        self._kept[key] = kept  # the youngest stands last
        return kept[2]

    def put(self, key: Hashable, version: object, layout: object, strip: Strip) -> Strip:
        """Keep `strip` and hand it back."""
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = (version, layout, strip)
        return strip


@dataclass
class TableMessage(Message):
    """Something that happened in `table`; handlers can select by it."""

    table: "ResourceTable"

    @property
    def control(self) -> "ResourceTable":
        return self.table
