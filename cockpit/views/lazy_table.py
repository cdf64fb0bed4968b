"""A table as a projection: rows filtered and ordered at once, cells made only for the rows on the screen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from operator import is_not
from typing import Any, Generic, TypeVar

from cockpit_widgets.types import Cell, Column

from cockpit.model.namespaces import Namespaces
from cockpit.views.order import RankOrder, Value, natural_uncached, sort_rows
from cockpit.views.view_state import COMPARE, Filter, Measure, Term, ViewState, parse_filter

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Field(Generic[R]):
    """One column of a view. `cell` and `value` are given the row and the time now in epoch seconds.

    `value` sorts and filters: None is unknown. Without `value` the cell's text is used.
    """

    column: Column
    cell: Callable[[R, float], Cell]
    value: Callable[[R, float], Value] | None = None
    measure: Measure = Measure.TEXT


class Memory:
    """What one screen keeps between two projections, so that a change costs what changed: the searchable
    text of each row by its record, and the order by name. It belongs to one view."""

    def __init__(self) -> None:
        self._haystacks: dict[str, tuple[object, str]] = {}
        self._order: NameOrder[Any] | None = None
        self._ranks: RankOrder[Any] = RankOrder()

    def haystacks(
        self,
        rows: Sequence[R],
        key: Callable[[R], str],
        token: Callable[[R], object],
        make: Callable[[R], str],
    ) -> list[str]:
        """The rows' searchable texts, made again only where its token is another one."""
        known = self._haystacks
        texts: list[str] = []
        for row in rows:
            name, record = key(row), token(row)
            found = known.get(name)
            if found is None or (found[0] is not record and found[0] != record):
                found = known[name] = (record, make(row))
            texts.append(found[1])
        return texts

    def prune(self, keys: Iterable[str], limit: int) -> None:
        """Forget rows that are gone once more than `limit` are remembered."""
        if len(self._haystacks) > limit:
            alive = set(keys)
            self._haystacks = {key: kept for key, kept in self._haystacks.items() if key in alive}

    def by_name(self, rows: list[R], key: Callable[[R], str], name: Callable[[R], str]) -> list[R]:
        """Rows in natural order of their names; neither list may be changed afterwards."""
        if self._order is None:
            self._order = NameOrder(key, name)
        return self._order.sorted(rows)

    def by_rank(self, rows: list[R], rank: Callable[[R], int]) -> list[R]:
        """Rows by rank; neither list may be changed afterwards."""
        return self._ranks.sorted(rows, rank)


_SEEN_ROWS = 60
"""Rows that are looked at for columns without a value: more than a panel shows."""
_SEARCHES = 3
"""Keys that are searched for before a dictionary of all rows pays off."""


class LazyTable(Generic[R]):
    """A `TableSource`: immutable once made. `total` counts the rows before the filter, `problem` is a
    sentence where the filter could not be understood (then nothing is filtered out)."""

    def __init__(
        self,
        fields: Sequence[Field[R]],
        rows: Sequence[R],
        key: Callable[[R], str],
        now_seconds: float,
        *,
        total: int | None = None,
        problem: str = "",
        offered: Sequence[Field[R]] = (),
    ) -> None:
        """`offered` are all fields that could be columns; without a word for it `fields`."""
        self._fields = tuple(fields)
        self._rows = rows
        self._key = key
        self._now_seconds = now_seconds
        self._made: dict[int, tuple[Cell, ...]] = {}
        self._asked = 0
        self.total = len(rows) if total is None else total
        self.problem = problem
        self._columns = tuple(field.column for field in self._fields)
        self.offered = tuple(field.column for field in offered or fields)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __len__(self) -> int:
        return len(self._rows)

    def key(self, index: int) -> str:
        return self._key(self._rows[index])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {self._key(row): place for place, row in enumerate(self._rows)}

    def index(self, key: str) -> int | None:
        self._asked += 1
        if self._asked > _SEARCHES:
            return self._places.get(key)
        # A cursor is looked up once for each projection, and mostly stands near the top.
        of = self._key
        return next((place for place, row in enumerate(self._rows) if of(row) == key), None)

    def without(self, *column_ids: str) -> "LazyTable[R]":
        """The same rows without these columns."""
        fields = [field for field in self._fields if field.column.id not in column_ids]
        return LazyTable(fields, self._rows, self._key, self._now_seconds, total=self.total)

    def valued(self) -> "LazyTable[R]":
        """The same rows without columns that are blank in all of the first rows: others need their room."""
        if not self._rows:
            return self
        seen = [self.cells(at) for at in range(min(len(self._rows), _SEEN_ROWS))]
        others = self._columns[1:]
        blank = [one.id for at, one in enumerate(others, 1) if not any(cells[at].text for cells in seen)]
        return self.without(*blank) if blank else self

    def row(self, index: int) -> R:
        """The record behind a line."""
        return self._rows[index]

    def find(self, key: str) -> R | None:
        """The record of that key, None where it is not shown."""
        place = self.index(key)
        return None if place is None else self._rows[place]

    def cells(self, index: int) -> tuple[Cell, ...]:
        made = self._made.get(index)
        if made is None:
            row = self._rows[index]
            made = tuple(field.cell(row, self._now_seconds) for field in self._fields)
            self._made[index] = made
        return made

    def version(self, index: int) -> object:
        # the cells themselves: equal exactly when the line would look the same
        return self.cells(index)


