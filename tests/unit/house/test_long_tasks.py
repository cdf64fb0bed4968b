"""What lasts as long as a page, the app or an attachment is started in one way, which no error ends."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3] / "cockpit"

SHORT = {
    "attachment",  # keeps itself up, and says so by its link
    "dry run",
    "logs",  # one reading; its streams go on by themselves, and tell it beside their source
    "offers",
    "rows of a plan",
    "save",
    "stderr",
    "tensorboard",
    "yaml",
}
"""Workers that end by themselves, by their names."""


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(ROOT.rglob("*.py")):
        if path.is_relative_to(ROOT / "sim"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                yield path, node


def test_a_worker_that_does_not_end_by_itself_is_kept_up() -> None:
    """Names that are no constant are those of a person's commands (`spawn`, a change of a pool)."""
    named = {
        word.value.value: path.name
        for path, call in calls("run_worker")
        for word in call.keywords
        if word.arg == "name" and isinstance(word.value, ast.Constant)
    }
    assert set(named) <= SHORT, {name: path for name, path in named.items() if name not in SHORT}


def test_what_is_kept_up() -> None:
    kept = {
        call.args[1].value
        for _, call in calls("keep")
        if len(call.args) == 3 and isinstance(call.args[1], ast.Constant)
    }
    assert kept == {"rows", "history", "pools", "why", "fleet", "list", "run", "run-log", "starts"}
