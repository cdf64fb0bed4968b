"""SECURITY.md: each claim names tests, and each test that it names exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "SECURITY.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
SECTIONS = (
    "A hostile cluster",
    "A hostile metrics server",
    "A hostile kubeconfig",
    "A shared host",
    "The exporter",
    "Roles and supply",
)


def claims(text: str) -> dict[str, list[list[tuple[str, str]]]]:
    """Section -> of each row of its table the tests that it names."""
    found: dict[str, list[list[tuple[str, str]]]] = {}
    for section in text.split("\n## ")[1:]:
        rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
        found[section.partition("\n")[0]] = [NAMED.findall(row) for row in rows]
    return found


def functions_in(path: Path) -> set[str]:
    """Names of the test functions of a module."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def missing(text: str) -> list[str]:
    """What the page names and the suites do not have."""
    named = NAMED.findall(text)
    known = {file: functions_in(ROOT / file) if (ROOT / file).exists() else set() for file, _ in named}
    return sorted({f"{file}::{name}" for file, name in named if name not in known[file]})


def test_every_claim_names_tests_that_exist() -> None:
    text = PAGE.read_text()
    found = claims(text)
    for section in SECTIONS:
        assert found[section], section
        assert all(found[section]), f"{section}: a claim without a test"
    assert missing(text) == []
    assert len(NAMED.findall(text)) == text.count("::test_"), "a test that is not named as path::name"


def test_a_test_that_is_gone_is_found() -> None:
    page = "`tests/unit/kube/test_guard.py::test_gone` `tests/unit/gone.py::test_x`"
    assert missing(page) == [
        "tests/unit/gone.py::test_x",
        "tests/unit/kube/test_guard.py::test_gone",
    ]
    assert claims("\n## S\n| a | b |\n| --- | --- |\n| c | none |\n") == {"S": [[]]}
