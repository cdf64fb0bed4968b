"""Idle told from work in shapes and under monitors that the rule was not chosen on; nothing was changed for
the seeds here. `GPU_COCKPIT_TRACES` asks for more of them."""

import os

import pytest

from cockpit.triage.idleness import IdleStanding, WorkSign, judge
from tests.unit.triage.field_traces import IDLE, LIVELY, MONITORS, Field, make

WINDOW_SECONDS = 1_800.0
TRACES = int(os.environ.get("GPU_COCKPIT_TRACES", "20"))
"""Of each shape."""
FIRST_SEED = 20_000
EVERY_MINUTES = 7


def _first_idle(field: Field) -> int | None:
    for minute in range(max(9, field.known_from), field.told.minutes, EVERY_MINUTES):
        if judge(field.until(minute), WINDOW_SECONDS).standing is IdleStanding.IDLE:
            return minute
    return None


@pytest.mark.parametrize("name", LIVELY)
def test_no_job_at_work_is_called_idle_whoever_measures(name: str) -> None:
    found = {}
    for at in range(TRACES):
        seed, monitor = FIRST_SEED + at, MONITORS[at % len(MONITORS)]
        field = make(seed, idle=False, name=name, monitor=monitor)
        if (minute := _first_idle(field)) is not None:
            found[seed] = (field.told.name, minute)
    assert found == {}


def test_what_is_idle_is_found_whoever_measures() -> None:
    missed, early = [], []
    seeds = [(FIRST_SEED + at, name) for name in IDLE for at in range(2 * TRACES)]
    for seed, name in seeds:
        field = make(seed, idle=True, name=name)
        minute = _first_idle(field)
        if minute is None:
            missed.append((seed, field.told.name))
        elif minute < (field.told.idle_from or 0):
            early.append((seed, field.told.name, minute))
    assert early == []
    assert len(missed) <= 0.05 * len(seeds), missed


def test_a_person_who_comes_back_every_hour_is_known_by_the_second_time() -> None:
    """The first hour cannot be told from the end of work."""
    field = make(FIRST_SEED, idle=False, name="hourly", monitor="whole")
    firsts = [judge(field.until(minute), WINDOW_SECONDS).standing for minute in range(9, field.known_from, 7)]
    assert IdleStanding.IDLE in firsts
    later = [
        judge(field.until(minute), WINDOW_SECONDS).standing
        for minute in range(field.known_from, field.told.minutes, 7)
    ]
    assert IdleStanding.IDLE not in later and IdleStanding.PAUSING in later


def test_ranks_that_spin_in_a_collective_are_told_as_at_work() -> None:
    field = make(FIRST_SEED, idle=False, name="collective_hang", monitor="whole")
    found = judge(field.until(field.told.minutes - 1), WINDOW_SECONDS)
    assert found.standing is IdleStanding.WORKING
    assert found.last is not None and found.last.sign is WorkSign.KERNEL
