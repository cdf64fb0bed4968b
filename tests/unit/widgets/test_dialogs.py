"""Dialogs: no by default, enter never destroys, everything stays on the screen."""

from typing import Any

import pytest
from cockpit_widgets.choices import search
from cockpit_widgets.dialogs import ChoiceDialog, ConfirmDialog
from cockpit_widgets.flow_text import Paragraphs
from cockpit_widgets.help_dialog import HelpDialog, HelpText
from cockpit_widgets.help_layout import help_lines
from cockpit_widgets.key_footer import KeyFooter
from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.types import Cell, ChoiceItem, HelpEntry
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widget import Widget

from tests.unit.widgets.builders import HOSTILE, SIZES, Host, assert_sound, texts_of

PATIENCE = 200
"""Rounds of messages within which something comes into sight on any machine."""


async def answer(dialog: ModalScreen[Any], *keys: str) -> list[Any]:
    """What the dialog gave after these keys; empty while it still asks."""
    said: list[Any] = []
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(dialog, said.append)
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
    return said


def _kill(**more: Any) -> ConfirmDialog:
    return ConfirmDialog("Kill team-a/llm?", ["4 pods end."], danger=True, confirm_key="K", **more)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["y"], [True]),
        (["K"], [True]),
        (["k"], []),
        (["enter"], []),
        (["enter", "enter", "space"], []),
        (["enter", "y"], [True]),
        (["n"], [False]),
        (["escape"], [False]),
    ],
)
async def test_a_dangerous_question_needs_its_own_key(keys: list[str], said: list[bool]) -> None:
    assert await answer(_kill(), *keys) == said


@pytest.mark.parametrize(("keys", "said"), [(["enter"], [True]), (["y"], [True]), (["escape"], [False])])
async def test_a_harmless_question_takes_enter(keys: list[str], said: list[bool]) -> None:
    assert await answer(ConfirmDialog("Unlock writing?"), *keys) == said


async def test_enter_on_a_dangerous_question_says_what_would_confirm() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = _kill(confirm_label="kill")
        app.push_screen(dialog)
        await pilot.pause()
        footer = dialog.query_one(KeyFooter)
        assert texts_of(footer) == ["y or K kill  n or esc no"]
        await pilot.press("enter")
        await pilot.pause()
        assert texts_of(footer) == ["y or K kill  n or esc no  enter does not confirm this"]


def _checked(*, danger: bool = True) -> ConfirmDialog:
    return ConfirmDialog(
        "Kill team-a/llm?", ["4 pods end."], danger=danger, confirm_label="kill", checking="asking ..."
    )


@pytest.mark.parametrize("danger", [True, False])
@pytest.mark.parametrize(
    ("before", "may", "keeps", "after", "said"),
    [
        ("", True, True, "y", [True]),
        ("y", True, True, "", [True]),
        ("y", True, False, "", []),
        ("y", True, False, "y", [True]),
        ("y", False, True, "y", []),
        ("y", False, True, "escape", [False]),
        ("", False, True, "enter", [False]),
        ("n", True, True, "", [False]),
        ("y escape", True, True, "", [False]),
    ],
)
async def test_a_yes_counts_once_the_check_said_so(
    before: str, may: bool, keeps: bool, after: str, said: list[bool], danger: bool
) -> None:
    told: list[Any] = []
    app, dialog = Host(), _checked(danger=danger)
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(dialog, told.append)
        await pilot.pause()
        await pilot.press(*before.split())
        await pilot.pause()
        assert told == ([False] if {"n", "escape"} & set(before.split()) else [])
        if not told:
            dialog.settle(Cell("it says so"), may_confirm=may, keeps_yes=keeps)
            await pilot.pause()
            await pilot.press(*after.split())
            await pilot.pause()
        assert told == said


async def test_what_the_check_said_stays_in_sight_below_a_long_text() -> None:
    app = Host()
    for size in SIZES:
        async with app.run_test(size=size) as pilot:
            dialog = ConfirmDialog("Kill?", [f"line {n}" for n in range(90)], checking="asking ...")
            app.push_screen(dialog)
            await pilot.pause()
            text, verdict = dialog.query(Paragraphs)
            assert _visible(app, verdict) and "".join(texts_of(verdict)).startswith("asking")
            dialog.settle(
                Cell("× refused: " + "a long sentence of the server " * 12, "bad"), may_confirm=False
            )
            for _ in range(3):
                await pilot.pause()
            assert _visible(app, verdict) and _visible(app, dialog.query_one(KeyFooter))
            assert "refused" in texts_of(verdict)[0] and len(texts_of(verdict)) > 3
            assert texts_of(dialog.query_one(KeyFooter)) == ["esc leave"]
            assert text.size.height > 3
        app = Host()


