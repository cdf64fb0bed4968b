"""Text for one line: harmless, measured, cut, filled, broken."""

import pyte
import pytest
from cockpit_widgets.text import cut, cut_middle, fit, plain, width_of, window, wrap, wrap_phrases
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from cockpit.sanitise import clean
from tests.reliability.figures import Tell
from tests.unit.widgets.builders import HOSTILE

_PIECES = st.sampled_from(
    [*HOSTILE, "a", "日", "e\u0301", " ", "\t", "\x1b", "\u200d", "\ufe0f", "\u202e", "🚀"]
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(_PIECES, max_size=12).map("".join))


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_plain_text_is_printable_and_stays_so(text: str) -> None:
    once = plain(text)
    assert once.isprintable()
    assert plain(once) == once
    assert width_of(text) == cell_len(once)


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.integers(0, 30), st.sampled_from(["left", "right"]))
def test_fit_is_exactly_as_wide_as_asked(text: str, width: int, align: str) -> None:
    fitted = fit(text, width, "left" if align == "left" else "right")
    assert cell_len(fitted) == width
    assert fitted.isprintable()


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.integers(1, 30))
def test_cut_ends_in_an_ellipsis_only_when_something_is_missing(text: str, width: int) -> None:
    short = cut(text, width)
    assert cell_len(short) <= width
    if width_of(text) <= width:
        assert short == plain(text)
    else:
        assert short.endswith("…")
        assert plain(text).startswith(short[:-1])


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.integers(0, 20), st.integers(1, 20))
def test_a_window_is_exactly_as_wide_as_asked(text: str, start: int, width: int) -> None:
    assert cell_len(window(text, start, width)) == width


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.integers(3, 30), st.integers(0, 4))
def test_wrapped_lines_fit_and_lose_no_letter(text: str, width: int, hang: int) -> None:
    lines = wrap(text, width, hang)
    assert lines
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split(" ")) == "".join(plain(text).split(" "))


def test_control_codes_become_dots_and_tabs_spaces() -> None:
    assert plain("a\x1b[31mb\tc\nd\x9b") == "a·[31mb c·d·"


def test_a_heap_of_marks_is_cut_to_two_and_none_stands_first() -> None:
    assert plain("e\u0301\u0302\u0303\u0304x") == "e\u0301\u0302x"
    assert plain("\u0301x") == "x"


def test_wide_characters_are_never_halved() -> None:
    assert cut("日本語", 4) == "日…"
    assert fit("日本語", 4) == "日… "
    assert window("日本語", 1, 4) == " 本 "


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.integers(0, 30))
def test_a_cut_in_the_middle_is_no_wider_than_asked_and_shows_both_ends(text: str, width: int) -> None:
    shown = cut_middle(text, width)
    assert cell_len(shown) <= width
    whole = plain(text)
    if cell_len(whole) <= width:
        assert shown == whole
    elif width >= 8:
        head, end = shown.split("…", 1) if "…" not in whole else ("", "")
        assert whole.startswith(head) and whole.endswith(end)


def test_names_of_a_family_stay_apart() -> None:
    name = "gpu-operator/nvidia-dcgm-exporter-a100-gt7fq"
    assert cut_middle(name, 24) == "gpu-operator/n…100-gt7fq"
    assert cut_middle(name, len(name)) == name
    assert cut_middle(name, 7) == "gpu-op…"


def test_numbers_stand_at_the_right() -> None:
    assert fit("8", 4, "right") == "   8"
    assert fit("日", 4, "right") == "  日"


def test_the_indent_of_a_wrapped_line_is_kept() -> None:
    assert wrap("  cockpit job kill", 12) == ["  cockpit", "  job kill"]
    assert wrap("", 5) == [""]
    assert wrap("$ cockpit job kill", 12, 2) == ["$ cockpit", "  job kill"]
    assert wrap("  cockpit job kill", 12, 2) == ["  cockpit", "    job kill"]


@pytest.mark.parametrize(
    ("text", "width", "wanted"),
    [
        ("harbor.corp/team-a/llm-70b:1.4", 12, ["harbor.corp/", "team-a/llm-", "70b:1.4"]),
        ("reads nvidia.com/gpu.family=b100", 17, ["reads", "nvidia.com/gpu.", "family=b100"]),
        ("a/0123456789abcdef", 12, ["a/0123456789", "abcdef"]),
        ("0123456789abcdef", 12, ["0123456789ab", "cdef"]),
        ("/日本/日本語日本", 8, ["/日本/", "日本語日", "本"]),
    ],
)
def test_a_long_word_is_broken_behind_a_seam_of_its_own(text: str, width: int, wanted: list[str]) -> None:
    assert wrap(text, width) == wanted


def test_a_legend_breaks_between_its_phrases_and_within_one_only_where_it_must() -> None:
    text = "one cell each   · free  × lost   shade: busy"
    assert wrap_phrases(text, 80) == [text]
    assert wrap_phrases(text, 32) == ["one cell each   · free  × lost", "shade: busy"]
    assert wrap_phrases(text, 14) == ["one cell each", "· free  × lost", "shade: busy"]
    assert wrap_phrases(text, 13) == ["one cell each", "· free", "× lost", "shade: busy"]
    assert wrap_phrases(text, 5) == ["one cell each", "· free", "× lost", "shade: busy"]
    assert wrap_phrases("", 5) == [""]


ODD = (
    *HOSTILE,
    "shalom \u05e9\u05dc\u05d5\u05dd \u202e\u2067 \u0645\u0631\u062d\u0628\u0627",
    "zero\u200bwidth\u200c\u200d\u2060\ufeff",
    "x" + "\u0301" * 10_000 + "y",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308",
    "\ud83d lone \ude80",
    "\U0001f44b\U0001f3fd \U0001f3fd 1\ufe0f\u20e3 \U0001f469\U0001f3fb\u200d\U0001f680",
    "\u1100\u1161\u11a8 \uac00 \uff76\uff9e \U0001f1e9\U0001f1ea \u2764\ufe0f",
)


def column_behind(text: str, width: int) -> int:
    """Where a terminal stands after the text: in the cell behind it, as pyte's own tables have it."""
    screen = pyte.Screen(80, 1)
    for char in fit(text, width) + "|":  # it leaves out what follows a letter that it does not know
        screen.draw(char)
    return next(x for x in range(screen.columns) if screen.buffer[0][x].data.endswith("|"))


@pytest.mark.row(43, "cells by which a column shifted", most=0)
@pytest.mark.row(43, "texts and widths", least=1_000)
def test_odd_letters_shift_no_column(figure: Tell) -> None:
    texts = (*ODD, *map(clean, ODD))
    cases = [(text, width) for text in texts for width in range(1, 60)]
    figure("texts and widths", len(cases))
    figure("cells by which a column shifted", sum(abs(column_behind(*case) - case[1]) for case in cases))
