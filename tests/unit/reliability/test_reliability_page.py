"""The page of reliability: the matrix in its own words, and no row passed without a figure."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.reliability.figures import DECLARED, Goal, Told, read
from tests.reliability.page import MATRIX, rows, state

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reliability.md"
SOURCE = ROOT.parent / "shared" / "reference" / "reliability.md"
GOAL = Goal(16, "requests inside the window", most=0)
RETURN = Goal(6, "the return", most=5, unit="s")


def cells(text: str) -> list[tuple[str, ...]]:
    found = [
        tuple(cell.strip() for cell in line.strip().strip("|").split(" | ")) for line in text.splitlines()
    ]
    return [row for row in found if row[0].isdigit()]


def test_the_page_has_every_fault_and_goal_word_for_word() -> None:
    matrix = rows(MATRIX.read_text())
    assert [row.number for row in matrix] == list(range(1, 69))
    assert [(int(row[0]), *row[1:3]) for row in cells(PAGE.read_text())] == [
        (row.number, row.fault, row.goal) for row in matrix
    ]


@pytest.mark.skipif(
    not SOURCE.exists(), reason="the text that the matrix was taken from lies beside the checkout"
)
def test_the_matrix_is_the_one_that_was_set() -> None:
    assert set(MATRIX.read_text().splitlines()) <= set(SOURCE.read_text().splitlines())


def test_a_row_that_ran_names_a_figure_with_its_bound_and_a_test_that_exists() -> None:
    names = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for number, _fault, _goal, verdict, said, by in cells(PAGE.read_text()):
        assert verdict in ("passed", "failed", "not run"), number
        if verdict != "not run":
            assert "=" in said or verdict == "failed", number
            assert said and any(digit.isdigit() for digit in said), number
            assert by and {word.strip("`").split("::")[0] for word in by.split()} <= names, number
        else:
            assert said and not by, number


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ([], "not run"),
        ([Told(GOAL, "t.py::a", 0)], "passed"),
        ([Told(GOAL, "t.py::a", 0), Told(GOAL, "t.py::b", 1)], "failed"),
        ([Told(GOAL, "t.py::a", 0), Told(RETURN, "t.py::b", None)], "failed"),
        ([Told(GOAL, "t.py::a", 0, "failed")], "failed"),
        ([Told(RETURN, "t.py::a", 4.9), Told(GOAL, "t.py::a", None, "skipped")], "passed"),
        ([Told(GOAL, "t.py::a", None, "skipped")], "not run"),
        ([Told(GOAL, "t.py::a", None, DECLARED)], "not run"),
        ([Told(RETURN, "t.py::a", 4.9), Told(GOAL, "t.py::b", None, DECLARED)], "failed"),
        ([Told(RETURN, "t.py::a", 5.1)], "failed"),
    ],
)
def test_a_row_passes_only_with_every_figure_within_its_bound(told: list[Told], verdict: str) -> None:
    assert state(6, told)[0] == verdict


def test_what_a_run_kept_is_read_back(tmp_path: Path) -> None:
    kept = tmp_path / "figures"
    told = [Told(GOAL, "t.py::a", 0.5), Told(RETURN, "t.py::b", None, "failed")]
    kept.write_text("".join(json.dumps(asdict(one)) + "\n" for one in told))
    assert read(kept) == told
    declared = [Told(one.goal, one.test, None, DECLARED) for one in told]
    gap = Told(RETURN, "t.py::c", None, DECLARED)
    lines = [*declared, gap, *told, gap]  # each worker declares
    kept.write_text("".join(json.dumps(asdict(one)) + "\n" for one in lines))
    assert read(kept) == [*told, gap]
