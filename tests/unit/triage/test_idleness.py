"""Idle is told from starts, pauses for data, checkpoints and notebooks. Rules and thresholds were chosen on
seeds 0 to 250 and 1,000 to 1,500; nothing was changed for any of the seeds here."""

from typing import Any

import msgspec
import pytest

from cockpit.model.trace import CardTrace, PodTrace, Trace
from cockpit.triage.idleness import IdleStanding, Judged, WorkSign, judge
from tests.unit.triage.job_traces import LIVELY, Told, make

WINDOW_SECONDS = 1_800.0
SEEDS = range(3_000, 3_500)
PARTS = 5
EVERY_MINUTES = 7
FIRST_MINUTE = 9


def _moments(told: Told) -> range:
    return range(FIRST_MINUTE, told.minutes, EVERY_MINUTES)


def _first_idle(told: Told) -> int | None:
    """The minute in which the job is called idle for the first time."""
    for minute in _moments(told):
        if judge(told.until(minute), WINDOW_SECONDS).standing is IdleStanding.IDLE:
            return minute
    return None


@pytest.mark.parametrize("part", range(PARTS))
def test_no_job_that_starts_loads_data_writes_checkpoints_or_runs_cells_is_called_idle(part: int) -> None:
    found = {}
    names = set()
    for seed in SEEDS[part::PARTS]:
        told = make(seed, idle=False)
        names.add(told.name)
        if (minute := _first_idle(told)) is not None:
            found[seed] = (told.name, minute)
    assert found == {}
    assert names == set(LIVELY)


def test_what_is_really_idle_is_found_and_not_before_it_is() -> None:
    early: list[int] = []
    missed: list[int] = []
    seeds = SEEDS[:200]
    for seed in seeds:
        told = make(seed, idle=True)
        minute = _first_idle(told)
        assert told.idle_from is not None
        if minute is None:
            missed.append(seed)
        elif minute < told.idle_from:
            early.append(seed)
    assert early == []
    assert len(missed) <= 0.05 * len(seeds), missed


# ---- each rule by itself


def _idle_trace() -> Trace:
    """Idle for more than an hour, without noise worth the name."""
    told = next(one for seed in range(50) if (one := make(seed, idle=True)).idle_from and one.idle_from > 60)
    trace = told.until(told.minutes - 1)
    assert judge(trace, WINDOW_SECONDS).standing is IdleStanding.IDLE
    return trace


def _with_pod(trace: Trace, **lines: Any) -> Trace:
    first, *others = trace.pods
    return msgspec.structs.replace(trace, pods=(msgspec.structs.replace(first, **lines), *others))


def _with_card(trace: Trace, **lines: Any) -> Trace:
    first, *others = trace.cards
    return msgspec.structs.replace(trace, cards=(msgspec.structs.replace(first, **lines), *others))


def _late(line: tuple[float | None, ...], value: float | None, points: int = 1) -> tuple[float | None, ...]:
    """The line with another value ten minutes ago."""
    at = len(line) - 10 - points
    return (*line[:at], *([value] * points), *line[at + points :])


@pytest.mark.parametrize("field", ["cpu_cores", "receive", "transmit", "disk_read", "disk_write"])
@pytest.mark.parametrize("is_gone", ["never collected", "all missing"])
def test_what_nobody_collects_of_a_pod_keeps_it_from_being_idle(field: str, is_gone: str) -> None:
    trace = _idle_trace()
    line = () if is_gone == "never collected" else tuple(None for _ in getattr(trace.pods[0], field))
    found = judge(_with_pod(trace, **{field: line}), WINDOW_SECONDS)
    assert found.standing is IdleStanding.UNKNOWN
    assert found.missing in (("CPU",), ("network",), ("disk",))


@pytest.mark.parametrize("field", ["duty", "memory_bytes"])
def test_what_nobody_collects_of_a_card_keeps_it_from_being_idle(field: str) -> None:
    found = judge(_with_card(_idle_trace(), **{field: ()}), WINDOW_SECONDS)
    assert found.standing is IdleStanding.UNKNOWN
    assert found.missing == (("duty",) if field == "duty" else ("GPU memory",))


def test_a_job_of_which_cards_are_missing_is_not_idle() -> None:
    trace = _idle_trace()
    assert (
        judge(msgspec.structs.replace(trace, is_whole=False), WINDOW_SECONDS).standing is IdleStanding.UNKNOWN
    )
    assert judge(msgspec.structs.replace(trace, cards=()), WINDOW_SECONDS).standing is IdleStanding.UNKNOWN


