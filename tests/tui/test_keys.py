"""Keys: one meaning each, help and footer made from them, capitals absent while read-only."""

import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import Heatmap, LogView, ResourceTable
from textual.binding import Binding
from textual.dom import DOMNode
from textual.pilot import Pilot

from cockpit.screens import help as help_page
from cockpit.screens.alike import AlikeScreen
from cockpit.screens.job import JobScreen
from cockpit.screens.keymap import EVERYWHERE, KEYS, UNDO, VERB
from cockpit.screens.node import NodeScreen
from cockpit.screens.pages import PLACES, place_class
from cockpit.screens.place import Place
from cockpit.screens.pool import PoolScreen
from cockpit.screens.queue import QueueScreen
from cockpit.screens.scale import ScaleScreen
from cockpit.screens.since_left import SinceLeftScreen
from cockpit.screens.submit import SubmitScreen
from cockpit.screens.table_place import TablePlace
from cockpit.screens.why import WhyScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

PAGES: tuple[type[Place], ...] = (
    JobScreen, NodeScreen, QueueScreen, PoolScreen, WhyScreen, SubmitScreen, ScaleScreen, SinceLeftScreen,
    AlikeScreen
)  # fmt: skip
SCREENS = (*map(place_class, PLACES), *PAGES)
BODIES = (ResourceTable, Heatmap, LogView)


def own_bindings(one: type[DOMNode]) -> Iterable[Binding]:
    """What a class binds itself, one binding a key."""
    return Binding.make_bindings(one.BINDINGS)


# ---- the table of keys


