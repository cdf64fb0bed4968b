"""The store has one protocol for those who look: whoever needs one question more finds it there."""

import ast
from collections.abc import Iterator
from pathlib import Path

from cockpit.model.store_reader import StoreReader
from cockpit.store.store import Store

ROOT = Path(__file__).resolve().parents[3]
QUESTIONS = {"records", "get", "by_key", "pods_on", "requests_on", "gpus_on", "workloads_of", "events_of"}
"""By these a protocol is known to speak of the store."""


def protocols_of_the_store(source: str) -> Iterator[str]:
    """Names of protocol classes that ask one of the store's questions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases
        ):
            names = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            if names & QUESTIONS:
                yield node.name


def test_there_is_one_protocol_of_the_store() -> None:
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / "cockpit").rglob("*.py")
        if "sim" not in path.relative_to(ROOT).parts
        for name in protocols_of_the_store(path.read_text())
    }
    assert found == {("cockpit/model/store_reader.py", "StoreReader")}


def test_a_second_store_protocol_is_found() -> None:
    source = "class Truth(Protocol):\n    def by_key(self, kind: str) -> object: ...\n"
    assert list(protocols_of_the_store(source)) == ["Truth"]


def test_its_questions_are_those_of_the_store_and_change_nothing() -> None:
    asked = {name for name in vars(StoreReader) if not name.startswith("_")}
    assert asked <= set(dir(Store()))
    assert not asked & {"apply", "take_delta"}
