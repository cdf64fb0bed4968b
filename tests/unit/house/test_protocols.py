"""A protocol has at most seven members of its own; what is more is made of such."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MOST = 7
LARGER = {"StoreReader": 34}
"""The store has one protocol for those who look (`test_one_reader`). Only to be lowered."""


def sizes(source: str) -> dict[str, int]:
    """Protocol classes by name, and how many members each names itself."""
    return {
        node.name: sum(
            isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign) for one in node.body
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).split("[")[0] == "Protocol" for base in node.bases)
    }


def test_no_protocol_is_large() -> None:
    product = [p for p in (ROOT / "cockpit").rglob("*.py") if ROOT / "cockpit" / "sim" not in p.parents]
    found = {name: size for path in product for name, size in sizes(path.read_text()).items()}
    assert len(found) > 40
    assert {name: size for name, size in found.items() if size > MOST} == LARGER


def test_an_eighth_member_is_counted() -> None:
    members = "".join(f"    def m{n}(self) -> int: ...\n" for n in range(7))
    assert sizes(f"class Wide(Session, Protocol):\n    value: int\n{members}") == {"Wide": 8}
