"""The filter's grammar: what it keeps, and the sentence for a mistake."""

import pytest
from cockpit_widgets.types import Cell, Column
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.views.lazy_table import Field, LazyTable, View
from cockpit.views.view_state import Measure, ViewState, parse_filter, read_number

Row = tuple[str, str, float | None, float | None]

ROWS: list[Row] = [
    ("llm-70b", "running", 16, 0.71),
    ("llm-7b", "queued", 0, None),
    ("notebook 3", "running", 4, 0.0),
    ("vision", "failed", None, None),
]
VIEW: View[Row] = View(
    fields=(
        Field(Column("name", "Name", 10), lambda r, _: Cell(r[0]), lambda r, _: r[0]),
        Field(Column("state", "State", 10), lambda r, _: Cell(f"● {r[1]}"), lambda r, _: r[1]),
        Field(Column("gpus", "GPUs", 5), lambda r, _: Cell(str(r[2])), lambda r, _: r[2], Measure.COUNT),
    ),
    hidden=(Field(Column("duty", "Duty", 5), lambda r, _: Cell("x"), lambda r, _: r[3], Measure.RATIO),),
    key=lambda row: row[0],
)


def table(text: str) -> LazyTable[Row]:
    return VIEW.table(ROWS, ViewState(filter=text), 0.0)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", "llm-70b llm-7b notebook vision"),
        ("LLM", "llm-70b llm-7b"),
        ("llm running", "llm-70b"),
        ("!llm", "notebook vision"),
        ("state:run", "llm-70b notebook"),
        ("state=run", ""),
        ("state=Running", "llm-70b notebook"),
        ("!state:run", "llm-7b vision"),
        ("state!=running", "llm-7b vision"),
        ("gpus>4", "llm-70b"),
        ("gpus>=4", "llm-70b notebook"),
        ("gpus<1", "llm-7b"),
        ("gpus=4", "notebook"),
        ("!gpus>4", "llm-7b notebook vision"),
        ("duty<5%", "notebook"),
        ("duty>50", "llm-70b"),
        ('"notebook 3"', "notebook"),
        ('name:"k 3"', "notebook"),
        ("STATE:failed", "vision"),
        ("gpus>4 state:running name:70", "llm-70b"),
    ],
)
def test_what_a_filter_keeps(text: str, kept: str) -> None:
    found = table(text)
    assert found.problem == ""
    assert " ".join(found.key(row).split()[0] for row in range(len(found))) == kept
    assert found.total == 4


def test_a_field_that_is_not_there_is_text_and_told_where_nothing_matches() -> None:
    rows = [*ROWS, ("hub/train:1.4", "running", 1, None)]
    found = VIEW.table(rows, ViewState(filter="train:1.4"), 0.0)
    assert (len(found), found.problem) == (1, "")
    found = VIEW.table(rows, ViewState(filter="owner:team-a"), 0.0)
    told = "Filter: no field 'owner' here; fields are duty, gpus, name, state."
    assert (len(found), found.problem) == (0, told)
    found = VIEW.table([], ViewState(filter="owner:team-a"), 0.0)
    assert found.problem == "", "nothing was there to match"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpus>many", "'many' is not a number for 'gpus'; write for example gpus>4."),
        ("duty>fast", "'fast' is not a percent for 'duty'; write for example duty>50%."),
        ("size>3", "no field 'size' here; fields are duty, gpus, name, state."),
        ("state>3", "'state' is text and cannot be compared with >; write state:3."),
        ("gpus>", "a value is missing"),
        ("!", "a value is missing"),
        ('"open', "is not closed"),
        ('na"me', "has a quote inside a word"),
    ],
)
def test_a_mistake_is_one_sentence_and_keeps_every_row(text: str, words: str) -> None:
    found = table(text)
    assert found.problem.startswith("Filter: ")
    assert words in found.problem
    assert found.problem.endswith(".")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("text", "measure", "number"),
    [
        ("50%", Measure.RATIO, 0.5),
        ("2h", Measure.SECONDS, 7_200.0),
        ("1d12h", Measure.SECONDS, 129_600.0),
        ("90", Measure.SECONDS, 90.0),
        ("40Gi", Measure.BYTES, 40 * 2.0**30),
        ("1e3", Measure.COUNT, 1_000.0),
        ("h2", Measure.SECONDS, None),
        ("nan", Measure.COUNT, None),
        ("", Measure.COUNT, None),
    ],
)
def test_read_number(text: str, measure: Measure, number: float | None) -> None:
    assert read_number(text, measure) == number


words = st.text(alphabet='abgpus:<>=!" 4%mn_-.*é\t', max_size=20) | st.text(max_size=20)


@settings(deadline=None, max_examples=300)
@given(words)
def test_no_text_raises_and_a_problem_is_a_sentence(text: str) -> None:
    parsed = parse_filter(text, VIEW.measures)
    assert not parsed.problem or (parsed.problem.startswith("Filter: ") and parsed.terms == ())
    assert len(table(text)) <= 4


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(["llm", "state:run", "gpus>4", "duty<5%", 'name:"k 3"', "state=failed", "x:y"]))
def test_inversion_is_the_complement(term: str) -> None:
    kept = {table(term).key(row) for row in range(len(table(term)))}
    left = {table(f"!{term}").key(row) for row in range(len(table(f"!{term}")))}
    assert kept | left == {row[0] for row in ROWS}
    assert not kept & left


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(["llm", "!7b", "gpus>0", "state:run"]), max_size=4))
def test_more_words_never_keep_more(terms: list[str]) -> None:
    assert len(table(" ".join(terms))) <= min((len(table(term)) for term in terms), default=4)
