"""A night of many incidents, the cockpit opened fresh on it: each is a row of *Now*, and each row leads in at
most three keys to the verb that acts on it, or to what helps and who can do it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.screens.now import NowScreen
from cockpit.screens.why import WhyScreen
from cockpit.triage.troubles import Trouble
from tests.triage.night import Night
from tests.triage.night_server import night_served
from tests.triage.night_terminal import complaints_seen
from tests.tui import looking
from tests.waiting import until

pytestmark = pytest.mark.waits

SEED = 5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Night, Path]]:
    with night_served(SEED, tmp_path_factory.mktemp("night")) as made:
        yield made


@asynccontextmanager
async def opened(kubeconfig: Path) -> AsyncIterator[tuple[CockpitApp, Pilot[Any]]]:
    options = AttachOptions(kubeconfig=str(kubeconfig), context="admin", write=True)
    app = CockpitApp(AppOptions(options))
    async with app.run_test(size=(160, 50)) as pilot:
        yield app, pilot


async def all_told(app: CockpitApp, pilot: Pilot[Any], one: Night) -> tuple[Trouble, ...]:
    """The rows of *Now*, once each incident is one of them and nothing else is."""
    seen: list[Trouble] = []

    def is_told() -> bool:
        seen[:] = app.now_watch.look()
        found = [row.found for row in seen]
        return not one.complaints_about(found)

    await until(is_told, lambda: "\n".join(one.complaints_about([row.found for row in seen])), pilot=pilot)
    return tuple(seen)


async def test_every_incident_is_a_row_and_leads_to_what_helps(served: tuple[Night, Path]) -> None:
    one, kubeconfig = served
    async with opened(kubeconfig) as (app, pilot):
        rows = await all_told(app, pilot, one)
        assert len({incident.kind for incident in one.incidents}) >= 24
        led = [await leads(app, pilot, row) for row in rows]
    assert [said for said in led if said] == []


async def leads(app: CockpitApp, pilot: Pilot[Any], row: Trouble) -> str:
    """What is missing where `w` and `enter` lead neither to a verb nor to what helps."""
    assert isinstance(app.screen, NowScreen)
    table = app.screen.query_one("#attention", ResourceTable)
    assert table.move_to(row.key)
    await pilot.press("w")
    await until(lambda: isinstance(app.screen, WhyScreen), lambda: f"no page about {row.key}", pilot=pilot)
    why = app.screen
    assert isinstance(why, WhyScreen)
    await until(lambda: why.is_read, lambda: looking.text(app), pilot=pilot)
    text = looking.text(app)
    missing = ""
    if any(offer.verb for offer in why.offers[:2]):  # w, down, enter
        await _carried(app, pilot, why)
    elif "What helps (" not in text:
        missing = f"{row.key}: {row.found.sentence}: neither a verb nor what helps:\n{text}"
    while not isinstance(app.screen, NowScreen):
        before = app.screen
        await pilot.press("escape")
        await until(lambda: app.screen is not before, lambda: looking.text(app), pilot=pilot)  # noqa: B023
    return missing


async def _carried(app: CockpitApp, pilot: Pilot[Any], why: WhyScreen) -> None:
    """`enter` on the first offer that has a verb opens its plan or its form."""
    offers = why.query_one("#offers", ResourceTable)
    first = next(place for place, offer in enumerate(why.offers) if offer.verb)
    await until(lambda: why.focused is offers, lambda: looking.text(app), pilot=pilot)
    await pilot.press(*["down"] * first, "enter")

    def said() -> str:
        return f"{[one.message for one in app._notifications]}\n{looking.text(app)}"

    await until(lambda: app.screen is not why, said, pilot=pilot)


def test_in_a_terminal_of_80x24_every_row_leads_to_what_names_cause_and_object() -> None:
    assert complaints_seen(SEED + 1, (80, 24)) == []
