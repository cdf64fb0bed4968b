"""Kernels between two samples: what the engine's mean and the counter of energy tell of them, and what is
only the way in which they are read."""

from itertools import accumulate

import msgspec
import pytest

from cockpit.model.trace import CardTrace, Line, PodTrace, Trace
from cockpit.triage.idle_jobs import why_not_idle
from cockpit.triage.idleness import IdleStanding, Judged, WorkSign, judge

POINTS = 181
END = 1_800_000_000.0
WINDOW_SECONDS = 3_600.0
REST_WATTS = 118.0
STILL = (0.0,) * POINTS


def _counter(watts: list[float]) -> Line:
    """A counter of energy at each minute, of the mean draw of the minute before."""
    return tuple(accumulate((one * 60.0 for one in watts[1:]), initial=7e6))


def _rests(**extra_watts: float) -> Line:
    """At rest, with so much more on average in the minute that lies `minus_N` minutes back."""
    watts = [REST_WATTS] * POINTS
    for place, more in extra_watts.items():
        watts[POINTS - 1 - int(place.removeprefix("minus_"))] += more
    return _counter(watts)


def _judged(**lines: Line) -> Judged:
    """What is told of one quiet card with these lines."""
    pod = PodTrace(uid="p", cpu_cores=STILL, receive=STILL, transmit=STILL, disk_read=STILL, disk_write=STILL)
    card = CardTrace(
        uuid="GPU-0", duty=STILL, memory_bytes=(3e10,) * POINTS, power_watts=(REST_WATTS,) * POINTS
    )
    card = msgspec.structs.replace(card, **lines)
    trace = Trace(
        end_seconds=END, step_seconds=60.0, cards=(card,), pods=(pod,), started_seconds=END - 50_000.0
    )
    return judge(trace, WINDOW_SECONDS)


def _told(found: Judged) -> tuple[IdleStanding, WorkSign | None, float | None]:
    last = found.last
    if last is None:
        return found.standing, None, None
    return found.standing, last.sign, (END - last.at_seconds) / 60.0


def _minutes_back(line: Line, values: dict[int, float | None]) -> Line:
    return tuple(values.get(POINTS - 1 - place, value) for place, value in enumerate(line))


def test_a_card_at_rest_is_idle_whether_or_not_its_energy_is_collected() -> None:
    assert _judged().standing is IdleStanding.IDLE
    assert _judged(energy_joules=_rests(), engine=STILL).standing is IdleStanding.IDLE


def test_requests_whose_kernels_no_sample_saw_are_work() -> None:
    """Two seconds at 600 W are 16 W more in the mean of the minute."""
    found = _judged(energy_joules=_rests(minus_20=16.0, minus_45=16.0))
    assert _told(found) == (IdleStanding.WORKING, WorkSign.ENERGY, 20.0)
    assert why_not_idle(found, END) == "it is not idle: a card drew more energy 20 min ago"


def test_what_a_card_wanders_by_is_no_work() -> None:
    watts = [REST_WATTS + 4.0 * (place % 3 - 1) for place in range(POINTS)]
    assert _judged(energy_joules=_counter(watts)).standing is IdleStanding.IDLE


def test_one_step_alone_may_be_an_interval_that_moved() -> None:
    assert _judged(energy_joules=_rests(minus_20=60.0)).standing is IdleStanding.IDLE
    far = _judged(energy_joules=_rests(minus_20=60.0, minus_90=60.0))
    assert far.standing is IdleStanding.IDLE, "two are told within an hour only"


@pytest.mark.parametrize("interval", [20, 25, 30, 45, 50])
def test_a_counter_read_at_intervals_that_do_not_fit_into_minutes_steps_not(interval: int) -> None:
    line = tuple(7e6 + REST_WATTS * (60 * place // interval * interval) for place in range(POINTS))
    assert _judged(energy_joules=line).standing is IdleStanding.IDLE


def test_a_counter_that_began_again_hides_how_much_was_drawn_and_shows_no_work() -> None:
    line = _rests()
    began = line[POINTS - 30] or 0.0
    again = tuple(
        (value or 0.0) - (began if place >= POINTS - 30 else 0.0) for place, value in enumerate(line)
    )
    assert min(again) == 0.0
    assert _judged(energy_joules=again).standing is IdleStanding.IDLE
    more = _judged(energy_joules=again, power_watts=(60.0,) * POINTS)
    assert more.standing is IdleStanding.IDLE, "how much was drawn over the window is not known"


def test_a_gap_of_the_counter_hides_no_work() -> None:
    gap: dict[int, float | None] = dict.fromkeys(range(10, 30))
    quiet = _judged(energy_joules=_minutes_back(_rests(), gap))
    assert quiet.standing is IdleStanding.IDLE
    found = _judged(energy_joules=_minutes_back(_rests(minus_20=60.0, minus_40=60.0), gap))
    assert found.standing is IdleStanding.WORKING, "what was drawn within it is in the next point"


def test_kernels_that_fall_between_all_samples_are_told_with_both_draws() -> None:
    found = _judged(energy_joules=_counter([REST_WATTS + 20.0] * POINTS))
    assert _told(found) == (IdleStanding.WORKING, WorkSign.HIDDEN, 0.0)
    assert why_not_idle(found, END) == (
        "it is not idle: a card drew 138 W on average, 118 W whenever it was sampled"
    )


def test_a_mean_draw_within_what_samples_are_wrong_by_hides_nothing() -> None:
    assert _judged(energy_joules=_counter([REST_WATTS * 1.09] * POINTS)).standing is IdleStanding.IDLE


def test_a_kernel_within_an_interval_is_seen_in_the_mean_of_the_engine() -> None:
    found = _judged(engine=_minutes_back(STILL, {12: 0.012}))
    assert _told(found) == (IdleStanding.WORKING, WorkSign.KERNEL, 12.0)
    assert _judged(engine=_minutes_back(STILL, {12: 0.009})).standing is IdleStanding.IDLE


def test_a_short_kernel_every_few_seconds_is_a_little_of_the_engine_all_the_time() -> None:
    assert _told(_judged(engine=(0.002,) * POINTS)) == (IdleStanding.WORKING, WorkSign.KERNEL, 0.0)
    now_and_then = tuple(0.002 if place % 3 == 0 else 0.0 for place in range(POINTS))
    assert _judged(engine=now_and_then).standing is IdleStanding.IDLE


def test_neither_line_makes_a_card_idle_that_reads_a_little_duty_all_the_time() -> None:
    found = _judged(duty=(0.01,) * POINTS, engine=STILL, energy_joules=_rests())
    assert _told(found) == (IdleStanding.WORKING, WorkSign.KERNEL, 0.0)
