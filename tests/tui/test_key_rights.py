"""Keys whose right is missing: crossed out, and a sentence instead of a dialog."""

from collections.abc import Iterable
from typing import Any, cast

import pytest
from cockpit_widgets import ConfirmDialog, ResourceTable
from cockpit_widgets.help_dialog import HelpText
from cockpit_widgets.key_footer import KeyFooter

from cockpit.model.batch import Batch
from cockpit.model.record import Kind, Record
from cockpit.model.right import Permission, Right
from cockpit.screens.key_rights import ASK_SECONDS
from cockpit.screens.place import Place
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.unit.widgets.builders import texts_of

SIZES = [(80, 24), (200, 60)]
WRITES = "KEBPCTZINS"


class Reviews:
    """Answers as told: rights whose verb is among `denied` are denied, of others nothing is known."""

    def __init__(self, *denied: str) -> None:
        self.denied = set(denied)
        self.wanted: set[Right] = set()
        self.doubted: list[Right] = []

    @property
    def answers(self) -> int:
        return len(self.denied)

    def verdict(self, right: Right) -> Permission:
        return Permission.DENIED if right.verb in self.denied else Permission.UNKNOWN

    def want(self, rights: Iterable[Right]) -> None:
        self.wanted = set(rights)

    def doubt(self, rights: Iterable[Right]) -> None:
        self.doubted += rights


def app_of(reviews: Reviews, *, write: bool = True, place: str = "jobs") -> ScriptedApp:
    app = ScriptedApp(Estate(), write=write, place=place)
    app.attachment.access = cast(Any, reviews)
    return app


def footer(app: ScriptedApp) -> str:
    return texts_of(app.screen.query_one(KeyFooter))[0]


def told(app: ScriptedApp) -> list[str]:
    return [one.message for one in app._notifications]


def is_place(app: ScriptedApp) -> bool:
    return isinstance(app.screen, Place)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_key_whose_right_is_missing_is_crossed_out_and_names_it(size: tuple[int, int]) -> None:
    reviews = Reviews("delete", "patch", "create")
    app = app_of(reviews)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        job = cast(Any, app.screen).thing("job")
        assert "K×kill" in footer(app)
        await pilot.press("K")
        await settle(pilot)
        assert is_place(app), "no dialog"
        (sentence,) = told(app)
        assert sentence == (
            f"You cannot delete jobs.batch in {job.namespace} (context prod-eu): ask for that right"
        )
        assert [one.words for one in reviews.doubted] == [f"delete jobs.batch in {job.namespace}"]


async def test_what_is_not_known_bars_nothing() -> None:
    app = app_of(Reviews())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "×" not in footer(app)
        await pilot.press("K")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)


async def test_while_read_only_nothing_is_asked_and_nothing_crossed_out() -> None:
    reviews = Reviews("delete", "patch", "create")
    app = app_of(reviews, write=False)
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        assert "×" not in footer(app)
        assert "kill" not in footer(app)
        assert reviews.wanted == set()
        cast(Any, app.attachment.session).unlock()
        app.redraw()
        await settle(pilot)
        assert "K×kill" in footer(app)


async def test_a_right_that_is_given_frees_the_key() -> None:
    reviews = Reviews("delete")
    app = app_of(reviews)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "K×kill" in footer(app)
        reviews.denied.clear()
        app.attachment._changed()
        await settle(pilot)
        cast(Any, app.screen).show()
        await settle(pilot)
        assert "K kill" in footer(app)


async def test_what_is_asked_for_is_about_the_row_under_the_cursor() -> None:
    reviews = Reviews()
    app = app_of(reviews)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for _ in range(3):
            job = cast(Any, app.screen).thing("job")
            assert {one.name for one in reviews.wanted if one.verb == "delete"} == {job.name}
            await pilot.press("down")
            await settle(pilot)


