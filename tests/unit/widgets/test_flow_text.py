"""Aligned pairs and paragraphs: broken to the width, as high as they are."""

import pytest
from cockpit_widgets.flow_text import Paragraphs
from cockpit_widgets.key_values import KeyValues
from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.types import Cell, Pair
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.unit.widgets.builders import HOSTILE, SIZES, Host, assert_sound, texts_of


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.builds(Pair, st.text("ab日", max_size=30), st.text("ab 日", max_size=80)), max_size=9),
    st.integers(14, 99),
)
def test_pairs_fit_and_their_values_stand_in_one_column(pairs: list[Pair], width: int) -> None:
    lines = pair_lines(pairs, width)
    assert len({cell_len(name.text) for name, _ in lines}) <= 1
    assert all(cell_len(name.text) + cell_len(value.text) <= width for name, value in lines)


@pytest.mark.parametrize("size", SIZES)
async def test_every_line_is_exactly_as_wide_as_asked(size: tuple[int, int]) -> None:
    pairs = KeyValues([Pair(text, text * 5, "warn") for text in HOSTILE])
    words = Paragraphs([Cell(text * 5, "bad") for text in HOSTILE])
    async with Host(pairs, words).run_test(size=size) as pilot:
        await pilot.pause()
        assert_sound(pairs)
        assert_sound(words)


async def test_names_and_values_are_aligned_and_long_ones_broken() -> None:
    pairs = KeyValues([Pair("Job", "team-a/llm"), Pair("Why", "pool h100 is at its maximum of 40 nodes")])
    async with Host(pairs).run_test(size=(30, 24)) as pilot:
        await pilot.pause()
        assert texts_of(pairs) == ["Job  team-a/llm", "Why  pool h100 is at its", "     maximum of 40 nodes"]
        assert pairs.size.height == 3
        pairs.set_pairs([Pair("Job", "b")])
        await pilot.pause()
        assert texts_of(pairs) == ["Job  b"]


async def test_paragraphs_change_and_scroll_when_their_height_is_given() -> None:
    words = Paragraphs([Cell(f"line {n}") for n in range(50)])
    async with Host(words, css="Paragraphs { height: 5; }").run_test(size=(30, 24)) as pilot:
        await pilot.pause()
        assert words.max_scroll_y == 45
        words.set_paragraphs([Cell("one")])
        await pilot.pause()
        assert words.max_scroll_y == 0
        assert texts_of(words)[0] == "one"


def test_short_pairs_stand_side_by_side_where_it_is_wide_and_long_ones_have_the_line() -> None:
    pairs = [Pair("job", "a"), Pair("state", "b"), Pair("why", "c" * 60), Pair("GPUs", "d"), Pair("age", "e")]
    shown = ["".join(cell.text for cell in line).split() for line in pair_lines(pairs, 120)]
    assert shown == [["job", "a", "state", "b"], ["why", "c" * 60], ["GPUs", "d", "age", "e"]]
    (first, _, last) = ("".join(cell.text for cell in line) for line in pair_lines(pairs, 120))
    assert first.index("state") == last.index("age") == 61
    assert len(pair_lines(pairs, 99)) == len(pairs)
