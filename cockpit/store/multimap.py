"""A mapping from one string to many, made for tens of thousands of keys with one value each."""

from collections.abc import Iterator


class Multimap:
    """Key to a set of values, both strings; empty keys are not kept.

    A key with a single value stores that string itself, so an owner with one pod costs one dictionary
    entry and nothing that the garbage collector has to visit.
    """

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, str | set[str]] = {}

    def add(self, key: str, value: str) -> None:
        """Put `value` under `key`; an empty key or a value that is there already changes nothing."""
        if not key:
            return
        held = self._values.get(key)
        if held is None:
            self._values[key] = value
        elif isinstance(held, set):
            held.add(value)
        elif held != value:
            self._values[key] = {held, value}

    def discard(self, key: str, value: str) -> None:
        """Take `value` away from `key`; what is not there changes nothing."""
        held = self._values.get(key)
        if held is None:
            return
        if not isinstance(held, set):
            if held == value:
                del self._values[key]
            return
        held.discard(value)
        if len(held) == 1:
            self._values[key] = held.pop()

    def get(self, key: str) -> tuple[str, ...]:
        """The values under `key`, in no particular order."""
        held = self._values.get(key)
        if held is None:
            return ()
        return tuple(held) if isinstance(held, set) else (held,)

    def count(self, key: str) -> int:
        held = self._values.get(key)
        if held is None:
            return 0
        return len(held) if isinstance(held, set) else 1

    def keys(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values
