"""What the page of a job says of its ranks: the slow, the missing, the hung; and its curves."""

import pytest

from cockpit.jobs.progress import Patterns
from cockpit.jobs.training.hang import CardUse, no_progress
from cockpit.jobs.training.run import TrainingRun
from cockpit.jobs.training.run_cache import RunShelf
from cockpit.jobs.training.start import beside, start_of
from cockpit.model.batch import Batch
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.record import Kind
from cockpit.views import training_panel
from cockpit.views.run_curves import (
    MIDDLE_LINES,
    SHORT_LINES,
    TALL_LINES,
    RunCurves,
    curve_lines,
    curves_of,
    number,
)
from tests.unit.jobs.training_logs import BEGUN, as_lines, log
from tests.unit.views.builders import card, pod, store

PATTERNS = Patterns(())


def run_of(lines: list[tuple[float, str]]) -> TrainingRun:
    found = TrainingRun(PATTERNS)
    found.take(as_lines(lines))
    return found


def steps(slow: int | None = None, ranks: int = 4, intervals: int = 30) -> list[tuple[float, str]]:
    return [
        (
            BEGUN + 10 * at + rank / 100,
            f"[{rank}]<stdout>:progress step={10 * at} steps=900 loss=1.5 seconds_per_step=1"
            f" compute_s={0.5 * (1.4 if rank == slow else 1.0) + 0.002 * ((at + rank) % 3)}"
            f" rank={rank} size={ranks}",
        )
        for at in range(1, intervals + 1)
        for rank in range(ranks)
    ]


def said(run: TrainingRun, now_seconds: float, **more: object) -> list[str]:
    lens = training_panel.lens_of(run, (), store(), now_seconds, is_running=True)
    return [f"{pair.name}: {pair.value}" for pair in training_panel.facts(lens)]


def test_all_is_well() -> None:
    assert said(run_of(steps()), BEGUN + 305) == []


def test_the_slow_rank_stands_with_how_sure_that_is() -> None:
    (line,) = said(run_of(steps(slow=2)), BEGUN + 305)
    assert line == "slow ranks: rank 2: 39 % slower before the all-reduce, certain"


def test_missing_ranks_stand_with_everyones_last_words_until_steps_come_again() -> None:
    lines = [
        *steps(),
        (BEGUN + 370, "[0]<stderr>:Missing ranks:"),
        (BEGUN + 370, "[0]<stderr>:3: [allreduce.a]"),
        (BEGUN + 371, "[1]<stderr>:Traceback (most recent call last)"),
    ]
    run = run_of(lines)
    told = said(run, BEGUN + 372)
    assert told[0] == "waiting: rank 3 missing: the others wait in a collective"
    assert told[1] == "progress stopped: no step for 1m10s, usually every 10s"
    assert told[2].startswith("last line: rank 3: progress step=300")
    assert "last line: rank 1: Traceback (most recent call last)" in told
    later = [(BEGUN + 400, "[0]<stdout>:progress step=310 steps=900 rank=0 size=4")]
    run.take(as_lines(later))
    assert said(run, BEGUN + 401) == []


def test_a_time_out_names_its_rank() -> None:
    run = run_of(
        [
            *steps(),
            (
                BEGUN + 900,
                "[2]<stderr>:[E1 x.cpp:1] [Rank 2] Watchdog caught collective operation timeout: W",
            ),
        ]
    )
    told = said(run, BEGUN + 310 + 900)
    assert "waiting: rank 2 timed out in a NCCL collective" in told
    assert told[1].startswith("progress stopped: no step for ")


GLOO = (
    "[2026-11-23 22:50:02.616039: E /tmp/horovod/common/operations.cc:697] [0]: Horovod background loop"
    " uncaught exception: [/tmp/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting"
    " 30000ms for recv operation to complete"
)


def timed_out(*ranks: int, size: int = 4) -> list[tuple[float, str]]:
    """A run in which these ranks waited in Gloo for 30 s, then said so."""
    return [*steps(ranks=size), *((BEGUN + 331 + rank / 100, f"[{rank}]<stderr>:{GLOO}") for rank in ranks)]


def test_the_rank_that_says_nothing_while_the_others_run_out_of_time_is_named() -> None:
    told = said(run_of(timed_out(0, 2, 3)), BEGUN + 340)
    assert told[0] == "waiting: rank 1 missing, likely: silent since ranks 0, 2-3 timed out in Gloo"
    assert told[1].startswith("last line: rank 1: progress step=300")
    (line, *_) = said(run_of(timed_out(0, size=2)), BEGUN + 340)
    assert line == "waiting: rank 1 missing, likely: silent since rank 0 timed out in Gloo"


def test_nobody_is_named_missing_who_speaks_or_where_half_of_the_ranks_are_silent() -> None:
    alive = (BEGUN + 332, "[1]<stdout>:stopping signal=SIGTERM rank=1")
    for lines in ([*timed_out(0, 2, 3), alive], timed_out(0, 1), timed_out(0, 1, 2, 3)):
        assert "missing" not in said(run_of(lines), BEGUN + 340)[0]