def test_no_key_stands_twice_in_the_table() -> None:
    keys = [key for one in KEYS for key in one.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len({one.id for one in KEYS}) == len(KEYS)


def test_capital_letters_change_the_cluster_and_nothing_else_does() -> None:
    for one in KEYS:
        is_capital = any(key in string.ascii_uppercase for key in one.keys.split(","))
        assert is_capital == one.is_write, one.id
        if is_capital:
            assert one.group == "Changing the cluster", one.id


@pytest.mark.parametrize("screen", SCREENS, ids=lambda one: one.__name__)
def test_a_key_means_the_same_on_every_screen(screen: type[Place]) -> None:
    meaning = {key: one for one in KEYS for key in one.keys.split(",")}
    for binding in own_bindings(screen):
        known = meaning.get(binding.key)
        assert known is not None, f"{screen.__name__} binds {binding.key}, which is not in the table"
        assert (binding.action, binding.id) == (known.action, known.id), binding.key


@pytest.mark.parametrize("widget", BODIES, ids=lambda one: one.__name__)
def test_widgets_take_no_key_that_means_something_else(widget: type[DOMNode]) -> None:
    meaning = {key: one.id for one in KEYS for key in one.keys.split(",")}
    for binding in own_bindings(widget):
        assert binding.key not in string.ascii_uppercase, f"{widget.__name__} binds {binding.key}"
        assert meaning.get(binding.key, binding.id) == binding.id, f"{widget.__name__} {binding.key}"


def test_every_screen_knows_the_keys_of_everywhere() -> None:
    for screen in SCREENS:
        ids = {
            binding.id for base in screen.__mro__ if issubclass(base, Place) for binding in own_bindings(base)
        }
        assert set(EVERYWHERE) <= ids, screen.__name__


def test_every_bound_action_has_a_method() -> None:
    for screen in SCREENS:
        for binding in own_bindings(screen):
            name = binding.action.split("(")[0]
            if binding.id in ("open", "mark", "mark.all"):
                continue  # the table under the cursor carries them out
            assert hasattr(screen, f"action_{name}"), f"{screen.__name__}: {binding.key} does nothing"


# ---- help


async def visit(app: ScriptedApp, pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


def shown(app: ScriptedApp) -> Place:
    """The place or page on top."""
    assert isinstance(app.screen, Place)
    return app.screen


@pytest.mark.parametrize("write", [False, True], ids=["read-only", "write"])
async def test_help_lists_exactly_the_keys_that_work_here(write: bool) -> None:
    app = ScriptedApp(Estate(), write=write)
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in (("1",), ("2",), ("5",), ("7",), ("2", "w"), ("4", "enter")):
            await visit(app, pilot, *keys)
            screen = app.screen
            assert isinstance(screen, Place)
            listed = {entry.keys: entry for entry in screen.help_entries()}
            active = {active.binding.id for active in screen.active_bindings.values() if active.enabled}
            for one in KEYS:
                is_listed = help_page.pretty(one.keys) in listed
                assert is_listed == (one.id in active), f"{keys}: {one.id}"
                if is_listed:
                    assert listed[help_page.pretty(one.keys)].dangerous == one.is_write
            dangerous = {entry.keys for entry in listed.values() if entry.dangerous}
            assert bool(dangerous) == (write and keys != ("2", "w"))
            await visit(app, pilot, "question_mark")
            drawn = looking.text(app)
            await visit(app, pilot, "pagedown")  # a legend may make it longer than the screen
            drawn += looking.text(app)
            for entry in listed.values():
                assert entry.keys in drawn and entry.text.split()[0] in drawn, entry
            await visit(app, pilot, "escape")
            assert app.screen is screen


# ---- read-only


async def test_capital_keys_do_nothing_while_read_only() -> None:
    app = ScriptedApp(Estate(), write=False)
    sent: list[object] = []

    def planned() -> Any:
        sent.append("a plan was asked for")

    app.planner = planned  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in (("1",), ("2",), ("2", "enter"), ("4", "enter"), ("5",), ("5", "enter")):
            await visit(app, pilot, *keys)
            before = app.screen
            lines = looking.lines(app)
            every = string.ascii_uppercase if keys == ("2",) else "NKS"
            await visit(app, pilot, *every)
            assert app.screen is before, keys
            assert looking.lines(app) == lines, keys
        for one in KEYS:
            if one.is_write:
                assert one.action in (f"{VERB}('{one.keys}')", UNDO)
                assert app.screen.check_action(one.action.partition("(")[0], (one.keys,)) is False
    assert sent == []


def told(app: ScriptedApp) -> list[str]:
    return [one.message for one in app._notifications]


@pytest.mark.parametrize(
    ("place", "key", "sentence"),
    [
        ("2", "S", "to scale, select a pool first: pools are on key 5"),
        ("5", "D", "to drain, select a node first: nodes are on key 3"),
        ("5", "H", "to keep, select a node first: nodes are on key 3"),
        ("3", "P", "to suspend, select a job first: jobs are on key 2"),
        ("4", "K", "to kill, select a job first: jobs are on key 2"),
        ("5", "x", "key x (view) is not available here"),
        (
            "5",
            "l",
            "no pod of Cluster API runs in this cluster: it may run in another one, or in the cloud",
        ),
        ("5", "j", ""),
        ("5", "s", ""),
    ],
)
async def test_a_key_that_a_screen_does_not_have_says_so(place: str, key: str, sentence: str) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(100, 30)) as pilot:
        await visit(app, pilot, place, key)
        assert told(app) == ([sentence] if sentence else [])


@pytest.mark.parametrize("key", ["S", "M", "R", "K"])
async def test_while_read_only_a_capital_key_says_how_it_is_unlocked(key: str) -> None:
    app = ScriptedApp(Estate(), write=False)
    async with app.run_test(size=(100, 30)) as pilot:
        await visit(app, pilot, "2" if key == "K" else "5", key)
        assert told(app) == ["read-only: :write unlocks the keys that change the cluster"]


async def test_unlocking_shows_the_capital_keys_at_once() -> None:
    app = ScriptedApp(Estate(), write=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(app, pilot, "2")
        assert "K kill" not in looking.footer(app)
        await visit(app, pilot, "colon", *"write", "enter")
        assert "Unlock changes of prod-eu" in looking.text(app)
        assert "y or enter unlock" in looking.text(app)
        await visit(app, pilot, "y")
        assert {"K kill", "N new job"} <= set(looking.footer(app))
        assert looking.header_pieces(app)[-1] == "rw"
        await visit(app, pilot, "colon", *"read-only", "enter")
        assert "K kill" not in looking.footer(app)


async def test_the_question_names_the_verb() -> None:
    app = ScriptedApp(Estate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(app, pilot, "2", "down", "K")
        drawn = looking.text(app)
        assert "y kill" in drawn and "n or esc no" in drawn and "cockpit job kill" in drawn
        await visit(app, pilot, "enter")
        assert "does not confirm this" in looking.text(app)
        await visit(app, pilot, "n")
        assert getattr(app.screen, "place", "") == "jobs"


# ---- the way back


async def test_escape_never_leaves_an_empty_screen() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        for key in "1234567":
            await visit(app, pilot, key, "escape", "escape")
            assert isinstance(app.screen, Place) and app.screen.place, key
            assert "esc back" not in looking.footer(app)
        await visit(app, pilot, "3", "enter")
        assert "esc back" in looking.footer(app)
        await visit(app, pilot, "escape")
        assert shown(app).place == "nodes"


async def test_the_palette_offers_what_works_here() -> None:
    app = ScriptedApp(Estate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(app, pilot, "3", "colon")
        drawn = looking.text(app)
        assert "Show live YAML" in drawn
        assert "Kill the job" not in drawn and "Next heatmap" not in drawn
        await visit(app, pilot, *"gpu-h100-07", "enter")
        assert shown(app).place == "node" and "gpu-h100-07" in looking.text(app)


# ---- choices that stay


async def test_the_order_stays_while_away_and_in_the_next_run(tmp_path: Path) -> None:
    app = ScriptedApp(Estate(), state_folder=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(app, pilot, "2", "s", "s", "r")
        screen = app.screen
        assert isinstance(screen, TablePlace)
        chosen = screen.state
        assert chosen.sort and chosen.descending
        order = [screen.table.source.key(row) for row in range(len(screen.table.source))]
        await visit(app, pilot, "3", "2")
        assert shown(app).state == chosen
    again = ScriptedApp(Estate(), state_folder=tmp_path)
    async with again.run_test(size=(120, 40)) as pilot:
        await visit(again, pilot, "2")
        screen = again.screen
        assert isinstance(screen, TablePlace)
        assert (screen.state.sort, screen.state.descending) == (chosen.sort, True)
        assert [screen.table.source.key(row) for row in range(len(order))] == order
        assert any(arrow in looking.table_lines(again, screen.table)[0] for arrow in looking.ARROWS)


async def test_marks_stay_with_their_rows_and_leave_with_them() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(app, pilot, "2", "home", "space", "down", "space")
        table = app.screen.query_one("#table", ResourceTable)
        marked = table.marked
        assert len(marked) == 2
        await visit(app, pilot, "s")
        assert table.marked == marked
        drawn = looking.table_lines(app, table)
        assert sum(line[0] in "●◉" for line in drawn) == 2, "\n".join(drawn)
        await visit(app, pilot, "slash", *"nothing-like-this", "enter")
        assert table.marked == frozenset()
