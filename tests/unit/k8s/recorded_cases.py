"""Questions about Kubernetes' rules and the recorded answers of the real API server and scheduler."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parent / "recorded"
Tree = dict[str, Any]


def recorded(name: str) -> Tree:
    """One file of cases with their answers."""
    tree: Tree = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return tree


def each(name: str, field: str = "answer") -> list[Any]:
    """The cases of one file that have the field, as parameters of a test."""
    return [pytest.param(one, id=_title(one)) for one in recorded(name)["cases"] if field in one]


def _title(case: Tree) -> str:
    return str(next(value for key, value in case.items() if key != "answer")).translate(_UNQUOTED)


_UNQUOTED = str.maketrans("", "", "{}[]'\"")


def text_of(case: Tree) -> str:
    """A label selector as a query has it: the text of the case, or made of its requirements."""
    if "text" in case:
        return str(case["text"])
    asked = [(one["operator"], one["key"], one.get("values", [])) for one in case["requirements"]]
    return ",".join(_TEXTS[operator](key, values) for operator, key, values in asked)


_TEXTS: dict[str, Callable[[str, list[str]], str]] = {
    "In": lambda key, values: f"{key} in ({','.join(values)})",
    "NotIn": lambda key, values: f"{key} notin ({','.join(values)})",
    "Exists": lambda key, _: key,
    "DoesNotExist": lambda key, _: f"!{key}",
    "Gt": lambda key, values: f"{key}>{','.join(values)}",
    "Lt": lambda key, values: f"{key}<{','.join(values)}",
}
