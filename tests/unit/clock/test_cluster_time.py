"""What the clock makes of the times that a server says."""

from email.utils import formatdate

import pytest

from cockpit.clock import ClusterTime, ManualClock
from cockpit.kube.server_time import said_time
from tests.reliability.figures import Tell

LATENCY = 0.02


def ask(clock: ManualClock, ahead: float, *, latency: float = LATENCY) -> None:
    """One answer with a date of whole seconds, from a server whose clock is `ahead` of ours."""
    asked = clock.now()
    clock.advance(latency / 2)
    said = said_time(formatdate(clock.now() + ahead, usegmt=True))
    clock.advance(latency / 2)
    assert said is not None
    clock.hear(said, asked, clock.now())


def test_until_a_server_spoke_its_time_is_ours() -> None:
    clock = ManualClock()
    assert (clock.cluster_now(), clock.cluster_pace()) == (clock.now(), 1.0)


def test_clocks_that_agree_are_never_corrected() -> None:
    clock = ManualClock(1_790_000_000.3)
    for _ in range(20):
        ask(clock, 0.0)
        clock.advance(10.37)
        assert clock.cluster_now() == clock.now()


@pytest.mark.row(29, "age error where a clock is wrong", most=2)
@pytest.mark.parametrize("ahead", [3_600.0, -3_600.0, -185.5, 7.25])
def test_a_server_ahead_or_behind_is_known_within_a_second_and_soon_better(
    ahead: float, figure: Tell
) -> None:
    clock = ManualClock(1_790_000_000.3)
    ask(clock, ahead)
    figure("age error where a clock is wrong", abs(clock.cluster_now() - clock.now() - ahead))
    assert abs(clock.cluster_now() - clock.now() - ahead) <= 1.0
    for _ in range(20):
        clock.advance(10.37)
        ask(clock, ahead)
    assert abs(clock.cluster_now() - clock.now() - ahead) <= 0.2


def test_a_slow_answer_moves_nothing_that_it_does_not_contradict() -> None:
    clock = ManualClock(1_790_000_000.3)
    ask(clock, 100.0)
    before = clock.cluster_now() - clock.now()
    ask(clock, 100.0, latency=8.0)
    assert clock.cluster_now() - clock.now() == before


class OfAHost(ManualClock):
    """Its wall time can be set, and runs on while the host sleeps; what is monotonic does neither."""

    def set(self, seconds: float) -> None:
        """Set the wall time by so much."""
        self._now += seconds


@pytest.mark.row(29, "age error after a jump or a sleep", most=2)
@pytest.mark.parametrize("jump", [3_600.0, -3_600.0, 86_400.0, -86_400.0])
def test_a_clock_that_jumps_and_a_host_that_sleeps(jump: float, figure: Tell) -> None:
    """A clock that is set is known by the next answer; one that ran on while the host slept was right."""
    clock = OfAHost(1_790_000_000.3)
    ask(clock, 0.0)
    clock.set(jump)
    ask(clock, -jump)
    figure("age error after a jump or a sleep", abs(clock.cluster_now() - (clock.now() - jump)))
    for _ in range(20):
        clock.set(8 * 3_600.0)
        figure("age error after a jump or a sleep", abs(clock.cluster_now() - (clock.now() - jump)))
        ask(clock, -jump)
        figure("age error after a jump or a sleep", abs(clock.cluster_now() - (clock.now() - jump)))


def test_a_clock_of_ours_that_was_set_is_noticed_with_the_next_answer() -> None:
    clock = ManualClock(1_790_000_000.3)
    ask(clock, 0.0)
    clock.advance(300.0)  # set forward: the server's runs on as it did
    ask(clock, -300.0)
    assert abs(clock.cluster_now() - clock.now() + 300.0) <= 1.0


def test_a_demo_says_its_time_exactly_and_how_fast_it_runs() -> None:
    clock = ManualClock()
    said = said_time("", f"{clock.now() - 3_000.0:.6f}; pace=60")
    assert said is not None
    clock.hear(said, clock.now(), clock.now())
    assert clock.cluster_now() == pytest.approx(clock.now() - 3_000.0, abs=1e-5)
    clock.advance(2.0)
    assert clock.cluster_now() == pytest.approx(clock.now() - 3_000.0 + 118.0, abs=1e-5)
    assert clock.cluster_pace() == 60.0


def test_after_a_demo_a_real_cluster_is_read_by_our_pace_again() -> None:
    clock = ManualClock()
    clock.hear(ClusterTime(clock.now() + 9_000.0, 0.0, 60.0), clock.now(), clock.now())
    ask(clock, 0.0)
    assert clock.cluster_pace() == 1.0
    assert abs(clock.cluster_now() - clock.now()) <= 1.0


@pytest.mark.parametrize(
    "said",
    [
        ClusterTime(float("nan")),
        ClusterTime(float("inf")),
        ClusterTime(-5.0),
        ClusterTime(1e300),
        ClusterTime(1_790_000_000.0, 0.0, 0.0),
        ClusterTime(1_790_000_000.0, 0.0, -3.0),
        ClusterTime(1_790_000_000.0, 0.0, float("nan")),
        ClusterTime(1_790_000_000.0, 0.0, float("inf")),
    ],
)
def test_a_time_that_no_clock_has_is_not_believed(said: ClusterTime) -> None:
    clock = ManualClock()
    clock.hear(said, clock.now(), clock.now())
    assert (clock.cluster_now(), clock.cluster_pace()) == (clock.now(), 1.0)


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT", "\x1b[31m", "0" * 9_000])
@pytest.mark.parametrize("demo", ["", "x", "1; pace=", "; pace=3", "1790000000"])
def test_headers_that_say_nothing_say_nothing(date: str, demo: str) -> None:
    assert said_time(date, demo) is None
