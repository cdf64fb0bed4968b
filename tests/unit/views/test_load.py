"""The last hour in a line: what is drawn, what is a gap, and how long anybody looked."""

from collections.abc import Sequence

import pytest
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Line

from cockpit.model.remembered import LoadSample
from cockpit.views.fleet import Fleet
from cockpit.views.load import LEAST_CHART_LINES, MOST_CHART_LINES, load_charts, load_line, load_sample
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
        job("f", state="scheduled", gpus_allocated=0, gpus_wanted=64),
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


def text(lines: Sequence[Line]) -> list[str]:
    return ["".join(cell.text for cell in line) for line in lines]


def test_a_chart_has_its_numbers_and_peaks_axes_names_and_what_can_be_had() -> None:
    past = [sample(ago, wanted=32 if ago > 30 else 16) for ago in range(1, 60)]
    heading, *rows = text(load_charts(past, sample(0), 120, 10))
    assert heading.rstrip() == (
        "Last hour  GPUs wanted 16, peak 32 · allocated 8, peak 8 · free 4, peak 4 · queue 1 job, peak 1"
    )
    assert [row.split()[0] for row in (rows[0], rows[3], rows[7])] == ["40", "20", "0"]
    assert {row.split()[-1] for row in rows if row.split()[-1].isalpha()} == {
        "wanted",
        "allocated",
        "capacity",
        "now",
    }
    assert rows[8].split() == ["└", "-59m", rows[8].split()[2], "-29m", rows[8].split()[4], "now"]
    beside = text(load_charts(past, sample(0), 200, 10))
    assert "queue 1 job, peak 1" in beside[0] and any(row.rstrip().endswith("wait") for row in beside)


def test_what_cannot_be_had_for_certain_is_no_line() -> None:
    now = LoadSample(NOW, 16, 8, None, 1)
    rows = text(load_charts([sample(ago) for ago in range(1, 60)], now, 120, 10))
    assert "free ?" in rows[0] and not any("capacity" in row for row in rows)


def test_a_few_minutes_are_a_line_and_no_chart() -> None:
    for minutes, count in ((9, 1), (10, 12)):
        assert len(load_charts([sample(minutes)], sample(0), 200, 12)) == count


@pytest.mark.parametrize(
    ("width", "height"), [(160, LEAST_CHART_LINES - 1), (36, 20), (200, -3)], ids=["low", "narrow", "none"]
)
def test_without_room_for_charts_it_is_the_line(width: int, height: int) -> None:
    past = [sample(ago) for ago in range(1, 60)]
    assert text(load_charts(past, sample(0), width, height)) == [load_line(past, sample(0), width)]
    assert text(load_charts((), sample(0), 200, 20)) == [load_line((), sample(0), 200)]


@pytest.mark.parametrize(("width", "height"), [(116, 9), (196, 12), (300, 40), (180, 8)])
def test_charts_stay_in_their_room(width: int, height: int) -> None:
    rows = text(load_charts([sample(ago) for ago in range(60)], sample(0), width, height))
    assert len(rows) == min(height, MOST_CHART_LINES) and {*map(width_of, rows)} == {width}
