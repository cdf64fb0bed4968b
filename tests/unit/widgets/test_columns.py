"""Where columns stand: inside the width, titles whole, the least important leave first."""

from collections.abc import Sequence
from itertools import pairwise

from cockpit_widgets.columns import GAP_CELLS, MARGIN_CELLS, ColumnSpan, least_width, place_columns
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Column
from hypothesis import given, settings
from hypothesis import strategies as st

_COLUMN = st.builds(
    Column,
    id=st.just("c"),
    title=st.text("Name GPUs名", min_size=0, max_size=9),
    width=st.integers(0, 24),
    align=st.sampled_from(["left", "right"]),
    priority=st.integers(1, 6),
    grow=st.integers(0, 4),
    most=st.integers(0, 40),
    wish=st.integers(0, 60),
)
COLUMNS = st.lists(_COLUMN, min_size=1, max_size=9)


def _end(places: Sequence[ColumnSpan]) -> int:
    return places[-1].x + places[-1].width + MARGIN_CELLS


def _titles_fit(columns: Sequence[Column], width: int) -> bool:
    return _end(place_columns([Column("c", c.title, 0) for c in columns], 10_000)) <= width


@settings(deadline=None, max_examples=300)
@given(COLUMNS, st.integers(1, 240))
def test_columns_stand_side_by_side_inside_the_width(columns: list[Column], width: int) -> None:
    places = place_columns(columns, width)
    assert places
    for left, right in pairwise(places):
        assert left.index < right.index
        assert right.x == left.x + left.width + GAP_CELLS
    if len(places) > 1 or _titles_fit([columns[places[0].index]], width):
        assert _end(places) <= width


@settings(deadline=None, max_examples=300)
@given(COLUMNS, st.integers(1, 240))
def test_a_title_is_whole_or_not_there(columns: list[Column], width: int) -> None:
    for place in place_columns(columns, width):
        assert place.width >= width_of(columns[place.index].title)


@settings(deadline=None, max_examples=300)
@given(COLUMNS, st.integers(1, 240))
def test_what_is_missing_matters_less_than_what_is_shown(columns: list[Column], width: int) -> None:
    shown = {place.index for place in place_columns(columns, width)}
    missing = set(range(len(columns))) - shown
    if missing:
        assert max(columns[i].priority for i in shown) <= min(columns[i].priority for i in missing)
    first = [column for column in columns if column.priority == 1]
    if first and _titles_fit(first, width):
        assert {i for i, c in enumerate(columns) if c.priority == 1} <= shown


@settings(deadline=None, max_examples=300)
@given(COLUMNS, st.integers(20, 240))
def test_growth_respects_its_bound_and_leaves_nothing_that_could_grow(
    columns: list[Column], width: int
) -> None:
    places = place_columns(columns, width)
    for place in places:
        column = columns[place.index]
        if column.most and place.width > least_width(column):
            assert place.width <= column.most
    unbounded = [place for place in places if columns[place.index].grow and not columns[place.index].most]
    if unbounded:
        assert _end(places) >= width


def test_leftover_cells_go_to_growing_columns_in_proportion() -> None:
    columns = [Column("a", "A", 5, grow=3), Column("b", "B", 5), Column("c", "C", 5, grow=1)]
    widths = [place.width for place in place_columns(columns, 2 + 15 + 4 + 1 + 40)]
    assert widths == [35, 5, 15]


def test_the_highest_priority_number_leaves_first_and_the_rightmost_of_equals() -> None:
    columns = [Column("a", "A", 6), Column("b", "B", 6, priority=3), Column("c", "C", 6, priority=3)]
    assert [place.index for place in place_columns(columns, 20)] == [0, 1]
    assert [place.index for place in place_columns(columns, 12)] == [0]


def test_columns_that_must_stay_shrink_to_their_titles_before_any_leaves() -> None:
    columns = [Column("a", "Name", 30), Column("b", "State", 12)]
    places = place_columns(columns, 20)
    assert [place.index for place in places] == [0, 1]
    assert _end(places) == 20


def test_no_columns_no_places() -> None:
    assert place_columns((), 80) == ()


def test_a_wish_takes_the_room_of_columns_that_matter_little() -> None:
    columns = [
        Column("name", "Name", 10),
        Column("why", "Why", 10, grow=1, wish=40),
        Column("kind", "Kind", 10, priority=3),
        Column("owner", "Owner", 10, priority=4),
    ]
    assert [place.index for place in place_columns(columns, 90)] == [0, 1, 2, 3]
    narrow = place_columns(columns, 72)
    assert [place.index for place in narrow] == [0, 1, 2]
    assert narrow[1].width >= 40
    # columns of more weight stay, even where the wish is then not met
    assert [place.index for place in place_columns(columns, 40)] == [0, 1, 2]
