"""The functions of Kubernetes' CEL libraries that are evaluated here; each counts what it takes and makes.

The library writes a line to standard errors where a function raises, so that one that must not run answers
with nothing instead, and whoever asked looks at the budget afterwards.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from ipaddress import ip_address
from itertools import pairwise
from typing import Any

from cockpit.k8s.quantity import quantity
from cockpit.sim.port import PortError
from cockpit.sim.server.schema.cel_cost import CelBudget
from cockpit.sim.server.schema.patterns import pattern

MATCHES = "matchesRE2"
_budgets: list[CelBudget] = []


@contextmanager
def counting(budget: CelBudget) -> Iterator[None]:
    """What the functions do meanwhile is counted by this budget."""
    _budgets.append(budget)
    try:
        yield
    finally:
        _budgets.pop()


@cache
def counted() -> dict[str, Callable[..., Any]]:
    """The functions by name."""
    from cel import stdlib

    return {
        "charAt": _counted(stdlib.char_at, ""),
        "indexOf": _counted(stdlib.index_of, -1),
        "lastIndexOf": _counted(stdlib.last_index_of, -1),
        "substring": _counted(stdlib.substring, ""),
        "split": _split,
        "join": _join,
        "lowerAscii": _counted(stdlib.lower_ascii, ""),
        "upperAscii": _counted(stdlib.upper_ascii, ""),
        "trim": _counted(stdlib.trim, ""),
        "min": _counted(stdlib.min_, 0),
        "max": _counted(stdlib.max_, 0),
        "sum": _counted(stdlib.sum_, 0),
        "isSorted": _counted(lambda items: all(a <= b for a, b in pairwise(items)), answer=False),
        "find": _counted(lambda text, expression: pattern(expression).first_in(text), ""),
        MATCHES: _counted(lambda text, expression: pattern(expression).is_in(text), answer=False),
        "isIP": _counted(_is_ip, answer=False),
        "isQuantity": _counted(_is_quantity, answer=False),
        "quantity": _counted(lambda text: quantity(text).amount, 0),
        "isGreaterThan": lambda one, other: one > other,
        "isLessThan": lambda one, other: one < other,
        "compareTo": lambda one, other: (one > other) - (one < other),
        "asApproximateFloat": float,
    }


def _counted(function: Callable[..., Any], answer: Any) -> Callable[..., Any]:
    """`function`, which answers `answer` where it would cost too much."""

    def called(*arguments: Any) -> Any:
        if not _may_run(sum(map(_size, arguments))):
            return answer
        try:
            return function(*arguments)
        except PortError:  # the steps of its patterns
            _budgets[-1].is_spent = True
            return answer

    return called


def _split(text: str, separator: str, limit: int | None = None) -> list[str]:
    from cel import stdlib

    parts = text.count(separator) + 1 if separator else len(text)
    if limit is not None and limit >= 0:
        parts = min(parts, limit)
    return stdlib.split(text, separator, limit) if _may_run(2 * len(text), parts) else []


def _join(items: list[Any], separator: str = "") -> str:
    from cel import stdlib

    return stdlib.join(items, separator) if _may_run(2 * _size(items) + len(items) * len(separator)) else ""


def _may_run(count_bytes: int, items: int = 0) -> bool:
    return not _budgets or _budgets[-1].call(count_bytes, items)


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return sum(_size(item) for item in value) + 16 * len(value) if isinstance(value, list) else 16


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_quantity(text: str) -> bool:
    try:
        quantity(text)
    except ValueError:
        return False
    return True
