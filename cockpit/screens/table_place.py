"""A place that is one virtual table: sort and filter that stay, a cursor that follows its row."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from cockpit_widgets import ResourceTable
from cockpit_widgets.marking_dialog import TogglingDialog
from cockpit_widgets.panel import FRAMED, Panel
from cockpit_widgets.types import ChoiceItem, Column, TableSource
from textual.app import App
from textual.binding import BindingType
from textual.containers import Container
from textual.widget import Widget

from cockpit.model.record import Kind
from cockpit.screens.detail_side import DetailSide
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.row_sentence import RowSentence
from cockpit.screens.shared_place import SharedPlace
from cockpit.views.clusters import by_cluster
from cockpit.views.detail import Detail
from cockpit.views.lazy_table import LazyTable, Memory
from cockpit.views.states import none_matches
from cockpit.views.view_state import ViewState

_LIST_SHARE = 0.5
"""A list with its detail below takes this share of the height at most."""
_LIST_FRAME_LINES, _LIST_FRAME_CELLS = 3, 2
"""The border of a list and the titles of its columns."""
LISTED = (Kind.NODE, Kind.POD)
"""Until these kinds are listed whole, rows come in any order and an untouched cursor stays on the first."""


class TablePlace(SharedPlace):
    """One table. A subclass says what rows there are (`source`) and what opening one does (`open_row`); one
    that `has_detail` what stands beside the row under the cursor (`detail`)."""

    DEFAULT_CSS = """
    TablePlace #split { height: 1fr; layout: horizontal; }
    TablePlace #list { width: 1fr; height: 1fr; }
    TablePlace #list.lone { border: none; }
    TablePlace #detail { display: none; width: 1fr; height: 1fr; }
    TablePlace.beside #detail { display: block; width: 40%; }
    TablePlace.below #split { layout: vertical; }
    TablePlace.below #detail { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "filter", "sort", "reverse", "order.own", "columns", "detail", *EVERYWHERE)
    ]
    has_detail: ClassVar[bool] = False
    needs_cluster: ClassVar[bool] = True
    """Rows are the cluster's: where it cannot be reached, that is why there are none."""
    has_filter = True
    said_column: ClassVar[str] = ""
    """The column whose cell holds the sentence of `said`; empty when no column does."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory()
        self.side = DetailSide(self, lambda key: self.at_row(key, self.detail), lambda: self.cursor_row)
        self._list_height: int | str = "1fr"

    def detail(self, key: str) -> Detail | None:
        """What stands beside that row, None where it is gone."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key for a detail where there is none."""
        if action == "fold_detail" and not self.has_detail:
            return False
        return super().check_action(action, parameters)

    def action_fold_detail(self) -> None:
        self.side.fold()

    def action_own_order(self) -> None:
        self.set_sort("", descending=False)

    def source(self) -> tuple[TableSource, str]:
        """The rows now, and one sentence for when there are none, not even behind the filter."""
        raise TypeError(f"{type(self).__name__} gives no rows")

    @property
    def cursor_row(self) -> str | None:
        return self.table.cursor_key

    @property
    def marked_rows(self) -> Collection[str]:
        return self.table.marked

    @property
    def visible_keys(self) -> tuple[str, ...]:
        """The keys of the rows in sight, as the cluster itself has them that the place is about."""
        keys = self.table.visible_keys
        return tuple(by_cluster(keys).get(self.cockpit.context, ())) if self.is_several else keys

    def clear_marks(self) -> None:
        self.table.clear_marks()

    def open_row(self, key: str) -> None:
        """Enter was pressed on that row."""

    def said(self, key: str) -> str:
        """A sentence of that row; shown whole at the foot where its cell does not show it whole."""
        return ""

    def body(self) -> Iterable[Widget]:
        if not self.has_detail:
            yield ResourceTable(id="table")
            return
        with Container(id="split"):
            with Panel(id="list"):
                yield ResourceTable(id="table")
            yield self.side.panel

    def foot(self) -> Iterable[Widget]:
        yield RowSentence()

    @property
    def table(self) -> ResourceTable:
        return self.query_one("#table", ResourceTable)

    def on_mount(self) -> None:
        # at once, not in a later message: a key typed right behind may already open the filter
        self.set_focus(self.table)

    def focus_body(self) -> None:
        self.set_focus(self.table)

    def holds_top(self) -> bool:
        """Whether an unmoved cursor stays on the first row while rows are inserted above it."""
        return not all(each.cluster.is_settled(LISTED) for each in self.clusters)

    def project(self) -> None:
        source, empty = self.source()
        table = self.table
        table.hold_top(self.holds_top())
        trouble = self.trouble if self.needs_cluster else ""
        table.set_placeholder(self._hidden(source) or trouble or empty)
        table.set_sort(self.state.sort, self.state.descending)
        table.set_source(source)
        if self.has_detail:
            self.side.show()
            self._frame_list(source)
        self._say()

    def _hidden(self, source: TableSource) -> str:
        """A sentence where the filter hides every row, "" where it does not."""
        total = getattr(source, "total", 0)
        is_hidden = total and not len(source)
        return none_matches(self.noun, total, self.state.filter) if is_hidden else ""

    def _frame_list(self, source: TableSource) -> None:
        """The list is a panel where others stand beside it, or where panels have borders; below it the detail
        takes what the rows leave."""
        panel, is_below = self.query_one("#list", Panel), self.has_class("below")
        panel.set_class(not self.has_class(FRAMED) and not self.side.is_shown, "lone")
        total = getattr(source, "total", len(source))
        count = f"{len(source):,} of {total:,}" if len(source) != total else f"{total:,}"
        panel.set_title(self.place.capitalize(), count if total else "")
        height: int | str = "1fr"
        if is_below:  # as many lines as the rows take with nothing cut, as far as there is room
            most = int(self.size.height * _LIST_SHARE)
            rows = self.table.needed_lines(self.size.width - _LIST_FRAME_CELLS) - 1
            height = min(most, rows + _LIST_FRAME_LINES)
        if height != self._list_height:
            self._list_height = panel.styles.height = height

    def _say(self) -> None:
        if self.is_going:
            return
        key = self.cursor_row
        is_needed = key is not None and (not self.said_column or self.table.is_cut(self.said_column))
        is_needed = is_needed and not self.side.is_shown
        said = self.at_row(key, self.said) if key is not None and is_needed else ""
        self.query_one(RowSentence).say(said or "", marked=self.marked_count)

    def on_resource_table_marks_changed(self) -> None:
        self._say()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show if self.has_detail else self._say)

    def on_resource_table_row_highlighted(self, event: ResourceTable.RowHighlighted) -> None:
        if event.table.id == "table":
            if self.has_detail:
                self.side.moved()
            self._say()
            self.look_at_rights()

    def on_resource_table_row_activated(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        self.at_row(event.key, self.open_row)

    def on_resource_table_sort_requested(self, event: ResourceTable.SortRequested) -> None:
        event.stop()
        self._sort_by(event.column_id)

    def action_sort(self) -> None:
        """To the next sortable column in sight, then back to the view's own order."""
        ids = ["", *(column.id for column in self.table.shown_columns if column.sortable)]
        at = ids.index(self.state.sort) if self.state.sort in ids else 0
        self.set_sort(ids[(at + 1) % len(ids)], descending=False)

    def action_reverse(self) -> None:
        self.set_sort(self.state.sort, descending=not self.state.descending)

    def action_columns(self) -> None:
        """Choose which columns are drawn."""
        self.cockpit.spawn_foreground(self._choose_columns, "columns")

    async def _choose_columns(self) -> None:
        in_sight = {column.id for column in self.table.shown_columns}
        choice = await ask_columns(self.app, self.noun, self.offered_columns[1:], in_sight, self.state)
        if choice is not None:
            self._keep(replace(self.state, shown=choice.shown, hidden=choice.hidden))

    @property
    def offered_columns(self) -> tuple[Column, ...]:
        """All that could be columns of this list, in their order."""
        source = self.table.source
        return source.offered if isinstance(source, LazyTable) else source.columns

    def action_sort_by(self, column_id: str) -> None:
        """By that column, in sight or not; in the other direction where it is that already."""
        self._sort_by(column_id)

    def _sort_by(self, column_id: str) -> None:
        same = column_id == self.state.sort
        self.set_sort(column_id, descending=not self.state.descending if same else False)


# ---- which columns it draws, chosen by marks

OURS = "our columns"


class ColumnChoice(NamedTuple):
    """Columns that are drawn before others, and columns that are not drawn; the rest is left to the room
    there is."""

    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


async def ask_columns(
    app: App[Any], noun: str, columns: Sequence[Column], in_sight: Collection[str], state: ViewState
) -> ColumnChoice | None:
    """What a person marks of the columns of a list; None where that is left. Those in sight are marked."""
    marked = [column.id for column in columns if column.id in in_sight or column.id in state.shown]
    items = [ChoiceItem(column.id, column.title, column.id) for column in columns]
    dialog = TogglingDialog(f"Columns of {noun}", [*items, ChoiceItem("", OURS)], marks=marked)
    answer = await app.push_screen_wait(dialog)
    if answer is None:
        return None
    after = answer.split(",") if answer else ()
    return chosen(ColumnChoice(state.shown, state.hidden), marked, after)


def chosen(known: ColumnChoice, before: Collection[str], after: Collection[str]) -> ColumnChoice:
    """The choice after a person changed the marks; no mark at all is our own choice."""
    if not after:
        return ColumnChoice()
    wanted = {*known.shown} & {*after} | {*after} - {*before}
    unwanted = {*known.hidden} - {*after} | {*before} - {*after}
    return ColumnChoice(tuple(sorted(wanted)), tuple(sorted(unwanted)))
