"""Nothing that a terminal obeys leaves `clean`."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput, CockpitError, NoConnection, Refused
from cockpit.sanitise import MOST_MARKS, WordCache, clean, clean_block
from cockpit.telemetry.faults import TelemetryError

HOSTILE = "\x00\x07\x08\x0b\x0c\r\n\t\x1b\x7f\x80\x85\x90\x9b\x9d"
HOSTILE += "\u200b\u200e\u202a\u202e\u2028\u2029\u2066\u2069\ufeff\ud800\U000e0041"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain-name.v1", "plain-name.v1"),
        ("", ""),
        ("ä – 漢字 🚀", "ä – 漢字 🚀"),
        ("\x1b]52;c;ZXZpbA==\x07", "]52;c;ZXZpbA=="),
        ("\x1b[2J\x1b[31mred", "[2J[31mred"),
        ("a\x9b31mb", "a31mb"),
        ("one\ntwo\tthree\r\nfour", "one two three  four"),
        ("name\u202egnp.exe", "namegnp.exe"),
        ("lone \ud83d surrogate", "lone  surrogate"),
        ("[@click=app.exit]x[/nope]", "[@click=app.exit]x[/nope]"),
    ],
)
def test_examples(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_long_text_ends_with_an_ellipsis() -> None:
    assert clean("x" * 50, 10) == "x" * 9 + "…"
    assert clean("x" * 10, 10) == "x" * 10


def test_block_keeps_line_feeds_and_nothing_else() -> None:
    assert clean_block("a\r\n\tb\x1b[0m\x07\nc") == "a\n    b[0m\nc"


def _is_safe(text: str, allowed: str = "") -> bool:
    return all(
        one in allowed
        or (unicodedata.category(one) not in ("Cc", "Cs", "Zl", "Zp") and not "\u202a" <= one <= "\u202e")
        for one in text
    )


@settings(deadline=None, max_examples=300)
@given(
    st.text(alphabet=st.one_of(st.characters(), st.sampled_from(HOSTILE)), max_size=80), st.integers(1, 90)
)
def test_nothing_hostile_is_left(raw: str, limit: int) -> None:
    shown = clean(raw, limit)
    assert _is_safe(shown)
    assert len(shown) <= limit
    assert clean(shown, limit) == shown
    assert _is_safe(clean_block(raw), "\n")


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(alphabet=st.sampled_from("ab\x1b\n"), max_size=3), max_size=60), st.integers(1, 5))
def test_words_are_clean_and_bounded(raws: list[str], bound: int) -> None:
    words = WordCache(bound)
    for raw in raws:
        assert words[raw] == clean(raw)
        assert len(words) <= bound
        assert words[raw] is words[raw]


@pytest.mark.parametrize("kind", [BadInput, NoConnection, Refused, TelemetryError])
def test_no_sentence_carries_what_a_terminal_obeys(kind: type[CockpitError]) -> None:
    error = kind("HTTP 599 \x1b]0;owned\x07 \u202egnp\r\nSet-Cookie: x")
    assert error.sentence == str(error) == "HTTP 599 ]0;owned gnp  Set-Cookie: x"


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("a", "é", "한", "ᄀ", "界", "👩")),
            st.text(st.sampled_from("\u0301\u0489\u05b0\u200d\u20dd\ufe0f\u1161\U000e0101"), max_size=40),
        ),
        max_size=8,
    )
)
def test_the_marks_of_a_cell_are_bounded_and_a_few_stay(cells: list[tuple[str, str]]) -> None:
    raw = "".join(letter + marks for letter, marks in cells)
    assert clean(raw) == "".join(letter + marks[:MOST_MARKS] for letter, marks in cells)
    assert clean_block(f"{raw}\n{raw}") == f"{clean(raw)}\n{clean(raw)}"


def test_ten_thousand_marks_leave_four() -> None:
    assert clean("x" + "\u0301" * 2_000 + "y", 4_000) == "x" + "\u0301" * MOST_MARKS + "y"
    assert clean("Tiếng Việt שָׁלוֹם 👨\u200d👩\u200d👧\u200d👦") == "Tiếng Việt שָׁלוֹם 👨\u200d👩\u200d👧\u200d👦"
