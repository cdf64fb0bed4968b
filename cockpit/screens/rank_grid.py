"""The ranks of a job as cells instead of lines: from so many members on by itself, and by key."""

from collections.abc import Iterable

from cockpit_widgets import CellGrid
from cockpit_widgets.types import TableSource
from textual.widget import Widget
from textual.widgets import Static

from cockpit.model.pod import Pod
from cockpit.screens.table_place import TablePlace
from cockpit.views import rank_grid as view


class RankPage(TablePlace):
    """A table of members with a grid in its place; a subclass says who the members are."""

    DEFAULT_CSS = """
    RankPage #odd, RankPage #ranks, RankPage #rank { display: none; }
    RankPage.ranks #odd.said { display: block; height: auto; max-height: 2; padding: 0 1; color: $warning; }
    RankPage.ranks #ranks { display: block; height: 1fr; min-height: 4; padding: 0 1; }
    RankPage.ranks #rank { display: block; height: auto; max-height: 3; padding: 0 1; }
    RankPage.ranks #table { display: none; }
    RankPage.ranks.short #facts { max-height: 30%; }
    """
    _chosen: bool | None = None  # what the person chose; None until then
    _ranks: view.RankGrid = view.RankGrid((), "", {})
    _source: TableSource | None = None
    _told: tuple[str, str] = ("", "")

    def rank_members(self) -> tuple[Pod, ...]:
        """Who the ranks are."""
        return ()

    def body(self) -> Iterable[Widget]:
        yield Static("", id="odd", markup=False)
        yield Static("", id="rank", markup=False)
        yield CellGrid(id="ranks")
        yield from super().body()

    @property
    def ranks(self) -> CellGrid:
        return self.query_one("#ranks", CellGrid)

    @property
    def is_grid(self) -> bool:
        """Whether the grid is shown now."""
        return self.has_class("ranks")

    @property
    def row_key(self) -> str:
        """The member under the cursor, in the grid or in the table; "" for none."""
        return (self.ranks.cursor_key if self.is_grid else self.table.cursor_key) or ""

    def can_be_grid(self) -> bool:
        """Whether the rows are members now."""
        return True

    def turned(self) -> None:
        """The grid took the table's place, or gave it back."""

    def action_ranks(self) -> None:
        """Cells, or lines."""
        if not self.can_be_grid():
            return
        self._chosen = not self.is_grid
        self.show()

    def project_ranks(self, source: TableSource) -> None:
        """Show the grid or the table, and what the grid shows; `source` are the members that are left."""
        members = self.rank_members()
        wants = self._chosen if self._chosen is not None else len(members) > view.MOST_IN_TABLE
        is_grid = wants and self.can_be_grid() and len(source) > 0
        if is_grid:
            self._source = source
            only = None
            if len(source) < len(members):
                only = {source.key(index) for index in range(len(source))}
            self._ranks = view.grid(members, self.deck.attachment.store, only)
            self.ranks.set_cells(self._ranks.groups, self._ranks.caption)
        if is_grid != self.is_grid:
            self._turn(is_grid)
        self._tell()

    def _turn(self, is_grid: bool) -> None:
        before = self.row_key
        self.set_class(is_grid, "ranks")
        self.turned()
        if is_grid:
            self.ranks.move_to(before)
        else:
            self.table.move_to(before)
        if self.focused is None or self.focused in (self.table, self.ranks):
            self.set_focus(self.ranks if is_grid else self.table)

    def _tell(self) -> None:
        """The sentence about the odd ones, and the line of the rank under the cursor."""
        if not self.is_grid or self._source is None or self.is_going:
            return
        key = self.row_key
        said = self._ranks.sentence, view.line_of(self._source, key, self._ranks.odd.get(key))
        if said != self._told:
            self._told = said
            odd = self.query_one("#odd", Static)
            odd.set_class(bool(said[0]), "said")
            odd.update(said[0])
            self.query_one("#rank", Static).update(said[1])

    def focus_body(self) -> None:
        self.set_focus(self.ranks if self.is_grid else self.table)

    def on_cell_grid_highlighted(self, event: CellGrid.Highlighted) -> None:
        event.stop()
        self._tell()

    def on_cell_grid_activated(self, event: CellGrid.Activated) -> None:
        event.stop()
        self.open_row(event.key)
