"""The table of cases that only one server can run says neither too much nor too little."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.only_on_one import ONLY_ON_ONE
from tests.contract.server import CAPABILITIES

HERE = Path(__file__).parent


def _needing() -> Iterator[tuple[str, frozenset[str]]]:
    """Every case that asks for something, with what it asks for."""
    for file in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.contract.{file.stem}")
        for name, function in vars(module).items():
            wanted = getattr(function, "needs", ())
            if name.startswith("test_") and wanted:
                yield f"{file.name}::{name}", frozenset(wanted)


def test_the_table_is_exact() -> None:
    found = {}
    for case, wanted in _needing():
        able = [name for name, capabilities in CAPABILITIES.items() if wanted <= capabilities]
        assert able, f"{case} runs on no server"
        if len(able) < len(CAPABILITIES):
            (found[case],) = able
    assert found == {case: only.server for case, only in ONLY_ON_ONE.items()}


def test_nothing_is_skipped_in_another_way() -> None:
    """A case is kept from a server by `needs` alone, so that the table knows of it."""
    for file in HERE.glob("test_*.py"):
        if file.name != Path(__file__).name:
            text = file.read_text()
            assert "pytest.skip" not in text, file.name
            assert "mark.skip" not in text, file.name
            assert "mark.xfail" not in text, file.name


@pytest.mark.parametrize("case", ONLY_ON_ONE)
def test_every_case_has_a_reason(case: str) -> None:
    assert len(ONLY_ON_ONE[case].reason.split()) > 5
