"""Queues of engines with a scheduler of their own on the queues page, beside Kueue's, small and large."""

from typing import Any

import pytest
from textual.pilot import Pilot

from cockpit.gangs import kai, volcano
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.screens.queue import QueueScreen
from cockpit.screens.queues import QueuesScreen
from cockpit.screens.why import WhyScreen
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp
from tests.unit.gangs.test_scheduler_queues import group, kai_queue, pod, volcano_queue

QUEUES = {
    volcano.QUEUES: (volcano_queue(), volcano_queue("shut", state="Closed")),
    kai.QUEUES: (kai_queue(),),
    Kind.POD_GROUP: (
        group("vjob", phase="Pending", at=1.0),
        group("kjob", "KAI", queue="default"),
        group("krun", "KAI", queue="default"),
    ),
    Kind.POD: (
        pod("vjob"),
        pod("kjob", scheduler="kai-scheduler"),
        pod("krun", node="gpu-h100-00", scheduler="kai-scheduler"),
    ),
}


def opened() -> OfferingApp:
    app = OfferingApp(Estate(), write=True, place="queues")
    for kind, records in QUEUES.items():
        app.attachment.store.apply(Batch(kind=kind, changed=records))
    app.attachment.jobs.catch_up()
    return app


def line(app: OfferingApp, name: str) -> str:
    return next(line for line in looking.text(app).splitlines() if name in line)


async def onto(app: OfferingApp, pilot: Pilot[Any], name: str) -> None:
    """The cursor to the queue of that name."""
    screen = app.screen
    assert isinstance(screen, QueuesScreen)
    for _ in range(20):
        found = screen.thing("queue")
        if found is not None and f"{getattr(found, 'engine', '')}:{found.name}".lower() == name:
            return
        await pilot.press("down")
        await settle(pilot)
    raise AssertionError(f"no row {name}")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_each_queue_is_told_apart_at_every_size(size: tuple[int, int]) -> None:
    app = opened()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "8/6+2" in line(app, "volcano:default") and "open" in line(app, "volcano:default")
        assert "closed" in line(app, "volcano:shut")
        assert "0.5/1.5" in line(app, "kai:default")
        assert "/gpu-lq" in looking.text(app), "Kueue's stand beside them"
        if size[0] == 200:
            assert "0B used, limit 64Gi" in looking.text(app), "the detail of the first queue stands beside"
            await pilot.press("backslash")
            await settle(pilot)
            assert "root" in line(app, "volcano:default") and "research" in line(app, "kai:default")
            assert "priority 100" in line(app, "kai:default")


async def test_its_page_has_its_resources_and_its_jobs() -> None:
    app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await onto(app, pilot, "kai:default")
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, QueueScreen)
        text = looking.text(app)
        assert "0.5 used, 1.5 deserved, no limit" in text
        assert "team-a/krun" in text, "what runs in it"
        assert "~1" in line(app, "team-a/kjob"), "the place is an estimate"


async def test_stop_is_not_offered_and_the_key_says_why() -> None:
    app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await onto(app, pilot, "volcano:shut")
        assert app.screen.check_action("verb", ("P",)) is False
        await pilot.press("P")
        await settle(pilot)
        assert isinstance(app.screen, QueuesScreen), "nothing opens"
        (remark,) = (note.message for note in app._notifications)
        assert remark.startswith("queue volcano:shut: Volcano's queues are not stopped or resumed here")
        await pilot.press("home")
        await settle(pilot)
        await onto(app, pilot, ":gpu-lq")
        assert app.screen.check_action("verb", ("P",)) is True, "Kueue's queue has the key"


async def test_why_is_about_the_queue_of_that_engine() -> None:
    app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await onto(app, pilot, "volcano:shut")
        await pilot.press("w")
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        text = looking.text(app)
        assert "volcano:shut" in text and "it takes no jobs until it is opened" in text
