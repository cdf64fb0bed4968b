"""Same seed, stepped clock, simulated runtime: the same event log byte for byte, in any process."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.sim.scenarios.loading import find, load, shipped
from tests.unit.sim.scenarios.event_log import digest, event_log
from tests.unit.sim.scenarios.play import small_fleet

ROOT = Path(__file__).resolve().parents[4]
SECONDS = {
    "two-nodes": 180, "late-gpus": 900, "gang-on-two": 480, "old-and-new": 240, "shared-and-mig": 240,
    "default": 420, "pool-wave": 1500, "bursty-day": 1200, "night-shift": 400, "bad-day": 240,
    "training": 60,
}  # fmt: skip
"""How long each is played; the fleet is played small."""


def test_every_scenario_is_played() -> None:
    assert set(shipped()) == {*SECONDS, "fleet"}


async def test_the_fleet_is_the_same_twice_and_another_with_another_seed() -> None:
    first = await event_log(small_fleet(changes_per_second=10), 3, 20)
    assert first == await event_log(small_fleet(changes_per_second=10), 3, 20)
    assert first != await event_log(small_fleet(changes_per_second=10), 4, 20)


@pytest.mark.parametrize("name", sorted(SECONDS))
async def test_the_same_seed_gives_the_same_log_byte_for_byte(name: str) -> None:
    scenario = load(find(name))
    here = await event_log(scenario, 11, SECONDS[name])
    assert len(here) > 50
    elsewhere = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tests.unit.sim.scenarios.event_log", name, "11", str(SECONDS[name])],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert elsewhere.stdout.strip() == digest(here)


@pytest.mark.parametrize("name", sorted(SECONDS))
async def test_another_seed_gives_another_log(name: str) -> None:
    scenario = load(find(name))
    assert await event_log(scenario, 1, 60) != await event_log(scenario, 2, 60)
