"""`w` explains anything; what would start it stands there as rows that lead to the verb's plan."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from cockpit.local_state.config import Settings
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding
from cockpit.model.record import Kind
from cockpit.screens.clone import CloneScreen
from cockpit.screens.row_sentence import RowSentence
from cockpit.screens.why import WhyScreen
from cockpit.triage.changes.smallest import MOST_OFFERS
from cockpit.views.why import lines
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.pools_estate import FailingEstate, PoolsApp
from tests.tui.why_app import WhyApp, WhyEstate
from tests.waiting import until

JOB = ("2", "slash", *"sweep-13", "enter", "w")


async def opened(app: ScriptedApp, pilot: Pilot[Any], *keys: str) -> WhyScreen:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
    await until(lambda: isinstance(app.screen, WhyScreen), pilot=pilot)
    assert isinstance(app.screen, WhyScreen)
    return app.screen


async def at_offer(app: ScriptedApp, pilot: Pilot[Any], kind: str) -> WhyScreen:
    """The page of the waiting job with the cursor on that offer."""
    page = await opened(app, pilot, *JOB)
    await until(lambda: page.offer is not None, pilot=pilot)
    for _ in range(MOST_OFFERS):
        if page.offer is not None and page.offer.kind == kind:
            return page
        await pilot.press("down")
        await settle(pilot)
    raise AssertionError(f"no offer {kind} on the page")


@pytest.mark.parametrize(
    ("keys", "heading"),
    [
        (("2", "w"), "why job team-"),
        (("3", "w"), "why node gpu-"),
        (("3", "s", "home", "enter", "w"), "why card gpu-a100-00/"),
        (("3", "s", "home", "enter", "tab", "w"), "why pod team-"),
        (("4", "w"), "why queue "),
        (("4", "enter", "w"), "why job team-"),
        (("5", "w"), "why pool "),
        (("5", "enter", "w"), "why node gpu-"),
        (("7", "w"), "why pod team-"),
    ],
)
async def test_w_explains_what_is_under_the_cursor(keys: tuple[str, ...], heading: str) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        page = await opened(app, pilot, *keys)
        assert page.heading.startswith(heading)
        assert page.heading in looking.text(app)


async def test_offers_stand_as_rows_with_their_command_at_the_foot() -> None:
    app = WhyApp(WhyEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        page = await at_offer(app, pilot, "suspend")
        offer = page.offer
        assert offer is not None and offer.is_checked
        drawn = looking.text(app)
        assert offer.words in drawn and f"$ {' '.join(offer.command)}" in drawn
        assert "Expected start  in " in drawn and "16 past runs" in drawn


async def test_the_page_ends_with_where_more_is_told() -> None:
    app = WhyApp(WhyEstate())
    app.options = replace(app.options, settings=Settings(docs_url="https://docs.example"))
    async with app.run_test(size=(120, 40)) as pilot:
        await at_offer(app, pilot, "suspend")
        assert "More: https://docs.example/causes/gpus-in-pieces.html" in looking.text(app)


async def test_an_offer_to_wait_says_that_there_is_nothing_to_run() -> None:
    app = WhyApp(WhyEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        page = await at_offer(app, pilot, "wait_for")
        offer = page.offer
        assert offer is not None and offer.command == ()
        foot = str(page.query_one(RowSentence).render())
        assert foot == f"{offer.words}: nothing to run"
        known = page.about.view()
        told = lines(Finding(subject=page._subject, changes=(offer,)), known)
        assert f"  {offer.words}: nothing to run" in told


async def test_enter_on_an_offer_shows_the_plan_of_its_verb_and_sends_nothing() -> None:
    app = WhyApp(WhyEstate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await at_offer(app, pilot, "suspend")
        target = page.offer.target if page.offer is not None else None
        await pilot.press("enter")
        await until(lambda: "The same from a shell" in looking.text(app), pilot=pilot)
        assert target is None or target.name in looking.text(app)
        assert app.sent == []


async def test_an_offer_of_a_smaller_job_opens_the_form_with_it() -> None:
    app = WhyApp(WhyEstate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_offer(app, pilot, "fewer_gpus")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, CloneScreen), pilot=pilot)
        assert isinstance(app.screen, CloneScreen)
        assert app.screen._values["gpus"] == "3"
        assert app.sent == []


@pytest.mark.parametrize(("kind", "said"), [("suspend", "read-only"), ("wait_for", "nothing to run")])
async def test_what_cannot_be_done_by_enter_is_said(kind: str, said: str) -> None:
    app = WhyApp(WhyEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        await at_offer(app, pilot, kind)
        await pilot.press("enter")
        await until(lambda: any(said in one.message for one in app._notifications), pilot=pilot)
        assert isinstance(app.screen, WhyScreen)


async def test_what_went_away_is_told() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(app, pilot, "3", "w")
        store: Any = app.attachment.store
        uids = tuple(store.records(Kind.NODE))
        store.apply(Batch(kind=Kind.NODE, removed=uids))
        page.show()
        await settle(pilot)
        assert "no node of that name is known here" in looking.text(app)


async def test_the_failure_of_a_pool_is_told_once() -> None:
    app = PoolsApp(FailingEstate(), place="pools")
    async with app.run_test(size=(140, 50)) as pilot:
        await opened(app, pilot, "slash", *"b200", "enter", "w")
        shown = looking.text(app)
        for told in (
            "the cloud has no machine of this type now",
            "try another zone or machine type, or later",
        ):
            assert shown.count(told) == 1, shown
