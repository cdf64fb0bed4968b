"""Small changes come at the scenario's pace however late the timers are; a long sleep is not made up for."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.sim.scenarios.scenario_player import ScenarioPlayer


class Beat:
    """A story's changes alone: `at` a moment so many of them were sent."""

    def __init__(self, per_second: float) -> None:
        self.now, self.sent, self.pods = 1_000.0, 0, [("default", "a"), ("default", "b")]
        self.story = ScenarioPlayer.__new__(ScenarioPlayer)
        made: dict[str, Any] = {
            "scenario": SimpleNamespace(churn=SimpleNamespace(per_second=per_second)),
            "_engine": SimpleNamespace(
                after=lambda *_: None,
                cache=lambda _: SimpleNamespace(keys=lambda: self.pods),
                now=lambda: self.now,
                random=Random(1),
                port=SimpleNamespace(patch=self._patch),
            ),
            "_count": 0,
            "_churned_until": 0.0,
        }
        for name, value in made.items():
            setattr(self.story, name, value)

    async def _patch(self, *_: object) -> None:
        self.sent += 1

    async def after(self, seconds: float) -> int:
        """How many are sent at a tick so much later."""
        before = self.sent
        self.now += seconds
        await self.story._churn()
        return self.sent - before


@pytest.mark.parametrize("late", [0.0, 0.003, 0.05, 0.4])
async def test_late_timers_do_not_slow_the_changes(late: float) -> None:
    beat = Beat(500)
    await beat.after(0.1)
    began, sent = beat.now, beat.sent
    for _ in range(200):
        await beat.after(0.1 + late)
    assert abs((beat.sent - sent) - 500 * (beat.now - began)) <= 1


@pytest.mark.parametrize("per_second", [0.1, 0.7, 3.0])
async def test_a_slow_pace_is_kept_as_well(per_second: float) -> None:
    beat = Beat(per_second)
    for _ in range(1_200):
        await beat.after(0.1)
    assert beat.sent == pytest.approx(per_second * 120, abs=1)


async def test_a_long_sleep_is_not_made_up_for() -> None:
    beat = Beat(500)
    await beat.after(0.1)
    assert await beat.after(60) == 500


async def test_without_pods_nothing_is_owed() -> None:
    beat = Beat(500)
    beat.pods = []
    assert await beat.after(30) == 0
    beat.pods = [("default", "late")]
    assert await beat.after(0.1) == 50
