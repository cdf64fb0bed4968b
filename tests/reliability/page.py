"""`docs/reliability.md`: the rows of the matrix, and what the run measured of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from tests.reliability.figures import DECLARED, Goal, Told

MATRIX = Path(__file__).with_name("matrix.md")
"""The rows as they were set: fault, how it is injected, what is expected, and the goal."""

NOT_RUN: Mapping[int, str] = {}
"""Why a row has no figure."""


@dataclass(frozen=True)
class Row:
    """A row of the matrix, in the words of the matrix."""

    number: int
    fault: str
    goal: str


def rows(text: str) -> list[Row]:
    """The rows of a table like the matrix."""
    cells = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in text.splitlines()]
    return [Row(int(row[0]), row[1], row[-1]) for row in cells if row[0].isdigit()]


def number(value: float) -> str:
    """Digits as a reader wants them."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def bounds(goal: Goal) -> str:
    """Of a figure: what it is to keep."""
    limits = (("<=", goal.most), (">=", goal.least))
    found = [f"{word} {number(bound)}" for word, bound in limits if bound is not None]
    return " and ".join(found) + (f" {goal.unit}" if goal.unit else "")


def measured(told: Sequence[Told]) -> tuple[bool, list[str]]:
    """Whether every figure of a row was told within its bounds, and each of them in words."""
    by_goal: dict[Goal, list[Told]] = {}
    for one in told:
        by_goal.setdefault(one.goal, []).append(one)
    good, said = True, list[str]()
    for goal, found in by_goal.items():
        bad = [one.test for one in found if one.outcome == "failed" or one.value is None]
        if bad or not found:
            good = False
            said.append(f"{goal.what}: not told by {bad[0].rsplit('/', 1)[-1]}")
            continue
        worst = reduce(goal.worse, (one.value for one in found if one.value is not None))
        good = good and goal.is_met(worst)
        unit = f" {goal.unit}" if goal.unit else ""
        said.append(f"{goal.what}: {number(worst)}{unit} ({bounds(goal)})")
    return good, said


def state(row: int, told: Sequence[Told]) -> tuple[str, str]:
    """*passed*, *failed* or *not run*, with the figures or the reason."""
    ran = [one for one in told if one.outcome != "skipped"]
    if all(one.outcome == DECLARED for one in ran):
        return "not run", NOT_RUN.get(row, "no test of this run measures it")
    good, said = measured(ran)
    return "passed" if good else "failed", "; ".join(said)


def page(told: Sequence[Told], how: str) -> str:
    """The whole page. `how`: one sentence about the run."""
    all_rows = rows(MATRIX.read_text())
    lines = list[str]()
    counts = dict.fromkeys(("passed", "failed", "not run"), 0)
    for row in all_rows:
        of_row = [one for one in told if one.goal.row == row.number]
        verdict, said = state(row.number, of_row)
        counts[verdict] += 1
        measuring = of_row if verdict != "not run" else []
        tests = sorted({one.test.split("[")[0].rsplit("/", 1)[-1] for one in measuring})
        by = " ".join(f"`{one}`" for one in tests)
        lines.append(f"| {row.number} | {row.fault} | {row.goal} | {verdict} | {said} | {by} |")
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    head = [
        "# What breaks, and what the cockpit does then",
        "",
        f"{len(all_rows)} faults and the goal for each; {total}. {how} A row has passed when each of its "
        "figures was measured and is within its bounds, which stand in brackets; of several measurements the "
        "worst is told.",
        "",
        "| # | fault | goal | state | measured | by |",
        "| ---: | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *lines]) + "\n"
