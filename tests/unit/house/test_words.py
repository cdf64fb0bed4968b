"""The words of the trade: no quoted private name or text returns, and private words in texts only get fewer.

`words.txt` lists removed modules, names and fragments of texts. `CEILINGS` limits how often a private word
occurs in docstrings, messages and help.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GONE = Path(__file__).with_name("words.txt")
PRODUCT = ("cockpit", "widgets/cockpit_widgets", "exporter/cockpit_exporter")
APART = ("actions", "catalogue", "gangs", "pools", "sim", "triage")
"""Rooms of `cockpit` whose words are not counted yet."""
CEILINGS = {
    "nobody": 15,
    "somebody": 5,
    "anybody": 1,
    "whoever": 8,
    "whatever": 11,
    "anew": 8,
    "so many": 6,
    "so long": 1,
    "so often": 1,
    "told": 170,
    "said": 70,
    "taken back": 0,
    "given back": 1,
    "held": 13,
    "bears": 0,
    "of it": 76,
    "besides": 3,
    "at once": 46,
    "by now": 5,
    "of its own": 24,
}


def files() -> list[Path]:
    found = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if not path.name.endswith("_pb2.py")]


def gone(heading: str) -> list[str]:
    """The lines of a paragraph of `words.txt`."""
    paragraphs = GONE.read_text().strip().split("\n\n")
    return next(part.split("\n")[1:] for part in paragraphs if part.startswith(f"# {heading}\n"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def names(module: ast.Module) -> set[str]:
    """Every name that a module defines, passes or reads."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg or "")
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def texts(module: ast.Module) -> Iterator[str]:
    """Docstrings and string literals, each on one line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield " ".join(node.value.split())


def counted(lines: Iterable[str], words: Iterable[str]) -> Counter[str]:
    pattern = re.compile(rf"\b({'|'.join(words)})\b", re.IGNORECASE)
    return Counter(word.lower() for line in lines for word in pattern.findall(line))


def test_no_module_of_a_private_name_returns() -> None:
    assert [name for name in gone("modules") if (ROOT / "cockpit" / f"{name}.py").exists()] == []


def test_no_private_name_returns() -> None:
    private = frozenset(gone("names"))
    found = {str(path): names(tree(path)) & private for path in files()}
    assert {path: words for path, words in found.items() if words} == {}


def test_no_quoted_text_returns() -> None:
    private = [text.lower() for text in gone("texts")]
    spoken = {str(path): "\n".join(texts(tree(path))).lower() for path in files()}
    assert len(spoken) > 300, "the walk found no code: the test would pass on nothing"
    assert [
        (path, text) for path, spoken_there in spoken.items() for text in private if text in spoken_there
    ] == []


def test_private_words_only_get_fewer() -> None:
    rooms = [path for path in files() if path.relative_to(ROOT).parts[1] not in APART]
    found = counted((text for path in rooms for text in texts(tree(path))), CEILINGS)
    assert {word: count for word, count in found.items() if count > CEILINGS[word]} == {}


def test_an_offence_is_seen() -> None:
    module = ast.parse(
        'class Scene:\n    """Nobody may\n    have it anew."""\n    def f(world): return world.held\n'
    )
    assert names(module) >= {"Scene", "world", "held"}
    assert counted(texts(module), ("nobody", "anew", "held")) == {"nobody": 1, "anew": 1}
