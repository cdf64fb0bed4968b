"""Figures of the matrix of reliability: a test says which row it measures, and the page is made of what ran.

`@pytest.mark.row(16, "requests inside the window", most=0)` declares a figure with its goal, and the fixture
`figure` tells the value: `figure("requests inside the window", 0)`. A test may declare several. One that was
declared and is not told, or whose test fails, is missing on the page, and its row has not passed.

Where a row asks for more cases than `make test` has time for, the test tries `whole(10_000, 500)` of them and
declares their number in the unit "cases": with the few the page does not pass the row.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

FILE_VARIABLE = "GPU_COCKPIT_FIGURES"
"""The file to which a run appends its figures, a line of JSON each; unset, nothing is kept."""
WHOLE_VARIABLE = "GPU_COCKPIT_ROWS"
"""Set by the run that makes the page: every row is tried with all of its cases."""
TIMES = ("s", "ms", "us", "ns", "/s", "MB/h", "MB", "times")
"""Units of what depends on how busy the machine is, or on its allocator: judged on the page, never by the
test. *times* is a ratio of two times."""

CASES = "cases"
"""The unit of how many cases were tried: judged on the page too."""

Tell = Callable[[str, float], None]


def whole(full: int, few: int) -> int:
    """How many cases to try: `full` for the page and in `make test-all`, `few` in every other run."""
    return full if os.environ.get(WHOLE_VARIABLE) else few


@dataclass(frozen=True)
class Goal:
    """One figure of a row: what is measured, in which unit, and the bounds that it is to keep."""

    row: int
    what: str
    most: float | None = None
    least: float | None = None
    unit: str = ""

    def is_met(self, value: float) -> bool:
        """Whether `value` keeps the bounds."""
        return not (
            (self.most is not None and value > self.most) or (self.least is not None and value < self.least)
        )

    def worse(self, one: float, other: float) -> float:
        """Of two values the one that is nearer to missing the goal, or misses it by more."""
        return max(one, other) if self.most is not None else min(one, other)

    @property
    def is_for_the_page(self) -> bool:
        """Whether a busy machine, or a run of few cases, misses it without a fault of the product."""
        return self.unit in (*TIMES, CASES)


DECLARED = "declared"
"""The outcome of a test that was chosen for a run, until it has another."""


@dataclass(frozen=True)
class Told:
    """What one test said about a figure: its value, or None where it told none, and how the test ended."""

    goal: Goal
    test: str
    value: float | None
    outcome: str = "passed"


def goals_of(item: pytest.Item) -> list[Goal]:
    """What the test declares. Raises UsageError where a declaration has no bound, or no such row."""
    goals = [Goal(*mark.args, **mark.kwargs) for mark in item.iter_markers("row")]
    for goal in goals:
        if goal.most is None and goal.least is None:
            raise pytest.UsageError(f"{item.nodeid}: row {goal.row}: {goal.what!r} needs most= or least=")
    return goals


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Iterator[Tell]:
    """Tells a figure that the test declares; fails at once where a count misses its goal."""
    goals = {goal.what: goal for goal in goals_of(request.node)}
    told: dict[str, float] = {}
    request.node.stash[TOLD] = told

    def tell(what: str, value: float) -> None:
        goal = goals[what]
        told[what] = goal.worse(value, told.get(what, value))
        assert goal.is_for_the_page or goal.is_met(value), (
            f"row {goal.row}: {what}: {value} {goal.unit}, {goal}"
        )

    yield tell
    assert told.keys() == goals.keys(), f"declared and not told: {sorted(goals.keys() - told.keys())}"


def declare(items: Sequence[pytest.Item]) -> None:
    """Keeps what a run is to tell, so that one that is ended early has gaps that show."""
    if path := os.environ.get(FILE_VARIABLE):
        told = [Told(goal, item.nodeid, None, DECLARED) for item in items for goal in goals_of(item)]
        with Path(path).open("a") as lines:
            lines.writelines(json.dumps(asdict(one)) + "\n" for one in told)


TOLD = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Keeps what the test told as soon as it is known how it ended."""
    report: pytest.TestReport = yield
    if (path := os.environ.get(FILE_VARIABLE)) and (report.when == "call" or report.outcome != "passed"):
        told = item.stash.get(TOLD, {})
        for goal in goals_of(item):
            one = Told(goal, item.nodeid, told.get(goal.what), report.outcome)
            with Path(path).open("a") as lines:
                lines.write(json.dumps(asdict(one)) + "\n")
    return report


def read(path: Path) -> list[Told]:
    """Everything that runs appended to `path`; what was only declared where no run got to it."""
    trees = [json.loads(line) for line in path.read_text().splitlines()]
    found = [Told(Goal(**one["goal"]), one["test"], one["value"], one["outcome"]) for one in trees]
    ran = {(one.goal, one.test) for one in found if one.outcome != DECLARED}
    open_ = dict.fromkeys(one for one in found if (one.goal, one.test) not in ran)
    return [*(one for one in found if one.outcome != DECLARED), *open_]