def _itself(row: object) -> object:
    return row


def drawn_fields(
    fields: tuple[Field[R], ...], spare: tuple[Field[R], ...], state: ViewState
) -> tuple[Field[R], ...]:
    """The columns of a list as a person chose them: without the hidden ones; those that are wanted or sorted
    by find room before others, `spare` ones among them. The first column tells what a row is: it stays."""
    wanted = {*state.shown, state.sort} - {"", *state.hidden}
    if not wanted and not state.hidden:
        return fields
    hidden = {*state.hidden} - {fields[0].column.id}
    kept = [item for item in fields if item.column.id not in hidden]
    kept.extend(item for item in spare if item.column.id in wanted)
    return tuple(
        replace(item, column=replace(item.column, priority=1)) if item.column.id in wanted else item
        for item in kept
    )


@dataclass(frozen=True)
class View(Generic[R]):
    """One place's table: columns, identity, own order, and what free text searches.

    The view's own order is by `rank` (a small number, trouble first) or by `order` (ascending), then by
    `name`, then as the rows come; the name of a key never changes. `hidden` fields can be filtered by but are
    not drawn. `token` says by being equal that a row's text is unchanged.
    """

    fields: tuple[Field[R], ...]
    key: Callable[[R], str]
    hidden: tuple[Field[R], ...] = ()
    namespace: Callable[[R], str] | None = None
    name: Callable[[R], str] | None = None
    order: Callable[[R, float], Value] | None = None
    rank: Callable[[R], int] | None = None
    haystack: Callable[[R], str] | None = None
    token: Callable[[R], object] = field(default=_itself)

    @cached_property
    def by_id(self) -> Mapping[str, Field[R]]:
        return {item.column.id: item for item in (*self.hidden, *self.fields)}

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        return {name: one.measure for name, one in self.by_id.items()}

    def table(
        self, rows: Iterable[R], state: ViewState, now_seconds: float, memory: Memory | None = None
    ) -> LazyTable[R]:
        """The rows as the person asked for them. Never raises for what was typed."""
        memory = memory or Memory()
        named = list(rows) if self.name is None else memory.by_name(list(rows), self.key, self.name)
        within = self.within(named, state.namespaces)
        filter_ = parse_filter(state.filter, self.measures)
        kept = within
        if filter_.terms:
            kept = self._filtered(within, filter_, now_seconds, memory)
        offered = (*self.fields, *self.hidden)
        return LazyTable(
            drawn_fields(self.fields, self.hidden, state),
            self._sorted(kept, state, now_seconds, memory),
            self.key,
            now_seconds,
            total=len(within),
            problem=filter_.problem or ("" if kept or not within else filter_.doubt),
            offered=offered,
        )

    def within(self, rows: list[R], namespaces: Namespaces) -> list[R]:
        """The rows of these namespaces, and those that belong to none."""
        of = self.namespace
        if not namespaces or of is None:
            return rows
        shown = {"", *namespaces.names}
        return [row for row in rows if of(row) in shown]

    def _filtered(self, rows: list[R], filter_: Filter, now_seconds: float, memory: Memory) -> list[R]:
        memory.prune((self.key(row) for row in rows), 2 * len(rows) + 1_000)
        for term in filter_.terms:
            wanted, inverted = term.text, term.inverted
            if term.field:
                holds = self._predicate(term, now_seconds)
                rows = [row for row in rows if holds(row) is not inverted]
                continue
            texts = memory.haystacks(rows, self.key, self.token, lambda row: self._text(row, now_seconds))
            rows = [row for row, text in zip(rows, texts, strict=True) if (wanted in text) is not inverted]
        return rows

    def _predicate(self, term: Term, now_seconds: float) -> Callable[[R], bool]:
        """Whether a row satisfies a term of one field, before inversion. The unknown is in no range."""
        wanted = term.text
        one = self.by_id[term.field]
        value = self._value_of(one)
        if term.number is not None:
            compare, number = COMPARE[term.op], term.number

            def in_range(row: R) -> bool:
                have = value(row, now_seconds)
                return isinstance(have, (int, float)) and compare(have, number)

            return in_range
        is_whole = term.op == "="

        def in_text(row: R) -> bool:
            have = value(row, now_seconds)
            text = (have if isinstance(have, str) else one.cell(row, now_seconds).text).casefold()
            return text == wanted if is_whole else wanted in text

        return in_text

    def _text(self, row: R, now_seconds: float) -> str:
        if self.haystack is not None:
            return self.haystack(row).casefold()
        texts = (field.cell(row, now_seconds).text for field in self.fields if field.measure is Measure.TEXT)
        return " ".join(texts).casefold()

    @staticmethod
    def _value_of(one: Field[R]) -> Callable[[R, float], Value]:
        cell = one.cell
        return one.value or (lambda row, now_seconds: cell(row, now_seconds).text)

    def _sorted(self, rows: list[R], state: ViewState, now_seconds: float, memory: Memory) -> list[R]:
        chosen = self.by_id.get(state.sort)
        if chosen is None and self.rank is not None:
            rows = memory.by_rank(rows, self.rank)
            return rows[::-1] if state.descending else rows
        value = self.order if chosen is None else self._value_of(chosen)
        if value is None:
            return rows[::-1] if state.descending else rows
        of = value
        return sort_rows(rows, lambda row: of(row, now_seconds), descending=state.descending)


