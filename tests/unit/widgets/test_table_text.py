"""A table as lines: its columns in place, and how many rows found no room."""

from cockpit_widgets.table_text import table_text
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Column
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.widgets.builders import HOSTILE, Rows

ROWS = st.lists(
    st.lists(st.one_of(st.text(max_size=30), st.sampled_from(HOSTILE)), min_size=6, max_size=6), max_size=9
)


@settings(deadline=None, max_examples=150)
@given(ROWS, st.integers(20, 120), st.integers(0, 12))
@example([["", "", "", "", "", ""]], 20, 2)
def test_lines_fit_and_no_row_is_lost_without_a_word(rows: list[list[str]], width: int, most: int) -> None:
    source = Rows((str(at), at, cells) for at, cells in enumerate(rows))
    lines = table_text(source, width, most)
    assert len(lines) <= max(most, 0)
    assert all(width_of("".join(cell.text for cell in line)) <= width for line in lines)
    if rows and most >= 2:
        body = lines[1:]
        more = [line for line in body if line[0].text.startswith("and ")]
        shown = len(body) - len(more)
        assert shown == len(rows) or more[-1][0].text == f"and {len(rows) - shown} more"


def test_numbers_stand_at_the_right_under_their_title() -> None:
    source = Rows([("a", 0, ("llm", "runs", "8", "", "3m", ""))])
    head, row = ("".join(cell.text for cell in line) for line in table_text(source, 60, 5))
    assert head.index("GPUs") + 4 == row.index("8") + 1
    assert not head.startswith(" ")


FOLDING = (Column("name", "Job", 10), Column("why", "Why", 20, grow=1, folds=True))
"""A name, and a sentence that goes on below where there are lines to spare."""


@given(st.integers(2, 9), st.integers(30, 60), st.integers(3, 30))
def test_a_sentence_is_whole_or_says_that_it_is_cut(count: int, width: int, most: int) -> None:
    sentence = "ClusterQueue research-main: stopped for new jobs until tomorrow"
    lines = table_text(Rows([(str(at), at, ["llm", sentence]) for at in range(count)], FOLDING), width, most)
    text = "\n".join("".join(cell.text for cell in line) for line in lines[1:])
    for shown in text.split("llm")[1:]:
        seen = shown.partition("and ")[0].strip()
        assert seen.endswith("…") or " ".join(seen.split()) == sentence, text