@pytest.mark.parametrize(
    ("field", "value", "sign"),
    [
        ("cpu_cores", 1.0, WorkSign.CPU),
        ("receive", 2.0**20, WorkSign.NETWORK),
        ("transmit", 2.0**20, WorkSign.NETWORK),
        ("disk_read", 2.0**22, WorkSign.DISK),
        ("disk_write", 2.0**22, WorkSign.DISK),
    ],
)
def test_work_of_a_pod_within_the_window_is_work_of_the_job(field: str, value: float, sign: WorkSign) -> None:
    trace = _idle_trace()
    found = judge(_with_pod(trace, **{field: _late(getattr(trace.pods[0], field), value)}), WINDOW_SECONDS)
    assert (found.standing, found.last and found.last.sign) == (IdleStanding.WORKING, sign)
    assert found.since_seconds == trace.end_seconds - 10 * trace.step_seconds


def test_a_kernel_a_rise_of_memory_or_of_power_is_work() -> None:
    trace = _idle_trace()
    duty = judge(_with_card(trace, duty=_late(trace.cards[0].duty, 0.3)), WINDOW_SECONDS)
    assert _told(duty) == (IdleStanding.WORKING, WorkSign.KERNEL)
    memory = trace.cards[0].memory_bytes
    risen = judge(
        _with_card(trace, memory_bytes=_late(memory, (memory[-1] or 0.0) + 2.0**30)), WINDOW_SECONDS
    )
    assert _told(risen) == (IdleStanding.WORKING, WorkSign.MEMORY)
    power = trace.cards[0].power_watts
    drawn = judge(_with_card(trace, power_watts=_late(power, 3 * (power[-1] or 0.0))), WINDOW_SECONDS)
    assert _told(drawn) == (IdleStanding.WORKING, WorkSign.POWER)


def _told(found: Judged) -> tuple[IdleStanding, WorkSign | None]:
    return found.standing, found.last.sign if found.last else None


def test_a_step_in_the_log_is_work() -> None:
    trace = _idle_trace()
    told = msgspec.structs.replace(trace, progress_seconds=trace.end_seconds - 60.0)
    assert _told(judge(told, WINDOW_SECONDS)) == (IdleStanding.WORKING, WorkSign.PROGRESS)


def test_a_gap_that_may_hide_work_is_not_idle_and_a_short_one_is() -> None:
    trace = _idle_trace()
    gap = judge(_with_card(trace, duty=_late(trace.cards[0].duty, None, 4)), WINDOW_SECONDS)
    assert _told(gap) == (IdleStanding.UNKNOWN, WorkSign.UNMEASURED)
    short = judge(_with_card(trace, duty=_late(trace.cards[0].duty, None, 3)), WINDOW_SECONDS)
    assert short.standing is IdleStanding.IDLE


def test_a_member_on_its_way_and_a_container_that_just_began_keep_the_job() -> None:
    trace = _idle_trace()
    waits = judge(msgspec.structs.replace(trace, coming=1), WINDOW_SECONDS)
    assert (waits.standing, waits.coming) == (IdleStanding.STARTING, 1)
    began = msgspec.structs.replace(trace, started_seconds=trace.end_seconds - 3_000.0)
    assert judge(began, WINDOW_SECONDS).standing is IdleStanding.STARTING
    assert (
        judge(msgspec.structs.replace(trace, started_seconds=None), WINDOW_SECONDS).standing
        is IdleStanding.UNKNOWN
    )


def test_a_pause_as_long_as_it_made_before_is_a_habit() -> None:
    """Two hours ago it paused for 40 minutes: it is quiet for 35 minutes now."""
    points = 181
    quiet = [0.0] * points
    busy = [*range(60), *range(100, 146)]
    duty = [0.8 if at in busy else 0.0 for at in range(points)]
    trace = _idle_trace()
    card = CardTrace(uuid="GPU-0", duty=tuple(duty), memory_bytes=(2.0**30,) * points, power_watts=())
    line = tuple(quiet)
    pod = PodTrace(uid="pod-0", cpu_cores=line, receive=line, transmit=line, disk_read=line, disk_write=line)
    paused = Trace(
        end_seconds=trace.end_seconds, step_seconds=60.0, cards=(card,), pods=(pod,), started_seconds=0.0
    )
    found = judge(paused, WINDOW_SECONDS)
    assert found.standing is IdleStanding.PAUSING
    assert (found.pause_seconds, found.needed_seconds) == (40 * 60.0, 80 * 60.0)


def test_a_card_that_draws_as_much_as_at_work_is_not_believed_to_be_idle() -> None:
    trace = _idle_trace()
    points = len(trace.cards[0].duty)
    duty = tuple(0.9 if at < 20 else 0.0 for at in range(points))
    drawn = _with_card(trace, duty=duty, power_watts=(400.0,) * points)
    assert judge(drawn, WINDOW_SECONDS).standing is IdleStanding.UNKNOWN