async def test_a_question_that_became_another_one_forgets_the_yes() -> None:
    told: list[Any] = []
    app, dialog = Host(), _checked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(dialog, told.append)
        await pilot.press("y")
        await pilot.pause()
        assert texts_of(dialog.query_one(KeyFooter))[0].startswith("y kill after the check")
        dialog.put("Kill team-b/llm?", ["8 pods end."], danger=False)
        dialog.settle(Cell("it says so"))
        await pilot.pause()
        assert told == [] and texts_of(dialog.query(Paragraphs).first())[0] == "8 pods end."
        await pilot.press("enter")
        await pilot.pause()
        assert told == [True]


def _visible(app: Host, widget: Widget) -> bool:
    return Region(0, 0, *app.size).contains_region(widget.region) and bool(widget.region)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 3, 200])
async def test_the_keys_of_a_dialog_stay_on_the_screen(size: tuple[int, int], count: int) -> None:
    lines = [f"line {n}" for n in range(count)]
    dialogs: list[ModalScreen[Any]] = [
        _kill(warnings=lines, command="cockpit job kill " + "x" * 200),
        ChoiceDialog("Context", [ChoiceItem(line, note="n") for line in lines]),
        HelpDialog([HelpEntry(f"k{n}", line, f"g{n % 7}", n % 2 == 0) for n, line in enumerate(lines)]),
    ]
    app = Host()
    async with app.run_test(size=size) as pilot:
        for dialog in dialogs:
            app.push_screen(dialog)
            await pilot.pause()
            assert _visible(app, dialog.query_one(KeyFooter)), dialog
            assert texts_of(dialog.query_one(KeyFooter))[0]
            for kind in (Paragraphs, HelpText, ResourceTable):
                for part in dialog.query(kind):
                    assert_sound(part)
            app.pop_screen()


async def test_a_long_question_scrolls() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = _kill(warnings=[f"warning {n}" for n in range(100)])
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.press("pagedown", "down")
        await pilot.pause()
        assert dialog.query_one(Paragraphs).scroll_offset.y == 11


async def test_titles_and_lines_are_text_not_markup() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        for text in HOSTILE:
            dialog = ConfirmDialog(text, [text, Cell(text, "bad")], warnings=[text], command=text)
            app.push_screen(dialog)
            await pilot.pause()
            assert_sound(dialog.query_one(Paragraphs))
            app.pop_screen()
        dialog = ConfirmDialog("Kill [red]x[/red] [/]?", ["[bold]4 pods[/bold]"])
        app.push_screen(dialog)
        await pilot.pause()
        assert texts_of(dialog.query_one(Paragraphs))[0] == "[bold]4 pods[/bold]"
        assert "Kill [red]x[/red] [/]?" in app.export_screenshot().replace("&#160;", " ").replace(
            "&#x27;", "'"
        )


ITEMS = [ChoiceItem(f"ns-{n}", note=f"{n} jobs") for n in range(60)]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["enter"], ["ns-7"]),
        (["down", "enter"], ["ns-8"]),
        (["5", "9", "enter"], ["ns-59"]),
        (["z", "z", "enter"], []),
        (["z", "backspace", "enter"], ["ns-0"]),
        (["escape"], [None]),
        (["pagedown", "up", "enter"], ["ns-16"]),
    ],
)
async def test_choosing_by_typing_and_arrows(keys: list[str], said: list[str | None]) -> None:
    assert await answer(ChoiceDialog("Namespace", ITEMS, current="ns-7"), *keys) == said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["z", "z", "enter"], ["zz"]),
        (["5", "9", "enter"], ["ns-59"]),
        (["z", "space", "enter"], ["z"]),
        (["space", "enter"], ["ns-0"]),
    ],
)
async def test_a_free_choice_takes_what_was_typed_where_nothing_matches(
    keys: list[str], said: list[str | None]
) -> None:
    assert await answer(ChoiceDialog("Namespace", ITEMS, is_free=True), *keys) == said


async def test_the_choice_in_force_is_marked_and_the_dialog_does_not_jump() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = ChoiceDialog("Namespace", ITEMS, current="ns-2")
        app.push_screen(dialog)
        await pilot.pause()
        table = dialog.query_one(ResourceTable)
        assert texts_of(table)[2].startswith("▌ ns-2 ✓")
        before = dialog.query_one(".dialog--box").region
        await pilot.press("5", "9")
        await pilot.pause()
        assert texts_of(table)[:2] == ["▌ ns-59    59 jobs", ""]
        assert dialog.query_one(".dialog--box").region == before


async def test_a_note_takes_the_room_that_longer_names_leave_while_one_types() -> None:
    items = [ChoiceItem("write", note="unlock the keys that change the cluster"), ChoiceItem("x" * 60)]
    app = Host()
    async with app.run_test(size=(160, 45)) as pilot:
        app.push_screen(ChoiceDialog("Command palette", items))
        await pilot.pause()
        await pilot.press(*"write")
        await pilot.pause()
        painted = [strip.text for strip in app.screen._compositor.render_strips()]
        assert any("▌ write    unlock the keys that change the cluster" in line for line in painted), painted


