"""How much the poller asks for and how often: by the size of the fleet, by what is in sight, by a nudge."""

import asyncio
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.model.record import Kind
from cockpit.telemetry.faults import TelemetryError, Throttled
from cockpit.telemetry.focus import Focus, RefreshPace
from cockpit.telemetry.poller import FLEET_SECONDS, SLOW_SECONDS, Poller
from cockpit.telemetry.source import PrometheusSource
from tests.unit.telemetry.builders import NOW, A, SmallCluster, card_a, family
from tests.unit.telemetry.test_poller import Scripted, Shown, rig


async def test_a_large_fleet_is_read_whole_only_now_and_then() -> None:
    poller, asked, _, clock = rig(visible=["gpu-1"], many_cards=2)
    asked.rows = family(A, card_a(0, "gpu-1")) + family(A, card_a(0, "gpu-2"))
    wholes = []
    for _ in range(14):
        asked.asked.clear()
        await poller.poll()
        wholes.append("Hostname=~" not in asked.asked[0])
        clock.advance(5.0)
    every = int(FLEET_SECONDS / 5)
    assert [at for at, is_whole in enumerate(wholes) if is_whole] == [0, every, 2 * every]


async def test_a_small_fleet_is_read_whole_whatever_is_on_screen() -> None:
    poller, asked, _, _ = rig(visible=["gpu-1"])
    asked.rows = family(A, card_a(0, "gpu-1")) + family(A, card_a(0, "gpu-2"))
    await poller.poll()
    await poller.poll()
    assert not any("Hostname=~" in one for one in asked.asked)


class Moving:
    """A person who looks here and there while time passes."""

    def __init__(self) -> None:
        self.look = Focus()


async def _watch(moving: Moving, seconds: float) -> int:
    """How many rounds are polled within so many seconds."""
    asked, shown, clock = Scripted(), Shown(), ManualClock(NOW)
    asked.rows = family(A, card_a(0))
    ended = asyncio.Event()

    async def sleep(pause: float) -> None:
        clock.advance(pause)
        if clock.now() >= NOW + seconds:
            ended.set()
            await asyncio.Event().wait()

    poller = Poller(
        PrometheusSource(asked), shown, clock, SmallCluster(), sleep=sleep, looking=lambda: moving.look
    )
    task = asyncio.create_task(poller.run())
    await ended.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return sum(one.startswith("{__name__") for one in asked.asked)


async def test_nothing_is_asked_while_nobody_looks_and_little_while_only_the_header_is_in_sight() -> None:
    moving = Moving()
    assert await _watch(moving, 300.0) == 60
    moving.look = Focus(RefreshPace.SLOW)
    assert await _watch(moving, 300.0) == int(300 / SLOW_SECONDS)
    moving.look = Focus(RefreshPace.NONE)
    assert await _watch(moving, 300.0) == 0


async def test_a_nudge_ends_the_pause() -> None:
    asked, shown, clock, nudge = Scripted(), Shown(), ManualClock(NOW), asyncio.Event()
    asleep = asyncio.Event()

    async def sleep(_: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    poller = Poller(PrometheusSource(asked), shown, clock, SmallCluster(), sleep=sleep, nudge=nudge)
    task = asyncio.create_task(poller.run())
    for _ in range(3):
        await asleep.wait()
        asleep.clear()
        nudge.set()
    await asleep.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert sum(one.startswith("{__name__") for one in asked.asked) == 4


@pytest.mark.parametrize("is_throttled", [False, True])
async def test_the_pause_after_a_failure_ends_with_the_outage_of_the_api_server(
    *, is_throttled: bool
) -> None:
    """But not where a source said how long it wants to be left alone."""
    asked, shown, returned = Scripted(), Shown(), asyncio.Event()
    asked.fault = Throttled("slowly", 60.0) if is_throttled else TelemetryError("gone")
    asleep, woken = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        asleep.set()
        await woken.wait()

    async def wait() -> None:
        await returned.wait()

    poller = Poller(
        PrometheusSource(asked), shown, ManualClock(NOW), SmallCluster(), sleep=sleep, returned=wait
    )
    task = asyncio.create_task(poller.run(most_failures=2))
    await asleep.wait()
    returned.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert poller.failures == (1 if is_throttled else 2)
    woken.set()
    await task


async def test_an_outage_that_ends_while_a_round_goes_on_ends_the_pause_after_it() -> None:
    outages, shown = [asyncio.Event(), asyncio.Event()], Shown()

    class Slow:
        """Refused at its beginning; the outage is over before its end."""

        asked = None

        async def read(self, *_: Any) -> Any:
            await asyncio.sleep(0)
            if len(outages) > 1:
                outages.pop(0).set()
            raise TelemetryError("gone")

    async def sleep(_: float) -> None:
        await asyncio.Event().wait()

    async def returned() -> None:
        await outages[0].wait()

    slow: Any = Slow()
    poller = Poller(slow, shown, ManualClock(NOW), SmallCluster(), sleep=sleep, returned=returned)
    task = asyncio.create_task(poller.run())
    for _ in range(50):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert poller.failures == 2, "asked again at once, and once"


async def test_details_are_read_for_the_open_page_only_and_go_with_it() -> None:
    details: list[str] = ["gpu-1"]
    poller, asked, shown, _ = rig(looking=lambda: Focus(nodes=tuple(details), details=tuple(details)))
    asked.rows = [*family(A, card_a(0)), *family({"DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 700.0}, card_a(0))]
    await poller.poll()
    told = shown.batches[-1]
    assert told.kind == Kind.GPU_DETAIL
    assert [(one.uuid, one.power_cap_watts) for one in told.changed] == [("GPU-gpu-1-0", 700.0)]
    details.clear()
    await poller.poll()
    assert shown.batches[-1].kind == Kind.GPU_DETAIL
    assert shown.batches[-1].removed == ("GPU-gpu-1-0",)
