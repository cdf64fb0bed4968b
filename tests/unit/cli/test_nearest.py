"""An unknown name is answered with the few that are nearest, never with all of three hundred."""

import pytest

from cockpit.nearest import MOST_LISTED, MOST_NAMES, nearest, nearest_words

CLOUD = [f"arn:aws:eks:eu-west-1:123456789012:cluster/train-{number:03}" for number in range(300)]
PLAIN = ["dev", "prod-eu", "prod-us", "staging"]


@pytest.mark.parametrize(
    ("wanted", "known", "first"),
    [
        ("train-117", CLOUD, "arn:aws:eks:eu-west-1:123456789012:cluster/train-117"),
        ("trian-117", CLOUD, "arn:aws:eks:eu-west-1:123456789012:cluster/train-117"),
        ("arn:aws:eks:eu-west-1:123456789012:cluster/train-042x", CLOUD, CLOUD[42]),
        ("pord-eu", PLAIN, "prod-eu"),
        ("PROD-US", PLAIN, "prod-us"),
        ("stage", PLAIN, "staging"),
    ],
)
def test_the_nearest_comes_first_and_few_are_named(wanted: str, known: list[str], first: str) -> None:
    found = nearest(wanted, known)
    assert found[0] == first
    assert len(found) <= MOST_NAMES
    assert nearest_words(wanted, known).startswith(f"did you mean {first}")


def test_where_none_is_alike_a_few_are_named_with_how_many_more() -> None:
    many = [f"{letter * 9}{number}" for number, letter in enumerate("abcdefghijklmnop" * 20)]
    assert nearest("0123-zzzz", many) == ()
    words = nearest_words("0123-zzzz", many)
    assert words.startswith("available: aaaaaaaaa0, ")
    assert words.endswith(" and 312 more")
    assert words.count(",") == MOST_LISTED - 1
    assert nearest_words("x", [], "known pools") == "known pools: none"


def test_a_name_with_control_codes_is_cleaned() -> None:
    assert "\x1b" not in nearest_words("prod", ["prod\x1b[2J"])
