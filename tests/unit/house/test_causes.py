"""No sets of causes stand in code: what several causes share is a column of their rows."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3] / "cockpit"
MOST = 2


def sets_of_causes(source: str) -> int:
    """How many tuples, sets, lists and patterns name more causes than two."""
    return sum(_causes(node) > MOST for node in ast.walk(ast.parse(source)))


def _causes(node: ast.AST) -> int:
    parts: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        parts = node.elts
    return sum(
        isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "Cause"
        for part in parts
    )


def test_no_set_of_causes_stands_outside_the_catalogue() -> None:
    found: dict[str, int] = {}
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("catalogue/") and (count := sets_of_causes(path.read_text())):
            found[name] = count
    assert not found, "make it a column of the rows"


def test_a_set_is_seen() -> None:
    assert sets_of_causes("A = (Cause.ONE, Cause.TWO, Cause.THREE)\nB = {Cause.ONE, Cause.TWO}") == 1
