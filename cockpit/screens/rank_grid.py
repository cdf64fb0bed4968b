"""The ranks of a job as cells instead of lines: automatic above a number of members, and by key."""

from collections.abc import Callable, Mapping, Sequence

from cockpit_widgets import CellGrid
from cockpit_widgets.types import TableSource
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader
from cockpit.views import rank_grid as view
from cockpit.views.training_panel import Compute


class RankPanel(Vertical):
    """The grid that stands in the place of a table of members, with what it says of them.

    `turned` is called when it takes the table's place, or gives it back.
    """

    DEFAULT_CSS = """
    RankPanel { display: none; height: 1fr; min-height: 4; }
    RankPanel.shown { display: block; }
    RankPanel #odd { display: none; }
    RankPanel #odd.said { display: block; height: auto; max-height: 2; padding: 0 1; color: $warning; }
    RankPanel #rank { height: auto; max-height: 3; padding: 0 1; }
    RankPanel #ranks { height: 1fr; min-height: 4; padding: 0 1; }
    """

    def __init__(self, turned: Callable[[], None]) -> None:
        super().__init__()
        self._turned = turned
        self._chosen: bool | None = None  # what the person chose; None until then
        self._ranks = view.RankGrid((), "", {})
        self._source: TableSource | None = None
        self._told = ("", "")

    def compose(self) -> ComposeResult:
        yield Static("", id="odd", markup=False)
        yield Static("", id="rank", markup=False)
        yield CellGrid(id="ranks")

    @property
    def grid(self) -> CellGrid:
        """The cells themselves: what has the focus."""
        return self.query_one("#ranks", CellGrid)

    @property
    def is_shown(self) -> bool:
        """Whether the grid stands in the table's place now."""
        return self.has_class("shown")

    def choose(self, *, cells: bool) -> None:
        """Cells, or lines: from the next `update` on."""
        self._chosen = cells

    def update(
        self,
        members: Sequence[Pod],
        store: StoreReader,
        source: TableSource,
        computes: Mapping[str, Compute],
        *,
        is_allowed: bool,
    ) -> None:
        """Show the grid or not, and what it shows; `source` are the members that the filter leaves."""
        wants = self._chosen if self._chosen is not None else len(members) > view.MOST_IN_TABLE
        is_shown = wants and is_allowed and len(source) > 0
        if is_shown:
            self._source = source
            only = None
            if len(source) < len(members):
                only = {source.key(index) for index in range(len(source))}
            self._ranks = view.grid(members, store, only, computes)
            self.grid.set_cells(self._ranks.groups, self._ranks.caption)
        if is_shown != self.is_shown:
            self._turned()
        self.tell()

    def tell(self) -> None:
        """The sentence about the odd ones, and the line of the rank under the cursor."""
        if not self.is_shown or self._source is None or not self.is_attached or not self.screen.display:
            return  # of a page that is left the widgets are gone
        key = self.grid.cursor_key or ""
        said = self._ranks.sentence, view.line_of(self._source, key, self._ranks.odd.get(key))
        if said != self._told:
            self._told = said
            odd = self.query_one("#odd", Static)
            odd.set_class(bool(said[0]), "said")
            odd.update(said[0])
            self.query_one("#rank", Static).update(said[1])

    def on_cell_grid_highlighted(self, event: CellGrid.Highlighted) -> None:
        event.stop()
        self.tell()
