"""The log: a bounded ring, following, searching, hostile lines."""

import re
from typing import Any

import pytest
from cockpit_widgets.log_view import MOST_LINES, LogView
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reliability.figures import Tell
from tests.unit.widgets.builders import HOSTILE, SIZES, Host, actions_of, assert_sound, lines_of, texts_of


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 50))
def test_the_ring_keeps_the_newest_lines(batches: list[int], most: int) -> None:
    log = LogView(most_lines=most)
    sent: list[str] = []
    for size in batches:
        fresh = [f"line {len(sent) + n}" for n in range(size)]
        log.append(fresh)
        sent += fresh
    assert [log.line(n) for n in range(len(log))] == sent[-most:]
    assert log.dropped == max(0, len(sent) - most)
    assert log.text() == "\n".join(sent[-most:])
    with pytest.raises(IndexError):
        log.line(len(log))


def test_the_ring_holds_fifty_thousand_lines_and_not_many_more_in_memory() -> None:
    log = LogView()
    for batch in range(70):
        log.append(f"{batch} {n}" for n in range(1000))
    assert len(log) == MOST_LINES
    assert log.dropped == 20_000
    assert log.line(0) == "20 0"
    assert len(log._lines) < MOST_LINES + 5_000
    with pytest.raises(ValueError, match="50001"):
        LogView(most_lines=MOST_LINES + 1)


@pytest.mark.row(42, "actions made of what stands in data", most=0)
@pytest.mark.parametrize("size", SIZES)
async def test_every_line_is_exactly_as_wide_as_the_view(size: tuple[int, int], figure: Tell) -> None:
    log = LogView(tone_of=lambda line: "bad" if "x" in line else "")
    async with Host(log).run_test(size=size) as pilot:
        log.append([*HOSTILE, "x" * 500, "日本" * 200, ""] * 20)
        log.set_search("a")
        await pilot.pause()
        assert_sound(log)
        figure("actions made of what stands in data", actions_of(log))
        await pilot.press("right", "right", "up", "home")
        await pilot.pause()
        assert_sound(log)


async def test_it_follows_until_one_scrolls_up_and_again_from_the_end() -> None:
    log = LogView()
    async with Host(log).run_test(size=(80, 24)) as pilot:
        log.append(f"line {n}" for n in range(1000))
        await pilot.pause()
        assert texts_of(log)[-1] == "line 999"
        assert log.vertical_scrollbar.position == log.scroll_offset.y == 976
        await pilot.press("pageup")
        await pilot.pause()
        assert not log.following
        held = texts_of(log)
        log.append(["new"] * 500)
        await pilot.pause()
        assert texts_of(log) == held
        await pilot.press("end")
        assert log.following
        log.append(["last"])
        await pilot.pause()
        assert texts_of(log)[-1] == "last"
        log.scroll_to(y=3, animate=False)
        assert not log.following


async def test_the_lines_being_read_stay_while_old_ones_leave() -> None:
    log = LogView(most_lines=100)
    async with Host(log).run_test(size=(80, 24)) as pilot:
        log.append(f"line {n}" for n in range(100))
        await pilot.pause()
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        held = texts_of(log)
        log.append(f"more {n}" for n in range(20))
        await pilot.pause()
        assert texts_of(log) == held


async def test_a_page_of_text_begins_at_the_top() -> None:
    log = LogView(follow=False)
    async with Host(log).run_test(size=(80, 24)) as pilot:
        log.append(f"line {n}" for n in range(100))
        await pilot.pause()
        assert texts_of(log)[0] == "line 0"


async def test_hits_are_marked_and_n_and_p_walk_over_them() -> None:
    log = LogView()
    async with Host(log).run_test(size=(80, 24)) as pilot:
        log.append(f"line {n} {'NaN' if n % 100 == 50 else 'ok'}" for n in range(1000))
        log.set_search("nan")
        await pilot.press("home", "n")
        assert texts_of(log)[0] == "line 50 NaN"
        await pilot.press("n", "n", "p")
        await pilot.pause()
        assert texts_of(log)[0] == "line 150 NaN"
        marked = [
            segment.text
            for segment in lines_of(log)[0]
            if segment.style != lines_of(log)[1]._segments[0].style
        ]
        assert "NaN" in marked
        log.set_search(re.compile(r"line \d+5 "))
        await pilot.pause()
        assert next(iter(lines_of(log)[5])).text == "line 155 "
        log.set_search(None)
        await pilot.press("n")
        assert len(list(lines_of(log)[0])) == 1


