"""A table as a projection: rows filtered and ordered at once, cells made only for the rows on the screen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from cockpit_widgets.types import Cell, Column

from cockpit.views.order import Value, natural, sort_rows
from cockpit.views.view_state import Filter, Measure, Term, ViewState, holds, parse_filter

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
    """What one screen keeps between two projections: the searchable text of each row, by identity of its record."""

    def __init__(self) -> None:
        self._haystacks: dict[str, tuple[object, str]] = {}

    def haystack(self, key: str, token: object, make: Callable[[], str]) -> str:
        """The row's searchable text, made again only when its record is another one."""
        found = self._haystacks.get(key)
        if found is not None and found[0] is token:
            return found[1]
        text = make()
        self._haystacks[key] = (token, text)
        return text

    def prune(self, keys: Iterable[str], limit: int) -> None:
        """Forget rows that are gone once more than `limit` are remembered."""
        if len(self._haystacks) > limit:
            alive = set(keys)
            self._haystacks = {key: kept for key, kept in self._haystacks.items() if key in alive}


class LazyTable(Generic[R]):
    """A `TableSource`: immutable once made. `total` counts the rows before the filter, `problem` is a sentence
    where the filter could not be understood (then nothing is filtered out)."""

    def __init__(
        self,
        fields: Sequence[Field[R]],
        rows: Sequence[R],
        key: Callable[[R], str],
        now_seconds: float,
        *,
        total: int | None = None,
        problem: str = "",
    ) -> None:
        self._fields = tuple(fields)
        self._rows = rows
        self._key = key
        self._now_seconds = now_seconds
        self._made: dict[int, tuple[Cell, ...]] = {}
        self.total = len(rows) if total is None else total
        self.problem = problem
        self._columns = tuple(one.column for one in self._fields)

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
        return self._places.get(key)

    def row(self, index: int) -> R:
        """The record behind a line."""
        return self._rows[index]

    def find(self, key: str) -> R | None:
        """The record of that key, None where it is not shown."""
        place = self._places.get(key)
        return None if place is None else self._rows[place]

    def cells(self, index: int) -> tuple[Cell, ...]:
        made = self._made.get(index)
        if made is None:
            row = self._rows[index]
            made = tuple(one.cell(row, self._now_seconds) for one in self._fields)
            self._made[index] = made
        return made

    def version(self, index: int) -> object:
        # the cells themselves: equal exactly when the line would look the same
        return self.cells(index)


def _itself(row: object) -> object:
    return row


@dataclass(frozen=True)
class View(Generic[R]):
    """One place's table: columns, identity, own order, and what free text searches.

    The view's own order is by `order` (ascending), then by `name` (the key where there is none); without
    either the rows stay as they come. `hidden` fields can be filtered by but are not drawn. `token` is the record whose identity says that
    a row's text is unchanged.
    """

    fields: tuple[Field[R], ...]
    key: Callable[[R], str]
    hidden: tuple[Field[R], ...] = ()
    namespace: Callable[[R], str] | None = None
    name: Callable[[R], str] | None = None
    order: Callable[[R, float], Value] | None = None
    haystack: Callable[[R], str] | None = None
    token: Callable[[R], object] = field(default=_itself)

    @cached_property
    def by_id(self) -> Mapping[str, Field[R]]:
        return {one.column.id: one for one in (*self.hidden, *self.fields)}

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        return {name: one.measure for name, one in self.by_id.items()}

    def table(
        self, rows: Iterable[R], state: ViewState, now_seconds: float, memory: Memory | None = None
    ) -> LazyTable[R]:
        """The rows as the person asked for them. Never raises for what was typed."""
        memory = memory or Memory()
        within = self._within(rows, state.namespace)
        filter_ = parse_filter(state.filter, self.measures)
        kept = self._filtered(within, filter_, now_seconds, memory)
        return LazyTable(
            self.fields,
            self._sorted(kept, state, now_seconds),
            self.key,
            now_seconds,
            total=len(within),
            problem=filter_.problem,
        )

    def _within(self, rows: Iterable[R], namespace: str) -> list[R]:
        of = self.namespace
        if not namespace or of is None:
            return list(rows)
        return [row for row in rows if of(row) in ("", namespace)]

    def _filtered(self, rows: list[R], filter_: Filter, now_seconds: float, memory: Memory) -> list[R]:
        if not filter_.terms:
            return rows
        memory.prune((self.key(row) for row in rows), 2 * len(rows) + 1_000)
        for term in filter_.terms:
            rows = self._by_term(rows, term, now_seconds, memory)
        return rows

    def _by_term(self, rows: list[R], term: Term, now_seconds: float, memory: Memory) -> list[R]:
        key, token = self.key, self.token

        def text(row: R) -> str:
            return memory.haystack(key(row), token(row), lambda: self._text(row, now_seconds))

        if not term.field:
            # the common case, free text over every pod, kept free of calls it does not need
            return [row for row in rows if (term.text in text(row)) is not term.inverted]
        one = self.by_id[term.field]
        return [
            row
            for row in rows
            if holds(
                term,
                lambda: "",
                lambda _, row=row: self._value(one, row, now_seconds),  # type: ignore[misc]
                lambda _, row=row: one.cell(row, now_seconds).text,  # type: ignore[misc]
            )
        ]

    def _text(self, row: R, now_seconds: float) -> str:
        if self.haystack is not None:
            return self.haystack(row).casefold()
        texts = (one.cell(row, now_seconds).text for one in self.fields if one.measure is Measure.TEXT)
        return " ".join(texts).casefold()

    @staticmethod
    def _value(one: Field[R], row: R, now_seconds: float) -> Value:
        return one.cell(row, now_seconds).text if one.value is None else one.value(row, now_seconds)

    def _sorted(self, rows: list[R], state: ViewState, now_seconds: float) -> list[R]:
        chosen = self.by_id.get(state.sort)
        if self.name is not None or self.order is not None or chosen is not None:
            name = self.name or self.key
            rows.sort(key=lambda row: natural(name(row)), reverse=state.descending and not state.sort)
        if chosen is not None:
            field_ = chosen
            return sort_rows(
                rows, lambda row: self._value(field_, row, now_seconds), descending=state.descending
            )
        if self.order is None:
            return rows
        order = self.order
        return sort_rows(rows, lambda row: order(row, now_seconds), descending=state.descending)
