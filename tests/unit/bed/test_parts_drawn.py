"""What a seed draws of a heavy comparison: about half, the same again, and another half for another seed."""

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.conftest import is_drawn
from tests.real import seed_of

NAMES = [f"test_both_say_the_same[play_{number}]" for number in range(400)]


def drawn(seed: str) -> set[str]:
    return {name for name in NAMES if is_drawn(seed, name)}


@given(st.text(min_size=1, max_size=12))
def test_about_half_and_the_same_again(seed: str) -> None:
    assert 120 < len(drawn(seed)) < 280
    assert drawn(seed) == drawn(seed)


def test_every_play_has_its_turn_within_a_dozen_commits() -> None:
    assert set().union(*(drawn(f"{number:040x}") for number in range(16))) == set(NAMES)


def test_the_seed_is_the_commit() -> None:
    assert seed_of("0123456789abcdef\n") == "0123456789ab"
    assert seed_of("") == "none"
