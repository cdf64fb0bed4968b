"""What a seed draws of a heavy comparison: about half, the same again, and another half for another seed."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.conftest import drawn
from tests.real import ON_OLDER, ROOT, has_time_left, seed_of, suites

NAMES = [f"test_both_say_the_same[play_{number}]" for number in range(400)]


@given(st.text(min_size=1, max_size=12), st.integers(1, 400))
def test_half_and_the_same_again_and_never_nothing(seed: str, count: int) -> None:
    part = drawn(seed, NAMES[:count])
    assert len(part) == (count + 1) // 2
    assert part == drawn(seed, NAMES[:count]) <= set(NAMES)


def test_every_play_has_its_turn_within_a_dozen_commits() -> None:
    assert set().union(*(drawn(f"{number:040x}", NAMES) for number in range(16))) == set(NAMES)


def test_the_seed_is_the_commit() -> None:
    assert seed_of("0123456789abcdef\n") == "0123456789ab"
    assert seed_of("") == "none"


def test_a_cold_run_needs_no_older_engines_and_a_whole_one_plays_both_generations() -> None:
    part, whole = suites(is_whole=False), suites(is_whole=True)
    older = {name for name in whole if re.search(r"\bOLDER\b", _text(name)) or name.endswith(ON_OLDER)}
    assert older == set(whole) - set(part)
    assert "tests/differential/test_queue_words_real.py" in older
    assert "tests/tui/test_kueue_topology_real.py" + ON_OLDER in older
    assert "tests/tui/test_kueue_topology_real.py" in part


def _text(suite: str) -> str:
    path = ROOT / suite.removesuffix(ON_OLDER)
    return path.read_text() if path.is_file() else ""


def stat(user: int, system: int, idle: int, waiting: int) -> str:
    return f"cpu  {user} 0 {system} {idle} {waiting} 0 0 0 0 0\ncpu0 1 2 3\n"


def test_another_suite_begins_while_the_machine_has_time_left() -> None:
    before = stat(100, 50, 1000, 10)
    assert has_time_left(before, stat(150, 80, 1020, 10))  # 80 of 100 used
    assert has_time_left(before, stat(150, 80, 1010, 20)), "who waits for a disk uses no processor"
    assert not has_time_left(before, stat(160, 85, 1005, 10))  # 95 of 100
    assert has_time_left("", stat(1, 1, 1, 1)), "not known"
