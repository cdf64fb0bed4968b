"""A mapping from one string to many, made for tens of thousands of keys with one value each."""

from collections.abc import Iterator, Sequence


class Multimap:
    """Key to a set of values, both strings; empty keys are not kept.

    A key with a single value stores that string itself, so an owner with one pod costs one dictionary entry.
    More are the keys of a dictionary: of strings alone it is a quarter of the size of a set (1.9 to 8.4 kB
    for 73 pods of a job), keeps the order of coming, and the garbage collector never visits it.
    """

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, str | dict[str, None]] = {}

    def add(self, key: str, value: str) -> None:
        """Put `value` under `key`; an empty key or a value that is there already changes nothing."""
        if not key:
            return
        held = self._values.get(key)
        if held is None:
            self._values[key] = value
        elif isinstance(held, dict):
            held[value] = None
        elif held != value:
            self._values[key] = {held: None, value: None}

    def add_all(self, key: str, values: Sequence[str]) -> None:
        """Put each of `values` under `key`, as `add` does."""
        if len(values) < 2:
            for value in values:
                self.add(key, value)
            return
        if not key:
            return
        held = self._values.get(key)
        if isinstance(held, dict):
            held.update(dict.fromkeys(values))
            return
        found = dict.fromkeys(values if held is None else (held, *values))
        self._values[key] = found if len(found) > 1 else values[0]

    def discard(self, key: str, value: str) -> None:
        """Take `value` away from `key`; what is not there changes nothing."""
        held = self._values.get(key)
        if held is None:
            return
        if not isinstance(held, dict):
            if held == value:
                del self._values[key]
            return
        held.pop(value, None)
        if len(held) == 1:
            self._values[key] = next(iter(held))

    def get(self, key: str) -> tuple[str, ...]:
        """The values under `key`, in the order of coming."""
        held = self._values.get(key)
        if held is None:
            return ()
        return tuple(held) if isinstance(held, dict) else (held,)

    def count(self, key: str) -> int:
        held = self._values.get(key)
        if held is None:
            return 0
        return len(held) if isinstance(held, dict) else 1

    def keys(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values