def test_search_puts_beginnings_first_and_wants_every_word() -> None:
    items = [
        ChoiceItem("x-gpu"),
        ChoiceItem("a", "b", "gpu note"),
        ChoiceItem("gpu-lq"),
        ChoiceItem("gpu-x", note="big"),
    ]
    assert [item.value for item in search(items, "GPU")] == ["gpu-lq", "gpu-x", "x-gpu", "a"]
    assert [item.value for item in search(items, "gpu big")] == ["gpu-x"]
    assert search(items, "  ") == items
    assert search(items, "nothing") == []


ENTRIES = st.lists(
    st.builds(
        HelpEntry,
        st.text("aK日+", min_size=1, max_size=6),
        st.text("ab ", max_size=60),
        st.sampled_from(["", "Jobs", "Nodes", "Pools", "日本"]),
        st.booleans(),
        st.sampled_from(["", "not allowed: 日本"]),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=150)
@given(ENTRIES, st.integers(28, 200))
def test_help_lines_fit_and_hold_every_key(entries: list[HelpEntry], width: int) -> None:
    lines = help_lines(entries, width)
    for line in lines:
        assert sum(cell_len(cell.text) for cell in line) <= width
    everything = "\n".join("".join(cell.text for cell in line) for line in lines)
    for entry in entries:
        assert entry.keys in everything


def test_a_group_goes_on_in_the_next_column_only_where_whole_groups_are_too_high() -> None:
    entries = [HelpEntry(f"k{n}", "does", "Long" if n < 20 else "Short") for n in range(24)]
    drawn = [
        ["".join(cell.text for cell in line) for line in help_lines(entries, 80, most)] for most in (21, 14)
    ]
    whole, split = drawn
    assert len(whole) == 21
    assert len(split) == 14
    assert ["Long" in line for line in whole] == [True] + [False] * 20
    assert split[0].split() == ["Long", "Long"]
    assert len(help_lines(entries, 80, 5)) == 14  # then it scrolls


async def test_the_help_scrolls_and_any_leaving_key_leaves() -> None:
    entries = [HelpEntry(f"k{n}", f"does {n}", "Group", n in (3, 4), "no" * (n == 4)) for n in range(80)]
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        for key in ("escape", "q", "question_mark"):
            dialog = HelpDialog(entries, danger_note="changes the cluster")
            app.push_screen(dialog)
            await pilot.pause()
            assert "k3 ▲  does 3" in texts_of(dialog.query_one(HelpText))
            assert "k4 ×  does 4 (no)" in texts_of(dialog.query_one(HelpText))
            assert "▲ changes the cluster  × not available now" in texts_of(dialog.query_one(KeyFooter))[0]
            await pilot.press("end")
            for _ in range(PATIENCE):
                if any("k79" in line for line in texts_of(dialog.query_one(HelpText))):
                    break
                await pilot.pause()
            else:
                raise AssertionError("the last entry does not come into sight")
            await pilot.press(key)
            await pilot.pause()
            assert app.screen is not dialog


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_long_equivalent_is_folded_until_it_is_asked_for(size: tuple[int, int]) -> None:
    long = "printf %s '" + "x" * 400 + "' | kubectl create -f -"
    dialog = ConfirmDialog(
        "Ask?", ["2 nodes come."] * size[1], command="cockpit ask", equivalents=[long, "kubectl get"]
    )
    app = Host()
    async with app.run_test(size=size) as pilot:
        app.push_screen(dialog)
        await pilot.pause()
        assert "k whole lines" in texts_of(dialog.query_one(KeyFooter))[0]

        def shown() -> str:
            text = dialog.query_one(Paragraphs)
            return "".join("".join(c.text for c in line) for line in text.flow(10_000))

        assert "x" * 101 not in shown()
        assert "kubectl create -f -" in shown() and "kubectl get" in shown()
        await pilot.press("k")
        assert long in shown()
        await pilot.press("k")
        assert long not in shown()


async def test_a_long_equivalent_is_whole_while_the_screen_has_room() -> None:
    long = "kubectl patch " + "y" * 400
    dialog = ConfirmDialog("Ask?", ["2 nodes come."], command="cockpit", equivalents=[long])
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(dialog)
        for size, is_whole in (((120, 40), True), ((80, 12), False), ((120, 40), True)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            lines = dialog.query_one(Paragraphs).flow(10_000)
            assert any(long in "".join(c.text for c in line) for line in lines) is is_whole
            assert ("k whole lines" in texts_of(dialog.query_one(KeyFooter))[0]) is not is_whole
        dialog.put("Ask?", ["2 nodes come."] * 40, command="cockpit", equivalents=[long])
        await pilot.pause()
        assert "k whole lines" in texts_of(dialog.query_one(KeyFooter))[0]


async def test_where_a_name_is_typed_nothing_is_folded() -> None:
    long = "kubectl patch " + "y" * 400
    dialog = ConfirmDialog("Shrink?", command="cockpit", equivalents=[long], typed="kit")
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.press("k")
        lines = dialog.query_one(Paragraphs).flow(10_000)
        assert any(long in "".join(c.text for c in line) for line in lines)
