"""What two checkouts took in turns is judged against the spread of the older one."""

from pathlib import Path

import pytest

from tests.bench import paired

OLD, NEW = Path("old"), Path("new")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((1.0, 1.0, 1.0), (1.04, 1.04, 1.04), False),
        ((1.0, 1.0, 1.0), (1.06, 1.06, 1.06), True),
        ((1.0, 1.0, 1.1), (1.06, 1.06, 1.06), False),  # an old run took longer
        ((1.0, 1.0, 1.0), (0.9, 1.0, 9.0), False),
    ],
)
def test_worse_is_beyond_five_percent_and_beyond_every_old_run(
    old: tuple[float, ...], new: tuple[float, ...], expected: bool
) -> None:
    assert paired.is_worse(old, new) is expected


def test_both_are_measured_in_turns_and_told_in_one_line() -> None:
    asked: list[Path] = []

    def measure(root: Path) -> paired.Found:
        asked.append(root)
        return {"work, s": 1.0 if root == OLD else 2.0, "not known, s": None}

    samples: paired.Samples = {}
    paired.taken(samples, 2, (OLD, NEW), measure)
    assert asked == [OLD, NEW, NEW, OLD]
    assert samples == {"work, s": ([1.0, 1.0], [2.0, 2.0])}
    line = " ".join(paired.table(samples)[1].split())
    assert line == "work, s 1 1 to 1 2 2 to 2 2.000 WORSE"