def test_a_start_after_the_last_step_is_waited_for_as_a_step_is() -> None:
    run = run_of([*steps(), (BEGUN + 900, "[0]<stdout>:started rank=0 size=4")])
    assert said(run, BEGUN + 930) == []
    (line, *_) = said(run, BEGUN + 970)
    assert line == "progress stopped: no step for 1m10s, usually every 10s"
    made = pod("w-0", gpus=2, role="worker", rank=0, started_seconds=BEGUN + 900)
    lens = training_panel.lens_of(run_of(steps()), (made,), store(), BEGUN + 930, is_running=True)
    assert training_panel.facts(lens) == []


BUSY_AND_COLD = CardUse(1.0, 0.22)


@pytest.mark.parametrize(
    ("moved", "usual", "now", "cards", "is_hang"),
    [
        (100.0, 3.0, 400.0, [BUSY_AND_COLD] * 4, True),
        (100.0, 3.0, 400.0, [BUSY_AND_COLD, CardUse(1.0, 0.8)], False),
        (100.0, 3.0, 400.0, [BUSY_AND_COLD, CardUse(0.2, 0.2)], False),
        (100.0, 3.0, 400.0, [BUSY_AND_COLD, CardUse(None, None)], False),
        (100.0, 3.0, 400.0, [], False),
        (100.0, 3.0, 140.0, [BUSY_AND_COLD], None),
        (100.0, 90.0, 400.0, [BUSY_AND_COLD], None),
        (None, 3.0, 400.0, [BUSY_AND_COLD], None),
        (100.0, None, 400.0, [BUSY_AND_COLD], None),
    ],
)
def test_a_hang_is_full_duty_low_power_and_no_step(
    moved: float | None, usual: float | None, now: float, cards: list[CardUse], is_hang: bool | None
) -> None:
    found = no_progress(moved, usual, now, cards)
    assert (None if found is None else found.is_hang) == is_hang


def test_a_hang_is_told_with_the_last_lines() -> None:
    member = pod("w-0", gpus=2, role="worker", rank=0)
    cards = [card(index, "w-0", duty=1.0, power_watts=140.0) for index in range(2)]
    details = [GpuDetail(uuid=one.uuid, node=one.node, power_cap_watts=700.0) for one in cards]
    made = store(member, *cards)
    made.apply(Batch(kind=Kind.GPU_DETAIL, changed=tuple(details)))
    lens = training_panel.lens_of(run_of(steps()), (member,), made, BEGUN + 700, is_running=True)
    told = [f"{pair.name}: {pair.value}" for pair in training_panel.facts(lens)]
    assert told[0] == (
        "hang: probably a hung collective: no step for 6m40s, usually every 10s;"
        " all 2 GPUs are at full duty, at 20% of the power limit at most"
    )
    assert told[1].startswith("last line: ranks 0-3: progress step=300")
    assert (
        training_panel.facts(training_panel.lens_of(run_of(steps()), (), made, BEGUN + 700, is_running=False))
        == []
    )


def test_the_parts_of_the_start_add_up() -> None:
    ends = {
        "queue": 102.0,
        "schedule": 110.0,
        "pull": None,
        "start": 137.0,
        "rendezvous": 148.0,
        "first step": 152.0,
    }
    found = start_of(100.0, ends)
    assert found is not None
    assert found.seconds == 52.0
    assert found.parts == {
        "queue": 2.0,
        "schedule": 8.0,
        "start": 27.0,
        "rendezvous": 11.0,
        "first step": 4.0,
    }
    assert sum(found.parts.values()) == found.seconds
    assert start_of(100.0, {**ends, "first step": None}) is None
    assert start_of(100.0, {"first step": 90.0}) is None


def test_a_start_among_others() -> None:
    assert beside(52.0, []) == (52.0, 1.0, 1)
    assert beside(70.0, [50.0, 60.0, 90.0]) == (65.0, 0.5, 4)


def test_curves_fill_their_room_exactly() -> None:
    run = run_of(log("own", 3).lines)
    curves = curves_of(run)
    assert curves.is_drawn
    for width, height in ((78, SHORT_LINES), (158, TALL_LINES), (400, MIDDLE_LINES)):
        drawn = curve_lines(curves, width, height)
        assert len(drawn) == height
        widths = {sum(len(piece.text) for piece in line) for line in drawn}
        assert len(widths) == 1 and max(widths) <= width
    assert curve_lines(RunCurves(), 80, 9) == []
    assert curve_lines(RunCurves(loss=(1.0, 1.0, 1.0)), 80, 2) != []


def test_numbers_keep_what_matters() -> None:
    assert [number(one) for one in (9919.4, 84.31, 2.1544, 1.2e-5)] == ["9,919", "84.3", "2.154", "1.2e-05"]


def test_the_shelf_keeps_the_newest_runs() -> None:
    shelf = RunShelf(2)
    first = shelf.open("a", "1", PATTERNS)
    first.take(as_lines([(BEGUN, "progress step=50 steps=200 rank=0 size=1")]))
    assert shelf.open("a", "1", PATTERNS) is first
    assert shelf.fractions() == {"a": 0.25}
    assert shelf.open("a", "2", PATTERNS) is not first
    shelf.open("b", "1", PATTERNS)
    shelf.open("c", "1", PATTERNS)
    assert shelf.of("a") is None and shelf.of("c") is not None