async def test_what_a_key_needs_is_planned_when_something_else_is_meant_and_not_at_each_projection() -> None:
    reviews = Reviews()
    app = app_of(reviews)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        place, planned, planner = cast(Any, app.screen), [], app.planner

        def counted() -> Any:
            planned.append(1)
            return planner()

        app.planner = counted  # type: ignore[method-assign]
        for _ in range(5):
            place.show()
        assert planned == [] and "×" not in footer(app)
        reviews.denied.add("delete")  # an answer came: judged, and not planned, once more
        place.look_at_rights()
        assert planned == []
        await settle(pilot)
        assert "K×kill" in footer(app)
        reviews.wanted.clear()
        app.clock.advance(ASK_SECONDS)  # type: ignore[attr-defined]
        place.look_at_rights()
        assert {one.verb for one in reviews.wanted} >= {"delete", "patch"}, "an answer may have grown old"
        before = len(planned)
        job = place.thing("job")
        namespaces = [Record(uid=f"ns{at}", name=f"other-{at}") for at in range(2)]
        app.attachment.store.apply(Batch(kind=Kind.NAMESPACE, changed=tuple(namespaces)))
        place.look_at_rights()
        assert len(planned) > before, "a new job may go there, too"
        before = len(planned)
        await pilot.press("down")
        await settle(pilot)
        assert place.thing("job") != job and len(planned) > before


async def test_of_many_marked_rows_one_that_may_be_changed_keeps_the_key() -> None:
    class OfOneNamespace(Reviews):
        def verdict(self, right: Right) -> Permission:
            return Permission.DENIED if right.namespace == "team-a" else Permission.ALLOWED

    app = app_of(OfOneNamespace())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        places = {job.namespace for job in app.attachment.jobs.jobs.values()}
        assert {"team-a", "team-b"} <= places
        await pilot.press("ctrl+a")
        await settle(pilot)
        cast(Any, app.screen).show()
        await settle(pilot)
        assert "K kill" in footer(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_help_names_the_right_that_is_missing(size: tuple[int, int]) -> None:
    app = app_of(Reviews("delete"))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        entries = {one.keys: one for one in cast(Place, app.screen).help_entries()}
        assert entries["K"].barred.startswith("you cannot delete jobs.batch in team-")
        assert entries["P"].barred == ""
        await pilot.press("question_mark")
        await settle(pilot)
        assert "× a right is missing" in texts_of(app.screen.query_one(KeyFooter))[0]
        help_ = app.screen.query_one(HelpText)
        seen = texts_of(help_)
        while not help_.is_vertical_scroll_end:
            await pilot.press("pagedown")
            await settle(pilot)
            seen += texts_of(help_)
        assert any("K ×" in line for line in seen)


async def test_the_palette_tells_it_and_says_the_sentence() -> None:
    app = app_of(Reviews("delete", "patch", "create"))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        await pilot.press("colon", *"delete jobs")
        await settle(pilot)
        assert any("× kill" in line for line in texts_of(app.screen.query_one(ResourceTable)))
        await pilot.press("enter")
        await settle(pilot)
        assert is_place(app)
        assert told(app)[0].startswith("You cannot delete jobs.batch in ")


async def test_a_click_on_a_crossed_out_key_says_it_too() -> None:
    app = app_of(Reviews("delete"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.click(KeyFooter, offset=(1 + footer(app).index("K×kill"), 0))
        await settle(pilot)
        assert told(app)[0].startswith("You cannot delete ")


@pytest.mark.parametrize("place", ["jobs", "pods", "queues", "pools", "nodes", "now"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_no_capital_key_opens_a_dialog_where_every_right_is_missing(
    place: str, size: tuple[int, int]
) -> None:
    app = app_of(Reviews("delete", "patch", "create", "get"), place=place)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        keys = {one.binding.key for one in app.screen.active_bindings.values() if one.binding.key in WRITES}
        free = {one.binding.key for one in app.screen.active_bindings.values() if one.enabled} & keys
        assert free <= {"N"}, "what is made, and where, is said in the form"
        for key in sorted(keys - free):
            await pilot.press(key)
            await settle(pilot)
            assert is_place(app), key
            assert told(app), key
