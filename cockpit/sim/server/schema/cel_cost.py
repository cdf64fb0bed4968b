"""What a rule in CEL may cost: an estimate before it runs, since the library has no limit of its own.

Each loop inside another multiplies the steps by the longest list or map of the value; an addition inside one
may make a text or a list that much longer; `map` and `filter` copy all that they have collected so far with
every step. Functions of ours count what they are handed and make. The sentence is kube-apiserver's, the limit
of steps, too (pkg/apis/cel/config.go); those of an object and of bytes are what a second and 100 MB allow.
"""

import re
from typing import Any

import msgspec

_MOST_STEPS = 1_000_000
_MOST_STEPS_OF_OBJECT = 2_000_000
_MOST_UNFOLDED_BYTES = 32 * 1024 * 1024
_MOST_COPIED_BYTES = 1024 * 1024 * 1024
"""Of one object; a second copies three times as much."""
_MOST_CALLED_BYTES = 64 * 1024 * 1024
"""Handed to functions of ours, and made by them, for one object."""
_CALL_BYTES = 256
"""What a call costs beside its texts; also an item of a list that is made."""
_ITEM_BYTES = 400
"""So many bytes are copied in the time in which an item of a list is, beside its own."""
_READ_SHARE = 4
"""So many bytes are compared or looked through in the time in which one is copied."""
_TOKEN = re.compile(
    r""""{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*\'|"""
    r"\.\s*(?P<loop>all|exists|exists_one|map|filter)\s*\(|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<plus>\+)"
    r"|(?P<compares>==|!=|\bin\b)",
    re.DOTALL,
)


_WORD = re.compile(r"[A-Za-z_]\w*|[\[{]")


class RuleCost(msgspec.Struct, frozen=True):
    """How a rule grows: how deep its loops lie in each other, how many of them collect something else than
    parts of their items, how often it adds, how many items its own lists have at most, whether it collects
    at all (`map`, `filter`), and whether it compares."""

    nesting: int = 0
    collecting: int = 0
    additions: int = 0
    items: int = 1
    collects: bool = False
    compares: bool = False


class Extent(msgspec.Struct, frozen=True):
    """The longest list or map in a value, its longest text in letters, and about how many bytes it has."""

    longest: int
    text: int
    bytes: int


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
        self.copied_bytes = _MOST_COPIED_BYTES
        self.called_bytes = _MOST_CALLED_BYTES
        self.is_spent = False
        self._extent, self._cost = Extent(0, 0, 0), RuleCost()

    def spend(self, field: str, extent: Extent, cost: RuleCost) -> None:
        """Count one run of a rule over a value of this extent. Raises OutOfBudget."""
        self._extent, self._cost = extent, cost
        self._loops(extent.longest)
        self.check(field)

    def check(self, field: str) -> None:
        """Raises OutOfBudget once all is spent."""
        if self.is_spent:
            raise OutOfBudget(field)

    def call(self, count_bytes: int, items: int = 0) -> bool:
        """Count a call of a function that is handed and makes so much; False where it must not be made.
        `items` are those of a list that it makes: the loops of the rule may run over them."""
        self.called_bytes -= _CALL_BYTES * (1 + items) + count_bytes
        if items > self._extent.longest:
            self._loops(items)
        self.is_spent = self.is_spent or self.called_bytes < 0
        return not self.is_spent

    def _loops(self, longest: int) -> None:
        cost, size = self._cost, self._extent.bytes
        longest = max(longest, cost.items) * (cost.additions + 1)
        steps = longest**cost.nesting
        unfolded_bytes = (cost.additions + 1) ** (cost.nesting + 1) * size
        self.steps -= steps
        if cost.nesting:
            self.copied_bytes -= steps * (size if cost.compares else self._extent.text) // _READ_SHARE
        if cost.collects:
            self.copied_bytes -= steps * longest * _ITEM_BYTES
        if cost.collects or (cost.nesting and cost.additions):
            self.copied_bytes -= steps * longest**cost.collecting * unfolded_bytes
        self.is_spent = (
            self.is_spent
            or steps > _MOST_STEPS
            or unfolded_bytes > _MOST_UNFOLDED_BYTES
            or min(self.steps, self.copied_bytes) < 0
        )


def cost_of(rule: str) -> RuleCost:
    """How a rule grows, by its words."""
    stack: list[tuple[str, int]] = []
    deepest = collecting = additions = 0
    collects = compares = False
    for token in _TOKEN.finditer(rule):
        if token["loop"] or token["open"]:
            stack.append((token["loop"] or "", token.end()))
            deepest = max(deepest, sum(1 for loop, _ in stack if loop))
        elif token["close"] and stack:
            loop, begin = stack.pop()
            if loop in ("map", "filter"):
                collects = True
                outer = [rule[at:].partition(",")[0].strip() for loop, at in stack if loop]
                collecting += loop == "map" and _is_of_others(rule[begin : token.start()], outer)
        elif token["plus"]:
            additions += 1
        elif token["compares"]:
            compares = True
    return RuleCost(deepest, collecting, additions, rule.count(",") + 1, collects, compares)


def _is_of_others(body: str, outer: list[str]) -> bool:
    """Whether what a loop makes may be more than the item that it stands at."""
    _, _, made = body.partition(",")
    return any(word in ("self", "oldSelf", "[", "{", *outer) for word in _WORD.findall(made))


def extent_of(value: Any) -> Extent:
    """How large a value is."""
    longest = text = size_bytes = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            longest = max(longest, len(item))
            text = max(text, max(map(len, item), default=0))
            size_bytes += sum(map(len, item)) + 16
            waiting.extend(item.values())
        elif isinstance(item, list):
            longest = max(longest, len(item))
            waiting.extend(item)
        elif isinstance(item, str):
            text = max(text, len(item))
            size_bytes += len(item) + 16
        else:
            size_bytes += 16
    return Extent(longest, text, max(size_bytes, 16))


def wider(one: Extent, other: Extent) -> Extent:
    """The extent of two values together."""
    return Extent(max(one.longest, other.longest), max(one.text, other.text), one.bytes + other.bytes)
