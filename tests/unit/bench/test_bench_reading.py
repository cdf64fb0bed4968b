"""How the bench reads a screen and judges its ratios; the contestants themselves run in `make bench`."""

import pytest

from tests.bench import report, screen
from tests.bench.contest import Result
from tests.bench.screen import PAGE, Sight
from tests.bench.terminal import COLUMNS, Recording

KEYS = [f"team-ads/bert-tune-0001-worker-{rank}" for rank in range(400)]
RANKS = {key: rank for rank, key in enumerate(KEYS)}


def sight(seconds: float, rank: int, header: str = "") -> Sight:
    return Sight(seconds, 800, 57, header, KEYS[rank])


def drawn(rows: list[str], cursor: int, header: str = "bed · 3 nodes · live · ro") -> bytes:
    """A screen as a program draws it: header, rows, one of them on another background."""
    out = [f"\x1b[H\x1b[0m{header:<{COLUMNS}}"]
    for at, row in enumerate(rows):
        look = "\x1b[48;2;40;60;90m" if at == cursor else "\x1b[49m"
        out.append(f"\x1b[{at + 3};1H{look}  {row:<{COLUMNS - 2}}")
    return "".join(out).encode()


def test_the_cursor_and_the_rows_are_read_off_the_emulated_screen() -> None:
    recording = Recording(
        chunks=[
            (0.2, b"\x1b[2J\x1b[Hbed \xc2\xb7 connecting"),
            (0.5, drawn(KEYS[:8], 0, "bed · 3 nodes · pods listing 8 · ro")),
            (0.9, drawn(KEYS[:8], 3)),
        ]
    )
    sights, last = screen.replay(recording)
    assert [one.pod_rows for one in sights] == [0, 8, 8]
    assert [one.cursor for one in sights] == ["", KEYS[0], KEYS[3]]
    assert screen.first(sights, pod_rows=8) == 0.5
    assert screen.loaded_at(sights) == 0.9
    assert KEYS[7] in last[9]


def test_that_all_is_listed_is_told_by_a_chunk_in_which_escapes_part_the_word_from_others() -> None:
    assert screen.has_loaded("\x1b[95Capi 24 ms \xb7 live\x1b[139D\x1b[38;2;212;217;224m2,500".encode())
    assert not screen.has_loaded(b"\x1b[95Cpods listing 2,051\x1b[139Ddelivered")


def test_a_key_is_answered_by_the_first_screen_that_shows_its_effect() -> None:
    sights = [sight(1.0, 0), sight(1.1, 0), sight(1.3, 1), sight(1.5, 2)]
    found = screen.key_times(sights, [(1.05, "down"), (1.35, "down")], RANKS, 56, until_seconds=9.0)
    assert found.answered == pytest.approx((0.25, 0.15))
    assert found.lost == 0


def test_keys_that_wait_together_are_answered_when_the_cursor_has_come_so_far() -> None:
    sights = [sight(1.0, 0), sight(2.0, 1), sight(3.0, 3)]
    found = screen.key_times(sights, [(1.1, "down"), (1.2, "down")], RANKS, 56, until_seconds=9.0)
    assert found.answered == pytest.approx((0.9, 1.8))


def test_a_page_down_is_not_answered_by_a_small_step() -> None:
    sights = [sight(1.0, 0), sight(1.2, 1), sight(1.4, 56)]
    found = screen.key_times(sights, [(1.1, PAGE)], RANKS, 56, until_seconds=9.0)
    assert found.answered == pytest.approx((0.3,))


def test_a_key_that_nothing_answers_is_lost() -> None:
    found = screen.key_times([sight(1.0, 0), sight(5.0, 0)], [(1.1, "down")], RANKS, 56, until_seconds=9.0)
    assert (found.answered, found.lost) == ((), 1)


@pytest.mark.parametrize(
    ("values", "share", "expected"), [((), 0.99, None), ((3.0, 1.0, 2.0), 0.5, 2.0), (range(100), 0.99, 98)]
)
def test_percentiles_are_the_nearest_rank(values: tuple[float, ...], share: float, expected: float) -> None:
    assert screen.percentile(tuple(values), share) == expected


def test_goals_compare_medians_of_good_runs_and_say_what_was_missed() -> None:
    runs = [
        Result("cockpit", 1.0, 5.0, 100),
        Result("cockpit", 2.0, 9.0, 100),
        Result("cockpit", 3.0, 7.0, 100),
        Result("cockpit", 0.1, 0.1, 1, problem="no list"),
        Result("kubectl", 30.0, 35.0, 1_900),
    ]
    found = {goal.name: (goal.ratio, goal.verdict) for goal in report.goals(runs)}
    assert found["all usable, sooner than kubectl ends"] == (5.0, "met")
    assert found["memory, less than kubectl"] == (19.0, "missed")
    assert found["full screen, sooner than kubectl's first line"] == (15.0, "missed")
    assert found["all usable, to a bare read (request to end)"] == (None, "not run")


def test_an_upper_bound_is_missed_above_it() -> None:
    runs = [
        Result("cockpit", 1.0, 4.0, 1),
        Result("bare", 1.0, 2.2, 1, details={"from_request_seconds": 2.0}),
    ]
    found = {goal.name: goal.verdict for goal in report.goals(runs)}
    assert found["all usable, to a bare read (request to end)"] == "missed"
