"""Lazy cells, kept order, kept texts, namespaces."""

from dataclasses import dataclass

from cockpit_widgets.types import Cell, Column
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.namespaces import Namespaces
from cockpit.views.lazy_table import Field, Memory, View
from cockpit.views.order import natural
from cockpit.views.view_state import Measure, ViewState


@dataclass(frozen=True)
class Thing:
    uid: str
    name: str
    size: float | None = None
    namespace: str = ""


class Counted:
    """A view that counts how many cells and texts it made."""

    def __init__(self) -> None:
        self.cells = 0
        self.texts = 0
        self.view: View[Thing] = View(
            fields=(
                Field(Column("name", "Name", 10), self._cell),
                Field(
                    Column("size", "Size", 5),
                    lambda r, now: Cell("?" if r.size is None else str(r.size + now)),
                    lambda r, _: r.size,
                    Measure.COUNT,
                ),
            ),
            key=lambda one: one.uid,
            name=lambda one: one.name,
            namespace=lambda one: one.namespace,
            haystack=self._text,
        )

    def _cell(self, one: Thing, now_seconds: float) -> Cell:
        self.cells += 1
        return Cell(one.name)

    def _text(self, one: Thing) -> str:
        self.texts += 1
        return one.name


def things(count: int) -> list[Thing]:
    return [Thing(f"u{number}", f"gpu-{number}", float(number % 7)) for number in range(count)]


def keys(view: View[Thing], rows: list[Thing], state: ViewState, memory: Memory | None = None) -> list[str]:
    made = view.table(rows, state, 0.0, memory)
    return [made.key(row) for row in range(len(made))]


def test_cells_are_made_for_rows_that_are_looked_at_and_once() -> None:
    counted = Counted()
    made = counted.view.table(things(5_000), ViewState(), 0.0)
    assert counted.cells == 0
    for row in range(100, 120):
        made.cells(row)
        made.version(row)
    assert counted.cells == 20


def test_texts_are_kept_until_a_record_changes() -> None:
    counted, memory = Counted(), Memory()
    rows = things(100)
    keys(counted.view, rows, ViewState(filter="gpu-1"), memory)
    keys(counted.view, rows, ViewState(filter="gpu-12"), memory)
    assert counted.texts == 100
    rows[12] = Thing("u12", "cpu-12")
    assert keys(counted.view, rows, ViewState(filter="gpu-12"), memory) == []
    assert counted.texts == 101


def test_texts_of_rows_that_are_gone_are_forgotten() -> None:
    memory = Memory()
    view = Counted().view
    for step in range(40):
        keys(view, [Thing(f"u{step}-{number}", "x") for number in range(100)], ViewState(filter="x"), memory)
    assert len(memory._haystacks) <= 1_300


def test_index_find_and_version() -> None:
    made = Counted().view.table(things(30), ViewState(), 5.0)
    assert made.index("u10") == 10
    assert made.index("nobody") is None
    assert made.find("u10") == Thing("u10", "gpu-10", 3.0)
    assert made.find("nobody") is None
    assert made.row(10).uid == "u10"
    later = Counted().view.table(things(30), ViewState(), 6.0)
    assert made.version(10) != later.version(10)
    assert made.version(10) == Counted().view.table(things(30), ViewState(), 5.0).version(10)


def test_namespace_keeps_its_own_and_what_has_none() -> None:
    rows = [Thing("1", "a", None, "x"), Thing("2", "b", None, "y"), Thing("3", "c")]
    assert keys(Counted().view, rows, ViewState(namespaces=Namespaces(("x",)))) == ["1", "3"]


def test_an_unknown_sort_column_means_the_own_order() -> None:
    assert keys(Counted().view, things(3), ViewState(sort="nothing")) == ["u0", "u1", "u2"]


def test_sorting_by_a_column_breaks_ties_by_name() -> None:
    rows = [
        Thing("1", "gpu-10", 1.0),
        Thing("2", "gpu-9", 1.0),
        Thing("3", "gpu-1"),
        Thing("4", "gpu-2", 5.0),
    ]
    assert keys(Counted().view, rows, ViewState(sort="size")) == ["2", "1", "4", "3"]
    assert keys(Counted().view, rows, ViewState(sort="size", descending=True)) == ["4", "2", "1", "3"]
    assert keys(Counted().view, rows, ViewState(descending=True)) == ["1", "2", "4", "3"]


def test_two_rows_of_one_key_are_both_shown() -> None:
    rows = [Thing("1", "b"), Thing("1", "a"), Thing("2", "c")]
    memory = Memory()
    for _ in range(2):
        assert len(keys(Counted().view, rows, ViewState(), memory)) == 3
    assert len(keys(Counted().view, rows[1:], ViewState(), memory)) == 2
    assert len(keys(Counted().view, rows, ViewState(), memory)) == 3


steps = st.lists(st.sets(st.integers(0, 40), max_size=30), min_size=1, max_size=6)


@settings(deadline=None, max_examples=100)
@given(steps, st.randoms(use_true_random=False))
def test_order_kept_between_projections_is_the_order_made_afresh(steps: list[set[int]], rng: object) -> None:
    view, memory = Counted().view, Memory()
    for present in steps:
        rows = [Thing(f"u{number}", f"n{number * 7 % 41}") for number in present]
        rng.shuffle(rows)  # type: ignore[attr-defined] # a random.Random
        assert keys(view, rows, ViewState(), memory) == [
            one.uid for one in sorted(rows, key=lambda one: natural(one.name))
        ]


def test_columns_that_are_blank_in_every_row_leave_their_room_and_the_name_stays() -> None:
    fields: tuple[Field[Thing], ...] = (
        Field(Column("name", "", 10), lambda _row, _now: Cell("")),
        Field(Column("size", "Size", 5), lambda row, _now: Cell("" if row.size is None else str(row.size))),
        Field(Column("uid", "Uid", 5), lambda row, _now: Cell(row.uid)),
    )
    view: View[Thing] = View(fields=fields, key=lambda row: row.uid)

    def shown(*sizes: float | None) -> list[str]:
        rows = [Thing(f"u{at}", "", size) for at, size in enumerate(sizes)]
        return [column.id for column in view.table(rows, ViewState(), 0.0).valued().columns]

    assert shown(None, None) == ["name", "uid"]
    assert shown(None, 1.0) == ["name", "size", "uid"]
    assert shown() == ["name", "size", "uid"], "without a row nothing is known of its columns"