@dataclass(frozen=True)
class ListRows(Generic[R]):
    """All rows of one list of one cluster, and the view that draws them."""

    view: View[R]
    rows: Iterable[R]

    def table(self, state: ViewState, now_seconds: float, memory: Memory | None = None) -> LazyTable[R]:
        """The rows as the person asked for them."""
        return self.view.table(self.rows, state, now_seconds, memory)


# ---- order of names


Item = TypeVar("Item")


class NameOrder(Generic[Item]):
    """Rows of one table in natural order of their names; rows of one name stand in the order given.

    A key stands for one object whose name never changes, and rows come in the order of a table of the store:
    known ones as before, new ones last. Rows that come otherwise are ordered rightly too, only slower.
    """

    def __init__(self, key: Callable[[Item], str], name: Callable[[Item], str]) -> None:
        self._key = key
        self._name = name
        self._given: Sequence[Item] = ()
        self._order: list[int] = []  # indices of `given`, by name
        self._names: list[str] = []  # in that order
        self._rows: list[Item] = []

    def sorted(self, rows: list[Item]) -> list[Item]:
        """The rows by name. Neither the argument nor the answer may be changed afterwards."""
        if self._is_grown(rows):
            if len(rows) == len(self._given) and not any(map(is_not, rows, self._given)):
                return self._rows
            known = len(self._given)
        else:
            known = self._forget_removed(rows)
        self._merge(rows, known)
        self._given = rows
        self._rows = [rows[index] for index in self._order]
        return self._rows

    def _is_grown(self, rows: list[Item]) -> bool:
        """True where nothing was removed: every known row has its place, be it as another record."""
        given, key = self._given, self._key
        if len(rows) < len(given):
            return False
        changed = compress(range(len(given)), map(is_not, given, rows))
        return all(key(given[index]) == key(rows[index]) for index in changed)

    def _forget_removed(self, rows: list[Item]) -> int:
        """Take the rows that are gone out of the order; answers with how many stay, the first of `rows`."""
        key, count = self._key, len(rows)
        place_of: list[int] = []  # index of `given` -> index of `rows`, -1 where it is gone
        at = 0
        for old in self._given:
            if at < count and (rows[at] is old or key(rows[at]) == key(old)):
                place_of.append(at)
                at += 1
            else:
                place_of.append(-1)
        kept = [(place_of[index], name) for index, name in zip(self._order, self._names, strict=True)]
        self._order = [index for index, _ in kept if index >= 0]
        self._names = [name for index, name in kept if index >= 0]
        return at

    def _merge(self, rows: list[Item], known: int) -> None:
        """Bring the rows from `known` on into the order."""
        if known == len(rows):
            return
        name = self._name
        names = self._names + [natural_uncached(name(row)) for row in rows[known:]]
        order = self._order + list(range(known, len(rows)))
        # A long ordered run and a short tail, compared as plain strings: the sort merges them.
        by_name = sorted(range(len(names)), key=names.__getitem__)
        self._names = [names[place] for place in by_name]
        self._order = [order[place] for place in by_name]
