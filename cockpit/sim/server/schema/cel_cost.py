"""What a rule in CEL may cost: an estimate before it runs, since the library has no limit of its own.

Each loop inside another multiplies the steps by the longest list or map of the value, each addition inside
one may make a text or a list that much longer. The limits are kube-apiserver's (pkg/apis/cel/config.go).
"""

import re
from typing import Any

_MOST_STEPS = 1_000_000
_MOST_STEPS_OF_OBJECT = 10_000_000
_MOST_UNFOLDED_BYTES = 64 * 1024 * 1024
_TOKEN = re.compile(
    r""""{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*\'|"""
    r"\.\s*(?P<loop>all|exists|exists_one|map|filter)\s*\(|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<plus>\+)",
    re.DOTALL,
)


class OutOfBudget(Exception):
    """A rule would cost too much; `field` is its place."""

    def __init__(self, field: str) -> None:
        super().__init__(
            "validation failed due to running out of cost budget, no further validation rules will be run"
        )
        self.field = field or "<nil>"


class CelBudget:
    """What is left for the rules of one object."""

    def __init__(self) -> None:
        self.steps = _MOST_STEPS_OF_OBJECT

    def spend(self, field: str, extent: tuple[int, int], nesting: int, additions: int) -> None:
        """Count one run of a rule over a value of this extent (`extent_of`). Raises OutOfBudget."""
        longest, size_bytes = extent
        steps = max(1, longest) ** nesting
        self.steps -= steps
        unfolded_bytes = (additions + 1) ** (nesting + 1) * size_bytes
        if steps > _MOST_STEPS or self.steps < 0 or unfolded_bytes > _MOST_UNFOLDED_BYTES:
            raise OutOfBudget(field)


def nesting_of(rule: str) -> tuple[int, int]:
    """(how deep the loops of a rule lie in each other, how many additions it has)."""
    stack: list[bool] = []
    depth = deepest = additions = 0
    for token in _TOKEN.finditer(rule):
        if token["loop"] or token["open"]:
            stack.append(token["loop"] is not None)
            depth += stack[-1]
            deepest = max(deepest, depth)
        elif token["close"] and stack:
            depth -= stack.pop()
        elif token["plus"]:
            additions += 1
    return deepest, additions


def extent_of(value: Any) -> tuple[int, int]:
    """(the longest list or map in a value, about how many bytes it has)."""
    longest = size_bytes = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            longest = max(longest, len(one))
            size_bytes += sum(len(key) for key in one) + 16
            waiting.extend(one.values())
        elif isinstance(one, list):
            longest = max(longest, len(one))
            waiting.extend(one)
        else:
            size_bytes += len(one) if isinstance(one, str) else 16
    return longest, max(size_bytes, 16)
