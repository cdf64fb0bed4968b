"""The last hour in a line: what is drawn, what is a gap, and how long anybody looked."""

import pytest
from cockpit_widgets.text import width_of

from cockpit.model.remembered import LoadSample
from cockpit.views.fleet import Fleet
from cockpit.views.load import load_line, load_sample
from tests.unit.views.builders import NOW, job


def sample(
    minutes_ago: int, wanted: int = 16, allocated: int = 8, free: int = 4, queued: int = 1
) -> LoadSample:
    return LoadSample(NOW - 60 * minutes_ago, wanted, allocated, free, queued)


def test_what_jobs_want_and_what_the_fleet_has() -> None:
    jobs = [
        job("a", state="running", gpus_allocated=8, gpus_wanted=8),
        job("b", state="queued", gpus_allocated=0, gpus_wanted=16),
        job("c", state="pending", gpus_allocated=0, gpus_wanted=None),
        job("d", state="suspended", gpus_allocated=0, gpus_wanted=64),
        job("e", state="succeeded", gpus_allocated=0, gpus_wanted=64),
    ]
    fleet = Fleet(gpus=24, busy=8, free=16)
    assert load_sample(fleet, jobs, NOW) == LoadSample(NOW, 24, 8, 16, 2)
    assert load_sample(Fleet(unseen=3), jobs, NOW).free_gpus is None


def test_without_a_past_there_are_numbers_and_no_curve() -> None:
    said = "Now  GPUs wanted 16  allocated 8  free 4  queue 1 job"
    assert load_line((), sample(0), 200) == said


def test_it_says_for_how_long_anybody_looked_and_leaves_gaps() -> None:
    said = load_line((sample(4, 8, 8, 0, 0), sample(3)), sample(0), 200)
    assert said.startswith("Last 4 min  GPUs wanted 16 ")
    curve = said.split("wanted 16 ")[1].split("  allocated")[0]
    assert len(curve) == 5 and curve[0] != curve[-1] == curve[1]
    assert curve[2] == curve[3] and curve[2] not in "▁▂▃▄▅▆▇█"


def test_an_hour_is_called_so_and_what_is_older_or_to_come_is_left_out() -> None:
    past = [sample(ago) for ago in range(1, 200)]
    said = load_line([*past, sample(-5, 9_999)], sample(0), 160)
    assert said.startswith("Last hour  GPUs wanted 16 ") and "9" not in said


@pytest.mark.parametrize("width", [40, 60, 80, 100, 118, 198])
def test_curves_shrink_with_the_width(width: int) -> None:
    said = load_line([sample(ago) for ago in range(60)], sample(0), width)
    assert width_of(said) <= max(width, 60)
    assert "queue 1 job" in said
