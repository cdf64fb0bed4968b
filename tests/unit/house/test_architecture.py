"""The plan of the code names what is there, and what it says of adding a verb or an engine is so."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "cockpit" / "ARCHITECTURE.md"
_NAMED = re.compile(r"`([\w/.-]+/[\w.-]+)`(?: `(\w+)`)?")


def _rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    part = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:] if not row[0].strip().startswith("---")]


def _missing(text: str) -> list[str]:
    """Files and symbols of "How to change" that are not there."""
    found: list[str] = []
    for row in _rows(text, "How to change"):
        for name, symbol in _NAMED.findall(" ".join(row[1:])):
            path = ROOT / name
            if not path.exists():
                found.append(name)
            elif symbol and not _has(path, symbol):
                found.append(f"{name} {symbol}")
    return found


def _has(path: Path, symbol: str) -> bool:
    text = path.read_text()
    if path.suffix != ".py":
        return re.search(rf"^\W*{symbol}:", text, re.MULTILINE) is not None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == symbol:
            return True
        targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == symbol for one in targets):
            return True
    return False


def test_each_file_and_symbol_to_change_is_there() -> None:
    text = PAGE.read_text()
    assert len(_rows(text, "How to change")) >= 7
    assert _missing(text) == []


@pytest.mark.parametrize(
    "change",
    [
        "`cockpit/views/none.py` `_FIELDS`",
        "`cockpit/views/nodes.py` `_NO_FIELDS`",
        "`jobspecs/scenarios/two-nodes.yaml` `machines_of_mars`",
    ],
)
def test_a_missing_file_or_symbol_in_how_to_change_is_found(change: str) -> None:
    text = f"\n## How to change\n\n| to add | change |\n| --- | --- |\n| a thing | {change} |\n"
    assert len(_missing(text)) == 1


def test_each_room_of_the_table_is_there_and_each_room_is_in_it() -> None:
    named: set[str] = set()
    for row in _rows(PAGE.read_text(), "Rooms"):
        named |= set(re.findall(r"`([\w]+(?:/|\.py))`", row[0]))
    package = ROOT / "cockpit"
    there = {f"{one.name}/" for one in package.iterdir() if (one / "__init__.py").exists()}
    assert named >= there
    assert {one for one in named if not (package / one).exists()} == set()


def test_each_keeper_of_a_law_is_there() -> None:
    for row in _rows(PAGE.read_text(), "Laws, and who keeps them"):
        for name in re.findall(r"`((?:tests|cockpit|kube)/[\w./]+)`", row[1]):
            assert (ROOT / name).exists() or (ROOT / "cockpit" / name).exists(), name


def _naming(word: str) -> set[str]:
    """Files of the product in whose code (not its comments) the word stands."""
    files: set[str] = set()
    for path in (ROOT / "cockpit").rglob("*.py"):
        if "sim" in path.relative_to(ROOT / "cockpit").parts[:1]:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            name = str(getattr(node, "id", "") or getattr(node, "attr", ""))
            is_text = isinstance(node, ast.Constant) and node.value == word
            if is_text or name.lower().split("_")[-1] == word:
                files.add(str(path.relative_to(ROOT)))
    return files


def test_the_sample_verb_stands_in_its_file_and_in_the_registry_alone() -> None:
    row = next(row for row in _rows(PAGE.read_text(), "How to change") if row[0] == "a verb")
    allowed = {name for name, _ in _NAMED.findall(row[1])}
    assert _naming("cordon") | _naming("uncordon") == allowed


def test_the_sample_engine_needs_no_file_but_its_own() -> None:
    name = "test_a_new_engine.py"
    assert (ROOT / "tests" / "tui" / name).exists()
    assert _naming("tiny") == set()
