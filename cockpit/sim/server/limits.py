"""How much one request may unfold to, and how much is kept for readers: the bounds of the server.

What a request makes of a few bytes (copies of a patch, aliases of YAML, defaults of a schema, patterns over
long texts) is counted here while it is made, and refused before it is too much. The peaks are kept, so that a
test can ask what the worst request has come to.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import msgspec

from cockpit.sim.port import PortError

MIB = 1024 * 1024
MOST_BODY_BYTES = 3 * MIB
"""Of a request (kube-apiserver: MaxRequestBodyBytes)."""
MOST_OBJECT_BYTES = 3 * MIB // 2
"""Of an object that is stored, as JSON (the default of etcd's --max-request-bytes)."""
MOST_UNFOLDED_BYTES = 3 * MIB
"""Of copies, aliases and defaults of one request, as JSON (json-patch: AccumulatedCopySizeLimit)."""
MOST_OPERATIONS = 10_000
"""Of a JSON patch (kube-apiserver: maxJSONPatchOperations)."""
MOST_MOVED_ITEMS = 50_000_000
"""List items and members that the operations of one JSON patch move, a tenth of a second or less."""
MOST_DEPTH = 200
"""Of any object, patch or schema. The real server takes 10,000; nobody writes more than 60."""
MOST_VALUES = 500_000
"""In one body: 1.5 MiB of single digits are 750,000, what people write has a tenth."""
MOST_PATTERN_STEPS = 200_000_000
"""Characters times instructions of patterns in one request: a second in the worst of cases."""
MOST_FAULTS = 100
"""Told of one object, as the strict decoder of the real server stops at 100."""
MOST_TOLD_LETTERS = 1000
"""Of one path or value that a refusal quotes."""
MOST_STORED_BYTES = 384 * MIB
"""Of all objects, in memory (etcd: --quota-backend-bytes)."""
MOST_PAST_BYTES = 128 * MIB
"""Of all versions that only watches from back then still need, in memory."""
MOST_WATCH_BYTES = 16 * MIB
"""Of events that one watch has not sent yet: seconds at 500 changes a second."""
_REMEMBERED_LETTERS = 400
"""Longer texts are not kept in caches: their number is bounded, not their length."""
_A_CONTAINER, _A_VALUE = 200, 24
"""Bytes in memory of an object or list, and of a value, beside its text."""

P = ParamSpec("P")
R = TypeVar("R")


class Unfolded(msgspec.Struct):
    """What a request has unfolded to."""

    bytes: int = 0
    depth: int = 0
    operations: int = 0
    values: int = 0
    moved_items: int = 0
    pattern_steps: int = 0


class BodyMeter:
    """Counts what is unfolded now, and keeps the peaks of all requests before."""

    def __init__(self) -> None:
        self.peak = Unfolded()
        self._now = Unfolded()
        self._is_counting = False

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request that is answered without waiting; what it sets off within counts as its own."""
        if self._is_counting:
            yield
            return
        self._now, self._is_counting = Unfolded(), True
        try:
            yield
        finally:
            self._is_counting = False

    def counted(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorates what answers one request."""

        @wraps(function)
        def within(*args: P.args, **kwargs: P.kwargs) -> R:
            with self.request():
                return function(*args, **kwargs)

        return within

    @property
    def _counts(self) -> Unfolded:
        """Those of the request; outside of one each call stands for itself."""
        return self._now if self._is_counting else Unfolded()

    def unfold(self, count: int) -> None:
        """`count` bytes of JSON more. Raises PortError 413."""
        now = self._counts
        now.bytes += count
        if now.bytes > MOST_UNFOLDED_BYTES:
            raise too_large(
                f"Unable to complete the request, the accumulated size increase of its copies is "
                f"{now.bytes}, exceeding the limit {MOST_UNFOLDED_BYTES}"
            )
        self.peak.bytes = max(self.peak.bytes, now.bytes)

    def operate(self, count: int) -> None:
        """`count` operations of a JSON patch. Raises PortError 413."""
        if count > MOST_OPERATIONS:
            raise too_large(
                f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {count}"
            )
        self.peak.operations = max(self.peak.operations, count)

    def move(self, count: int) -> None:
        """`count` items of a list or members of an object more are moved. Raises PortError 413."""
        now = self._counts
        now.moved_items += count
        if now.moved_items > MOST_MOVED_ITEMS:
            raise too_large(f"The operations of the JSON patch move more than {MOST_MOVED_ITEMS} items")
        self.peak.moved_items = max(self.peak.moved_items, now.moved_items)

    def step(self, count: int) -> None:
        """`count` steps of patterns more. Raises PortError 413."""
        now = self._counts
        now.pattern_steps += count
        if now.pattern_steps > MOST_PATTERN_STEPS:
            raise too_large(
                f"The patterns of the schema take more than {MOST_PATTERN_STEPS} steps over this object: "
                "shorten its texts or the patterns"
            )
        self.peak.pattern_steps = max(self.peak.pattern_steps, now.pattern_steps)

    def measure(self, tree: Any) -> None:
        """Looks through a tree. Raises PortError 400 where it is too deep, 413 for too many values."""
        depth, values = 0, 0
        level = [tree] if isinstance(tree, dict | list) else []
        while level:
            depth += 1
            if depth > MOST_DEPTH:
                raise too_deep()
            below: list[Any] = []
            for one in level:
                values += len(one)
                items = one.values() if isinstance(one, dict) else one
                below += [item for item in items if item.__class__ is dict or item.__class__ is list]
            if values > MOST_VALUES:
                raise too_large(f"Request entity too large: more than {MOST_VALUES} values")
            level = below
        self.peak.depth = max(self.peak.depth, depth)
        self.peak.values = max(self.peak.values, values)


def weight_of(json: bytes) -> int:
    """What an object of its own takes in memory, from its JSON; in bytes, rather too many than too few."""
    containers = json.count(b"{") + json.count(b"[")
    return len(json) + _A_CONTAINER * containers + _A_VALUE * (json.count(b",") + containers)


def shortened(text: str) -> str:
    """A text as it is told: the beginning of a long one."""
    return text if len(text) <= MOST_TOLD_LETTERS else f"{text[:MOST_TOLD_LETTERS]}..."


def remembered(count: int) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """A cache of `count` answers about texts that is not filled with long ones."""

    def decorate(function: Callable[[str], R]) -> Callable[[str], R]:
        cached = lru_cache(count)(function)

        @wraps(function)
        def asked(text: str) -> R:
            return cached(text) if len(text) <= _REMEMBERED_LETTERS else function(text)

        return asked

    return decorate


def too_large(message: str) -> PortError:
    """413."""
    return PortError(413, "RequestEntityTooLarge", message)


def too_deep() -> PortError:
    """400, with the beginning of the sentence that Go's decoder has."""
    return PortError(400, "BadRequest", f"exceeded max depth: at most {MOST_DEPTH} levels are taken")


METER = BodyMeter()
"""The one of this process: whatever a request comes to, it does so in one callback of the one loop."""