async def test_a_pattern_that_matches_nothing_at_all_is_harmless() -> None:
    log = LogView()
    async with Host(log).run_test(size=(40, 5)) as pilot:
        log.append(["abc"])
        log.set_search(re.compile("x*"))
        await pilot.press("n", "p")
        assert_sound(log)


async def test_long_lines_are_read_by_moving_along() -> None:
    log = LogView()
    async with Host(log).run_test(size=(40, 5)) as pilot:
        log.append(["".join(chr(97 + n % 26) for n in range(100))])
        await pilot.pause()
        await pilot.press("right")
        assert texts_of(log)[0].startswith("qrs")
        await pilot.press("left", "left")
        assert texts_of(log)[0].startswith("abc")
        await pilot.press(*["right"] * 40)
        assert texts_of(log)[0]


async def test_an_empty_log_says_why_and_clear_empties() -> None:
    log = LogView(placeholder="No line yet from rank 0.")
    async with Host(log).run_test(size=(40, 5)) as pilot:
        await pilot.press("end", "up", "n", "pageup")
        assert texts_of(log)[0] == "No line yet from rank 0."
        assert_sound(log)
        log.set_placeholder("rank 0: the container is waiting to start: trying and failing to pull image")
        await pilot.pause()
        assert [line.rstrip() for line in texts_of(log)[:3]] == [
            "rank 0: the container is waiting to",
            "start: trying and failing to pull image",
            "",
        ], "a long sentence is told to its end"
        assert_sound(log)
        log.set_placeholder("No line yet from rank 0.")
        log.append(["a"] * 50)
        log.clear()
        await pilot.pause()
        assert texts_of(log)[0] == "No line yet from rank 0."
        log.append(["b"])
        await pilot.pause()
        assert texts_of(log)[0] == "b"


class Hearing(Host):
    def on_log_view_follow_changed(self, event: LogView.FollowChanged) -> None:
        self.hear(event.following)


async def test_it_says_when_it_ceases_to_follow() -> None:
    log = LogView()
    app = Hearing(log)
    async with app.run_test(size=(40, 5)) as pilot:
        log.append(["a"] * 50)
        await pilot.press("up", "f")
        await pilot.pause()
        assert app.heard == [False, True]


async def test_tones_are_asked_only_for_lines_on_the_screen() -> None:
    asked: list[str] = []

    def tone_of(line: str) -> Any:
        asked.append(line)
        return "bad"

    log = LogView(tone_of=tone_of)
    async with Host(log).run_test(size=(40, 5)) as pilot:
        log.append(f"{n}" for n in range(10_000))
        await pilot.pause()
        assert set(asked) <= {f"{n}" for n in range(9_995, 10_000)}


async def test_the_ring_is_bounded_in_characters_and_the_newest_line_stays() -> None:
    log = LogView(most_characters=1_000)
    async with Host(log).run_test(size=(40, 5)) as pilot:
        log.append("x" * 100 for _ in range(50))
        assert (len(log), log.dropped) == (10, 40)
        log.append(["y" * 5_000])
        assert (len(log), log.line(0)[0]) == (1, "y")
        await pilot.pause()
        assert texts_of(log)[0].startswith("yyy")


async def test_while_it_follows_there_is_no_bar_to_draw_anew_with_every_line() -> None:
    log = LogView()
    async with Host(log).run_test(size=(40, 10)) as pilot:
        log.append(f"line {number}" for number in range(50))
        await pilot.pause()
        assert log.styles.scrollbar_visibility == "hidden"
        log.action_go(-3)
        await pilot.pause()
        assert log.styles.scrollbar_visibility == "visible"
        log.action_follow()
        await pilot.pause()
        assert log.styles.scrollbar_visibility == "hidden"
